"""Obeying `olmc.lock`: what of the catalogs a locked namespace may still choose from, and whether the lock holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

from olmc.model.cluster import Cluster, Name
from olmc.model.lock import Lock, LockedOperator
from olmc.model.resolution import Candidate, VisibleCatalog, Wish
from olmc.model.workspace import Workspace
from olmc.resolve.contents import content_of
from olmc.resolve.reach import leading_to


def restricted(
    catalogs: Sequence[VisibleCatalog], wishes: Sequence[Wish], locked: Mapping[str, LockedOperator]
) -> tuple[VisibleCatalog, ...]:
    """The catalogs with the locked versions as the newest of their channels, and without packages that are neither
    locked nor asked for."""
    asked = {wish.package for wish in wishes}
    return tuple(catalog._replace(entries=tuple(_kept(catalog, asked, locked))) for catalog in catalogs)


def _kept(
    catalog: VisibleCatalog, asked: set[str], locked: Mapping[str, LockedOperator]
) -> Iterator[Candidate]:
    below = {package: _below(catalog.entries, operator) for package, operator in locked.items()}
    for entry in catalog.entries:
        operator = locked.get(entry.package)
        if operator is None:
            if entry.package in asked:
                yield entry
            continue
        home = (operator.catalog, operator.catalog_namespace, operator.channel)
        if (*catalog.key, entry.channel) == home and entry.name in below[entry.package]:
            yield entry


def _below(entries: Sequence[Candidate], operator: LockedOperator) -> set[str]:
    """The locked bundle, and those of its channel from which upgrades lead to it."""
    channel = [e for e in entries if (e.package, e.channel) == (operator.package, operator.channel)]
    return leading_to(channel, operator.name)


def lock_of(workspace: Workspace, cluster: Cluster) -> Lock:
    """The lock for what the Subscriptions of a settled cluster have chosen."""
    namespaces: dict[str, dict[str, LockedOperator]] = {}
    for name, subscription in sorted(cluster.subscriptions.items()):
        chosen = _entry_of(cluster, name)
        if chosen is None:
            continue
        locked = LockedOperator(
            subscription.package,
            chosen.name,
            chosen.version,
            chosen.channel,
            chosen.catalog.name,
            chosen.catalog.namespace,
            digest_of(workspace, cluster, chosen),
        )
        namespaces.setdefault(name.namespace, {})[subscription.package] = locked
    return Lock(namespaces)


def _entry_of(cluster: Cluster, name: Name) -> Candidate | None:
    """The catalog entry of the CSV that a Subscription has chosen, from its own channel if it names one."""
    subscription = cluster.subscriptions[name]
    channel = str(subscription.spec.get("channel") or "")
    source = cluster.catalogs.get(subscription.catalog)
    fitting = [
        entry
        for entry in (source.entries if source else ())
        if (entry.package, entry.name) == (subscription.package, subscription.current)
        and channel in ("", entry.channel)
    ]
    return next((entry for entry in fitting if entry.default_channel), fitting[0] if fitting else None)


def digest_of(workspace: Workspace, cluster: Cluster, entry: Candidate) -> str:
    """The digest of an entry and of its bundle's content, as `sha256:…`; where it stands doesn't count."""
    content = content_of(workspace, cluster, entry)
    manifests = [content.csv, *(manifest for _, manifest in content.others)] if content else []
    what = {
        "entry": entry._replace(location=None),
        "objects": [manifest.object for manifest in manifests],
    }
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def broken(lock: Lock, present: Lock) -> Iterator[tuple[str, str]]:
    """Where the present choice is not the locked one: namespace and what differs."""
    for namespace, locked in sorted(lock.namespaces.items()):
        chosen = present.namespaces.get(namespace, {})
        for package, operator in sorted(locked.items()):
            now = chosen.get(package)
            if now is None:
                yield namespace, f"{operator.name} is locked and can't be chosen any more"
            elif (now.name, now.channel, now.catalog) != (operator.name, operator.channel, operator.catalog):
                where = f"channel {operator.channel} of catalog {operator.catalog}"
                yield namespace, f"{operator.name} from {where} is locked, {now.name} would be chosen"
    for namespace, chosen in sorted(present.namespaces.items()):
        for package in sorted(chosen.keys() - lock.namespaces.get(namespace, {}).keys()):
            yield namespace, f"{chosen[package].name} is needed and not locked"


def moved(lock: Lock, present: Lock) -> Iterator[tuple[str, str]]:
    """The locked operators whose entry or content changed: namespace and name."""
    for namespace, locked in sorted(lock.namespaces.items()):
        chosen = present.namespaces.get(namespace, {})
        for package, operator in sorted(locked.items()):
            now = chosen.get(package)
            if now is not None and now.name == operator.name and now.digest != operator.digest:
                yield namespace, operator.name
