"""Which bundles of a package are in a range of versions, for many ranges (R-CAT-320).

A bundle may require a thousand ranges of a package with as many versions. Comparing each pair takes longer than all
else that a resolution needs; so the versions are sorted once, and a comparator cuts the row.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from olmc.resolver.snapshot import Entry
from olmc.resolver.upgrade_path import Precedence, precedence
from olmc.semver import Comparator, Range

__all__ = ["VersionIndex", "version_index"]


@dataclass(frozen=True, slots=True)
class VersionIndex:
    """Bundles in their order, and the precedences of all their versions, ascending, with the number of the bundle."""

    entries: tuple[Entry, ...]
    keys: tuple[Precedence, ...]
    numbers: tuple[int, ...]

    def inside(self, allowed: Range) -> list[Entry]:
        """The bundles with a version inside the range, in their order (R-CAT-455)."""
        accepted = sorted(span for alternative in allowed.alternatives for span in self._spans(alternative))
        found: set[int] = set()
        reached = 0
        for start, end in accepted:
            found.update(self.numbers[max(start, reached) : end])
            reached = max(reached, end)
        return [self.entries[number] for number in sorted(found)]

    def _spans(self, comparators: Iterable[Comparator]) -> Iterator[tuple[int, int]]:
        """From where to where the keys are that all comparators accept."""
        start, end = 0, len(self.keys)
        excluded: set[tuple[int, int]] = set()
        for comparator in comparators:
            key = precedence(comparator.version)
            left, right = bisect_left(self.keys, key), bisect_right(self.keys, key)
            match comparator.operator:
                case "==":
                    start, end = max(start, left), min(end, right)
                case "!=":
                    excluded.add((left, right))
                case "<":
                    end = min(end, left)
                case "<=":
                    end = min(end, right)
                case ">":
                    start = max(start, right)
                case _:
                    start = max(start, left)
        for left, right in sorted(excluded):
            if start < min(left, end):
                yield start, min(left, end)
            start = max(start, right)
        if start < end:
            yield start, end


def version_index(entries: Iterable[Entry]) -> VersionIndex:
    """The index of bundles by their versions."""
    entries = tuple(entries)
    keyed = sorted(
        {(precedence(version), number) for number, entry in enumerate(entries) for version in entry.versions}
    )
    return VersionIndex(entries, tuple(key for key, _ in keyed), tuple(number for _, number in keyed))
