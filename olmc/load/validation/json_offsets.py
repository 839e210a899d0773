"""Where Go's JSON scanner gives up on a text: it counts bytes, the offending one included (R-CAT-211)."""

from __future__ import annotations

import re

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING_PART = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS = re.compile(rb"[0-9]*")
_HEX = b"0123456789abcdefABCDEF"
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_CLOSING = {ord("{"): ord("}"), ord("["): ord("]")}
_END = b"\x00"
"""Behind the last byte, so that no function has to ask for the end: it can stand nowhere in JSON."""


class _OffenceError(Exception):
    """The index of the first byte that can't be there."""


def invalid_offset(text: bytes) -> int | None:
    """How many bytes Go has read when it finds that `text` is no JSON value; None if it is one."""
    data = text + _END
    try:
        end = _after_space(data, _value(data))
        if end < len(text):
            raise _OffenceError(end)
    except _OffenceError as offence:
        return min(int(offence.args[0]) + 1, len(text))
    return None


def _value(data: bytes) -> int:
    """The index behind the value; without recursion, since a stranger chose the depth."""
    at = 0
    closing: list[int] = []
    while True:
        at = _after_space(data, at)
        if data[at] in _CLOSING:
            end = _CLOSING[data[at]]
            inside = _after_space(data, at + 1)
            if data[inside] != end:
                closing.append(end)
                at = _item_start(data, inside, end)
                continue
            at = inside + 1
        else:
            at = _scalar(data, at)
        at = _after_space(data, at)
        while closing and data[at] == closing[-1]:
            closing.pop()
            at = _after_space(data, at + 1)
        if not closing:
            return at
        if data[at] != ord(","):
            raise _OffenceError(at)
        at = _item_start(data, _after_space(data, at + 1), closing[-1])


def _after_space(data: bytes, at: int) -> int:
    match = _SPACE.match(data, at)
    assert match is not None
    return match.end()


def _item_start(data: bytes, at: int, closing: int) -> int:
    """Where the value of an item begins: in an object, behind its key."""
    if closing != ord("}"):
        return at
    if data[at] != ord('"'):
        raise _OffenceError(at)
    at = _after_space(data, _string(data, at))
    if data[at] != ord(":"):
        raise _OffenceError(at)
    return at + 1


def _scalar(data: bytes, at: int) -> int:
    first = data[at]
    if first == ord('"'):
        return _string(data, at)
    if first in _LITERALS:
        for index, byte in enumerate(_LITERALS[first]):
            if data[at + index] != byte:
                raise _OffenceError(at + index)
        return at + len(_LITERALS[first])
    if first in b"-0123456789":
        return _number(data, at)
    raise _OffenceError(at)


def _string(data: bytes, at: int) -> int:
    at += 1
    while True:
        match = _STRING_PART.match(data, at)
        assert match is not None
        at = match.end()
        if data[at] == ord('"'):
            return at + 1
        if data[at] != ord("\\"):
            raise _OffenceError(at)
        at = _escape(data, at + 1)


def _escape(data: bytes, at: int) -> int:
    if data[at] == ord("u"):
        for index in range(at + 1, at + 5):
            if data[index] not in _HEX:
                raise _OffenceError(index)
        return at + 5
    if data[at] not in b'"\\/bfnrt':
        raise _OffenceError(at)
    return at + 1


def _number(data: bytes, at: int) -> int:
    at += data[at] == ord("-")
    at = at + 1 if data[at] == ord("0") else _digits(data, at)
    if data[at] == ord("."):
        at = _digits(data, at + 1)
    if data[at] in b"eE":
        at += 2 if data[at + 1] in b"+-" else 1
        at = _digits(data, at)
    return at


def _digits(data: bytes, at: int) -> int:
    match = _DIGITS.match(data, at)
    assert match is not None
    if match.end() == at:
        raise _OffenceError(at)
    return match.end()
