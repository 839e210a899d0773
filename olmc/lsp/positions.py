"""Places as editors count them, in units of UTF-16 mostly, and as olmc does, in characters; between them offsets."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from re import Pattern

from olmc.lean import NamedTuple, regex
from olmc.model.diagnostics import Location

# What ends a line for an editor and for YAML; for JSON only the line feed does.
_EDITOR_BREAK = regex("\r\n|\n|\r")
_YAML_BREAK = regex("\r\n|[\n\r\x85\u2028\u2029]")
# A text in quotes, else what stands up to the end of a key, a comment, an item or the line.
_TOKEN = regex(r"""\"(?:[^"\\\n]|\\.)*\"|'(?:[^'\n]|'')*'|[^\r\n]*?(?=\s*(?:$|[\r\n]|:(?:\s|$)|\s\#|[,\]}]))""")
_WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class EditorPosition(NamedTuple):
    """A line and a place in it, both from 0, in the units that editor and server have agreed on."""

    line: int
    character: int


class TextLines(NamedTuple):
    """A text with the offsets at which its lines begin, as one of the two counts them."""

    text: str
    starts: tuple[int, ...]

    def line_at(self, offset: int) -> int:
        """The number of the line that an offset is in, from 0."""
        return bisect_right(self.starts, offset) - 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and a column, both from 0, or the end of what there is."""
        if line >= len(self.starts):
            return len(self.text)
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        return min(self.starts[line] + column, end)


def editor_lines(text: str) -> TextLines:
    """A text by the lines of an editor."""
    return _by_lines(text, _EDITOR_BREAK, "\r")


def olmc_lines(path: str, text: str) -> TextLines:
    """A text by the lines that places of olmc have."""
    return _by_lines(text, _YAML_BREAK, "" if path.endswith(".json") else "\r\x85\u2028\u2029")


def _by_lines(text: str, breaks: Pattern[str], unusual: str) -> TextLines:
    if any(each in text for each in unusual):
        return TextLines(text, (0, *(match.end() for match in breaks.finditer(text))))
    *lines, _ = text.split("\n")  # catalogs have tens of megabytes
    return TextLines(text, (0, *accumulate(len(line) + 1 for line in lines)))


def position_at(lines: TextLines, offset: int, encoding: str) -> EditorPosition:
    """The position of an offset; `lines` are those of the editor."""
    line = lines.line_at(offset)
    codec, width = _WIDTHS[encoding]
    before = lines.text[lines.starts[line] : offset]
    return EditorPosition(line, len(before.encode(codec, "surrogatepass")) // width)


def offset_at(lines: TextLines, position: EditorPosition, encoding: str) -> int:
    """The offset of a position, at most the end of its line."""
    codec, width = _WIDTHS[encoding]
    if position.line >= len(lines.starts):
        return len(lines.text)
    start = lines.starts[position.line]
    line = lines.text[start : lines.offset(position.line + 1, 0)].rstrip("\r\n")
    units = line.encode(codec, "surrogatepass")[: position.character * width]
    return start + len(units.decode(codec, "ignore"))


def span_of(lines: TextLines, place: Location) -> tuple[int, int]:
    """The offsets between which that stands which a place of olmc means; (0, 0) for a whole file."""
    if not place.line:
        return 0, 0
    start = lines.offset(place.line - 1, max(place.column - 1, 0))
    match = _TOKEN.match(lines.text, start)
    end = match.end() if match is not None else start
    return (start, end) if place.column else (start, lines.offset(place.line, 0))
