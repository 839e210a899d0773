"""Versions, releases and ranges as OLM compares them: blang/semver v4 with all of its quirks.

Texts go in; `Version` and `Range` come out, or VersionError and RangeError with blang's own messages. Versions are
strict where OLM is (`parse_strict`: catalogs, CSV names) and tolerant where it is (`parse_tolerant`: `spec.version`,
the versions that the resolver compares, CEL). `olmc.resolver.upgrade_path` asks a range about many versions at once.
"""

from olmc.semver.ranges import Comparator, Range, RangeError, dropped_parts, parse_range, range_or_none, range_problem
from olmc.semver.version import (
    Version,
    VersionError,
    check_prerelease,
    order_with_release,
    parse_release,
    parse_strict,
    parse_tolerant,
    tolerant_or_none,
)

__all__ = [
    "Comparator",
    "Range",
    "RangeError",
    "Version",
    "VersionError",
    "check_prerelease",
    "dropped_parts",
    "order_with_release",
    "parse_range",
    "parse_release",
    "parse_strict",
    "parse_tolerant",
    "range_or_none",
    "range_problem",
    "tolerant_or_none",
]
