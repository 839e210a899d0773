"""The entries that a registry serves, made package by package when somebody asks for them (R-CAT-303).

A catalog has thousands of bundles, and a resolution looks at those of a few packages. Which these are the index says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from olmc.model.catalog import Candidate, CatalogIndex


class ServedEntries(Sequence[Candidate]):
    """The entries of a catalog by package, channel and place in the channel; `of` gives those of one package."""

    def __init__(self, index: CatalogIndex, of_package: Callable[[str], Sequence[Candidate]]) -> None:
        self.catalog_index = index
        self._of_package = of_package
        self._known: dict[str, Sequence[Candidate]] = {}

    def of(self, package: str) -> Sequence[Candidate]:
        """The entries of a package, () for one that the catalog does not serve."""
        if package not in self._known:
            self._known[package] = self._of_package(package) if package in self.catalog_index.counts else ()
        return self._known[package]

    def named(self, name: str) -> Iterator[Candidate]:
        """The entries of a name, in order."""
        packages = self.catalog_index.names.get(name, ())
        return (entry for package in packages for entry in self.of(package) if entry.name == name)

    def changed(self, change: Callable[[Candidate], Candidate]) -> ServedEntries:
        """The same entries, each changed in what the index does not know of."""
        return ServedEntries(self.catalog_index, lambda package: tuple(map(change, self.of(package))))

    def __iter__(self) -> Iterator[Candidate]:
        return (entry for package in self.catalog_index.counts for entry in self.of(package))

    def __len__(self) -> int:
        return sum(self.catalog_index.counts.values())

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def of_package(entries: Sequence[Candidate], package: str) -> Sequence[Candidate]:
    """The entries of a package."""
    if isinstance(entries, ServedEntries):
        return entries.of(package)
    return [entry for entry in entries if entry.package == package]


def named(entries: Sequence[Candidate], name: str) -> Iterator[Candidate]:
    """The entries of a name, in order."""
    if isinstance(entries, ServedEntries):
        return entries.named(name)
    return (entry for entry in entries if entry.name == name)
