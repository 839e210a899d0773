"""The reader that goes line by line: what nearly all files are made of, at twice the speed of the parser's events.

It knows keys, items, plain and quoted texts, blocks, and lists in brackets; a line is taken apart once, however often
it stands there again. Everything else raises UnusualError, and `reader` asks the parser, which knows all of YAML.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from olmc.k8s.lean import regex
from olmc.k8s.yaml.document import MAX_DEPTH
from olmc.k8s.yaml.scalars import resolve

# Texts of several lines, as the parser makes them of a file's lines: blocks, quoted ones, plain ones that go on.
#
# Every function takes the lines, the number of the one to begin with and the column of the mapping or list around it,
# and gives the text with the number of the line behind it. What is not sure to be what the parser makes of it is left
# to the parser, by UnusualError.


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
    """Return the text before the closing quote, and the rest from there on; of a line without one, the part that
    counts."""
    end = closing_quote(text, quote, 0)
    if end >= 0:
        return text[:end], text[end:]
    content = text.rstrip(" ")
    if content != text and content.endswith("\\"):
        raise UnusualError
    return content, ""


def closing_quote(text: str, quote: str, start: int) -> int:
    """Return where the quote stands that ends a text in quotes whose content begins at a place; -1 if it is not
    there."""
    if quote == '"' and "\\" in text:
        match = _DOUBLE.match(text, start)
        end = match.end() if match is not None else start
        return end if text[end : end + 1] == quote else -1
    end = text.find(quote, start)
    while quote == "'" and end >= 0 and text[end + 1 : end + 2] == quote:
        end = text.find(quote, end + 2)
    return end


def _is_escape(text: str) -> bool:
    """Return whether the backslash at the end of a text is one by itself: an odd number of them stands there."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def check_rest(rest: str) -> None:
    """Raise UnusualError unless nothing but blanks and a comment stands behind a value."""
    if rest and not (rest[0] == " " and rest.lstrip(" ")[:1] in ("", "#")):
        raise UnusualError


def unescaped(text: str) -> str:
    """Return the text between double quotes, without escapes."""
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


# The bytes that the parser takes without a second look; those of more than one byte have patterns of their own.
_TAKEN = bytes((0x09, 0x0A, *range(0x20, 0x7F), *range(0x80, 0x100)))
# Of the others: control characters, other ends of lines, the byte order mark, and what is no character.
_REFUSED = frozenset([*map(chr, range(0x80, 0xA0)), *"\u2028\u2029\ufeff\ufffe\uffff"])

_LONGEST_KEY = 1000  # the parser looks no farther than 1024 characters for the colon
_HEADERS = frozenset(
    style + sign + digit + chomping
    for style in "|>"
    for digit in ("", *"123456789")
    for sign, chomping in (("", ""), ("+", ""), ("-", ""), ("", "+"), ("", "-"))
)
_FLOW = regex(r"""\ *(?:([][{},])|([A-Za-z0-9_./][\w./+-]*|"[^"\\]*"|'[^']*'(?!'))\ *(:(?=\ ))?(?![:#'"]))""")
_MOST_BRACKETS = 50
_INDICATORS = frozenset(",]{}#&*!>%@`?:-[|\"'")

# What a line is: a key or a bare value; with nothing behind the key, so that the value is in the lines below; with a
# list or nothing in brackets; with the header of a block; with a text whose closing quote is in a line below. Or it is
# a dash with one of these behind it, empty, a comment, the mark between documents, or not known.
SCALAR, NOTHING, FLOW, BLOCK, QUOTED, DASH, EMPTY, COMMENT, MARK, ODD = range(10)


Line: TypeAlias = tuple[int, int, Any, str | None, str | None]
"""The content of a line: the column where its text begins; one of the kinds above; the value, behind a dash a Line by
itself; the key or None; the text of a plain value, which the next line may continue. A tuple without names: a file has
ten thousands of them."""

# The commonest of lines: a key with nothing behind it or a text in which nothing can be syntax.
_COMMON = regex(r'([A-Za-z][\w./-]*):(?: ([A-Za-z/(][ -"$-9;-~]*))?', re.ASCII)


# How a plain scalar begins that may be something else than a text; "<" stands for the merge key.
_AMBIGUOUS = frozenset(["", *"0123456789+-.~yYnNtTfFoO<"])


class PlainValues(dict[str, Any]):
    """The values of plain scalars by text: keys and words repeat all the time, each is resolved once."""

    def __missing__(self, text: str) -> Any:
        value = text
        if text[:1] in _AMBIGUOUS:
            value = resolve(text)
            if text == "<<" or (type(value) is float and not math.isfinite(value)):
                raise UnusualError
        self[text] = value
        return value


_MOST_LINES = 100_000


class Lines(dict[str, Line]):
    """Lines, each taken apart once."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = PlainValues()

    def drop_surplus(self) -> None:
        """Forget all lines if they are more than what pays for their memory."""
        if len(self) > _MOST_LINES:
            self.clear()
            self.plain.clear()

    def __missing__(self, line: str) -> Line:
        text = line.lstrip(" ")
        try:
            known = line_of(text, len(line) - len(text), self.plain)
        except UnusualError:
            known = (len(line) - len(text), ODD, None, None, None)
        self[line] = known
        return known


def line_of(text: str, column: int, values: PlainValues) -> Line:
    """Return the content of a line whose text begins at a column; raises UnusualError."""
    match = _COMMON.fullmatch(text)
    if match is not None:
        key, value = match.groups()
        if values[key].__class__ is str:
            if value is None:
                return (column, NOTHING, None, key, None)
            if value[-1] != " ":
                return (column, SCALAR, values[value], key, value)
    if not text or text[0] == "#":
        return (column, COMMENT if text else EMPTY, None, None, None)
    content = text.rstrip(" ")
    if "\t" in content or content.startswith("..."):
        raise UnusualError
    if content == "---" or content.startswith("--- #"):
        return (column, MARK, None, None, None)
    if content == "-":
        return (column, DASH, (column + 1, NOTHING, None, None, None), None, None)
    if content.startswith("- "):
        rest = text[2:].lstrip(" ")
        if rest[:2] in ("-", "- "):
            raise UnusualError
        inner = line_of(rest, column + len(text) - len(rest), values)
        if inner[1] == MARK:
            raise UnusualError
        return (column, DASH, inner if inner[1] != COMMENT else (column + 1, NOTHING, None, None, None), None, None)
    split = key_of(content, values)
    if split is None:
        return (column, *_value(text, content, values, None))
    key, end = split
    value = content[end:].lstrip(" ")
    if not value or value[0] == "#":
        return (column, NOTHING, None, key, None)
    return (column, *_value(text[len(content) - len(value) :], value, values, key))


def key_of(content: str, values: PlainValues) -> tuple[str, int] | None:
    """The key of a line and how far it goes, with its colon; None for a line without one."""
    if content[0] in "[{":
        return None
    if content[0] in "\"'":
        end = closing_quote(content, content[0], 1) + 1
        if not end or content[end : end + 1] != ":":
            return None
        key = _quoted_text(content[:end])
    else:
        end = content.find(": ")
        if end < 0 and content[-1] == ":":
            end = len(content) - 1
        comment = content.find(" #")
        if end < 0 or 0 <= comment < end:
            return None
        key = content[:end]
        if not key or key[0] in _INDICATORS or key[-1] == " ":
            raise UnusualError
        key = values[key]
    if key.__class__ is not str or end > _LONGEST_KEY or content[end + 1 : end + 2] not in ("", " "):
        raise UnusualError
    return key, end + 1


def _value(text: str, content: str, values: PlainValues, key: str | None) -> tuple[int, Any, str | None, str | None]:
    """Return the value behind a key, if there is one; `content` is `text` without blanks at its end."""
    first = content[0]
    if first in "\"'":
        end = closing_quote(content, first, 1) + 1
        if not end:
            return QUOTED, text, key, None
        check_rest(content[end:])
        return SCALAR, _quoted_text(content[:end]), key, None
    if first in "|>":
        header, _, rest = content.partition(" ")
        if header not in _HEADERS or rest.lstrip(" ")[:1] not in ("", "#"):
            raise UnusualError
        return BLOCK, header, key, None
    if first in "[{":
        return FLOW, content, key, None
    if first in _INDICATORS and (first not in "-?:" or content[1:2] in ("", " ")):
        raise UnusualError
    comment = content.find(" #")
    plain_text = content if comment < 0 else content[:comment].rstrip(" ")
    if ": " in plain_text or plain_text[-1] == ":":
        raise UnusualError
    return SCALAR, values[plain_text], key, plain_text if comment < 0 else None


def _quoted_text(text: str) -> str:
    return unescaped(text[1:-1]) if text[0] == '"' else text[1:-1].replace("''", "'")


def _flow(text: str, values: PlainValues) -> Any:
    """The list or mapping in brackets that a text is: of words, quoted texts without escapes, and more brackets."""
    if text in ("[]", "{}"):
        return [] if text == "[]" else {}
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise UnusualError
    value, end = _bracketed(text, 1, values)
    check_rest(text[end:])
    return value


def _bracketed(text: str, at: int, values: PlainValues) -> tuple[Any, int]:
    """The list or mapping whose bracket stands before a place, and the place behind it."""
    is_list = text[at - 1] == "["
    items: list[Any] = []
    mapping: dict[str, Any] = {}
    while True:
        match = _FLOW.match(text, at)
        if match is None:
            raise UnusualError
        sign, word, colon = match.groups()
        at = match.end()
        key = None
        if colon and not is_list:
            key = _word(word, values)
            if key.__class__ is not str or key in mapping or (match := _FLOW.match(text, at)) is None:
                raise UnusualError
            sign, word, colon = match.groups()
            at = match.end()
        if sign in ("]", "}"):
            if key is not None or items or mapping or is_list is not (sign == "]"):
                raise UnusualError  # behind a comma, or of the other kind
            return ([] if is_list else {}), at
        if colon or sign == "," or (key is None and not is_list):
            raise UnusualError
        value, at = _bracketed(text, at, values) if sign else (_word(word, values), at)
        if key is None:
            items.append(value)
        else:
            mapping[key] = value
        match = _FLOW.match(text, at)
        if match is None or match[1] not in (",", "]" if is_list else "}"):
            raise UnusualError
        at = match.end()
        if match[1] != ",":
            return (items if is_list else mapping), at


def _word(text: str, values: PlainValues) -> Any:
    return text[1:-1] if text[0] in "\"'" else values[text]


def split_lines(text: str) -> list[str]:
    """The lines of a text, of which the last need not end; UnusualError for one with characters that are special."""
    try:
        special = text.encode().translate(None, _TAKEN)
    except UnicodeEncodeError:
        raise UnusualError from None
    if special or not (text.isascii() or _REFUSED.isdisjoint(text)):
        raise UnusualError
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def read_lines(text: str, known: Lines | None = None) -> list[Any]:
    """The values of the documents of a stream, or UnusualError; `known` are the lines of texts like it.

    Reading spends its time in this loop, so it calls functions of ours only for what is in few lines, and asks the
    commonest question first. `node` is the list or mapping being filled, which stands at the column `indent`, `stack`
    those around it; `waiting` says that the last key or dash has no value yet, `last` is the plain text behind it,
    which the next line may carry on.
    """
    lines = split_lines(text)
    known = known if known is not None else Lines()
    documents: list[Any] = []
    stack: list[tuple[int, Any]] = []
    node: Any = documents
    new: Any
    indent, waiting, last, key = -1, False, None, ""
    bare = 0  # documents without a mark, of which only the first can be one
    number, stop = 0, len(lines)
    while number < stop:
        column, kind, value, name, plain_text = known[lines[number]]
        number += 1
        is_item = False
        if column != indent or name is None or node.__class__ is list:
            if kind == EMPTY:
                continue
            if column > indent and not waiting and stack and kind != COMMENT:
                if last is None:
                    raise UnusualError
                whole, number = plain(lines, _behind_text(lines, number - 1), indent, last)
                node[key if node.__class__ is dict else -1] = known.plain[whole]
                last = None
                continue
            if kind >= COMMENT:
                last = None
                if kind == MARK and column == 0:
                    stack, node, indent, waiting = [], documents, -1, True
                    documents.append(None)
                elif kind != COMMENT:
                    raise UnusualError
                continue
            if not stack and not waiting:
                if documents:
                    raise UnusualError
                documents.append(None)
                waiting, bare = True, 1
            if column < indent:
                waiting = False
                while indent > column:
                    indent, node = stack.pop()
                if indent != column:
                    raise UnusualError
            is_item = kind == DASH
            if is_item or name is not None:
                if column > indent or (is_item and waiting and node.__class__ is dict):
                    new = [] if is_item else {}
                    node[key if node.__class__ is dict else -1] = new
                    stack.append((indent, node))
                    node, indent = new, column
                elif not is_item and node.__class__ is list:
                    indent, node = stack.pop()
                if indent != column or (node.__class__ is list) is not is_item:
                    raise UnusualError
                if is_item:
                    column, kind, value, name, plain_text = value
                    if name is not None:
                        new = {}
                        node.append(new)
                        stack.append((indent, node))
                        node, indent, is_item = new, column, False
                if len(stack) > MAX_DEPTH:
                    raise UnusualError
            elif not waiting or column <= indent or not stack:
                raise UnusualError
        waiting, last = kind == NOTHING, plain_text
        if kind > NOTHING:
            if kind == FLOW:
                value = _flow(value, known.plain)
            else:
                value, number = (block if kind == BLOCK else quoted)(lines, number, indent, value)
                if number == stop and text[-1] != "\n":
                    raise UnusualError
        if name is not None:
            if name in node:
                raise UnusualError
            key = name
            node[name] = value
        elif is_item:
            node.append(value)
        else:
            node[key if node.__class__ is dict else -1] = value
    # Kubernetes ends a document at other lines, too, and at lines within a text.
    if text.count("\n---") + text.startswith("---") != len(documents) - bare:
        raise UnusualError
    return documents


def _behind_text(lines: Sequence[str], number: int) -> int:
    """The first of the empty lines before a line, or itself."""
    while not lines[number - 1].strip(" "):
        number -= 1
    return number
