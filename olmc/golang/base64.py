"""Base 64 as Go's standard encoding reads it."""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64

_WHOLE = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def canonical(text: str) -> str:
    """The text that Go writes for the bytes of a base 64 text: line ends gone, unused bits zero.

    Raises ValueError with Go's text.
    """
    bare = text.replace("\r", "").replace("\n", "")
    if not _WHOLE.fullmatch(bare):
        raise ValueError(f"illegal base64 data at input byte {_offence(text)}")
    return encoded(a2b_base64(bare))


def encoded(data: bytes) -> str:
    """Bytes in base 64."""
    return b2a_base64(data, newline=False).decode("ascii")


def _offence(text: str) -> int:
    """Where Go finds a text to be no base 64: it reads groups of four and stops inside the first bad one."""
    octets = text.encode("utf-8", "surrogatepass").decode("latin-1")
    places = [i for i, char in enumerate(octets) if char not in "\r\n"]
    for start in range(0, len(places), 4):
        group = places[start : start + 4]
        for index, place in enumerate(group):
            if octets[place] in _ALPHABET:
                continue
            if octets[place] == "=" and index >= 2:
                return _after_padding(octets, places, start + index)
            return place
        if len(group) < 4:
            return len(octets) - len(group)
    raise AssertionError(f"no offence in {text!r}")


def _after_padding(octets: str, places: list[int], padding: int) -> int:
    last = padding
    if padding % 4 == 2:
        last += 1
        if last == len(places):
            return len(octets)
        if octets[places[last]] != "=":
            return places[last] - 1
    return places[last + 1]
