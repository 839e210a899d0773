"""Where a value or a key stands, told by lines: without the parser, in a text that the reader by lines can read.

There all that belongs to a key or an item is indented further than it, whatever it is, so the next key of a mapping is
in the next line that begins where the mapping does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from olmc.lean import NamedTuple
from olmc.model.diagnostics import Location, Source
from olmc.yaml.document import BYTE_ORDER_MARK
from olmc.yaml.folding import UnusualError
from olmc.yaml.lines import PlainValues, key_of, read_lines
from olmc.yaml.reader import looks_like_json


class _Spot(NamedTuple):
    """A line and a column, from 0, at which a node begins."""

    line: int
    column: int


def find_by_lines(source: Source, keys: Sequence[str | int], *, of_key: bool = False) -> Location | None:
    """As `places.find`, or None for what only the parser knows: a text that is more than common, a place in brackets,
    and a key that is not there as it is written."""
    text = source.text.removeprefix(BYTE_ORDER_MARK)
    lines = () if looks_like_json(source.path, text) else _readable_lines(text)
    spot = _start(lines, source.document)
    key_spot, values = spot, PlainValues()
    for key in keys:
        if spot is None:
            return None
        step = _item(lines, spot, key) if isinstance(key, int) else _entry(lines, spot, key, values)
        if step is None:
            return None
        key_spot, spot = step
    meant = key_spot if of_key else spot
    return Location(source.path, meant.line + 1, meant.column + 1) if meant is not None else None


# Whoever asks for one place of a text soon asks for another.
@lru_cache(maxsize=2)
def _readable_lines(text: str) -> tuple[str, ...]:
    """The lines of a text, none if it takes more than lines to read it."""
    try:
        read_lines(text)
    except UnusualError:
        return ()
    return tuple(text.split("\n"))


def _start(lines: Sequence[str], document: int) -> _Spot | None:
    """Where a document begins."""
    starts: list[int] = []
    for number, line in enumerate(lines):
        if line.startswith("---") and line[3:4] in ("", " "):
            starts.append(number + 1)
        elif not starts and _is_content(line):
            starts.append(number)
    return _content_from(lines, starts[document]) if document < len(starts) else None


def _is_content(line: str) -> bool:
    return line.lstrip(" ")[:1] not in ("", "#")


def _content_from(lines: Sequence[str], start: int) -> _Spot | None:
    """Where the content begins that stands in a line or behind it, None at the end of the document."""
    for number in range(start, len(lines)):
        line = lines[number]
        if line.startswith("---") and line[3:4] in ("", " "):
            return None
        if _is_content(line):
            return _Spot(number, len(line) - len(line.lstrip(" ")))
    return None


def _siblings(lines: Sequence[str], spot: _Spot) -> Iterator[int]:
    """The lines in which more of the mapping or list at a spot begins: those with content at the same column."""
    column = spot.column
    yield spot.line
    margin, pad = " " * column, column
    for number in range(spot.line + 1, len(lines)):
        line = lines[number]
        if line.startswith(margin) and line[pad : pad + 1] == " ":
            continue
        text = line.lstrip(" ")
        if not text or text[0] == "#":
            continue
        if len(line) - len(text) < column or (column == 0 and line.startswith("---") and line[3:4] in ("", " ")):
            return
        yield number


def _entry(lines: Sequence[str], spot: _Spot, key: str, values: PlainValues) -> tuple[_Spot, _Spot | None] | None:
    """Where a key of the mapping at a spot stands, and its value."""
    for number in _siblings(lines, spot):
        content = lines[number][spot.column :].rstrip(" ")
        # A list may stand at the column of its key.
        if content == "-" or content.startswith("- "):
            if number == spot.line:
                return None
            continue
        try:
            split = key_of(content, values)
        except UnusualError:
            return None
        if split is None:
            return None
        if split[0] == key:
            return _Spot(number, spot.column), _value(lines, number, spot.column, split[1], is_item=False)
    return None


def _item(lines: Sequence[str], spot: _Spot, index: int) -> tuple[_Spot, _Spot | None] | None:
    """Where an item of the list at a spot stands, twice."""
    for place, number in enumerate(_siblings(lines, spot)):
        content = lines[number][spot.column :].rstrip(" ")
        if content != "-" and not content.startswith("- "):
            return None
        if place == index:
            value = _value(lines, number, spot.column, 1, is_item=True)
            return (value, value) if value is not None else None
    return None


def _value(lines: Sequence[str], number: int, column: int, length: int, *, is_item: bool) -> _Spot | None:
    """Where the value of a key or a dash begins that takes so many characters; None where there is none."""
    rest = lines[number][column + length :]
    text = rest.lstrip(" ")
    if text and text[0] != "#":
        return _Spot(number, column + length + len(rest) - len(text))
    below = _content_from(lines, number + 1)
    if below is None or below.column < column:
        return None
    is_list = lines[below.line][column:].rstrip(" ") == "-" or lines[below.line].startswith("- ", column)
    return below if below.column > column or (is_list and not is_item) else None
