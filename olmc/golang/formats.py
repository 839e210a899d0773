"""Formats of texts in OpenAPI schemas, as far as the API server checks them in custom resources.

Left out are those that are a library's own idea of the thing (email, uri, hostname, isbn, creditcard, ssn, colours):
every text counts as one of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING

from olmc.golang.duration import duration_problem

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_UNITS = frozenset({"ns", "us", "µs", "ms", "s", "sec", "m", "min", "h", "hr", "d", "w", "wk"})
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week", "µs")
_DURATION = re.compile(r"\s*(?:[0-9]+\s*[A-Za-zµ]+\s*)+")
_PART = re.compile(r"([0-9]+)\s*([A-Za-zµ]+)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_UUID = "(?i:[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{}[0-9a-f]{{3}}-?{}[0-9a-f]{{3}}-?[0-9a-f]{{12}})"
_MAC = re.compile(
    r"(?i:[0-9a-f]{2}(?P<sep>[:-])(?:[0-9a-f]{2}(?P=sep)){4,18}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2,9}[0-9a-f]{4})"
)
_MAC_OCTETS = (6, 8, 20)


def supports(name: str) -> bool:
    """Whether texts of this format are checked."""
    return name.replace("-", "") in _CHECKS


def conforms(name: str, text: str) -> bool:
    """Whether a text has a format that `supports` knows."""
    return _CHECKS[name.replace("-", "")](text)


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return text.startswith("0000-") and _is_date("2000" + text[4:])  # a year that Go has and Python hasn't


def _is_date_time(text: str) -> bool:
    day, _, rest = text.lower().partition("t")
    found = _TIME.fullmatch(rest.split("t")[0])
    if found is None or not _is_date(day):
        return False
    return found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(text: str) -> bool:
    if not duration_problem(text):
        return True
    units = (unit.lower() for _, unit in _PART.findall(text))
    return _DURATION.fullmatch(text) is not None and any(u in _UNITS or u.startswith(_LONG_UNITS) for u in units)


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    from ipaddress import ip_address  # addresses are rare, and imports take their time

    try:
        return ip_address(text) if "%" not in text else None
    except ValueError:
        return None


def _is_cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    found = _ip(address)
    is_number = length.isascii() and length.isdigit()
    return found is not None and bool(slash) and is_number and int(length) <= found.max_prefixlen


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
