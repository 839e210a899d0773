"""Releases of bundles, the second part of their versions (R-CAT-127)."""

from __future__ import annotations

from olmc.semver.version import Version, VersionError, check_prerelease, parse_strict
from olmc.strconv import quoted

_LONGEST = 20


def parse_release(text: str) -> Version | None:
    """A release as the pre-release of a version, which is how releases compare; None for none (R-CAT-127).

    Raises ValueError with OLM's text.
    """
    if not text:
        return None
    if len(text.encode()) > _LONGEST:
        raise ValueError(f"invalid release {quoted(text)}: exceeds maximum length of {_LONGEST} characters")
    problems = []
    for index, segment in enumerate(text.split(".")):
        try:
            check_prerelease(segment)
        except VersionError as error:
            problems.append(f"segment {index}: {error}")
    if problems:
        raise ValueError(f"invalid release {quoted(text)}: " + "\n".join(problems))
    return parse_strict(f"0.0.0-{text}")


def order_with_release(one: tuple[Version, Version | None], other: tuple[Version, Version | None]) -> int:
    """Compare two (version, release): by version, then none before any release, then as pre-releases (R-CAT-127)."""
    order = one[0].compare(other[0])
    if order or one[1] is other[1]:
        return order
    if one[1] is None or other[1] is None:
        return -1 if one[1] is None else 1
    return one[1].compare(other[1])
