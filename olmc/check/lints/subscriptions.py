"""Subscriptions: pins that are none, what is deprecated, upgrades that can get stuck, and operators that get none."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.check.lints.subject import Subject
from olmc.explain.pins import channel_entries, obstacle
from olmc.graph.upgrade_graph import ChannelView, upgrade_graph
from olmc.model.catalog import Package
from olmc.model.cluster import Cluster, Name, Subscription
from olmc.model.diagnostic import Diagnostic
from olmc.resolve.plans import MANUAL
from olmc.rules import lints as rules
from olmc.settle.rest import Settled
from olmc.yaml import at


def pins(subject: Subject) -> Iterator[Diagnostic]:
    """A startingCSV that OLM leaves at once, or that it can't get to any more (R-CAT-410)."""
    settled = subject.settled
    for name, before in sorted(settled.beginning.subscriptions.items()) if settled else ():
        starting = before.starting_csv
        after = settled.cluster.subscriptions.get(name) if settled else None
        if not starting or settled is None or after is None:
            continue
        place = at(before.source, "spec", "startingCSV")
        if before.installed and before.installed != starting:
            entries = tuple(channel_entries(settled.beginning, before))
            why = obstacle(settled.beginning, before, entries, starting) if entries else ""
            if why:
                yield rules.PIN_OUT_OF_REACH.finding(
                    place, name=name, starting=starting, why=why, installed=before.installed, package=before.package
                )
        elif after.installed not in ("", starting) and before.approval != MANUAL:
            yield rules.STARTS_BELOW.finding(place, name=name, starting=starting, reached=after.installed)


def deprecated(subject: Subject) -> Iterator[Diagnostic]:
    """Packages, channels and versions in use that the catalog deprecates."""
    for name, subscription, package in _followed(subject.settled):
        channel = subscription.channel or package.default_channel
        used = {
            ("olm.package", ""): (f"package {package.name}", "name"),
            ("olm.channel", channel): (f"channel {channel}", "channel"),
            ("olm.bundle", subscription.installed): (subscription.installed, "name"),
        }
        for each in package.deprecations:
            found = used.get((each.schema, each.name))
            if found is not None and found[0]:
                message = " ".join(each.message.split())
                yield rules.DEPRECATED.finding(
                    at(subscription.source, "spec", found[1]),
                    name=name, what=found[0], message=message, package=package.name,
                )  # fmt: skip


def stranded(subject: Subject) -> Iterator[Diagnostic]:
    """Operators that come to rest below the head of their channel because no upgrade leads there (R-CAT-410)."""
    for name, subscription, package in _followed(subject.settled):
        channel = subscription.channel or package.default_channel
        if not subscription.installed or channel not in package.channels:
            continue
        graph = upgrade_graph(package, [channel])
        vertex = graph.vertices().get(subscription.installed)
        if vertex is not None and channel in vertex.stranded:
            yield rules.STRANDED.finding(
                at(subscription.source, "spec"),
                name=name, installed=subscription.installed, head=_heads(graph.channels[0]), channel=channel,
                package=package.name,
            )  # fmt: skip


def several_hops(subject: Subject) -> Iterator[Diagnostic]:
    """Upgrades over at least one version in between, which OLM replaces at once (R-CAT-590) if nobody approves them."""
    if subject.settled is None:
        return
    cluster = subject.settled.cluster
    approved = {Name(plan.namespace, csv) for plan in cluster.plans if plan.approval == MANUAL for csv in plan.csvs}
    for name, subscription in sorted(cluster.subscriptions.items()):
        first, *between = _replaced(cluster, name.namespace, subscription.installed)
        if len(between) > 1 and Name(name.namespace, subscription.installed) not in approved:
            last = between.pop()
            yield rules.SEVERAL_HOPS.finding(
                at(subscription.source, "spec"), name=name, first=first, between=", ".join(between), last=last
            )


def _replaced(cluster: Cluster, namespace: str, csv: str) -> list[str]:
    """The CSVs that were replaced one after the other until `csv` was installed, and itself, in this order."""
    known = {each.name: each for each in (*cluster.csvs.values(), *cluster.retired) if each.namespace == namespace}
    chain = [csv]
    while chain[0] in known and known[chain[0]].replaces in known and known[chain[0]].replaces not in chain:
        chain.insert(0, known[chain[0]].replaces)
    return chain


def _followed(settled: Settled | None) -> Iterator[tuple[Name, Subscription, Package]]:
    """The Subscriptions of the cluster at rest whose package their catalog has."""
    for name, subscription in sorted(settled.cluster.subscriptions.items()) if settled else ():
        source = settled.cluster.catalogs.get(subscription.catalog) if settled else None
        package = source.catalog.packages.get(subscription.package) if source and source.catalog else None
        if package is not None:
            yield name, subscription, package


def _heads(channel: ChannelView) -> str:
    return " or ".join(channel.heads)
