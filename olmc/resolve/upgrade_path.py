"""Which version upgrades which (R-CAT-410), for one pair and for all versions of a channel at once.

The resolver asks for pairs. Asking `Range.contains` for each pair of a few hundred versions and as many skipRanges
takes longer than all else that a graph needs; so there the versions are sorted once, and a comparator cuts the row.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from olmc.semver import Comparator, Range, Version, range_or_none

__all__ = [
    "EDGE_KINDS", "EdgeKind", "Precedence", "Scale", "UpgradeEdges", "as_set", "edge_kind", "members",
    "precedence", "replaces_or_skips", "scale_of", "skips_over", "sources", "union", "upgrade_path", "upgrades",
]  # fmt: skip

EdgeKind = Literal["replaces", "skips", "skipRange"]
EDGE_KINDS: tuple[EdgeKind, ...] = ("replaces", "skips", "skipRange")

Precedence = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


class UpgradeEdges(Protocol):
    """What a CSV or an entry of a channel says it is an upgrade of; "" for what it does not say."""

    @property
    def name(self) -> str: ...

    @property
    def replaces(self) -> str: ...

    @property
    def skips(self) -> Sequence[str]: ...

    @property
    def skip_range(self) -> str: ...


class Installed(Protocol):
    """What is upgraded: a CSV's name, and its version as far as it can be read."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> Version | None: ...


class Step(UpgradeEdges, Installed, Protocol):
    """An entry that others upgrade in turn."""


def edge_kind(entry: UpgradeEdges, name: str, version: Version | None) -> EdgeKind | None:
    """Why `entry` is an upgrade of the CSV with this name and version, None if it is none (R-CAT-410).

    What has no name ("") can still lie in a skipRange; nothing upgrades the CSV of its own name (D16).
    """
    if name and entry.name == name:
        return None
    if name and entry.replaces == name:
        return "replaces"
    if name and name in entry.skips:
        return "skips"
    return "skipRange" if skips_over(entry, version) else None


def replaces_or_skips(entry: UpgradeEdges, name: str) -> bool:
    """Whether `entry` names the CSV as the one that it replaces or among those that it skips."""
    return entry.replaces == name or name in entry.skips


def skips_over(entry: UpgradeEdges, version: Version | None) -> bool:
    """Whether the skipRange of `entry` contains `version`; an unreadable one contains nothing (R-CAT-456)."""
    skip_range = range_or_none(entry.skip_range)
    return skip_range is not None and version is not None and skip_range.contains(version)


def upgrades(entry: UpgradeEdges, installed: Installed) -> bool:
    """Whether `entry` is an upgrade of what is installed (R-CAT-410)."""
    return edge_kind(entry, installed.name, installed.version) is not None


def upgrade_path(chain: Sequence[Step], installed: Step) -> tuple[str, ...]:
    """The CSVs that upgrades pass, from what is installed to where they end or come round again (R-CAT-415).

    Each hop leads to the first entry of `chain`, a channel in its order, that is an upgrade.
    """
    current = installed
    passed = [current.name]
    while True:
        following = next((entry for entry in chain if upgrades(entry, current)), None)
        if following is None or following.name in passed:
            return tuple(passed)
        passed.append(following.name)
        current = following


def precedence(version: Version) -> Precedence:
    """A key that orders versions as they are ordered (R-CAT-451): build metadata does not count."""
    prerelease = version.prerelease
    identifiers = tuple(map(_identifier, prerelease.split("."))) if prerelease else ()
    return version.major, version.minor, version.patch, not prerelease, identifiers


def _identifier(text: str) -> tuple[bool, int, str]:
    return (False, int(text), "") if text.isdecimal() else (True, 0, text)


class Scale(NamedTuple):
    """Versions in ascending order; sets of them are integers in which a bit stands for a number.

    `keys` are their precedences, `below[n]` is the set of the first n.
    """

    keys: tuple[Precedence, ...]
    below: tuple[int, ...]

    def inside(self, contained: Range) -> int:
        """The set of the versions that the range contains (R-CAT-455)."""
        result = 0
        for alternative in contained.alternatives:
            fitting = self.below[-1]
            for comparator in alternative:
                fitting &= self._accepted(comparator)
            result |= fitting
        return result

    def _accepted(self, comparator: Comparator) -> int:
        key = precedence(comparator.version)
        every = self.below[-1]
        less = self.below[bisect_left(self.keys, key)]
        most = self.below[bisect_right(self.keys, key)]
        match comparator.operator:
            case "==":
                return most ^ less
            case "!=":
                return every ^ most ^ less
            case "<":
                return less
            case "<=":
                return most
            case ">":
                return every ^ most
            case _:
                return every ^ less


def scale_of(versions: Mapping[int, Version]) -> Scale:
    """The scale of versions by number."""
    ordered = sorted((precedence(version), number) for number, version in versions.items())
    below = [0]
    for _, number in ordered:
        below.append(below[-1] | 1 << number)
    return Scale(tuple(key for key, _ in ordered), tuple(below))


def sources(entry: UpgradeEdges, numbers: Mapping[str, int], scale: Scale, inside: int) -> list[int]:
    """Which of the versions `inside` have an edge to an entry, as a set for each of EDGE_KINDS.

    Unlike `edge_kind` it tells all edges between two versions, not just the first. `numbers` are those of all names.
    """
    others = inside & ~(1 << numbers[entry.name])
    replaced = as_set([numbers[entry.replaces]] if entry.replaces else [])
    skipped = as_set(numbers[name] for name in entry.skips if name)
    skip_range = range_or_none(entry.skip_range)
    ranged = scale.inside(skip_range) if skip_range is not None else 0
    return [replaced & others, skipped & others, ranged & others]


def members(numbers: int) -> Iterator[int]:
    """The numbers in a set, ascending."""
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest


def as_set(numbers: Iterable[int]) -> int:
    """The set of these numbers."""
    result = 0
    for number in numbers:
        result |= 1 << number
    return result


def union(sets: Iterable[int]) -> int:
    """The numbers that are in any of the sets."""
    result = 0
    for numbers in sets:
        result |= numbers
    return result
