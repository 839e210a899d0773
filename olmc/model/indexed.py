"""Mappings that know which of their entries belong together, also after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from olmc.model.cluster import NamespacedName
    from olmc.model.objects import ObjectKey, Rendered

K = TypeVar("K")
P = TypeVar("P")
V = TypeVar("V")


class Indexed(Mapping[K, V], Generic[K, P, V]):
    """Entries in the order in which they came, as in a dict, and the part that each is in; it never changes.

    A change gives another mapping, for which only the parts that it concerns are looked at.
    """

    __slots__ = ("_entries", "_part_of", "_parts")

    def __init__(self, part_of: Callable[[K], P], entries: Mapping[K, V], parts: Mapping[P, Mapping[K, V]]) -> None:
        """`parts` are those of the entries; see `by_namespace` and `by_kind`."""
        self._part_of, self._entries, self._parts = part_of, entries, parts

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    @property
    def parts(self) -> Iterable[P]:
        """The parts that have entries."""
        return self._parts.keys()

    def within(self, part: P) -> Mapping[K, V]:
        """The entries of a part, in the order in which they came."""
        return self._parts.get(part, {})

    def updated(self, entries: Mapping[K, V]) -> Indexed[K, P, V]:
        """It with these entries: those that it has in their places, new ones behind all others."""
        changed = {part: {**self.within(part), **some} for part, some in _parted(entries, self._part_of).items()}
        return Indexed(self._part_of, {**self._entries, **entries}, {**self._parts, **changed})

    def without(self, key: K) -> Indexed[K, P, V]:
        """It without the entry of this key."""
        if key not in self._entries:
            return self
        entries, part = {**self._entries}, self._part_of(key)
        del entries[key]
        rest = {other: value for other, value in self.within(part).items() if other != key}
        parts = {**self._parts, part: rest}
        return Indexed(self._part_of, entries, {name: some for name, some in parts.items() if some})


def _parted(entries: Mapping[K, V], part_of: Callable[[K], P]) -> dict[P, dict[K, V]]:
    parts: dict[P, dict[K, V]] = {}
    for key, value in entries.items():
        parts.setdefault(part_of(key), {})[key] = value
    return parts


ByNamespace: TypeAlias = "Indexed[NamespacedName, str, V]"
ByKind: TypeAlias = "Indexed[ObjectKey, tuple[str, str], Rendered]"


def by_namespace(entries: Mapping[NamespacedName, V]) -> ByNamespace[V]:
    """What namespaces hold; each is a part."""
    part_of: Callable[[NamespacedName], str] = attrgetter("namespace")
    return Indexed(part_of, dict(entries), _parted(entries, part_of))


def by_kind(objects: Mapping[ObjectKey, Rendered]) -> ByKind:
    """Objects; each group and kind is a part."""
    part_of: Callable[[ObjectKey], tuple[str, str]] = itemgetter(0, 1)
    return Indexed(part_of, dict(objects), _parted(objects, part_of))
