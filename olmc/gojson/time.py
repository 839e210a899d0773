"""Points in time as Kubernetes reads and writes them (R-JSON-7)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from olmc.strconv import quoted

LAYOUT = "2006-01-02T15:04:05Z07:00"

_PARTS = (
    # what stands before, the layout's name of the part, its shape, its name in messages, its bounds
    ("", "2006", re.compile(r"[0-9]{4}"), "", 0, 9999),
    ("-", "01", re.compile(r"[0-9]{2}"), "month", 1, 12),
    ("-", "02", re.compile(r"[0-9]{2}"), "", 0, 99),
    ("T", "15", re.compile(r"[0-9]{1,2}"), "hour", 0, 23),
    (":", "04", re.compile(r"[0-9]{2}"), "minute", 0, 59),
    (":", "05", re.compile(r"[0-9]{2}"), "second", 0, 59),
)
_FRACTION = re.compile(r"[.,][0-9]+")
_ZONE = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")


def canonical_time(text: str) -> str | None:
    """The time of an RFC 3339 text, in UTC and to the second; None for Go's zero time, which counts as unset.

    Raises ValueError with Go's text for anything else.
    """
    values, rest = _numbers(text)
    offset, rest = _offset(text, rest)
    if rest:
        raise ValueError(f"parsing time {quoted(text)}: extra text: {quoted(rest)}")
    year, month, day, hour, minute, second = values
    try:
        moment = datetime(_like(year), month, day, hour, minute, second) - offset
    except ValueError:
        raise ValueError(f"parsing time {quoted(text)}: day out of range") from None
    year += moment.year - _like(year)
    written = f"{'-' * (year < 0)}{abs(year):04d}-{moment:%m-%dT%H:%M:%S}Z"
    return None if written == "0001-01-01T00:00:00Z" else written


def _like(year: int) -> int:
    """A year with the same calendar that is far from the ends of Python's time, which Go does not have."""
    return 2000 + year % 400


def _numbers(text: str) -> tuple[list[int], str]:
    rest, values = text, []
    for before, part, shape, name, low, high in _PARTS:
        if not rest.startswith(before):
            raise ValueError(_cannot(text, rest, before))
        rest = rest[len(before) :]
        match = shape.match(rest)
        if match is None:
            raise ValueError(_cannot(text, rest, part))
        value = int(match.group())
        if not low <= value <= high:
            raise ValueError(f"parsing time {quoted(text)}: {name} out of range")
        values.append(value)
        rest = rest[match.end() :]
    fraction = _FRACTION.match(rest)
    return values, rest[fraction.end() :] if fraction else rest


def _offset(text: str, rest: str) -> tuple[timedelta, str]:
    if rest.startswith("Z"):
        return timedelta(), rest[1:]
    zone = _ZONE.match(rest)
    if zone is None:
        raise ValueError(_cannot(text, rest, "Z07:00"))
    sign, hours, minutes = zone.groups()
    for name, value, most in (("hour", hours, 24), ("minute", minutes, 60)):
        if int(value) > most:
            raise ValueError(f"parsing time {quoted(text)}: time zone offset {name} out of range")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return (offset if sign == "+" else -offset), rest[zone.end() :]


def _cannot(text: str, rest: str, part: str) -> str:
    return f"parsing time {quoted(text)} as {quoted(LAYOUT)}: cannot parse {quoted(rest)} as {quoted(part)}"
