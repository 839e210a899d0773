"""A mapping of what namespaces hold that knows the entries of each namespace, also after a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from olmc.model.cluster import NamespacedName

V = TypeVar("V")
_NOTHING: Mapping[NamespacedName, object] = MappingProxyType({})


class ByNamespace(Mapping["NamespacedName", V]):
    """Entries in the order in which they came, as in a dict; it never changes.

    A change gives another mapping, for which only the namespaces that it concerns are looked at.
    """

    __slots__ = ("_entries", "_parts")

    def __init__(self, entries: Mapping[NamespacedName, V] = _NOTHING) -> None:  # type: ignore[assignment]
        self._entries: Mapping[NamespacedName, V] = dict(entries)
        parts: dict[str, dict[NamespacedName, V]] = {}
        for name, value in entries.items():
            parts.setdefault(name.namespace, {})[name] = value
        self._parts: Mapping[str, Mapping[NamespacedName, V]] = parts

    def __getitem__(self, name: NamespacedName) -> V:
        return self._entries[name]

    def __iter__(self) -> Iterator[NamespacedName]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    @property
    def namespaces(self) -> Iterable[str]:
        """The namespaces that have entries."""
        return self._parts.keys()

    def within(self, namespace: str) -> Mapping[NamespacedName, V]:
        """The entries of a namespace, in the order in which they came."""
        return self._parts.get(namespace, {})

    def updated(self, entries: Mapping[NamespacedName, V]) -> ByNamespace[V]:
        """It with these entries: those that it has in their places, new ones behind all others."""
        parts = {**self._parts}
        for namespace in {name.namespace for name in entries}:
            changed = {name: value for name, value in entries.items() if name.namespace == namespace}
            parts[namespace] = {**self.within(namespace), **changed}
        return _of({**self._entries, **entries}, parts)

    def without(self, name: NamespacedName) -> ByNamespace[V]:
        """It without the entry of this name."""
        entries = {**self._entries}
        entries.pop(name, None)
        rest = {other: value for other, value in self.within(name.namespace).items() if other != name}
        others = {namespace: part for namespace, part in self._parts.items() if namespace != name.namespace}
        return _of(entries, {**others, name.namespace: rest} if rest else others)


def _of(entries: Mapping[NamespacedName, V], parts: Mapping[str, Mapping[NamespacedName, V]]) -> ByNamespace[V]:
    mapping: ByNamespace[V] = ByNamespace()
    mapping._entries, mapping._parts = entries, parts
    return mapping
