"""Find the place of a value or a key by lines: without the parser, in a text that the reader by lines can read.

In such a text all content of a key or an item is indented further than it. So the next key of a mapping is in the next
line that begins where the mapping does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from olmc.k8s.diagnostics import Location, Source
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.yaml.document import BYTE_ORDER_MARK
from olmc.k8s.yaml.lines import PlainValues, UnusualError, key_of, read_lines
from olmc.k8s.yaml.reader import looks_like_json


class _Spot(NamedTuple):
    """A line and a column, from 0, at which a node begins."""

    line: int
    column: int


def find_by_lines(source: Source, keys: Sequence[str | int], *, of_key: bool = False) -> Location | None:
    """As `places.find`, or None for what only the parser knows: a text that is more than common, a place in brackets,
    and a key that is not there as it is written."""
    text = source.text.removeprefix(BYTE_ORDER_MARK)
    if looks_like_json(source.path, text):
        return None
    text, number, above = _document_in(text, source.document)
    spot = _start(text, number)
    key_spot = spot
    for key in keys:
        if spot is None:
            return None
        step = _item(text, spot, key) if isinstance(key, int) else _entry(text, spot, key)
        if step is None:
            return None
        key_spot, spot = step
    meant = key_spot if of_key else spot
    return Location(source.path, above + meant.line + 1, meant.column + 1) if meant is not None else None


_LONG = 65536  # characters of a stream of which only the document that is meant is worth reading


def _document_in(text: str, number: int) -> tuple[str, int, int]:
    """The text that a document of a stream is read in, its number there, and the lines above that text."""
    if len(text) < _LONG:
        return text, number, 0
    borders = _borders(text)
    if number + 1 >= len(borders):
        return text, number, 0
    start, end = borders[number], borders[number + 1]
    return text[start:end], 0, text.count("\n", 0, start)


@lru_cache(maxsize=2)
def _borders(text: str) -> tuple[int, ...]:
    """Return where the documents of a stream begin, and where the last one ends: none if more than bare dashes part
    them."""
    if not (text.startswith("---\n") or text[0].isalpha()) or any(sign in text for sign in _OTHER_MARKS):
        return ()
    marks = [match.start() + 1 for match in _MARK.finditer(text)]
    return (0, *marks, len(text)) if len(marks) == text.count("\n---") else ()


_MARK = regex(r"\n---(?=\n)")
_OTHER_MARKS = ("\n...", "\n%", "\r", "\x85", "\u2028", "\u2029")


# A caller that asks for one place of a text usually asks for more of them.
@lru_cache(maxsize=8)
def _readable_lines(text: str) -> tuple[str, ...]:
    """The lines of a text, none if it takes more than lines to read it."""
    try:
        read_lines(text)
    except UnusualError:
        return ()
    return tuple(text.split("\n"))


def _start(text: str, document: int) -> _Spot | None:
    """Return where a document begins."""
    starts = _starts(text)
    return _content_from(_readable_lines(text), starts[document]) if document < len(starts) else None


@lru_cache(maxsize=2)
def _starts(text: str) -> tuple[int, ...]:
    starts: list[int] = []
    lines = _readable_lines(text)
    for number, line in enumerate(lines):
        if line.startswith("---") and line[3:4] in ("", " "):
            starts.append(number + 1)
        elif not starts and _is_content(line):
            starts.append(number)
    return tuple(starts)


def _is_content(line: str) -> bool:
    return line.lstrip(" ")[:1] not in ("", "#")


def _content_from(lines: Sequence[str], start: int) -> _Spot | None:
    """Return where the content begins that stands in a line or behind it, None at the end of the document."""
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


def _entry(text: str, spot: _Spot, key: str) -> tuple[_Spot, _Spot | None] | None:
    """Return where a key of the mapping at a spot stands, and its value."""
    number, length = _entries(text, spot).get(key, (-1, 0))
    if number < 0:
        return None
    value = _value(_readable_lines(text), number, spot.column, length, is_item=False)
    return _Spot(number, spot.column), value


# A mapping or a list with many findings is not to be gone through once for each.
@lru_cache(maxsize=128)
def _entries(text: str, spot: _Spot) -> dict[str, tuple[int, int]]:
    """The keys of the mapping at a spot with their lines and lengths, up to one that can't be determined by lines."""
    lines, values = _readable_lines(text), PlainValues()
    entries: dict[str, tuple[int, int]] = {}
    for number in _siblings(lines, spot):
        content = lines[number][spot.column :].rstrip(" ")
        # A list may stand at the column of its key.
        if _is_item(content):
            if number == spot.line:
                break
            continue
        try:
            split = key_of(content, values)
        except UnusualError:
            break
        if split is None:
            break
        entries.setdefault(split[0], (number, split[1]))
    return entries


def _item(text: str, spot: _Spot, index: int) -> tuple[_Spot, _Spot | None] | None:
    """Return where an item of the list at a spot stands, twice."""
    numbers = _items(text, spot)
    if not 0 <= index < len(numbers):
        return None
    value = _value(_readable_lines(text), numbers[index], spot.column, 1, is_item=True)
    return (value, value) if value is not None else None


@lru_cache(maxsize=128)
def _items(text: str, spot: _Spot) -> tuple[int, ...]:
    """The lines of the items of the list at a spot, up to what is none."""
    lines = _readable_lines(text)
    return tuple(takewhile(lambda number: _is_item(lines[number][spot.column :].rstrip(" ")), _siblings(lines, spot)))


def _is_item(content: str) -> bool:
    return content == "-" or content.startswith("- ")


def _value(lines: Sequence[str], number: int, column: int, length: int, *, is_item: bool) -> _Spot | None:
    """Return where the value of a key or a dash begins that takes so many characters; None where there is none."""
    rest = lines[number][column + length :]
    text = rest.lstrip(" ")
    if text and text[0] != "#":
        return _Spot(number, column + length + len(rest) - len(text))
    below = _content_from(lines, number + 1)
    if below is None or below.column < column:
        return None
    is_list = lines[below.line][column:].rstrip(" ") == "-" or lines[below.line].startswith("- ", column)
    return below if below.column > column or (is_list and not is_item) else None
