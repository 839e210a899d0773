"""Lints of OLM's own objects: Subscriptions, catalogs, OperatorGroups, CatalogSources."""

from __future__ import annotations

import json
from collections.abc import Iterator

from olmc.compiler.model.catalog import Package
from olmc.compiler.model.cluster import Cluster, NamespacedName, Subscription
from olmc.compiler.olm.facts import poll_interval, spec_problem
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.reconcile.operator_groups import parse_apis
from olmc.compiler.render.components import copy_targets
from olmc.compiler.render.webhooks import render_context
from olmc.compiler.resolver.rounds import MANUAL
from olmc.compiler.rules.findings import lints as rules
from olmc.k8s.api.selectors import NamedLabelIndex, is_empty, problem
from olmc.k8s.diagnostics import Diagnostic, join_limited
from olmc.k8s.objects import annotations_of, mapping, object_key, spec_of, status_of
from olmc.k8s.semver import dropped_parts, range_or_none
from olmc.k8s.yaml import at
from olmc.review.check.lints import LintSubject, full_name, of_kind
from olmc.review.explain.resolution import channel_entries, obstacle
from olmc.review.graph.catalogs import distinct_catalogs
from olmc.review.graph.upgrade_graph import upgrade_graph


def pins(subject: LintSubject) -> Iterator[Diagnostic]:
    """A startingCSV that OLM leaves at once, or that it can't get to any more (R-CAT-410)."""
    settled = subject.settled
    for name, before in sorted(settled.beginning.subscriptions.items()) if settled else ():
        starting = before.starting_csv
        after = settled.cluster.subscriptions.get(name) if settled else None
        if not starting or settled is None or after is None:
            continue
        place = at(before.source, "spec", "startingCSV")
        # OLM reads startingCSV for the first installation only; later no upgrade reads it.
        if before.installed and before.installed != starting:
            entries = tuple(channel_entries(settled.beginning, before))
            why = obstacle(settled.beginning, before, entries, starting) if entries else ""
            if why:
                yield rules.PIN_OUT_OF_REACH.finding(
                    place, name=name, starting=starting, why=why, installed=before.installed, package=before.package
                )
        # With automatic approval OLM goes on to the head at once, so the version that was named doesn't stay.
        elif after.installed not in ("", starting) and before.approval != MANUAL:
            yield rules.STARTS_BELOW.finding(place, name=name, starting=starting, reached=after.installed)


def stranded(subject: LintSubject) -> Iterator[Diagnostic]:
    """Operators that come to rest below the head of their channel because no upgrade leads there (R-CAT-410)."""
    for name, subscription, package in _followed(subject.settled):
        channel = subscription.channel or package.default_channel
        if not subscription.installed or channel not in package.channels:
            continue
        graph = upgrade_graph(package, [channel])
        # An upgrade is an entry that replaces, skips or ranges over what is installed (R-CAT-410); where there is none,
        # the installed CSV stays and that is no error (R-CAT-411).
        vertex = graph.vertices().get(subscription.installed)
        if vertex is not None and channel in vertex.stranded:
            yield rules.STRANDED.finding(
                at(subscription.source, "spec"),
                name=name, installed=subscription.installed, head=" or ".join(graph.channels[0].heads), channel=channel,
                package=package.name,
            )  # fmt: skip


def several_hops(subject: LintSubject) -> Iterator[Diagnostic]:
    """Report upgrades over at least one version in between, which OLM replaces at once (R-CAT-590) without an
    approval."""
    if subject.settled is None:
        return
    cluster = subject.settled.cluster
    # OLM plans the next version as soon as the CSV of the last one exists, unless somebody has to approve it.
    approved = {
        NamespacedName(plan.namespace, csv)
        for plan in cluster.plans.values()
        if plan.approval == MANUAL
        for csv in plan.csvs
    }
    for name, subscription in sorted(cluster.subscriptions.items()):
        first, *between = _replaced(cluster, name.namespace, subscription.installed)
        if len(between) > 1 and NamespacedName(name.namespace, subscription.installed) not in approved:
            last = between.pop()
            yield rules.SEVERAL_HOPS.finding(
                at(subscription.source, "spec"), name=name, first=first, between=", ".join(between), last=last
            )


def _replaced(cluster: Cluster, namespace: str, csv: str) -> list[str]:
    """The CSVs that were replaced one after the other until `csv` was installed, and itself, in this order."""
    known = {
        member.name: member for member in (*cluster.csvs.values(), *cluster.retired) if member.namespace == namespace
    }
    chain = [csv]
    while chain[0] in known and known[chain[0]].replaces in known and known[chain[0]].replaces not in chain:
        chain.insert(0, known[chain[0]].replaces)
    return chain


def _followed(settled: SettledCluster | None) -> Iterator[tuple[NamespacedName, Subscription, Package]]:
    """The Subscriptions of the cluster at rest whose package their catalog has."""
    for name, subscription in sorted(settled.cluster.subscriptions.items()) if settled else ():
        source = settled.cluster.catalogs.get(subscription.catalog) if settled else None
        package = source.catalog.packages.get(subscription.package) if source and source.catalog else None
        if package is not None:
            yield name, subscription, package


PROVIDED_APIS = "olm.providedAPIs"
_NAMESPACED = (
    "OperatorGroup", "Subscription", "CatalogSource", "ClusterServiceVersion", "InstallPlan", "OperatorCondition",
)  # fmt: skip
_MOST = 5
MUCH = 5_000_000
"""Bytes of all copies of one CSV from which on they are worth a word."""


def empty_targets(subject: LintSubject) -> Iterator[Diagnostic]:
    """`targetNamespaces: []`, which targets everything (R-OG-1)."""
    for manifest in of_kind(subject, "OperatorGroup"):
        spec = spec_of(manifest.object)
        if "targetNamespaces" in spec and not spec["targetNamespaces"]:
            # OLM asks the selector first, and takes an empty list for none (R-OG-1).
            everything = is_empty(spec.get("selector"))
            effect = "the group targets all namespaces" if everything else "the selector decides"
            place = at(manifest.source, "spec", "targetNamespaces")
            yield rules.EMPTY_TARGETS.finding(place, name=full_name(manifest.object), effect=effect)


def kept_apis(subject: LintSubject) -> Iterator[Diagnostic]:
    """The annotation `olm.providedAPIs` of a group that is not static (R-OG-13)."""
    for manifest in of_kind(subject, "OperatorGroup"):
        annotations = annotations_of(manifest.object)
        static = spec_of(manifest.object).get("staticProvidedAPIs")
        # OLM writes the provided APIs of the group's members into the annotation (R-OG-13), so a value here does not
        # stay.
        if PROVIDED_APIS in annotations and not static:
            place = at(manifest.source, "metadata", "annotations", PROVIDED_APIS)
            yield rules.KEPT_APIS.finding(place, name=full_name(manifest.object))


def without_namespace(subject: LintSubject) -> Iterator[Diagnostic]:
    """Objects that must be in a namespace, and name none."""
    for manifest in of_kind(subject, *_NAMESPACED):
        if not manifest.object["metadata"].get("namespace"):
            name, kind = manifest.object["metadata"]["name"], manifest.object["kind"]
            yield rules.NO_NAMESPACE.finding(at(manifest.source, "metadata"), kind=kind, name=name)


def refused_sources(subject: LintSubject) -> Iterator[Diagnostic]:
    """CatalogSources whose spec does not say where the catalog comes from."""
    for manifest in of_kind(subject, "CatalogSource"):
        problem = spec_problem(spec_of(manifest.object))
        if problem:
            place = at(manifest.source, "spec", "sourceType")
            yield rules.REFUSED_SOURCE.finding(place, source=full_name(manifest.object), problem=problem)


def stranded_versions(subject: LintSubject) -> Iterator[Diagnostic]:
    """Versions of a channel from which no upgrade leads to its head, one finding a channel (R-CAT-410)."""
    for _, catalog in distinct_catalogs(subject.workspace.catalogs):
        for _, package in sorted(catalog.packages.items()):
            graph = upgrade_graph(package)
            for channel in graph.channels:
                names = [vertex.name for vertex in graph.versions if channel.name in vertex.stranded]
                if channel.problem or not names:
                    continue  # the resolver reports a channel without order
                place = package.channels[channel.name].location
                yield rules.STRANDED_VERSIONS.finding(
                    at(place.source, *place.keys) if place is not None else None,
                    package=package.name, channel=channel.name, head=" or ".join(channel.heads),
                    names=join_limited(names, _MOST),
                )  # fmt: skip


def half_ranges(subject: LintSubject) -> Iterator[Diagnostic]:
    """Ranges of which OLM drops a part (R-CAT-453)."""
    for _, catalog in distinct_catalogs(subject.workspace.catalogs):
        for _, package in sorted(catalog.packages.items()):
            for channel in package.channels.values():
                for entry in channel.entries:
                    parts = dropped_parts(entry.skip_range)
                    # OLM drops a part of less than two characters, and uses the rest (R-CAT-453); what can't be read at
                    # all another check reports.
                    if parts and range_or_none(entry.skip_range) is not None:
                        place = entry.location
                        yield rules.DROPPED_PART.finding(
                            at(place.source, *place.keys, "skipRange") if place is not None else None,
                            parts=" and ".join(map(repr, parts)), text=entry.skip_range, name=entry.name,
                        )  # fmt: skip


def many_copies(subject: LintSubject) -> Iterator[Diagnostic]:
    """CSVs whose copies in target namespaces take much space together (R-COPY-2)."""
    if subject.settled is None:
        return
    cluster = subject.settled.cluster
    scene = render_context(cluster, subject.options)
    for name, member in sorted(cluster.members.items()):
        count = len(copy_targets(scene, member))
        # OLM copies the whole CSV into every target namespace (R-COPY-2), and etcd and all who watch CSVs keep each
        # copy.
        size = count * len(json.dumps(member.csv.object, separators=(",", ":"), default=str)) if count else 0
        if size >= MUCH:
            place = at(member.csv.source, "metadata", "name")
            yield rules.MANY_COPIES.finding(place, csv=name.name, count=count, size=round(size / 1e6))


# Lints of what people write for OLM and OLM makes no use of: selectors, static groups, InstallPlans.


def selectors(subject: LintSubject) -> Iterator[Diagnostic]:
    """Selectors of groups that count for nothing beside a list, or that no namespace has the labels for (R-OG-1)."""
    namespaces = NamedLabelIndex(subject.settled.cluster.namespaces if subject.settled else {})
    for manifest in of_kind(subject, "OperatorGroup"):
        spec = spec_of(manifest.object)
        selector = mapping(spec.get("selector"))
        if is_empty(selector):
            continue
        if spec.get("targetNamespaces"):
            rule = rules.IDLE_SELECTOR
        elif subject.settled and not problem(selector) and not namespaces.select(selector):
            rule = rules.SELECTS_NOTHING
        else:
            continue
        yield rule.finding(at(manifest.source, "spec", "selector"), name=full_name(manifest.object))


def static_groups(subject: LintSubject) -> Iterator[Diagnostic]:
    """Static groups whose annotation names no API, so that no member may provide any (R-OG-14, R-CSV-13)."""
    for manifest in of_kind(subject, "OperatorGroup"):
        apis = annotations_of(manifest.object).get(PROVIDED_APIS)
        if spec_of(manifest.object).get("staticProvidedAPIs") is True and not parse_apis(str(apis or "")):
            place = at(manifest.source, "spec", "staticProvidedAPIs")
            yield rules.STATIC_WITHOUT_APIS.finding(place, name=full_name(manifest.object))


def poll_intervals(subject: LintSubject) -> Iterator[Diagnostic]:
    """Intervals of CatalogSources that are no duration, in whose place OLM takes 15 minutes (R-CAT-160)."""
    for manifest in of_kind(subject, "CatalogSource"):
        interval = poll_interval(spec_of(manifest.object))
        if interval and interval.problem:
            place = at(manifest.source, "spec", "updateStrategy", "registryPoll", "interval")
            yield rules.UNREADABLE_INTERVAL.finding(place, source=full_name(manifest.object), problem=interval.problem)


def plans_without_status(subject: LintSubject) -> Iterator[Diagnostic]:
    """InstallPlans that somebody wrote: OLM goes by the status alone, which only its resolver writes (R-CAT-600)."""
    plans = subject.settled.cluster.plans if subject.settled else {}
    resumed = {name for name, plan in plans.items() if plan.resumed}
    for manifest in of_kind(subject, "InstallPlan"):
        key, status = object_key(manifest.object), status_of(manifest.object)
        has_steps = status.get("plan") or status.get("bundleLookups")
        if not has_steps and NamespacedName(key.namespace, key.name) not in resumed:
            place = at(manifest.source, "metadata", "name")
            yield rules.PLAN_WITHOUT_STATUS.finding(place, name=full_name(manifest.object))
