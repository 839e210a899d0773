"""Semantic versions as Go's blang/semver v4 reads and orders them (R-CAT-450 … R-CAT-452), and releases (R-CAT-127).

The versions themselves are `semver.Version`s of the semver package, which orders them as blang does
(R-CAT-451: build metadata is ignored, a pre-release is lower than its release). Reading is our own, because
blang refuses, trims and words its refusals differently.
"""

from __future__ import annotations

import re
from functools import lru_cache

from semver import Version as Version

from olmc.strconv import SPACES, quoted

_MAX = 2**64 - 1
_LONGEST_RELEASE = 20
_DIGITS = re.compile(r"[0-9]*")
_WORD = re.compile(r"[0-9A-Za-z-]*")


class VersionError(ValueError):
    """A text that is no version; its message is the one of blang/semver."""


@lru_cache(maxsize=8192)
def parse_strict(text: str) -> Version:
    """The version `M.m.p[-pre][+build]` (R-CAT-450); VersionError with blang's message when it isn't one."""
    if not text:
        raise VersionError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise VersionError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    numbers = _number("major", parts[0]), _number("minor", parts[1]), _number("patch", patch)
    if dash:
        check_prerelease(prerelease)
    if plus:
        for identifier in build.split("."):
            _check_build(identifier)
    return Version(*numbers, prerelease=prerelease if dash else None, build=build if plus else None)


def _number(kind: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise VersionError(f"Invalid character(s) found in {kind} number {quoted(text)}")
    if len(text) > 1 and text.startswith("0"):
        raise VersionError(f"{kind.capitalize()} number must not contain leading zeroes {quoted(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text:
        raise VersionError('strconv.ParseUint: parsing "": invalid syntax')
    # The length first: Python refuses to convert numbers of more than 4,300 digits.
    if len(text) > 20 or int(text) > _MAX:
        raise VersionError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def check_prerelease(text: str) -> None:
    """Refuse what is no dot-joined list of pre-release identifiers; raises VersionError with blang's message."""
    for identifier in text.split("."):
        _check_identifier(identifier)


def _check_identifier(identifier: str) -> None:
    if not identifier:
        raise VersionError("Prerelease is empty")
    if _DIGITS.fullmatch(identifier):
        if len(identifier) > 1 and identifier.startswith("0"):
            text = quoted(identifier)
            raise VersionError(f"Numeric PreRelease version must not contain leading zeroes {text}")
        _unsigned(identifier)
    elif not _WORD.fullmatch(identifier):
        raise VersionError(f"Invalid character(s) found in prerelease {quoted(identifier)}")


def _check_build(identifier: str) -> None:
    if not identifier:
        raise VersionError("Build meta data is empty")
    if not _WORD.fullmatch(identifier):
        raise VersionError(f"Invalid character(s) found in build meta data {quoted(identifier)}")


@lru_cache(maxsize=8192)
def parse_tolerant(text: str) -> Version:
    """The version that `text` means read leniently (R-CAT-452): `v1.2` is 1.2.0; VersionError otherwise."""
    parts = [_without_zeros(part) for part in text.strip(SPACES).removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise VersionError("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse_strict(".".join(parts))


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0] in "0123456789" else "0" + stripped


def tolerant_or_none(text: str) -> Version | None:
    """The version for range checks, None where there is none to be read (R-CAT-304)."""
    try:
        return parse_tolerant(text)
    except VersionError:
        return None


def parse_release(text: str) -> Version | None:
    """A release as the pre-release of a version, which is how releases compare; None for none (R-CAT-127).

    Raises ValueError with OLM's text.
    """
    if not text:
        return None
    if len(text.encode()) > _LONGEST_RELEASE:
        raise ValueError(f"invalid release {quoted(text)}: exceeds maximum length of {_LONGEST_RELEASE} characters")
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
