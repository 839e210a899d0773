"""What to do about a value that Go refuses to decode."""

from __future__ import annotations

import re

from olmc.golang import GoTypeError

_INTEGER = re.compile(r"u?int\d*")
_KINDS = {"bool": "a boolean", "string": "a text", "array": "a list", "object": "a mapping", "number": "a number"}


def way_out(refusal: GoTypeError) -> str:
    """What to write instead of a value that does not fit its type, as a hint."""
    expected, got = refusal.expected.removeprefix("*"), _KINDS.get(refusal.got.partition(" ")[0], "something else")
    if not (refusal.is_mismatch and refusal.got):
        return "Correct the value."
    if expected.startswith("[]"):
        return f"Write a list, even for a single value: here stands {got}."
    if expected == "string":
        quoted = "; in quotes it is one" if got in ("a boolean", "a number") else ""
        return f"Write a text: here stands {got}{quoted}."
    if expected == "bool":
        return f"Write true or false, without quotes: here stands {got}."
    if _INTEGER.fullmatch(expected):
        return f"Write a whole number, without quotes: here stands {got}."
    return f"Write a mapping (lines of `key: value`): here stands {got}."
