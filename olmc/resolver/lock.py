"""Obeying `olmc.lock`: what of the catalogs a locked namespace may still choose from, and whether the lock holds.

The lock lists every bundle that the plans of a namespace go through, not only where they end: the same hops leave the
same traces, and what is selected without ever being installed (R-CAT-583) is needed for the next resolution as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial

from olmc.catalogs.entries import indexed
from olmc.model.catalog import Candidate, ResolveRequest, Selection
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.objects import CatalogKey
from olmc.model.served_entries import of_package
from olmc.model.workspace import Lock, LockedOperator, Workspace
from olmc.resolver.steps import content_of


def restrictions(resolve_request: ResolveRequest, locked: Sequence[LockedOperator]) -> Iterator[ResolveRequest]:
    """The request with everything withheld that is not locked, save packages that are asked for and not in the lock;
    then with packages that nobody asked for as well, so that a dependency which the lock lacks is found and can be
    named; at last as it was asked."""
    names = {_identity(operator) for operator in locked}
    packages = {operator.package for operator in locked}
    requested = {request.package for request in resolve_request.requests}
    catalogs = [(catalog, indexed(catalog.entries)) for catalog in resolve_request.catalogs]
    strict = {package for _, entries in catalogs for package in entries.catalog_index.counts} - (requested - packages)
    for restricted in (strict, packages):
        withheld = partial(_withheld, packages=restricted, names=names)
        yield resolve_request._replace(
            catalogs=tuple(catalog._replace(entries=entries.changed(withheld)) for catalog, entries in catalogs)
        )
    yield resolve_request


def _withheld(entry: Candidate, packages: Set[str], names: Set[tuple[str, ...]]) -> Candidate:
    """An entry, withheld if it is of one of the packages and none of the names."""
    return entry._replace(withheld=entry.package in packages and _identity_of(entry) not in names)


def _identity(operator: LockedOperator) -> tuple[str, ...]:
    return operator.name, operator.package, operator.channel, operator.catalog, operator.catalog_namespace


def _identity_of(entry: Candidate) -> tuple[str, ...]:
    return entry.name, entry.package, entry.channel, entry.catalog.name, entry.catalog.namespace


def lock_of(workspace: Workspace, cluster: Cluster, selections: Iterable[tuple[str, Selection]]) -> Lock:
    """The lock for a settled cluster: `selections` are the bundles that were selected on the way, in order, with their
    namespaces; what the Subscriptions were at before counts as well."""
    chosen: dict[str, dict[tuple[str, ...], Candidate]] = {}
    for name in sorted(cluster.subscriptions):
        entry = _entry_of(cluster, name)
        if entry is not None:
            chosen.setdefault(name.namespace, {})[_identity_of(entry)] = entry
    for namespace, selection in selections:
        # The last one of a package is the one that is to be at rest: what was selected again goes to the end.
        entries = chosen.setdefault(namespace, {})
        entries.pop(_identity_of(selection.candidate), None)
        entries[_identity_of(selection.candidate)] = selection.candidate
    return Lock(
        {
            namespace: tuple(
                _lock_entry(workspace, cluster, entry)
                for entry in sorted(entries.values(), key=lambda each: each.package)
            )
            for namespace, entries in sorted(chosen.items())
        }
    )


def _lock_entry(workspace: Workspace, cluster: Cluster, entry: Candidate) -> LockedOperator:
    digest = digest_of(workspace, cluster, entry)
    catalog = entry.catalog
    return LockedOperator(
        entry.package, entry.name, entry.version, entry.channel, catalog.name, catalog.namespace, digest
    )


def _entry_of(cluster: Cluster, name: NamespacedName) -> Candidate | None:
    """The catalog entry of the CSV that a Subscription is at, from its own channel if it names one.

    A CSV that its channel doesn't have stands for itself: it is not to be upgraded unnoticed either.
    """
    subscription = cluster.subscriptions[name]
    csv = cluster.csvs.get(NamespacedName(name.namespace, subscription.current))
    channel = subscription.channel
    source = cluster.catalogs.get(subscription.catalog)
    fitting = [
        entry
        for entry in (of_package(source.entries, subscription.package) if source else ())
        if entry.name == subscription.current and channel in ("", entry.channel)
    ]
    if not fitting and csv is not None:
        version = csv.version
        return Candidate(csv.name, subscription.package, channel, subscription.catalog, version, ())
    return next((entry for entry in fitting if entry.default_channel), fitting[0] if fitting else None)


def digest_of(workspace: Workspace, cluster: Cluster, entry: Candidate) -> str:
    """The digest of an entry and of its bundle's content, as `sha256:…`; where it stands doesn't count."""
    content = content_of(workspace, cluster, entry)
    manifests = [content.csv, *(manifest for _, manifest in content.others)] if content else []
    fields = entry._replace(location=None, withheld=False)._asdict()
    what = {
        # The digests of locks that exist stay what they are: fields in this order, without the place of the bundle.
        "entry": [
            [value.name, value.namespace] if isinstance(value, CatalogKey) else value
            for value in list(fields.values())[: Candidate._fields.index("bundle")]
        ],
        "objects": [manifest.object for manifest in manifests],
    }
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def find_deviations(lock: Lock, present: Lock) -> Iterator[tuple[str, str]]:
    """Where the present choice is not the locked one: namespace and what differs."""
    for namespace in sorted({*lock.namespaces, *present.namespaces}):
        locked, chosen = lock.namespaces.get(namespace, ()), present.namespaces.get(namespace, ())
        goals = {operator.package: operator for operator in locked}
        ends = {operator.package: operator for operator in chosen}
        known = set(map(_identity, locked))
        new = [operator for operator in chosen if _identity(operator) not in known]
        for operator in new:
            goal = goals.get(operator.package)
            if goal is None:
                yield namespace, f"{operator.name} is needed and not locked"
            else:
                where = f"channel {goal.channel} of catalog {goal.catalog}"
                yield namespace, f"{goal.name} from {where} is locked, {operator.name} would be chosen"
        changed = {operator.package for operator in new}
        for package, goal in sorted(goals.items()):
            end = ends.get(package)
            if end is None:
                yield namespace, f"{goal.name} is locked and not chosen any more"
            elif package not in changed and end.name != goal.name:
                yield namespace, f"{goal.name} is locked, the upgrades end at {end.name}"


def find_changed(lock: Lock, present: Lock) -> Iterator[tuple[str, str]]:
    """The locked operators whose entry or content changed: namespace and name."""
    for namespace, locked in sorted(lock.namespaces.items()):
        now = {_identity(operator): operator.digest for operator in present.namespaces.get(namespace, ())}
        for operator in locked:
            if now.get(_identity(operator), operator.digest) != operator.digest:
                yield namespace, operator.name
