"""Documents for people: sections of items within a budget, tables, Markdown that no input breaks out of, and pages.

The texts of a document have their format already: Markdown, or lines for a terminal. `as_whole` joins them. `within`
joins those that fit: it has one order of all items, and a limit shows the beginning of that order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any

from olmc.compiler.output.messages import clean
from olmc.k8s.lean import NamedTuple, regex
from olmc.resources import template_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

LIMIT = 64_000
"""The largest length of a comment: GitHub takes 65,536 characters, and a pipeline needs some for its own lines."""

_LONG = 2_000
"""An item of more characters or lines stays for less long than all others: it would hide many of them."""


class PageItem(NamedTuple):
    """A text that is shown as a whole or not at all.

    It stands for `total` things. The lower its `rank`, the longer it stays among the items of its section. `alone` is
    the text in place of this one and of its group's head where no other item of the group is shown, "" for none.
    """

    text: str
    total: int = 1
    rank: int = 0
    alone: str = ""


class Group(NamedTuple):
    """Items between two texts, which are there if an item is.

    `more` is the line for the items that are left out, with a place for their number. Then a limit shows a beginning of
    the items, and the group counts as one where none is shown. With "" for `more` the section counts the items.
    """

    items: tuple[PageItem, ...]
    head: str = ""
    end: str = ""
    more: str = ""


class Section(NamedTuple):
    """Groups between two texts, which are always there; one without groups is a text.

    `more` is the line for what is left out, with a place for its number. The section gets its share of the space by its
    `weight`. `name` is its name in the note of the document, "" for a section that the note does not count.
    """

    head: str
    groups: tuple[Group, ...] = ()
    more: str = ""
    end: str = ""
    weight: float = 1
    name: str = ""


class OutputDocument(NamedTuple):
    """A text and sections; `note` is the text at the end where something is left out, with a place for the number of
    things and one for their sections."""

    head: str
    sections: tuple[Section, ...]
    note: str = ""


_Place = tuple[int, int, int]
"""The place of an item: the indexes of its section, of its group and its own."""


def as_whole(document: OutputDocument) -> str:
    """Return the document with all items."""
    return _joined(document, None)


def within(document: OutputDocument, limit: int, size: Callable[[str], int] = len) -> str:
    """Return the document with as many items as the limit has space for, and with the number of the others.

    A larger limit shows the same items and maybe more. Each section begins before another goes on, then each goes on by
    its weight. Only the texts that are always there may exceed the limit. `size` is the measure of the limit.
    """
    whole = as_whole(document)
    if size(whole) <= limit:
        return whole
    # Without any item, all numbers of what is left out are there, each at its longest.
    left = limit - size(_joined(document, {}))
    kept: dict[tuple[int, int], list[int]] = {}
    for (at, number, index), need in _in_order(document, size):
        left -= need
        if left < 0:
            break
        kept.setdefault((at, number), []).append(index)
    return _joined(document, kept)


def _joined(document: OutputDocument, kept: Mapping[tuple[int, int], Collection[int]] | None) -> str:
    """Join the document's texts with those of the items that are kept, by section and group; None for all."""
    texts = [document.head]
    left: dict[str, int] = {}
    for at, section in enumerate(document.sections):
        texts.append(section.head)
        missing = 0
        for number, group in enumerate(section.groups):
            places = sorted(kept.get((at, number), ())) if kept is not None else range(len(group.items))
            shown = [group.items[index] for index in places]
            further = len(group.items) - len(shown)
            alone = shown[0].alone if len(shown) == 1 else ""
            texts += [alone] if alone else [group.head, *(item.text for item in shown)] if shown else ()
            texts += [group.more.format(further)] if shown and further and group.more else ()
            texts += [group.end] if shown else ()
            missing += _total(group.items) - _total(shown) if not group.more else not shown
        texts += [section.more.format(missing), section.end] if missing else [section.end]
        if missing and section.name:
            left[section.name] = left.get(section.name, 0) + missing
    if left:
        texts.append(document.note.format(sum(left.values()), ", ".join(f"{left[name]} in {name}" for name in left)))
    return "".join(texts)


def _total(items: Iterable[PageItem]) -> int:
    return sum(item.total for item in items)


def _in_order(document: OutputDocument, size: Callable[[str], int]) -> Iterator[tuple[_Place, int]]:
    """Yield the place of each item and how much space it needs, from the first that is shown to the last.

    Each section has a clock that runs slower the more weight it has: an item's time is the space that those before it
    need, by the weight. So no section waits for another, and what one does not need is for the others.
    """
    timed: list[tuple[tuple[int, float], _Place, int]] = []
    for at, section in enumerate(document.sections):
        spared: dict[int, int] = {}
        passed = 0
        for long, _, (number, index) in sorted(_ranked(section, size)):
            group, item = section.groups[number], section.groups[number].items[index]
            need = size(item.text)
            if number not in spared:
                frame = sum(map(size, (group.head, group.end, group.more.format(len(group.items)))))
                spared[number] = frame + need - size(item.alone) if item.alone else 0
                need = size(item.alone) if item.alone else frame + need
            else:
                need += spared[number]
                spared[number] = 0
            timed.append(((long, passed / section.weight), (at, number, index), need))
            passed += need
    for _, place, need in sorted(timed):
        yield place, need


def _ranked(section: Section, size: Callable[[str], int]) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield for each item of a section its size if it is a long one, its rank, and its place."""
    for number, group in enumerate(section.groups):
        sizes = [size(item.text) for item in group.items]
        # Behind a long item of a group that shows a beginning of its items, none is earlier than it.
        sizes = list(accumulate(sizes, max)) if group.more else sizes
        for index, (item, need) in enumerate(zip(group.items, sizes, strict=True)):
            yield need if need > _LONG else 0, item.rank, (number, index)


# Tables and paragraphs for terminals.

GAP = 3
WIDTH = 100
"""The width of paragraphs in every output: the same input gives the same text."""


def as_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a line for the header and one for each row.

    Cells stand left, each column is as wide as its widest cell and three blanks, the last one is not padded (R-INST-7).
    """
    return "".join(f"{line}\n" for line in _padded([header, *rows], GAP))


def aligned(lines: Iterable[Sequence[str]]) -> str:
    """Return lines of cells, padded to columns; a line may be shorter than others."""
    return "".join(f"{line.rstrip()}\n" for line in _padded(lines, 2))


def _padded(lines: Iterable[Sequence[str]], gap: int) -> Iterator[str]:
    shown = [[clean(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) + gap for column in zip_longest(*shown, fillvalue="")]
    for line in shown:
        yield "".join((*(cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)), *line[-1:]))


def fitting(whole: str, short: str, texts: Sequence[str], most: int = 80) -> Iterator[str]:
    """Yield the lines of the table `whole` if they have at most `most` columns.

    Otherwise yield those of `short`, which lacks a column, each with its text of that column below, "" for none. The
    first line is the head.
    """
    lines = whole.splitlines()
    if max(map(len, lines)) <= most:
        yield from lines
        return
    for line, text in zip(short.splitlines(), ("", *texts), strict=True):
        yield line
        if text:
            yield f"    {clean(text)}"


def paragraph(text: str, first: str = "", rest: str = "") -> str:
    """Return a text in lines of at most WIDTH characters if its words allow it, with the indents `first` and `rest`."""
    from textwrap import wrap  # few outputs have paragraphs, and imports take their time

    lines = wrap(
        clean(text), WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


# Markdown, in which nothing of the input is markup.

_TICKS = regex(r"`+")
_MARKUP = regex(r"([\\`*_<>\[\]#|~@])")


def code(text: str) -> str:
    """Return a text as inline code, in more backticks than it has in a row itself."""
    shown = clean(text)
    ticks = "`" * (_longest_run(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{ticks}{pad}{shown or ' '}{pad}{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def escaped(text: str) -> str:
    """Return words of olmc's own, in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", text)


def fence(text: str) -> str:
    """Return the line that begins and ends a block of code which holds the text."""
    return "`" * max(3, 1 + _longest_run(text))


def details(summary: str) -> tuple[str, str]:
    """Return what stands before and after a text that the reader opens; the summary is HTML."""
    return f"\n<details><summary>{summary}</summary>\n\n", "\n</details>\n"


def code_cell(text: str) -> str:
    """Return a cell of a table as code, in which a bar would be its end; `-` stays as it is."""
    return text if text == "-" else code(text).replace("|", "\\|")


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |\n"


def table_head(columns: Sequence[str], numbers: int = 0) -> str:
    """Return the first two rows of a table, of which the first `numbers` columns hold numbers."""
    return table_row(columns) + f"|{'---:|' * numbers}{'---|' * (len(columns) - numbers)}\n"


# Pages, pictures and scaffolds, which are made of the texts in `templates/`.


def templates(**options: Any) -> Environment:
    """Return the environment of all templates, with `options` of Jinja instead of its usual ones.

    A template escapes the input. An unknown name in it is a bug: jinja2.UndefinedError.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # takes long to import

    usual = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True}
    made = Environment(loader=FunctionLoader(template_text), undefined=StrictUndefined, **usual | options)
    made.filters["parts"] = partial(_in_parts, made.filters["escape"])
    return made


_LONG_WORD = regex(r"[^\s<>&]{16,}")
_PART = regex(r"(?<=[\w\])])([/@_=-]+(?=\w)|[.:/]+(?=[A-Za-z]))")  # versions and places stay whole


def _in_parts(escape: Callable[[object], Markup], text: object) -> Markup:
    """Return a text for a page on which a line may end between the parts of a long name, and not within one."""
    # The result is markup, which no environment cleans any more.
    is_text = not hasattr(text, "__html__")
    escaped = escape("\n".join(clean(line) for line in str(text).split("\n")) if is_text else text)
    return type(escaped)(_LONG_WORD.sub(lambda word: _PART.sub(r"\1<wbr>", word[0]), str(escaped)))


def page_parts(style: str, script: str) -> dict[str, Markup]:
    """Return the style and the script of a page, each with its hash for the content security policy, by name."""
    from markupsafe import Markup  # as Jinja

    style = template_text("base.css") + style
    texts = {"style": style, "script": script, "style_hash": _policy_hash(style), "script_hash": _policy_hash(script)}
    return {name: Markup(text) for name, text in texts.items()}


def _policy_hash(text: str) -> str:
    """Return the value with which a content security policy allows this text and no other."""
    import base64  # few outputs are pages
    import hashlib

    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
