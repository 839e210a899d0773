"""Ranges of versions as `spec.source.catalog.version` of a ClusterExtension has them (R-V1-SV-2, R-V1-SV-3).

They are those of Masterminds/semver v3, which reads and compares otherwise than blang does for v0 (`olmc.semver`).
A text goes in; a `VersionRange` comes out, or VersionRangeError with the library's message.
"""

from __future__ import annotations

import re
from functools import lru_cache

from olmc.lean import NamedTuple, regex
from olmc.semver import Version
from olmc.strconv import quoted

_SPACE = r"[\t\n\f\r ]"
_PART = r"[0-9|xX*]+"
_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = (
    rf"v?(?P<major>{_PART})(?P<minor>\.{_PART})?(?P<patch>\.{_PART})?"
    rf"(?P<pre>-{_IDENTIFIERS})?(?P<build>\+{_IDENTIFIERS})?"
)
_PLAIN = re.sub(r"\?P<\w+>", "?:", _VERSION)
_OPERATOR = r"(?:!=|>=|=>|<=|=<|~>|[=<>~^])?"
# The library's expressions without what makes them ambiguous: spaces are taken whole, or long texts take for ever.
_HYPHENATED = regex(rf"{_SPACE}*+({_PLAIN}){_SPACE}++-{_SPACE}++({_PLAIN}){_SPACE}*+")
_CONDITION = rf"{_OPERATOR}{_SPACE}*+{_PLAIN}"
_CONDITIONS = regex(
    rf"{_SPACE}*+{_CONDITION}(?:(?:{_SPACE}*+,{_SPACE}*+|{_SPACE}++){_CONDITION})*+{_SPACE}*+", re.ASCII
)
_EACH = regex(rf"(?P<operator>{_OPERATOR}){_SPACE}*+(?:{_VERSION})")
_LONGEST, _MOST_PARTS = 512, 32
_WILD = ("x", "X", "*")
_LARGEST = 2**64 - 1


class VersionRangeError(ValueError):
    """A text that is no range; its message is the one of Masterminds/semver."""


class VersionCondition(NamedTuple):
    """One comparison: an operator and a version, and which of its parts were left open, which makes it dirty."""

    operator: str
    version: Version
    dirty: bool = False
    minor_dirty: bool = False
    patch_dirty: bool = False

    def accepts(self, version: Version, *, prereleases: bool) -> bool:
        """Whether a version fulfils it; one with a pre-release only where the part has one (R-V1-SV-3)."""
        if version.prerelease and not prereleases:
            return False
        order = version.compare(self.version)
        match self.operator:
            case "!=":
                return self._differs(version, order)
            case ">":
                return self._is_above(version, order)
            case "<":
                return order < 0
            case ">=" | "=>":
                return order >= 0
            case "<=" | "=<":
                return self._is_not_above(version, order)
            case "^":
                return self._is_compatible(version, order)
            case "~" | "~>":
                return self._is_alike(version, order)
            case _:
                return self._is_alike(version, order) if self.dirty else order == 0

    def _differs(self, version: Version, order: int) -> bool:
        own = self.version
        if not self.dirty:
            return order != 0
        if version.major != own.major:
            return True
        if version.minor != own.minor and not self.minor_dirty:
            return True
        if self.minor_dirty:
            return False
        if not self.patch_dirty:
            return order != 0
        # Of versions that differ in the patch alone, only pre-releases tell.
        return bool(version.prerelease or own.prerelease) and version.prerelease != own.prerelease

    def _is_above(self, version: Version, order: int) -> bool:
        if not self.dirty or (version.major == self.version.major and not (self.minor_dirty or self.patch_dirty)):
            return order > 0
        if version.major != self.version.major:
            return version.major > self.version.major
        return not self.minor_dirty and version.minor > self.version.minor

    def _is_not_above(self, version: Version, order: int) -> bool:
        if not self.dirty:
            return order <= 0
        if version.major != self.version.major:
            return version.major < self.version.major
        return self.minor_dirty or version.minor <= self.version.minor

    def _is_alike(self, version: Version, order: int) -> bool:
        own = self.version
        if order < 0:
            return False
        if own.major == own.minor == own.patch == 0 and not self.minor_dirty and not self.patch_dirty:
            # `~0.0.0` is everything, which is what an open major becomes.
            return True
        return version.major == own.major and (version.minor == own.minor or self.minor_dirty)

    def _is_compatible(self, version: Version, order: int) -> bool:
        own = self.version
        if order < 0:
            return False
        if own.major or self.minor_dirty:
            return version.major == own.major
        if version.major:
            return False
        if own.minor or self.patch_dirty:
            return version.minor == own.minor
        return not version.minor and version.patch == own.patch


class VersionRange(NamedTuple):
    """A range: parts, of which one must hold, each of them conditions that must all hold; `text` as written."""

    text: str
    parts: tuple[tuple[VersionCondition, ...], ...]

    def contains(self, version: Version) -> bool:
        """Whether a version is in the range, build metadata left aside (R-V1-SV-3)."""
        for conditions in self.parts:
            prereleases = any(condition.version.prerelease for condition in conditions)
            if all(condition.accepts(version, prereleases=prereleases) for condition in conditions):
                return True
        return False

    @property
    def is_pin(self) -> bool:
        """Whether no more than one version is in it, up to build metadata."""
        parts = [conditions for conditions in self.parts if len(conditions) == 1]
        return len(self.parts) == len(parts) == 1 and parts[0][0].operator in ("", "=") and not parts[0][0].dirty


@lru_cache(maxsize=1024)
def parse_version_range(text: str) -> VersionRange:
    """The range that a text writes (R-V1-SV-2); VersionRangeError with the library's message when it can't be read."""
    if len(text.encode("utf-8", "surrogatepass")) > _LONGEST:
        raise VersionRangeError(f"constraint string is too long (max {_LONGEST} bytes)")
    rewritten = text
    for match in _HYPHENATED.finditer(text):
        rewritten = rewritten.replace(match[0], f">= {match[1]}, <= {match[2]} ", 1)
    parts = rewritten.split("||")
    if len(parts) > _MOST_PARTS:
        raise VersionRangeError(f"too many constraint groups (max {_MOST_PARTS})")
    return VersionRange(text, tuple(map(_conditions, parts)))


def _conditions(part: str) -> tuple[VersionCondition, ...]:
    if not _CONDITIONS.fullmatch(part):
        raise VersionRangeError(f"improper constraint: {quoted(part)}")
    return tuple(map(_condition, _EACH.finditer(part)))


def _condition(match: re.Match[str]) -> VersionCondition:
    minor, patch, pre = (match["minor"] or "")[1:], (match["patch"] or "")[1:], (match["pre"] or "")[1:]
    operator = match["operator"]
    if match["major"] in _WILD:
        return VersionCondition(operator, _version("0", "0", "0", pre), dirty=True)
    if not minor or minor in _WILD:
        return VersionCondition(operator, _version(match["major"], "0", "0", pre), dirty=True, minor_dirty=True)
    if not patch or patch in _WILD:
        return VersionCondition(operator, _version(match["major"], minor, "0", pre), dirty=True, patch_dirty=True)
    return VersionCondition(operator, _version(match["major"], minor, patch, pre))


def _version(major: str, minor: str, patch: str, pre: str) -> Version:
    numbers: list[int] = []
    for part in (major, minor, patch):
        # Python refuses to convert numbers of more than 4,300 digits; leading zeros are read.
        if not part.isdecimal() or len(part.lstrip("0")) > 20 or int(part) > _LARGEST:
            raise VersionRangeError("constraint parser error")
        numbers.append(int(part))
    if any(len(word) > 1 and word.isdecimal() and word[0] == "0" for word in pre.split(".")):
        raise VersionRangeError("constraint parser error")
    return Version(numbers[0], numbers[1], numbers[2], prerelease=pre or None)
