"""`spec.version` and `spec.release` of a ClusterServiceVersion (R-JSON-10)."""

from __future__ import annotations

import re

from olmc.golang.numbers import SPACES, quoted

ZERO = "0.0.0"

_DIGITS = re.compile(r"[0-9]*")
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]*")


def version(text: str) -> str:
    """A version read tolerantly and printed again: spaces, `v` and leading zeros gone, `1.2` is `1.2.0`.

    Raises ValueError with the text that OLM's semver library gives.
    """
    parts = text.strip(SPACES).removeprefix("v").split(".", 2)
    parts = [_without_zeros(part) if len(part) > 1 else part for part in parts]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise ValueError("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    major, minor = _number("Major", parts[0]), _number("Minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    core = f"{major}.{minor}.{_number('Patch', patch)}"
    before = "-" + ".".join(_prerelease(part) for part in prerelease.split(".")) if dash else ""
    after = "+" + ".".join(_build(part) for part in build.split(".")) if plus else ""
    return core + before + after


def release(text: str) -> str:
    """A release: dot-joined prerelease identifiers. Raises ValueError with the semver library's text."""
    return ".".join(_prerelease(part) for part in text.split("."))


def _without_zeros(part: str) -> str:
    bare = part.lstrip("0")
    return bare if bare[:1] in tuple("0123456789") else "0" + bare


def _number(name: str, text: str) -> str:
    if not _DIGITS.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in {name.lower()} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{name} number must not contain leading zeroes {quoted(text)}")
    return _uint64(text)


def _uint64(text: str) -> str:
    if not text:
        raise ValueError(f"strconv.ParseUint: parsing {quoted(text)}: invalid syntax")
    if len(text) > 20 or int(text) >= 2**64:
        raise ValueError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return text


def _prerelease(text: str) -> str:
    if not text:
        raise ValueError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise ValueError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        return _uint64(text)
    if not _IDENTIFIER.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _build(text: str) -> str:
    if not text:
        raise ValueError("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise ValueError(f"Invalid character(s) found in build meta data {quoted(text)}")
    return text
