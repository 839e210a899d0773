"""What Go's decoder says about a text that is not JSON."""

from __future__ import annotations

from olmc.k8s.lean import regex
from olmc.k8s.strconv import quoted

_SPACE = regex(r"[ \t\r\n]*")
_NUMBER = regex(r"-?(?:0|[1-9][0-9]*)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?")
_WHOLE_NUMBER = regex(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = ("true", "false", "null")
_HEX = "0123456789abcdefABCDEF"


class _JSONTextError(Exception):
    """The text breaks the grammar; the message is Go's."""


def syntax_error(text: str) -> str:
    """What encoding/json says about a text, "" for one that is JSON (R-V1-LOAD-4)."""
    try:
        after = _space(text, _value(text, 0))
        if after < len(text):
            _refuse(text, after, "after top-level value")
    except _JSONTextError as error:
        return str(error)
    except RecursionError:
        return "exceeded max depth"
    return ""


def _refuse(text: str, at: int, where: str) -> None:
    if at >= len(text):
        raise _JSONTextError("unexpected end of JSON input")
    # Go puts characters in single quotes, and escapes these two in its own way.
    char = {"'": r"'\''", '"': "'\"'"}.get(text[at]) or f"'{quoted(text[at])[1:-1]}'"
    raise _JSONTextError(f"invalid character {char} {where}")


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int) -> int:
    """Where the value ends that begins behind the white space at an offset."""
    at = _space(text, at)
    first = text[at : at + 1]
    if first == "{":
        return _members(text, at, "}", is_object=True)
    if first == "[":
        return _members(text, at, "]", is_object=False)
    if first == '"':
        return _string(text, at)
    if first and first in "-0123456789":
        return _number(text, at)
    literal = next((word for word in _LITERALS if first and word.startswith(first)), None)
    if literal is None:
        _refuse(text, at, "looking for beginning of value")
        return at
    for offset, char in enumerate(literal):
        if text[at + offset : at + offset + 1] != char:
            _refuse(text, at + offset, f"in literal {literal} (expecting '{char}')")
    return at + len(literal)


def _members(text: str, at: int, closing: str, *, is_object: bool) -> int:
    at = _space(text, at + 1)
    if text[at : at + 1] == closing:
        return at + 1
    while True:
        if is_object:
            at = _space(text, at)
            if text[at : at + 1] != '"':
                _refuse(text, at, "looking for beginning of object key string")
            at = _space(text, _string(text, at))
            if text[at : at + 1] != ":":
                _refuse(text, at, "after object key")
            at += 1
        at = _space(text, _value(text, at))
        if text[at : at + 1] == closing:
            return at + 1
        if text[at : at + 1] != ",":
            _refuse(text, at, "after object key:value pair" if is_object else "after array element")
        at += 1


def _string(text: str, at: int) -> int:
    at += 1
    while text[at : at + 1] != '"':
        if text[at : at + 1] < " ":
            _refuse(text, at, "in string literal")
        at += 1
        if text[at - 1] == "\\":
            if not text[at : at + 1] or text[at] not in 'bfnrt\\/"u':
                _refuse(text, at, "in string escape code")
            at += 1
            for _ in range(4 if text[at - 1] == "u" else 0):
                if not text[at : at + 1] or text[at] not in _HEX:
                    _refuse(text, at, r"in \u hexadecimal character escape")
                at += 1
    return at + 1


def _number(text: str, at: int) -> int:
    match = _NUMBER.match(text, at)
    end = match.end() if match else at
    number = text[at:end]
    if not _WHOLE_NUMBER.fullmatch(number):
        where = "in exponent of" if number[-1] in "eE+-" and len(number) > 1 else "in"
        _refuse(text, end, f"{'after decimal point in' if number.endswith('.') else where} numeric literal")
    return end
