"""Catalog against catalog: packages, channels, heads, entries and their edges, deprecations, and who is stranded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from olmc.diff import catalog_kinds as kinds
from olmc.diff.change import DiffChange
from olmc.diff.extensions import asked, extensions
from olmc.lean import NamedTuple
from olmc.model.catalog import Catalog, Channel, Package
from olmc.model.objects import CatalogKey, ObjectKey, text
from olmc.model.operators import OLM_GROUP
from olmc.model.workspace import EXTENSIONS_V1

if TYPE_CHECKING:
    from olmc.diff.sides import Side
    from olmc.reconcile.loop import SettledCluster

_DEPRECATED = {"olm.package": "package", "olm.channel": "channel", "olm.bundle": "version"}


class _Use(NamedTuple):
    """What Subscriptions of both sides ask for, and what is installed: packages, their channels, names of CSVs;
    `who` is the kind of what asks."""

    packages: frozenset[str]
    channels: frozenset[tuple[str, str]]
    csvs: frozenset[str]
    who: str = "Subscription"


def catalog_changes(old: Side, new: Side) -> Iterator[DiffChange]:
    """How the catalogs that both sides have differ; what only one of them has is an object that comes or goes."""
    if old.settled is not None and new.settled is not None:
        before, after = old.settled.cluster.catalogs, new.settled.cluster.catalogs
        for key in sorted(before.keys() & after.keys()):
            known = ObjectKey(OLM_GROUP, "CatalogSource", key.namespace, key.name)
            yield from _catalog(known, before[key].catalog, after[key].catalog, _use(key, old.settled, new.settled))
    use = _use_of_extensions(old, new)
    for name in sorted(old.served.keys() & new.served.keys()):
        known = ObjectKey(EXTENSIONS_V1.partition("/")[0], "ClusterCatalog", "", name)
        yield from _catalog(known, old.served[name], new.served[name], use)


def _catalog(known: ObjectKey, was: Catalog | None, now: Catalog | None, use: _Use) -> Iterator[DiffChange]:
    if was is None or now is None or was.packages == now.packages:
        return
    if was.problem or now.problem:  # of what can't be served nobody knows the packages
        if not was.problem:
            yield kinds.catalog_broken(known, now.problem)
        return
    for name in sorted(was.packages.keys() | now.packages.keys()):
        yield from _package(known, name, was.packages.get(name), now.packages.get(name), use)


def _use_of_extensions(*sides: Side) -> _Use:
    """The same of ClusterExtensions, whichever catalog they get it from."""
    asking = [extension for side in sides for extension in extensions(side.objects).values()]
    channels = ((each.package, asked(each.object)["channels"].split(", ")) for each in asking)
    return _Use(
        frozenset(extension.package for extension in asking),
        frozenset((package, channel) for package, some in channels for channel in some),
        frozenset(extension.bundle for extension in asking),
        "ClusterExtension",
    )


def _use(key: CatalogKey, *sides: SettledCluster) -> _Use:
    subscriptions = [
        subscription
        for side in sides
        for subscription in side.cluster.subscriptions.values()
        if subscription.catalog == key
    ]
    return _Use(
        frozenset(subscription.package for subscription in subscriptions),
        frozenset((subscription.package, text(subscription.spec.get("channel"))) for subscription in subscriptions),
        frozenset(name.name for side in sides for name in side.cluster.csvs),
    )


def _package(known: ObjectKey, name: str, old: Package | None, new: Package | None, use: _Use) -> Iterator[DiffChange]:
    if new is None:
        yield kinds.package_removed(known, name, name in use.packages, use.who)
        return
    if old is None:
        yield kinds.package_added(known, name)
        return
    if old.default_channel != new.default_channel:
        yield kinds.default_channel_changed(known, name, old.default_channel, new.default_channel)
    for channel in sorted(old.channels.keys() | new.channels.keys()):
        if channel not in new.channels:
            yield kinds.channel_removed(known, name, channel, (name, channel) in use.channels, use.who)
        elif channel not in old.channels:
            yield kinds.channel_added(known, name, channel, _heads(new.channels[channel]))
        elif old.channels[channel].entries != new.channels[channel].entries:
            yield from _channel(known, name, old.channels[channel], new.channels[channel])
    yield from _stranded(known, old, new)
    yield from _deprecations(known, old, new, use)


def _heads(channel: Channel) -> str:
    """The heads of a channel as a text: what nothing in it replaces or skips."""
    passed = {name for entry in channel.entries for name in (entry.replaces, *entry.skips)}
    return ", ".join(sorted(entry.name for entry in channel.entries if entry.name not in passed))


def _channel(known: ObjectKey, package: str, old: Channel, new: Channel) -> Iterator[DiffChange]:
    before, after = ({entry.name: entry for entry in channel.entries} for channel in (old, new))
    added, removed = tuple(n for n in after if n not in before), tuple(n for n in before if n not in after)
    heads = _heads(old), _heads(new)
    if added or removed or heads[0] != heads[1]:
        yield kinds.channel_changed(known, package, new.name, *heads, added, removed)
    for name, entry in after.items():
        was = before.get(name)
        for field, value in (
            ("replaces", entry.replaces), ("skips", ", ".join(entry.skips)), ("skipRange", entry.skip_range),
        ):  # fmt: skip
            past = _edge(was, field) if was is not None else value
            if past != value:
                yield kinds.edges_changed(known, package, new.name, name, field, past, value)
        dangles = bool(entry.replaces) and entry.replaces not in after
        dangled = was is not None and was.replaces == entry.replaces and entry.replaces not in before
        # The first entry of a channel often replaces one that was in another channel.
        if dangles and not dangled and (was is not None or len(after) > 1):
            yield kinds.replaces_nothing(known, package, new.name, name, entry.replaces)


def _edge(entry: object, field: str) -> str:
    value = getattr(entry, {"skipRange": "skip_range"}.get(field, field))
    return value if isinstance(value, str) else ", ".join(value)


def _stranded(known: ObjectKey, old: Package, new: Package) -> Iterator[DiffChange]:
    from olmc.graph.upgrade_graph import upgrade_graph

    before, after = (
        {(channel, vertex.name) for vertex in upgrade_graph(package).versions for channel in vertex.stranded}
        for package in (old, new)
    )
    was_in = {(channel.name, entry.name) for channel in old.channels.values() for entry in channel.entries}
    lost: dict[str, list[str]] = {}
    for channel, name in sorted((after - before) & was_in):
        lost.setdefault(channel, []).append(name)
    for channel, names in lost.items():
        yield kinds.versions_stranded(known, new.name, channel, tuple(names))


def _deprecations(known: ObjectKey, old: Package, new: Package, use: _Use) -> Iterator[DiffChange]:
    before = {(entry.schema, entry.name) for entry in old.deprecations}
    for entry in new.deprecations:
        if (entry.schema, entry.name) not in before:
            what = _DEPRECATED.get(entry.schema, entry.schema)
            reached = {
                "package": new.name in use.packages,
                "channel": (new.name, entry.name) in use.channels,
                "version": entry.name in use.csvs,
            }.get(what, False)
            yield kinds.deprecated(known, new.name, what, entry.name or new.name, entry.message, reached)
