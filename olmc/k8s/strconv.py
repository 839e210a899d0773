"""Numbers and texts as Go prints them, and what it takes for white space."""

from __future__ import annotations

import math
import re

SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The spaces of unicode.IsSpace, which strings.TrimSpace removes. A bare str.strip() also takes the separators U+001C
to U+001F."""

_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


MAX_INT64 = 2**63 - 1


def decimal(digits: str, most: int = MAX_INT64) -> int | None:
    """The number that decimal digits spell, None for another text and for what is more than `most`.

    They are counted first, since Python refuses to convert thousands of them.
    """
    if not (digits.isascii() and digits.isdigit()):
        return None
    significant = digits.lstrip("0")
    number = int(significant or "0") if len(significant) <= len(str(most)) else most + 1
    return number if number <= most else None


EXACT = 2**53
"""Up to here a float holds each integer."""


def number_text(value: int | float) -> str:
    """A number as Go's encoding/json writes it: exponents only below 1e-6 and from 1e21, no `.0`.

    Raises ValueError with Go's text for infinities and NaN.
    """
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise ValueError(f"json: unsupported value: {name}")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if 1e-6 <= abs(value) < 1e21:
        from decimal import Decimal  # large numbers are rare, and imports take their time

        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    return re.sub(r"e-0(\d)$", r"e-\1", repr(value))


def integral(value: float) -> int | None:
    """The integer that a float is once Go has written it as JSON (1000.0 is 1000), None for any other.

    Go writes as few digits as tell the float apart from others, and fills up with zeros.
    """
    if not value.is_integer() or abs(value) >= 1e21:
        return None
    return int(value) if abs(value) <= EXACT else int(number_text(value))


def quoted(text: str) -> str:
    """A text as Go's %q prints it (strconv.Quote)."""
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _escaped(c)) for c in text) + '"'


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_IN_SUFFIX = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-"
_IN_NUMBER = "0123456789"
_MOST_DIGITS = 9


def minor_of(kube_version: str) -> int:
    """The minor version of Kubernetes 1 in a version like `v1.36.2`, 0 if there is none."""
    parts = kube_version.removeprefix("v").split(".")
    # Some providers report the minor with a sign behind it, such as 27+.
    digits = "".join(char for char in parts[1] if char in _IN_NUMBER) if len(parts) > 1 else ""
    return int(digits) if _is_number(digits) else 0


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def full_kube_version(text: str) -> str:
    """A version like `1.36` or `v1.36.2+k3s1` as a cluster reports it (`v1.36.0`), "" for what is no version."""
    version = text.removeprefix("v")
    numbers = version.partition("-")[0].partition("+")[0]
    suffix = version[len(numbers) :]
    parts = numbers.split(".")
    if len(parts) not in (2, 3) or not all(map(_is_number, parts)) or suffix.strip(_IN_SUFFIX):
        return ""
    return f"v{numbers}{'.0' if len(parts) == 2 else ''}{suffix}"
