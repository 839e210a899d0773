"""Which of many versions a range contains, for all of them at once.

Asking `Range.contains` for each pair of a few hundred versions and as many skipRanges takes longer than all else that
a graph needs; here the versions are sorted once, and a comparator cuts the row in two.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from olmc.golang.ranges import Comparator, Range
from olmc.golang.semver import Version

__all__ = ["Precedence", "Scale", "as_set", "members", "precedence", "scale_of", "union"]

Precedence = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


def precedence(version: Version) -> Precedence:
    """A key that orders versions as they are ordered (R-CAT-451): build metadata does not count."""
    written = version.prerelease
    identifiers = tuple(map(_identifier, written.split("."))) if written else ()
    return version.major, version.minor, version.patch, not written, identifiers


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
        found = 0
        for alternative in contained.alternatives:
            fitting = self.below[-1]
            for comparator in alternative:
                fitting &= self._accepted(comparator)
            found |= fitting
        return found

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


def members(numbers: int) -> Iterator[int]:
    """The numbers in a set, ascending."""
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest


def as_set(numbers: Iterable[int]) -> int:
    """The set of these numbers."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def union(sets: Iterable[int]) -> int:
    """The numbers that are in any of the sets."""
    found = 0
    for each in sets:
        found |= each
    return found
