"""Texts of several lines, as the parser makes them of a file's lines: blocks, quoted ones, plain ones that go on.

Every function takes the lines, the number of the one to begin with and the column of the mapping or list around it, and
gives the text with the number of the line behind it. What is not sure to be what the parser makes of it is left to the
parser, by UnusualError.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from olmc.lean import regex


class UnusualError(Exception):
    """The text holds something that a fast reader leaves to one that knows more."""


_DOUBLE = regex(r'[^"\\]*(?:\\.[^"\\]*)*')
_ESCAPE = regex(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", " ": " ",
    '"': '"', "\\": "\\",
}  # fmt: skip


def block(lines: Sequence[str], start: int, around: int, header: str) -> tuple[str, int]:
    """A literal (`|`) or folded (`>`) block whose content begins with the line `start`."""
    width = _width(lines, start, around, header)
    pad, stop, content = " " * width, len(lines), []
    number = start
    while number < stop:
        line = lines[number]
        if line.startswith(pad):
            content.append(line[width:])
        elif not line.strip(" "):
            content.append("")
        else:
            break
        number += 1
    breaks = len(content)
    while content and not content[-1]:
        content.pop()
    if not content:
        raise UnusualError
    text = "\n".join(content) if header[0] == "|" else _folded_block(content)
    if "-" in header:
        return text, number
    return text + ("\n" * (breaks - len(content) + 1) if "+" in header else "\n"), number


def _width(lines: Sequence[str], start: int, around: int, header: str) -> int:
    """The indentation of a block: what the header says, or that of its first line."""
    digit = header.strip("|>+-")
    if digit:
        return max(around, 0) + int(digit)
    number, deepest = start, 0
    while number < len(lines) and not lines[number].strip(" "):
        deepest = max(deepest, len(lines[number]))
        number += 1
    first = lines[number] if number < len(lines) else ""
    text = first.lstrip(" ")
    width = len(first) - len(text)
    if width <= around or width < deepest or width == 0 or text[0] == "\t":
        raise UnusualError
    return width


def _folded_block(content: Sequence[str]) -> str:
    """The lines of a folded block as one text: a break is a space, unless it stands at a line that is indented more."""
    parts: list[str] = []
    breaks, is_indented = 0, True
    for line in content:
        if not line:
            breaks += 1
            continue
        was_indented, is_indented = is_indented, line[0] in " \t"
        if not parts:
            parts.append("\n" * breaks)
        elif was_indented or is_indented:
            parts.append("\n" * (breaks + 1))
        else:
            parts.append("\n" * breaks or " ")
        parts.append(line)
        breaks = 0
    return "".join(parts)


def plain(lines: Sequence[str], start: int, around: int, first: str) -> tuple[str, int]:
    """A plain text that begins with `first` and goes on with the lines from `start` on, empty ones among them."""
    parts, breaks, number = [first], 0, start
    while number < len(lines):
        line = lines[number]
        text = line.strip(" ")
        if not text:
            breaks += 1
        elif len(line) - len(line.lstrip(" ")) <= around:
            break
        elif text[0] == "#" or ": " in text or text[-1] == ":" or " #" in text or "\t" in text:
            raise UnusualError
        else:
            parts += ("\n" * breaks or " ", text)
            breaks = 0
        number += 1
    return "".join(parts), number - breaks


def quoted(lines: Sequence[str], start: int, around: int, first: str) -> tuple[str, int]:
    """A text in quotes that begins with `first`, the quote among it, and goes on with the lines from `start` on."""
    quote = first[0]
    parts, breaks, number = [], 0, start
    text, is_folded, begins = first[1:], True, True
    while True:
        content, rest = _until_quote(text, quote)
        if begins:
            begins = False
        elif content or rest:
            parts.append("\n" * breaks or (" " if is_folded else ""))
            breaks = 0
        if rest:
            parts.append(content)
            check_rest(rest[1:])
            whole = "".join(parts)
            return (unescaped(whole) if quote == '"' else whole.replace("''", "'")), number
        is_folded = not (quote == '"' and content.endswith("\\") and _is_escape(content))
        parts.append(content[:-1] if not is_folded else content)
        while True:
            if number >= len(lines):
                raise UnusualError
            line = lines[number]
            number += 1
            if line.strip(" "):
                break
            breaks += 1
        text = line.lstrip(" ")
        if len(line) - len(text) <= around or "\t" in line:
            raise UnusualError


def _until_quote(text: str, quote: str) -> tuple[str, str]:
    """What stands before the closing quote, and the rest from there on; of a line without one, what counts of it."""
    end = closing_quote(text, quote, 0)
    if end >= 0:
        return text[:end], text[end:]
    content = text.rstrip(" ")
    if content != text and content.endswith("\\"):
        raise UnusualError
    return content, ""


def closing_quote(text: str, quote: str, start: int) -> int:
    """Where the quote stands that ends a text in quotes whose content begins at a place; -1 if it is not there."""
    if quote == '"' and "\\" in text:
        match = _DOUBLE.match(text, start)
        end = match.end() if match is not None else start
        return end if text[end : end + 1] == quote else -1
    end = text.find(quote, start)
    while quote == "'" and end >= 0 and text[end + 1 : end + 2] == quote:
        end = text.find(quote, end + 2)
    return end


def _is_escape(text: str) -> bool:
    """Whether the backslash at the end of a text is one by itself: an odd number of them stands there."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def check_rest(rest: str) -> None:
    """Raise UnusualError unless nothing but blanks and a comment stands behind a value."""
    if rest and not (rest[0] == " " and rest.lstrip(" ")[:1] in ("", "#")):
        raise UnusualError


def unescaped(text: str) -> str:
    """What stands between double quotes, without escapes."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    if digits:
        code = int(digits, 16)
        if 0xD800 <= code <= 0xDFFF:
            raise UnusualError
        return chr(code)
    try:
        return _ESCAPED[match[3]]
    except KeyError:
        raise UnusualError from None
