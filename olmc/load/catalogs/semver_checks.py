"""What catalogs have beyond versions: ranges that may be none (R-CAT-453), and releases (R-CAT-127)."""

from __future__ import annotations

from olmc.golang.numbers import quoted
from olmc.golang.ranges import parse_range
from olmc.golang.semver import Version, parse_strict

_RELEASE_LIMIT = 20


def range_problem(text: str) -> str:
    """What is wrong with a range, in the words of Go's library; "" for a good one."""
    try:
        parse_range(text)
    except ValueError as error:
        return str(error)
    return ""


def parse_release(text: str) -> Version | None:
    """A release as the pre-release of a version, which is how releases compare; None for none (R-CAT-127).

    Raises ValueError with OLM's text.
    """
    if not text:
        return None
    if len(text.encode()) > _RELEASE_LIMIT:
        raise ValueError(f"invalid release {quoted(text)}: exceeds maximum length of {_RELEASE_LIMIT} characters")
    problems = []
    for index, segment in enumerate(text.split(".")):
        try:
            _parse_segment(segment)
        except ValueError as error:
            problems.append(f"segment {index}: {error}")
    if problems:
        raise ValueError(f"invalid release {quoted(text)}: " + "\n".join(problems))
    return parse_strict(f"0.0.0-{text}")


def _parse_segment(segment: str) -> None:
    if "+" in segment:
        # In a version this sign would begin the build metadata.
        raise ValueError(f"Invalid character(s) found in prerelease {quoted(segment)}")
    parse_strict(f"0.0.0-{segment}")


def order_with_release(one: tuple[Version, Version | None], other: tuple[Version, Version | None]) -> int:
    """Compare two (version, release): by version, then none before any release, then as pre-releases (R-CAT-127)."""
    order = one[0].compare(other[0])
    if order or one[1] is other[1]:
        return order
    if one[1] is None or other[1] is None:
        return -1 if one[1] is None else 1
    return one[1].compare(other[1])
