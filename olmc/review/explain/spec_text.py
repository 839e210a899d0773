"""A rule of the rule book as text for terminals: its Markdown without markup, wrapped, with tables aligned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from olmc.compiler.output.messages import clean
from olmc.compiler.output.text import WIDTH, aligned, paragraph
from olmc.compiler.rules.rulebook import SpecRule, named_in
from olmc.k8s.lean import regex

_ITEM = regex(r"(?:\*|[0-9]+\.) +")
_SPAN = regex(r"(``.+?``|`[^`]*`)", re.DOTALL)
_ID = r"(?:R|T|U|Q|D)-?[A-Z0-9-]*[0-9][a-z]?|R-V1-PIPE|observed-[0-9]+"
_RANGE = regex(r"(?<![\w-])((?:R-[A-Z0-9-]+|T-CAT)-)([0-9]+)(?: … (?:\1)?| (?:to|and) \1)([0-9]+)\b")


def as_text(rule: SpecRule, modules: Sequence[str]) -> str:
    """The rule with what it was read from, its page, and the modules that name it."""
    lines = [f"{rule.id}: {plain(rule.title)}\n", *_body(rule.text)]
    if rule.sources:
        lines += ["\n", "Read from:\n", aligned([f"  {source.name}", source.url] for source in rule.sources)]
    lines += ["\n", f"Page: docs/spec/{rule.page}\n"]
    if modules:
        lines.append(paragraph(f"Named in: {', '.join(modules)}", rest="  "))
    return "".join(lines)


def listing(rules: Sequence[SpecRule]) -> str:
    """A line a rule: its id and its title."""
    return aligned([rule.id, plain(rule.title)] for rule in rules)


def modules_naming(rule_id: str) -> tuple[str, ...]:
    """The modules of this olmc whose docstrings or comments name a rule, by its id or in a range of them.

    What commands say in examples is left out.
    """
    package = Path(__file__).resolve().parents[2]
    modules = (path for path in package.rglob("*.py") if package / "cli" not in path.parents)
    found = (path for path in modules if _names(path.read_text(encoding="utf-8"), rule_id))
    return tuple(sorted(path.relative_to(package.parent).as_posix() for path in found))


def plain(text: str) -> str:
    """Markdown without its markup; what is code keeps its backticks."""
    spans = _SPAN.findall(text)
    kept = re.sub(r"\[([^\[\]]+)\]\([^()]*\)", r"\1", _SPAN.sub("\0", text))
    kept = re.sub(rf"\[({_ID})\]", r"\1", kept)
    kept = re.sub(r"(?<![\w*])(\*\*?)(?=[^\s*])([^*\n]+)(?<=\S)\1(?!\w)", r"\2", kept)
    return "".join(chain.from_iterable(zip_longest(kept.split("\0"), spans, fillvalue="")))


def _names(text: str, rule_id: str) -> bool:
    if rule_id in text and rule_id in named_in(text):
        return True
    prefix, _, number = rule_id.rpartition("-")
    return number.isdigit() and any(
        begin == f"{prefix}-" and int(first) < int(number) <= int(last) for begin, first, last in _RANGE.findall(text)
    )


def _body(text: str) -> Iterator[str]:
    """The chunks of a text, an empty line before each; what is indented belongs to the item before it."""
    indent = ""
    for chunk in _chunks(text):
        yield "\n"
        if chunk[0].startswith("```"):
            yield from (f"  {clean(line)}".rstrip() + "\n" for line in chunk[1:-1])
        elif chunk[0].startswith("|"):
            yield _table(chunk)
        else:
            for part in _parts(chunk):
                marker = _ITEM.match(part)
                width = marker.end() if marker is not None else 0
                indent = " " * (2 + width) if width else indent if chunk[0].startswith(" ") else ""
                yield paragraph(plain(part[width:]), f"  {part[:width]}" if width else indent, indent)


def _chunks(text: str) -> Iterator[list[str]]:
    """The lines of a text between empty ones; those of fenced code stay together."""
    chunk: list[str] = []
    for line in text.splitlines():
        in_code = bool(chunk) and chunk[0].startswith("```") and not (len(chunk) > 1 and chunk[-1] == "```")
        if line or in_code:
            chunk.append(line)
        elif chunk:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _parts(chunk: Sequence[str]) -> Iterator[str]:
    """The paragraph of a chunk and the items of its list, each in one line."""
    part: list[str] = []
    for line in chunk:
        if part and _ITEM.match(line):
            yield " ".join(part)
            part = []
        part.append(line.strip())
    yield " ".join(part)


def _table(lines: Sequence[str]) -> str:
    """A table in columns, or if these would be too wide a paragraph a cell, named by its column."""
    header, _, *rows = [[plain(cell) for cell in _cells(line)] for line in lines]
    columns = aligned(["  " + row[0], *row[1:]] for row in (header, *rows))
    if max(map(len, columns.splitlines())) <= WIDTH:
        return columns
    return "".join(
        paragraph(cell, "  ", "    ") if not number else paragraph(f"{name}: {cell}", "    ", "      ")
        for row in rows
        for number, (name, cell) in enumerate(zip(header, row, strict=False))
        if cell
    )


def _cells(line: str) -> list[str]:
    """The cells of a line of a table; a bar of their texts is escaped."""
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
