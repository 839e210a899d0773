"""The states of a workspace one after the other, and what happened in between.

What did not change is the very same object in the next snapshot, so that a history costs little and compares quickly.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from olmc.compiler.model.cluster import NamespacedName
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject
from olmc.targets.proposed.installed.resources import Listed, PackageOffer
from olmc.targets.proposed.installed.view import (
    TRACKED,
    Installations,
    InstalledOperator,
    InstalledView,
    Versions,
    aggregate,
    listed,
    winners_in,
)


class InstalledSnapshot(NamedTuple):
    """The Installed objects of one moment.

    `since` is the version at which each operator last changed, `items` the objects of all namespaces that exist.
    """

    installations: Installations
    since: Mapping[NamespacedName, str]
    items: Mapping[NamespacedName, Listed]

    @property
    def versions(self) -> Versions:
        return self.installations.versions

    @property
    def version(self) -> str:
        """The aggregate resourceVersion (R-INST-9)."""
        return aggregate(self.versions)

    def in_namespace(self, namespace: str | None) -> Mapping[NamespacedName, Listed]:
        """The objects of a namespace, which need not exist, or of all (None)."""
        if namespace is None:
            return self.items
        if namespace in self.installations.namespaces:
            return {name: item for name, item in self.items.items() if name.namespace == namespace}
        winners = winners_in(self.installations, namespace)
        return {
            NamespacedName(namespace, name): _item(operator, namespace, self.since)
            for name, operator in sorted(winners.items())
        }


class Packages(NamedTuple):
    """The packages on offer, and OLM's own objects by their kind; `generation` counts how often they changed."""

    offers: tuple[PackageOffer, ...]
    global_namespace: str
    generation: int
    stored: Mapping[str, tuple[Listed, ...]] = MappingProxyType({})


class Event(NamedTuple):
    """An event of a watch: ADDED, MODIFIED or DELETED, and the object with its new version."""

    type: str
    item: Listed


def first_snapshot(view: InstalledView) -> InstalledSnapshot:
    """The state that a server begins with; its versions are those of the input (R-INST-9)."""
    return _snapshot(view.installations, None)


def next_snapshot(before: InstalledSnapshot, view: InstalledView) -> InstalledSnapshot:
    """The state after a change, or the very same snapshot if nothing is different.

    The version of a tracked list grows whenever what is shown of it changes, so that each state has its own.
    """
    after = _share_operators(before.installations, view.installations)
    versions = _grow(before.installations, after)
    snapshot = _snapshot(after._replace(versions=versions), before)
    if snapshot.items == before.items and snapshot.since == before.since:
        return before
    # A namespace came or went, and no operator changed; in a cluster the copies of CSVs would.
    if versions == before.versions:
        versions = {**versions, TRACKED[0]: versions[TRACKED[0]] + 1}
        snapshot = _snapshot(after._replace(versions=versions), before)
    return snapshot


def _share_operators(before: Installations, after: Installations) -> Installations:
    """The later state with every operator that is as it was taken from the earlier one."""
    known = _by_name(before)
    operators = []
    for operator in after.operators:
        earlier = known.get(NamespacedName(operator.home, operator.name))
        operators.append(earlier if earlier is not None and earlier == operator else operator)
    return after._replace(operators=tuple(operators))


def _by_name(installations: Installations) -> dict[NamespacedName, InstalledOperator]:
    return {NamespacedName(operator.home, operator.name): operator for operator in installations.operators}


def _grow(before: Installations, after: Installations) -> dict[str, int]:
    """The versions after a change: those of the input, but higher than before where something is different."""
    parts: Mapping[str, Callable[[InstalledOperator], object]] = {
        TRACKED[0]: lambda operator: (operator.csv, operator.targets, operator.cells),
        TRACKED[1]: lambda operator: operator.subscription,
    }
    old, new = _by_name(before), _by_name(after)
    grown = {}
    for tracked, part in parts.items():
        moved = any(
            old.get(name) is not new.get(name)
            and (part(old[name]) if name in old else None) != (part(new[name]) if name in new else None)
            for name in {*old, *new}
        )
        # The input's own number counts where it is higher; where nothing changed none may, or clients would list again.
        grown[tracked] = max(before.versions[tracked] + moved, after.versions[tracked] if moved else 0)
    return grown


def _snapshot(state: Installations, before: InstalledSnapshot | None) -> InstalledSnapshot:
    """The snapshot of a state; objects that are as before are the same objects."""
    version = aggregate(state.versions)
    known = _by_name(before.installations) if before else {}
    since = {
        name: before.since[name] if before is not None and known.get(name) is operator else version
        for name, operator in _by_name(state).items()
    }
    items: dict[NamespacedName, Listed] = {}
    for namespace in state.namespaces:
        earlier = winners_in(before.installations, namespace) if before is not None else {}
        for name, operator in sorted(winners_in(state, namespace).items()):
            key = NamespacedName(namespace, name)
            kept = before.items.get(key) if before is not None and earlier.get(name) is operator else None
            items[key] = kept if kept is not None else _at(listed(operator, namespace), version)
    return InstalledSnapshot(state, since, items)


def _item(operator: InstalledOperator, namespace: str, since: Mapping[NamespacedName, str]) -> Listed:
    return _at(listed(operator, namespace), since[NamespacedName(operator.home, operator.name)])


def _at(item: Listed, version: str) -> Listed:
    """The object with a resourceVersion."""
    metadata = {**item.object["metadata"], "resourceVersion": version}
    return item._replace(object={**item.object, "metadata": metadata})


def changes(
    before: InstalledSnapshot, after: InstalledSnapshot, namespace: str | None, selects: Callable[[Listed], bool]
) -> Iterator[Event]:
    """The events from one snapshot to a later one, by namespace and name, as far as a watch selects the objects."""
    old, new = before.in_namespace(namespace), after.in_namespace(namespace)
    for name in sorted({*old, *new}):
        was, now = old.get(name), new.get(name)
        if was is now or was == now:
            continue
        # For a watch with a selector, an object that no longer matches is deleted (Kubernetes' API conventions).
        had = was is not None and selects(was)
        has = now is not None and selects(now)
        if now is not None and has:
            yield Event("MODIFIED" if had else "ADDED", now)
        elif was is not None and had:
            yield Event("DELETED", _at(was, after.version))


def as_bookmark(
    snapshot: InstalledSnapshot, api_version: str, kind: str, *, initial_end: bool = False
) -> KubernetesObject:
    """The object of a bookmark: nothing but the version that has been reached."""
    metadata: KubernetesObject = {"resourceVersion": snapshot.version, "creationTimestamp": None}
    if initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata}


HISTORY = 64
"""How many states are kept: a watch or a list that begins with an older one is refused (410)."""


@dataclass(slots=True)
class Store:
    """The states of the workspace; the one thing in the server that changes. Only for the thread of the event loop.

    `closing` is set when the server is about to stop.
    """

    history: deque[InstalledSnapshot]
    packages: Packages
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    watches: int = 0
    requests: int = 0

    @property
    def current(self) -> InstalledSnapshot:
        return self.history[-1]

    def publish(self, snapshot: InstalledSnapshot, packages: Packages) -> None:
        """Make a new state the present one, and wake all who wait."""
        self.packages = packages
        # Packages have no watches, so a change of them alone makes no state.
        if snapshot is not self.current:
            self.history.append(snapshot)
        self._wake()

    def close(self) -> None:
        """End all watches."""
        self.closing.set()
        self._wake()

    def _wake(self) -> None:
        # A new event before the old one is set: who waits again at once must wait for the next change.
        waiting, self.changed = self.changed, asyncio.Event()
        waiting.set()

    def at(self, version: str) -> InstalledSnapshot | None:
        """The state with a version, None when it is not kept any more or never was."""
        return next((snapshot for snapshot in reversed(self.history) if snapshot.version == version), None)

    def since(self, snapshot: InstalledSnapshot) -> list[InstalledSnapshot] | None:
        """The states after one, oldest first; None when they are not all kept any more."""
        states = list(self.history)
        for index, state in enumerate(states):
            if state is snapshot:
                return states[index + 1 :]
        return None


def new_store(view: InstalledView) -> Store:
    """A store that begins with a view."""
    return Store(deque([first_snapshot(view)], HISTORY), Packages(view.offers, view.global_namespace, 1, view.stored))


def update(snapshot: InstalledSnapshot, packages: Packages, view: InstalledView) -> tuple[InstalledSnapshot, Packages]:
    """The state that follows another one when the workspace shows a view; what is the same stays the same."""
    shown = (view.offers, view.global_namespace, view.stored)
    if (packages.offers, packages.global_namespace, packages.stored) != shown:
        packages = Packages(view.offers, view.global_namespace, packages.generation + 1, view.stored)
    return next_snapshot(snapshot, view), packages
