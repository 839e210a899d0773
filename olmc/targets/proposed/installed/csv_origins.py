"""Where the CSVs of a settled cluster come from: the channel and the catalog, and the version that comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from olmc.compiler.model.catalog import Candidate, named
from olmc.compiler.model.cluster import Cluster, NamespacedName, Subscription
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import CatalogKey

if TYPE_CHECKING:
    from olmc.compiler.results import OperatorResult

UNKNOWN = "<unknown>"


class CsvOrigin(NamedTuple):
    """Where a CSV comes from; "" for what nobody knows, as for a CSV that was applied by hand.

    `target` is the version that is going to be installed in its place, "" if none is.
    """

    channel: str = ""
    catalog: str = ""
    target: str = ""


NO_ORIGIN = CsvOrigin()


def origins(settled: SettledCluster, operators: Sequence[OperatorResult]) -> dict[NamespacedName, CsvOrigin]:
    """The origin of every CSV that a Subscription or an Operator of v2alpha1 has brought (R-INST-7)."""
    cluster = settled.cluster
    by_csv = {name: origin for outcome in operators for name, origin in _of_operator(outcome, cluster)}
    channels = _channels(settled)
    for name, csv in cluster.csvs.items():
        subscription = subscription_of(csv, cluster)
        if subscription is not None:
            moves = subscription.current not in ("", csv.name)
            target = _version_of(subscription.current, name.namespace, subscription.catalog, cluster) if moves else ""
            catalog = _shown(subscription.catalog)
            by_csv[name] = CsvOrigin(_channel(subscription, cluster, channels), catalog, target)
    return by_csv


def subscription_of(csv: Csv, cluster: Cluster) -> Subscription | None:
    """The Subscription that a CSV is installed by, of several the one with the lowest name (R-INST-5)."""
    mine = [
        one
        for name, one in sorted(cluster.subscriptions.items())
        if name.namespace == csv.namespace and one.installed == csv.name
    ]
    return mine[0] if mine else None


def _of_operator(outcome: OperatorResult, cluster: Cluster) -> Iterator[tuple[NamespacedName, CsvOrigin]]:
    """The CSVs of an Operator: its own, and what its Installs brought besides, from wherever a catalog has that."""
    names = {
        str(obj["metadata"]["name"])
        for install in outcome.installs
        for obj in install.content.objects
        if obj["kind"] == CSV_KIND
    }
    for name in cluster.csvs:
        if name.name == outcome.installed:
            waiting = outcome.waiting.install.name if outcome.waiting is not None else ""
            target = _version_of(waiting, name.namespace, outcome.ref, cluster) if waiting else ""
            yield name, CsvOrigin(outcome.channel, _shown(outcome.ref), target)
        elif name.name in names and name in cluster.installed:
            entry = _entry(name.name, cluster)
            yield name, CsvOrigin(entry.channel, _shown(entry.catalog)) if entry is not None else NO_ORIGIN


def _entry(csv: str, cluster: Cluster) -> Candidate | None:
    """An entry that a CSV can have been resolved from, that of a default channel before others."""
    entries = (entry for source in cluster.catalogs.values() for entry in named(source.entries, csv))
    return min(entries, key=lambda one: (not one.default_channel, one.catalog, one.channel), default=None)


def _shown(catalog: CatalogKey) -> str:
    return f"{catalog.namespace}/{catalog.name}" if any(catalog) else ""


def _channel(subscription: Subscription, cluster: Cluster, channels: Mapping[NamespacedName, str]) -> str:
    """What the Subscription asks for, else where the resolver found the bundle, else the package's default channel."""
    resolved = channels.get(NamespacedName(subscription.name.namespace, subscription.installed), "")
    source = cluster.catalogs.get(subscription.catalog)
    package = source.catalog.packages.get(subscription.package) if source and source.catalog else None
    return subscription.channel or resolved or (package.default_channel if package else "")


def _channels(settled: SettledCluster) -> dict[NamespacedName, str]:
    """The channel that one CSV was resolved from, by all InstallPlans in order."""
    by_csv: dict[NamespacedName, str] = {}
    for done in settled.history:
        if done.plan is not None and done.resolution is not None:
            for selection in done.resolution.selections:
                by_csv[NamespacedName(done.plan.namespace, selection.candidate.name)] = selection.candidate.channel
    return by_csv


def _version_of(name: str, namespace: str, catalog: CatalogKey, cluster: Cluster) -> str:
    """The version of a CSV that is there, or that a catalog has."""
    csv = cluster.csvs.get(NamespacedName(namespace, name))
    if csv is not None:
        return csv.version
    source = cluster.catalogs.get(catalog)
    packages = source.catalog.packages.values() if source and source.catalog else ()
    versions = (package.bundles[name].version for package in packages if name in package.bundles)
    return next(versions, "") or UNKNOWN
