"""Formats of texts as Go and the API server read them: regular expressions, durations, formats of OpenAPI schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from olmc.k8s.lean import regex
from olmc.k8s.strconv import decimal, quoted

if TYPE_CHECKING:
    from fractions import Fraction
    from ipaddress import IPv4Address, IPv6Address

# The part of RE2's syntax that most schemas do with; a pattern with anything else goes to the library.
_TOKEN = regex(
    r"""\\[][./+*?(){}|^$dDwWsS-]                                           # an escape
    |\[\^?-?(?:[\w ./:@%#~=+*,;!'<>&$(){}|?]|a-z|A-Z|[0-4]-9|0-[0-9]|a-f|A-F|\\[][./dws-]|-(?=\]))+\]   # a class
    |\{(?P<least>[0-9]{1,3})(?:,(?P<most>[0-9]{0,3}))?\}                    # a count
    |[^][\\(){}*+?|]                                                        # a character""",
    re.VERBOSE | re.ASCII,
)
_SIMPLE = r"(?:a(?:[*+?]\??)?|\|)*"
_GROUP, _WHOLE = regex(rf"\((?:\?:)?{_SIMPLE}\)"), regex(_SIMPLE)
_MOST = 1000
"""The largest number of repetitions in Go."""
_DEEPEST = 50
"""With how many groups a pattern is still read without the library, which takes a step for each that is in another."""

_LOOKS_BEHIND = ("(?<=", "(?<!")
_WORDS = {
    "invalid character class range": "invalid character class range",
    "invalid escape sequence": "invalid escape sequence",
    "unexpected )": "unexpected )",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}
"""Errors of RE2, with Go's words for them."""


def search(pattern: str, text: str) -> bool:
    """Return whether an untrusted pattern is found in a text; never one that Go can't compile."""
    return search_text(pattern, text) is not None


def search_text(pattern: str, text: str) -> str | None:
    """The first part of a text that an untrusted pattern matches, None if there is none or Go can't compile it."""
    try:
        match = _compiled(pattern).search(_whole(text))
    except _PatternError:
        return None
    return None if match is None else str(match.group())


@lru_cache(maxsize=4096)
def compile_error(pattern: str) -> str:
    """Go's error for a pattern that it can't compile.

    "" for one that it can, or may: newer releases of RE2's libraries know more classes of characters.
    """
    if _is_plain(pattern):
        return ""
    try:
        _compiled(pattern)
    except _PatternError as error:
        kind, _, at = error.args[0].decode("utf-8", "replace").partition(": ")
        return _in_go(kind, at, pattern)
    return ""


def _is_plain(pattern: str) -> bool:
    """Return whether a pattern compiles without a doubt, so that no library need be loaded for it."""
    if pattern.count("(") > _DEEPEST:
        return False
    # Go limits what nested counts multiply to. Here all are multiplied, nested or not: that sends a pattern too many to
    # the library, but never one too few.
    times = 1
    for count in _TOKEN.finditer(pattern):
        if count["least"]:
            least, most = int(count["least"]), int(count["most"] or count["least"])
            times *= max(most, 1) if least <= most else _MOST + 1
    shape = _TOKEN.sub(lambda token: "*" if token["least"] else "a", pattern)
    while "(" in shape and (outer := _GROUP.sub("a", shape)) != shape:
        shape = outer
    return times <= _MOST and _WHOLE.fullmatch(shape) is not None


def _in_go(kind: str, at: str, pattern: str) -> str:
    if kind not in _WORDS or (kind == "invalid character class range" and at[:2] in (r"\p", r"\P")):
        return ""  # newer libraries know more classes
    if at in _LOOKS_BEHIND:
        # Go takes what follows `(?<` for the name of a group, where the library sees an operator of Perl's.
        kind, at = "invalid named capture group", pattern[pattern.find(at) :]
        at = at[: at.find(">") + 1] or at
    elif kind == "invalid repetition size":
        at = at.removesuffix("?")
    return f"error parsing regexp: {_WORDS[kind]}: `{at}`"


def _whole(text: str) -> str:
    """A text without halves of characters, which the library doesn't take."""
    return text.encode("utf-8", "replace").decode()


class _PatternError(Exception):
    """A pattern that RE2 can't compile, with its message in bytes."""


def _compiled(pattern: str) -> Any:
    """Compile an untrusted pattern by RE2, quietly. Raises _PatternError."""
    import re2  # few runs need it, and it takes time

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_whole(pattern), options)
    except re2.error as error:
        raise _PatternError(*error.args) from error


_SECOND = 10**9
_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6}
_NANOSECONDS |= {"s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND}
_DURATION_PART = regex(r"(?P<number>\d+\.?\d*|\.\d+)(?P<unit>[^\d.]*)", re.ASCII)
_LONGEST = 2**63
_DIGITS = len(str(_LONGEST))


def duration_problem(text: str) -> str:
    """Go's error for a duration such as `1h30m` that it can't read, "" if it can."""
    try:
        seconds(text)
    except ValueError as error:
        return str(error)
    return ""


def seconds(duration: str) -> Fraction:
    """The seconds of a duration such as `1h30m`; ValueError with Go's text for what Go can't read."""
    invalid = f"time: invalid duration {quoted(duration)}"
    negative = duration.startswith("-")
    rest = duration[1:] if duration[:1] in ("-", "+") else duration
    from fractions import Fraction  # few files have durations, and imports take their time

    # Only zero needs no unit.
    if rest == "0":
        return Fraction(0)
    total, at = Fraction(0), 0
    while at < len(rest):
        part = _DURATION_PART.match(rest, at)
        if part is None:
            raise ValueError(invalid)
        if not part["unit"]:
            raise ValueError(f"time: missing unit in duration {quoted(duration)}")
        if part["unit"] not in _NANOSECONDS:
            raise ValueError(f"time: unknown unit {quoted(part['unit'])} in duration {quoted(duration)}")
        whole, _, fraction = part["number"].partition(".")
        if len(whole.lstrip("0")) > _DIGITS:
            raise ValueError(invalid)
        total += Fraction(f"{whole[-_DIGITS:]}.{fraction[:_DIGITS]}0") * _NANOSECONDS[part["unit"]]
        at = part.end()
    # In 64 bits the least duration has no positive counterpart.
    if not rest or total > _LONGEST - (0 if negative else 1):
        raise ValueError(invalid)
    return (-total if negative else total) / _SECOND


_UNITS = frozenset({"ns", "us", "µs", "ms", "s", "sec", "m", "min", "h", "hr", "d", "w", "wk"})
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week", "µs")
_DURATION = regex(r"\s*+(?:[0-9]++\s*+[A-Za-zµ]++\s*+)++")
_PART = regex(r"(?<![0-9])([0-9]++)\s*+([A-Za-zµ]++)")
_DATE = regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# go-openapi doesn't escape the dot before the fraction either, so any sign will do there.
_TIME = regex(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_BASE64 = regex(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
# Nor does it insist on the dashes.
_UUID = "(?i:[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{}[0-9a-f]{{3}}-?{}[0-9a-f]{{3}}-?[0-9a-f]{{12}})"
_MAC = regex(r"(?i:[0-9a-f]{2}(?P<sep>[:-])(?:[0-9a-f]{2}(?P=sep)){4,18}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2,9}[0-9a-f]{4})")
_MAC_OCTETS = (6, 8, 20)


def supports(name: str) -> bool:
    """Return whether texts of this format are checked."""
    # go-openapi drops the dashes of formats' names: `date-time` and `datetime` are one.
    return name.replace("-", "") in _CHECKS


def conforms(name: str, text: str) -> bool:
    """Return whether a text has a format that `supports` knows."""
    return _CHECKS[name.replace("-", "")](text)


def _is_date(text: str) -> bool:
    from datetime import date  # few schemas know dates, and imports take their time

    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return text.startswith("0000-") and _is_date("2000" + text[4:])  # a year that Go has and Python hasn't


def _is_date_time(text: str) -> bool:
    day, _, rest = text.lower().partition("t")
    # go-openapi splits at every T, and doesn't look at what follows the second.
    parts = _TIME.fullmatch(rest.split("t")[0])
    if parts is None or not _is_date(day):
        return False
    return parts[1] <= "23" and parts[2] <= "59" and parts[3] <= "59"


def _is_duration(text: str) -> bool:
    if not duration_problem(text):
        return True
    # go-openapi accepts a duration with one unit that it knows. The other units do not matter.
    units = (unit.lower() for _, unit in _PART.findall(text))
    return _DURATION.fullmatch(text) is not None and any(u in _UNITS or u.startswith(_LONG_UNITS) for u in units)


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text) if "%" not in text else None
    except ValueError:
        return None


def _is_cidr(text: str) -> bool:
    address, _, length = text.partition("/")
    parsed = _ip(address)
    return parsed is not None and decimal(length, parsed.max_prefixlen) is not None


def _is_mac(text: str) -> bool:
    digits = re.sub("[:.-]", "", text)
    return _MAC.fullmatch(text) is not None and len(digits) // 2 in _MAC_OCTETS


def _is_uuid(version: str, variant: str) -> Callable[[str], bool]:
    pattern = _UUID.format(version, variant)
    return lambda text: re.fullmatch(pattern, text) is not None


_HEX = "[0-9a-f]"
_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "ipv4": lambda text: _ip(text) is not None and "." in text,
    "ipv6": lambda text: _ip(text) is not None and ":" in text,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _is_uuid(_HEX, _HEX),
    "uuid3": _is_uuid("3", _HEX),
    "uuid4": _is_uuid("4", "[89ab]"),
    "uuid5": _is_uuid("5", "[89ab]"),
}
