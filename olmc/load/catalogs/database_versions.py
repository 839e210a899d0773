"""The order of versions in the registry's old database: build metadata counts, too (R-CAT-144)."""

from __future__ import annotations

from functools import cmp_to_key
from typing import NamedTuple

from olmc.load.catalogs.rendering import LooseBundle
from olmc.semver import Version, parse_strict

NO_VERSION = "0.0.0-z"
"""What a bundle without a version counts as, so that it is below every other."""


class Versioned(NamedTuple):
    """A bundle with its parsed version."""

    bundle: LooseBundle
    version: Version


def versioned(bundle: LooseBundle) -> Versioned:
    """A bundle with its version; a ValueError in OLM's words if it is none."""
    version = bundle.version or NO_VERSION
    try:
        return Versioned(bundle, parse_strict(version))
    except ValueError as error:
        raise ValueError(f"error parsing bundle {bundle.name} version {version}: {error}") from None


def compare(one: Versioned, other: Versioned) -> int:
    """Below, at or above 0, as the version of `one` is lower than, like or higher than that of `other`."""
    order: int = one.version.compare(other.version)
    return order or _build(one.version).compare(_build(other.version))


by_version = cmp_to_key(compare)


def _build(version: Version) -> Version:
    """The build metadata of a version as something that orders like a pre-release; none is below any."""
    return Version(1, prerelease=version.build) if version.build else Version(0)
