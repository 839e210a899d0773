"""The way that OLM takes from the CSV of one side to that of the other: asked of the catalog, else of the objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from olmc.golang.ranges import range_or_none
from olmc.golang.semver import tolerant_or_none
from olmc.model.objects import KubernetesObject
from olmc.model.values import mapping, mappings, text
from olmc.review.diff.operators import Operator

if TYPE_CHECKING:
    from olmc.model.catalog import Package
    from olmc.settle.rest import Settled

__all__ = ["Path", "PathHop", "Subscribed", "path_between", "replaced_by_plans", "subscribed"]


class PathHop(NamedTuple):
    """An upgrade from one CSV to another, and why it is one: replaces, skips or skipRange."""

    source: str
    target: str
    kind: str


class Path(NamedTuple):
    """The hops of an upgrade. `reached`: do they lead to the new CSV (None: nobody can say); `end`: where else."""

    hops: tuple[PathHop, ...] = ()
    reached: bool | None = None
    end: str = ""


UNKNOWN = Path()


def path_between(old: Operator, new: Operator, planned: Mapping[str, str], settled: Settled | None) -> Path:
    """How OLM gets from one CSV to the other on the new side, given what its plans replace and its cluster at rest."""
    direct = _direct(old, new)
    found = subscribed(settled, new.namespace, new.package) if settled is not None else None
    if found is not None:
        return _by_catalog(found.package, found.channel, old, new) or direct
    return _by_plans(old.name, new.name, planned) or direct


class Subscribed(NamedTuple):
    """A package that a Subscription asks for: the name of its catalog, what the catalog has of it, and the channel."""

    catalog: str
    package: Package
    channel: str


def subscribed(settled: Settled, namespace: str, package: str) -> Subscribed | None:
    """What the Subscription to a package in a namespace asks for, None if its catalog does not have the package."""
    for name, subscription in sorted(settled.cluster.subscriptions.items()):
        if name.namespace == namespace and subscription.package == package:
            source = settled.cluster.catalogs.get(subscription.catalog)
            if source is not None and source.catalog is not None and package in source.catalog.packages:
                found = source.catalog.packages[package]
                return Subscribed(source.key.name, found, text(subscription.spec.get("channel")))
    return None


def _by_catalog(package: Package, channel: str, old: Operator, new: Operator) -> Path | None:
    from olmc.emit.query_errors import QueryError
    from olmc.graph.paths import channel_named, route, version_named
    from olmc.graph.upgrade_graph import upgrade_graph

    graph = upgrade_graph(package)
    try:
        view = channel_named(graph, channel)
        start, goal = version_named(graph, old.name, absent=True), version_named(graph, new.name)
    except QueryError:
        return None
    walk = route(graph, view, start, goal).walk
    hops = tuple(PathHop(hop.source, hop.target, hop.kind) for hop in walk.hops)
    return Path(hops, walk.reached, "" if walk.reached else walk.stops[-1] or old.name)


def replaced_by_plans(objects: Iterable[KubernetesObject]) -> dict[str, str]:
    """By CSV what it replaces, as the InstallPlans among objects have it."""
    found: dict[str, str] = {}
    for obj in objects:
        if obj.get("kind") == "InstallPlan":
            for each in mappings(mapping(obj.get("status")).get("bundleLookups")):
                found[text(each.get("identifier"))] = text(each.get("replaces"))
    return found


def _by_plans(old: str, new: str, before: Mapping[str, str]) -> Path | None:
    """The hops that the InstallPlans made; None when they don't lead from the one to the other."""
    hops: list[PathHop] = []
    current = new
    while current != old and before.get(current) and len(hops) <= len(before):
        hops.append(PathHop(before[current], current, "replaces"))
        current = before[current]
    return Path(tuple(reversed(hops)), True) if current == old and hops else None


def _direct(old: Operator, new: Operator) -> Path:
    """What the new CSV says about the old one."""
    skipped, version = range_or_none(new.skip_range), tolerant_or_none(old.version)
    if new.replaces == old.name:
        kind = "replaces"
    elif old.name in new.skips:
        kind = "skips"
    elif skipped is not None and version is not None and skipped.contains(version):
        kind = "skipRange"
    else:
        return UNKNOWN
    return Path((PathHop(old.name, new.name, kind),), True)
