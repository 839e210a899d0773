"""A difference as text for terminals: the verdict first, then what matters most, on one screen or as a whole."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from olmc.compiler.output.document import OutputDocument, Section, as_whole, within
from olmc.compiler.output.messages import Paint, clean, in_black, in_color
from olmc.k8s.lean import NamedTuple, regex
from olmc.review.diff.compare import Difference
from olmc.review.diff.crd_kinds import RISK, SEVERITY_WORDS, Message, UntrustedText, common_start, plain
from olmc.review.diff.outputs import (
    ChangeLine,
    LineGroup,
    ReviewSection,
    document_groups,
    folded_text,
    heading,
    line_groups,
    review_sections,
    subject,
    summary,
    verdict,
)

MOST_LINES, WIDTH = 60, 160
"""The shown length of a review on a terminal, unless all is asked for."""
_NAME_WIDTH, _SIDE_WIDTH, _ITEM_WIDTH = 44, 40, 24
_HEAD_HEIGHT, _LEAST_HEIGHT, _FEW_VALUES, _FEW_OBJECTS = 2, 5, 6, 5
"""The number of lines of the verdict, and of a section: an empty one, the heading, the left out part, and two more."""
_WEIGHTS = {"breaking": 12, "risk": 8}
_MOST_KINDS = 4
_ENDLESS = 1 << 62
_MORE = regex(r" and ([0-9]+) more( place)?s?")
_IN, _MORE_RULES = (" in the whole cluster", " in namespace ", " where the role is bound"), " and more"
_CAPITAL = regex(r"(?<=[a-z])(?=[A-Z])")


class _Line(NamedTuple):
    """A line of text, its style, and the severity behind it, "" for none."""

    text: str
    style: str = ""
    severity: str = ""


class _Shape(NamedTuple):
    """The length of lines (long ones continue below if `is_wrapped`), the number of lines, and the number of values in
    a list (None: all)."""

    width: int
    lines: int
    values: int | None
    is_wrapped: bool = False


_SCREEN = _Shape(WIDTH, MOST_LINES, _FEW_VALUES)
_SHORT = _Shape(_ENDLESS, _ENDLESS, _FEW_VALUES)
_WHOLE = _Shape(_ENDLESS, _ENDLESS, None)


def as_text(difference: Difference, *, color: bool = False, everything: bool = False) -> str:
    """The verdict and the changes: as much as fits on a screen, or all of it.

    Where whole lines fit, each in as many rows as it takes, no line is shortened.
    """
    paint = in_color if color else in_black
    if everything:
        return as_whole(_document(difference, _WHOLE, paint))
    text = as_whole(_document(difference, _SHORT._replace(is_wrapped=True), paint))
    if _count_lines(text) <= MOST_LINES:
        return text
    return within(_document(difference, _SCREEN, paint), MOST_LINES, _count_lines)


def _count_lines(text: str) -> int:
    return text.count("\n")


def _rows(line: _Line) -> Iterator[_Line]:
    """A line in rows of the width of a screen; the severity is behind the last one."""
    indent = " " * (len(line.text) - len(line.text.lstrip()) + 4)
    width = WIDTH - len(_painted(line._replace(text="", style=""), in_black))
    rows = [line.text]
    if len(line.text) > width:
        rows = textwrap.wrap(
            line.text, width, subsequent_indent=indent, replace_whitespace=False, expand_tabs=False,
            break_on_hyphens=False,
        )  # fmt: skip
    for row in rows[:-1]:
        yield _Line(row, line.style)
    yield line._replace(text=rows[-1])


def _painted(line: _Line, paint: Paint) -> str:
    text = paint(line.text, line.style) if line.style else line.text
    if not line.severity:
        return text
    return f"{text}  " + paint(f"[{line.severity}]", "ERROR" if line.severity == "breaking" else "WARNING")


def _written(line: _Line, shape: _Shape, paint: Paint) -> str:
    rows = _rows(line) if shape.is_wrapped else [line]
    return "".join(f"{_painted(row, paint)}\n" for row in rows)


def _document(difference: Difference, shape: _Shape, paint: Paint) -> OutputDocument:
    sides = _sides(difference, shape)
    name = subject(difference) or sides
    start = f"{name}: {verdict(difference, WIDTH - len(name) - 2)}"
    lines = [_Line(_fit(start, shape), "bold")]
    counts = summary(difference)
    counts = "" if start.endswith((counts, f"({counts})")) else counts
    parts = [part for part in (counts, sides if name != sides else "", folded_text(difference)) if part]
    if parts:
        lines.append(_Line(_fit(f"({'; '.join(parts)})", shape), "faint"))
    head = "".join(_written(line, shape, paint) for line in lines)
    return OutputDocument(head, tuple(_sections(difference, shape, paint)))


def _fit(line: str, shape: _Shape) -> str:
    return line if len(line) <= shape.width else f"{line[: shape.width - 2]} …"


def _sides(difference: Difference, shape: _Shape) -> str:
    """The names of both sides; the end of a path tells more than its beginning."""
    names = [clean(side.name) for side in (difference.old, difference.new)]
    if shape is _SCREEN:
        names = [name if len(name) <= _SIDE_WIDTH else f"…{name[1 - _SIDE_WIDTH :]}" for name in names]
    return " → ".join(names)


def review_lines(difference: Difference, paint: Paint) -> list[str]:
    """All changes, in sections, each below an empty line."""
    text = as_whole(OutputDocument("", tuple(_sections(difference, _SHORT, paint))))
    return text.removesuffix("\n").split("\n") if text else []


def _sections(difference: Difference, shape: _Shape, paint: Paint) -> Iterator[Section]:
    """Yield the sections; those beyond the number for which there is space are one line."""

    def written(text: str, style: str) -> str:
        return _written(_Line(_fit(text, shape), style), shape, paint)

    sections = review_sections(difference.changes)
    most = (shape.lines - _HEAD_HEIGHT) // _LEAST_HEIGHT
    for section in sections[:most]:
        groups = document_groups(
            line_groups(section.changes, shape.values), lambda group: _group_lines(group, shape, paint)
        )
        weight = _WEIGHTS.get(section.topic, 1)
        yield Section(
            f"\n{written(section.heading, 'bold')}", groups, written(_left_out(section), "faint"), weight=weight
        )
    if further := sections[most:]:
        named = ", ".join(f"{len(section.changes)} in {section.heading}" for section in further)
        yield Section(f"\n{written(f'Further sections: {named}; --all and -o html have them', 'faint')}")


def _left_out(section: ReviewSection) -> str:
    """The line for the changes of a section that are not shown, with a place for their number, by kind."""
    kinds = Counter(change.kind.name for change in section.changes)
    named = [f"{count} × {_words(kind)}" for kind, count in kinds.most_common(_MOST_KINDS)]
    more = ["other kinds"] if len(kinds) > _MOST_KINDS else []
    total = len(section.changes)
    return f"  … and {{}} more of {total} (--all and -o html have them): {', '.join((*named, *more))}"


def _words(kind: str) -> str:
    """The name of a kind as words: `property added`."""
    return _CAPITAL.sub(" ", kind).lower()


def _group_lines(group: LineGroup, shape: _Shape, paint: Paint) -> tuple[str, list[tuple[str, str]]]:
    """An object, and its lines: as they stand below it, and as each stands alone, behind the object."""

    def written(start: str, line: ChangeLine) -> str:
        space = shape.width - len(f"{start}+ {_tag(line)}")
        text = f"{start}{line.type} {_fitted(line.message, space)}"
        return _written(_Line(text, "", _severity(line)), shape, paint)

    def alone(line: ChangeLine) -> str:
        space = shape.width - len(f"  : + {plain(line.message)}{_tag(line)}")
        return written(f"  {_name(group, max(space, _NAME_WIDTH))}: ", line)

    name = _name(group, max(shape.width - len("  : + "), _NAME_WIDTH))
    lines = [(written("    ", line), alone(line)) for line in group.lines]
    return _written(_Line(f"  {name}"), shape, paint), lines


def _severity(line: ChangeLine) -> str:
    return SEVERITY_WORDS[line.severity] if line.severity >= RISK else ""


def _tag(line: ChangeLine) -> str:
    return _painted(_Line("", "", _severity(line)), in_black)


def _name(group: LineGroup, space: int) -> str:
    """The objects of a group, as many as there is space for; of a long name the beginning and the end."""
    for most in range(min(len(group.objects), _FEW_OBJECTS), 0, -1):
        name = clean(heading(group.objects, most))
        if len(name) <= space:
            return name
    return f"{name[: space // 2]}…{name[1 - (space - space // 2) :]}"


def _fitted(message: Message, space: int) -> str:
    """A message in so many characters: of its lists the first items, of its long values the parts that differ."""
    text = plain(message)
    for shorten in (_without_clause, _without_item):
        while len(text) > space and (shorter := shorten(message)) != message:
            message, text = shorter, plain(shorter)
    if len(text) <= space:
        return text
    values = [piece for piece in message if isinstance(piece, UntrustedText)]
    width = max((len(piece.text) for piece in values), default=0)
    while len(text) > space and width > _ITEM_WIDTH:
        width = max(_ITEM_WIDTH, width * 9 // 10)
        text = plain(
            tuple(_window(piece, values, width) if isinstance(piece, UntrustedText) else piece for piece in message)
        )
    return text if len(text) <= space else f"{text[: space - 1]}…"


def _without_clause(message: Message) -> Message:
    """A message about several rules without the last of them; the message itself if it is about one."""
    if "; " not in message:
        return message
    last = len(message) - 1 - message[::-1].index("; ")
    ends = (
        at
        for at in range(last, len(message))
        if isinstance(piece := message[at], str) and piece.startswith((*_IN, _MORE_RULES))
    )
    end = next(ends, len(message))
    rest = message[end + (end < len(message) and message[end] == _MORE_RULES) :]
    return (*message[:last], _MORE_RULES, *rest)


def _without_item(message: Message) -> Message:
    """A message whose longest list has one item less, and says so; the message itself where no list is left."""
    runs = list(_lists(message))
    if not runs:
        return message
    _, last = max(runs, key=lambda run: sum(map(_length, message[run[0] : run[1]])))
    rest = message[last:]
    match = _MORE.match(rest[0]) if rest and isinstance(rest[0], str) else None
    more = 1 + (int(match[1]) if match is not None else 0)
    behind: Message = (rest[0][match.end() :], *rest[1:]) if match is not None and isinstance(rest[0], str) else rest
    what = " places" if match is not None and match[2] else ""
    return (*message[: last - 2], f" and {more} more{what}", *behind)


def _length(piece: str | UntrustedText) -> int:
    return len(piece.text) if isinstance(piece, UntrustedText) else len(piece)


def _lists(message: Message) -> Iterator[tuple[int, int]]:
    """The places in a message where values stand one after the other, with commas between them."""
    at = 0
    while at < len(message):
        end = at + 1
        while end + 1 < len(message) and message[end] == ", " and isinstance(message[end + 1], UntrustedText):
            end += 2
        if isinstance(message[at], UntrustedText) and end > at + 1:
            yield at, end
        at = end


def _window(value: UntrustedText, others: Sequence[UntrustedText], width: int) -> UntrustedText:
    """A part of a value, around the place where it begins to differ from the value that is most like it.

    So two values that differ never look alike.
    """
    text = value.text
    if len(text) <= width:
        return value
    place = max((common_start(text, other.text) for other in others if other.text != text), default=0)
    if place <= width // 3:
        return UntrustedText(f"{text[: width - 1]}…")
    start = min(place - width // 4, len(text) - width + 2)
    end = "…" if start + width - 2 < len(text) else ""
    return UntrustedText(f"…{text[start : start + width - 2]}{end}")
