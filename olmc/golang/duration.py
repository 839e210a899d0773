"""Durations as Go reads them."""

from __future__ import annotations

import re
from fractions import Fraction

from olmc.strconv import quoted

_SECOND = 10**9
_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6}
_NANOSECONDS |= {"s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND}
_PART = re.compile(r"(?P<number>\d+\.?\d*|\.\d+)(?P<unit>[^\d.]*)", re.ASCII)
_LONGEST = 2**63
_DIGITS = len(str(_LONGEST))


def duration_problem(text: str) -> str:
    """Go's error for a duration such as `1h30m` that it can't read, "" if it can."""
    invalid = f"time: invalid duration {quoted(text)}"
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return ""
    total, at = Fraction(0), 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:
            return invalid
        if not part["unit"]:
            return f"time: missing unit in duration {quoted(text)}"
        if part["unit"] not in _NANOSECONDS:
            return f"time: unknown unit {quoted(part['unit'])} in duration {quoted(text)}"
        whole, _, fraction = part["number"].partition(".")
        if len(whole.lstrip("0")) > _DIGITS:
            return invalid
        total += Fraction(f"{whole[-_DIGITS:]}.{fraction[:_DIGITS]}0") * _NANOSECONDS[part["unit"]]
        at = part.end()
    is_too_long = total > _LONGEST - (0 if text.startswith("-") else 1)
    return invalid if not rest or is_too_long else ""
