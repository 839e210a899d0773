"""Compare the installed versions: operators by namespace and package, Subscriptions, groups and plans.

The catalog decides how OLM upgrades from one version to the other, without a catalog the objects do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olmc.compiler.model.catalog import Property
from olmc.compiler.model.cluster import NamespacedName, Subscription, seen_catalogs
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.facts import properties_of, version_in
from olmc.compiler.output.messages import QueryError
from olmc.compiler.resolver.upgrade_path import edge_kind, precedence, skips_over
from olmc.k8s.diagnostics import Severity
from olmc.k8s.gojson import unmarshal
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import KubernetesObject, ObjectKey, mapping, mappings, object_key, spec_of, status_of, text, texts
from olmc.k8s.semver import Version, range_or_none, tolerant_or_none
from olmc.review.diff import catalog_kinds as catalog_kinds_kinds
from olmc.review.diff import version_kinds as kinds
from olmc.review.diff.crd_kinds import (
    CHANGE,
    CHANGED,
    NOTE,
    RISK,
    ChangeGroup,
    DiffChange,
    Judgement,
    change_kind,
    shown,
)
from olmc.review.diff.matching import Pair
from olmc.review.diff.noise import SUBSCRIBED
from olmc.review.diff.operators import DiffOperator, heads, operators
from olmc.review.diff.premises import is_reached
from olmc.review.diff.settings import Side
from olmc.review.diff.version_kinds import UpgradeHop, UpgradePath
from olmc.review.graph.upgrade_graph import channel_named, route, upgrade_graph, version_named
from olmc.targets.proposed.operator_api import OPERATOR_API

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Package
    from olmc.compiler.model.cluster import Cluster
    from olmc.compiler.reconcile.loop import SettledCluster

# The fields of bundles in addition to their objects: channels, edges, and versions of OpenShift.

_OPENSHIFT = "com.redhat.openshift.versions"
_MAX_OPENSHIFT = "olm.maxOpenShiftVersion"
_OLM_PROPERTIES = "olm.properties"
_FEATURE = "features.operators.openshift.io/"
_FEATURES = "operators.openshift.io/infrastructure-features"
_SUBSCRIPTION = "operators.openshift.io/valid-subscription"
_LOWEST = regex(r">=?\s*v?([0-9][0-9A-Za-z.+-]*)")
_FIRST = Version(0, 0, 0)


def loses_channel(old: Bundle | None, new: Bundle | None) -> bool:
    """Return whether the new bundle is in none of the old one's channels, or not in its default channel."""
    if old is None or new is None or not old.channels or not new.channels:
        return False
    return not set(old.channels) & set(new.channels) or _default(old) not in ("", *new.channels)


def _default(bundle: Bundle) -> str:
    """The default channel: a bundle with one channel need not say it."""
    return bundle.default_channel or (bundle.channels[0] if len(bundle.channels) == 1 else "")


def bundle_changes(old: Bundle | None, new: Bundle | None, objects: Iterable[KubernetesObject]) -> Iterator[DiffChange]:
    """Yield how the metadata of two bundles differ; `objects` are those of the new side, with the CSV that it is
    about."""
    if old is None or new is None:
        return
    known = _csv(new, objects)
    removed = tuple(channel for channel in old.channels if channel not in new.channels)
    if set(old.channels) != set(new.channels):
        yield catalog_kinds_kinds.bundle_channels_changed(
            known, old.channels, new.channels, removed, loses_channel(old, new)
        )
    # Without channels in common the other default one is reported with them.
    if old.default_channel != new.default_channel and (old.default_channel in new.channels or not old.default_channel):
        yield catalog_kinds_kinds.default_channel_changed(known, new.package, old.default_channel, new.default_channel)
    was, now = (text(bundle.annotations.get(_OPENSHIFT)) for bundle in (old, new))
    if was != now:
        yield catalog_kinds_kinds.openshift_versions_changed(known, was, now)


def _csv(bundle: Bundle, objects: Iterable[KubernetesObject]) -> ObjectKey:
    installed = (operator.csv for operator in operators(objects).values() if operator.name == bundle.name)
    return object_key(next(installed, bundle.csv.object))


def needed_changes(known: ObjectKey, old: DiffOperator, new: DiffOperator) -> Iterator[DiffChange]:
    """Versions that the new CSV no longer upgrades, and the OpenShift that it holds back."""
    if old.name != new.name and not is_downgrade(old, new):
        yield from _narrowed(known, old, new)
        yield from _widened(known, old, new)
    was, now = (_max_openshift(operator) for operator in (old, new))
    if was != now:
        before, after = tolerant_or_none(was), tolerant_or_none(now)
        is_lower = bool(now) and (before is None or after is None or after.compare(before) < 0)
        yield catalog_kinds_kinds.max_openshift_changed(known, was, now, is_lower)
    features, others = _features(new), _features(old)
    if features != others:
        yield catalog_kinds_kinds.features_changed(
            known, tuple(sorted(features - others)), tuple(sorted(others - features))
        )
    was, now = (text(operator.annotations.get(_SUBSCRIPTION)) for operator in (old, new))
    if was != now:
        yield catalog_kinds_kinds.valid_subscription_changed(known, was, now)


def _narrowed(known: ObjectKey, old: DiffOperator, new: DiffOperator) -> Iterator[DiffChange]:
    lowest = _LOWEST.search(old.skip_range)
    # A range that holds the old version still leads everybody on, if in more hops; which those are is worth a line.
    if lowest is not None and not skips_over(new, tolerant_or_none(lowest[1])) and new.skip_range:
        yield catalog_kinds_kinds.skip_range_narrowed(known, old.skip_range, new.skip_range, lowest[1])
    lost = tuple(name for name in old.skips if edge_kind(new, name, tolerant_or_none(_version(name))) is None)
    if lost:
        yield catalog_kinds_kinds.skips_narrowed(known, lost)


def _widened(known: ObjectKey, old: DiffOperator, new: DiffOperator) -> Iterator[DiffChange]:
    # An older installation skips versions that may have migrated data, also where `replaces` leads as well.
    before, after, installed = _lowest(old), _lowest(new), tolerant_or_none(old.version)
    if after is None or installed is None or after.compare(installed) >= 0:
        return
    if before is None or after.compare(before) < 0:
        yield catalog_kinds_kinds.skip_range_widened(
            known, old.skip_range, new.skip_range, "" if after == _FIRST else str(after)
        )


def _lowest(operator: DiffOperator) -> Version | None:
    """Return where the skipRange of a CSV begins, `_FIRST` without a lower end; None without a range that can be
    read."""
    # Several ranges may be joined by ||, and one of them may have no lower end.
    if skips_over(operator, _FIRST):
        return _FIRST
    bounds = map(tolerant_or_none, _LOWEST.findall(operator.skip_range) if range_or_none(operator.skip_range) else ())
    return min((bound for bound in bounds if bound is not None), key=precedence, default=None)


def is_downgrade(old: DiffOperator, new: DiffOperator) -> bool:
    """Return whether the new CSV has a lower version than the old one."""
    before, after = tolerant_or_none(old.version), tolerant_or_none(new.version)
    return before is not None and after is not None and after.compare(before) < 0


def _version(name: str) -> str:
    return name.partition(".")[2]


def _features(operator: DiffOperator) -> frozenset[str]:
    """Return the OpenShift features that an operator claims to support, by annotations of either form; the older form
    is one list."""
    claimed = {
        key.removeprefix(_FEATURE) for key, value in operator.annotations.items()
        if key.startswith(_FEATURE) and value == "true"
    }  # fmt: skip
    listed = (name.lower() for name in texts(_decoded(operator.annotations.get(_FEATURES))))
    return frozenset(claimed.union("fips-compliant" if name == "fips" else name for name in listed))


def _max_openshift(operator: DiffOperator) -> str:
    for prop in (*properties_of(operator.csv), *_annotated(operator)):
        if prop.type == _MAX_OPENSHIFT:
            return str(prop.value or "")
    return ""


def _annotated(operator: DiffOperator) -> Iterator[Property]:
    for prop in mappings(_decoded(operator.annotations.get(_OLM_PROPERTIES))):
        yield Property(text(prop.get("type")), prop.get("value"))


def _decoded(annotation: Any) -> Any:
    """Return the text of an annotation as JSON, None if it is none."""
    try:
        return unmarshal(text(annotation) or "null")
    except ValueError:
        return None


# Subscriptions whose catalog is not in the workspace: the installed versions are unknown, not removed.

# As the resolver says it: the catalog is not known, its content is not there, or the package was left out of it.
_UNKNOWN = regex(
    r"no operators found from catalog (?P<absent>\S+) in namespace \S+ referenced by"
    r"|(?:error using catalogsource \S+/(?P<empty>[^\s/]+)|error using catalog (?P<until_21>\S+) \(in namespace \S+\)"
    r"|failed to populate resolver cache from source (?P<until_28>[^\s/]+)/\S+)"
    r": failed to list bundles: (?:(?!error using )[^\n])* no content in the workspace"
    r"|package \S+ of catalog (?P<partial>\S+) in \S+ is not vendored"
)


@change_kind("ResolutionUnknown", ChangeGroup.VERSIONS, CHANGED)
def resolution_unknown(catalog: str) -> Judgement:
    """A Subscription of which is not known what it installs, as the content of its catalog is not in the workspace."""
    return RISK, ("what it installs is unknown: the workspace has no content of catalog ", shown(catalog))


def unknown_catalog(failure: str) -> str:
    """The catalog for want of which a resolution fails, by what its condition says; "" if it is not that."""
    match = _UNKNOWN.search(failure)
    return next(filter(None, match.groups()), "") if match is not None else ""


Operators = Mapping[NamespacedName, DiffOperator]

_REQUIREMENTS = ("olm.package.required", "olm.gvk.required", "olm.constraint", "olm.label")


def operator_changes(old: Side, new: Side, installed: tuple[Operators, Operators]) -> Iterator[DiffChange]:
    """Yield the changes of the operators of each namespace, by package; `installed` are those of both sides."""
    lost = loses_channel(old.bundle, new.bundle)
    before, after = heads(installed[0]), heads(installed[1])
    planned = _replaced_by_plans(new.objects)
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if now is None:
            assert was is not None
            yield kinds.operator_removed(object_key(was.csv), was.package, was.version)
            continue
        known = object_key(now.csv)
        if was is None:
            yield kinds.operator_added(known, now.package, now.version)
        elif was.name != now.name:
            is_there = NamespacedName(was.namespace, was.name) in installed[1]
            unfinished = now.phase if is_there and now.phase != "Succeeded" else ""
            yield _upgrade(known, was, now, _path_between(was, now, planned, new.settled, lost), unfinished)
        else:
            yield from _edited_edges(known, was, now)
            yield from _left_alone(known, now, old, new)
        if was is not None:
            yield from _needs(known, was, now, new.kube_version)
            yield from needed_changes(known, was, now)
        yield from _phase(known, was, now)


def _upgrade(known: ObjectKey, old: DiffOperator, new: DiffOperator, path: UpgradePath, unfinished: str) -> DiffChange:
    before, after = tolerant_or_none(old.version), tolerant_or_none(new.version)
    prerelease = after is not None and bool(after.prerelease) and not (before is not None and before.prerelease)
    versions = old.version, new.version
    return kinds.operator_upgraded(
        known, new.package, old.name, new.name, *versions, path, is_downgrade(old, new), prerelease, unfinished
    )


def _edited_edges(known: ObjectKey, old: DiffOperator, new: DiffOperator) -> Iterator[DiffChange]:
    before, after = _edges(old), _edges(new)
    for field, was in before.items():
        if was != after[field]:
            yield kinds.version_edited(known, field, was or "none", after[field] or "none")


def _left_alone(known: ObjectKey, operator: DiffOperator, old: Side, new: Side) -> Iterator[DiffChange]:
    """Report that an operator stays because its Subscription is removed, or because it has no further upgrade."""
    before, after = (_asking_kind(operator, side.objects) for side in (old, new))
    if before and not after:
        yield kinds.operator_left_running(known, operator.package, operator.version, before)
    if new.settled is not None and old.settled is not None:
        name = NamespacedName(operator.namespace, operator.package)
        catalog = dead_end(new.settled.cluster, name, operator.name, operator.version)
        if catalog and not dead_end(old.settled.cluster, name, operator.name, operator.version):
            yield kinds.operator_stranded(known, operator.package, operator.version, catalog)


def _asking_kind(operator: DiffOperator, objects: Iterable[KubernetesObject]) -> str:
    """The kind of an object that asks for an operator's package: a Subscription of its namespace, or a proposed
    Operator; "" if none does."""
    asking = (obj for obj in objects if _asked_package(obj, operator.namespace) == operator.package)
    return next((text(obj["kind"]) for obj in asking), "")


def _asked_package(obj: KubernetesObject, namespace: str) -> object:
    """The package that an object asks for in a namespace, None for none."""
    if obj.get("kind") == "Subscription" and object_key(obj).namespace == namespace:
        return spec_of(obj).get("name")
    if obj.get("kind") == "Operator" and obj.get("apiVersion") == OPERATOR_API:
        return mapping(mapping(spec_of(obj).get("updates")).get("catalogSource")).get("package")
    return None


def dead_end(cluster: Cluster, operator: NamespacedName, csv: str, version: str) -> str:
    """The name of the catalog that a Subscription asks for an installed CSV of the package that `operator` names, and
    that has no way on for it: neither the CSV nor an upgrade in the channel (observed-38).

    "" where that is not so, or not known.
    """
    from olmc.review.explain.resolution import channel_entries  # with the resolver, which renderings do not need

    for name, subscription in sorted(cluster.subscriptions.items()):
        if (name.namespace, subscription.package) == operator:
            entries, installed = list(channel_entries(cluster, subscription)), tolerant_or_none(version)
            ways = (entry.name == csv or edge_kind(entry, csv, installed) for entry in entries)
            return subscription.catalog.name if entries and not any(ways) else ""
    return ""


def _edges(operator: DiffOperator) -> dict[str, str]:
    """The version of a CSV and what it upgrades, as texts."""
    return {
        "version": operator.version,
        "replaces": operator.replaces,
        "skips": ", ".join(operator.skips),
        "skipRange": operator.skip_range,
    }


def _phase(known: ObjectKey, old: DiffOperator | None, new: DiffOperator) -> Iterator[DiffChange]:
    was, now = old.phase if old is not None else "", new.phase
    # That a new operator works is no news, and what was rendered without a status has no phase to compare.
    if now and was != now and (was or now != "Succeeded"):
        status = status_of(new.csv)
        yield kinds.phase_changed(known, was, now, text(status.get("reason")), text(status.get("message")))


def _needs(known: ObjectKey, old: DiffOperator, new: DiffOperator, kube_version: str) -> Iterator[DiffChange]:
    before, after = _modes(old), _modes(new)
    yield from (kinds.install_mode_added(known, mode) for mode in after if mode not in before)
    yield from (kinds.install_mode_removed(known, mode) for mode in before if mode not in after)
    was, now = (text(operator.spec.get("minKubeVersion")) for operator in (old, new))
    if was != now:
        yield kinds.kubernetes_changed(known, was, now, _severity_of_minimum(was, now, kube_version))
    before, after = _requirements(old), _requirements(new)
    yield from (kinds.requirement_added(known, requirement) for requirement in after if requirement not in before)
    yield from (kinds.requirement_removed(known, requirement) for requirement in before if requirement not in after)


def _severity_of_minimum(old: str, new: str, kube_version: str) -> Severity:
    """Return how grave another minKubeVersion is: a lower one asks for less, and one below the cluster's own for
    nothing."""
    if not new or (old and is_reached(new, old)):
        return NOTE
    return CHANGE if kube_version and is_reached(new, kube_version) else RISK


def _modes(operator: DiffOperator) -> list[str]:
    modes = mappings(operator.spec.get("installModes"))
    return [text(mode.get("type")) for mode in modes if mode.get("supported") is True]


def _requirements(operator: DiffOperator) -> list[str]:
    properties = (prop for prop in properties_of(operator.csv) if prop.type in _REQUIREMENTS)
    return [_requirement(prop.type, prop.value) for prop in properties]


def _requirement(kind: str, value: Any) -> str:
    fields = mapping(value)
    if kind == "olm.package.required":
        return f"package {text(fields.get('packageName'))} {text(fields.get('versionRange'))}"
    if kind == "olm.gvk.required":
        return f"{text(fields.get('kind'))}.{text(fields.get('version'))}.{text(fields.get('group'))}"
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _path_between(
    old: DiffOperator, new: DiffOperator, planned: Mapping[str, str], settled: SettledCluster | None, lost: bool
) -> UpgradePath:
    """Return how OLM gets from one CSV to the other on the new side, given what its plans replace and its cluster at
    rest."""
    # A catalog knows every edge; plans only those that were walked, and a CSV those that lead to itself.
    subscription = subscribed(settled, new.namespace, new.package) if settled is not None else None
    if subscription is not None:
        path = _path_by_catalog(subscription, old, new)
    else:
        path = _path_by_plans(old.name, new.name, planned)
    return path or _direct_path(old, new, lost)


class Subscribed(NamedTuple):
    """A package that a Subscription asks for: the name of its catalog, what the catalog has of it, and the channel."""

    catalog: str
    package: Package
    channel: str


def subscribed(settled: SettledCluster, namespace: str, package: str) -> Subscribed | None:
    """Return the request of the Subscription to a package in a namespace, None if its catalog does not have the
    package."""
    for name, subscription in sorted(settled.cluster.subscriptions.items()):
        if name.namespace == namespace and subscription.package == package:
            source = settled.cluster.catalogs.get(subscription.catalog)
            if source is not None and source.catalog is not None and package in source.catalog.packages:
                served = source.catalog.packages[package]
                return Subscribed(source.key.name, served, text(subscription.spec.get("channel")))
    return None


def _path_by_catalog(subscription: Subscribed, old: DiffOperator, new: DiffOperator) -> UpgradePath | None:
    graph = upgrade_graph(subscription.package)
    try:
        channel = channel_named(graph, subscription.channel)
        start, goal = version_named(graph, old.name, absent=True), version_named(graph, new.name)
    except QueryError:
        return None
    walk = route(graph, channel, start, goal).walk
    hops = tuple(UpgradeHop(hop.source, hop.target, hop.kind) for hop in walk.hops)
    return UpgradePath(hops, walk.reached, "" if walk.reached else walk.stops[-1] or old.name)


def _replaced_by_plans(objects: Iterable[KubernetesObject]) -> dict[str, str]:
    """By CSV what it replaces, as the InstallPlans among objects have it."""
    replaced: dict[str, str] = {}
    for obj in objects:
        if obj.get("kind") == "InstallPlan":
            for lookup in mappings(status_of(obj).get("bundleLookups")):
                replaced[text(lookup.get("identifier"))] = text(lookup.get("replaces"))
    return replaced


def _path_by_plans(old: str, new: str, replaced: Mapping[str, str]) -> UpgradePath | None:
    """The hops that the InstallPlans made; None when they don't lead from the one to the other."""
    hops: list[UpgradeHop] = []
    current = new
    # Anybody may write plans, and such that replace each other in circles: there are no more hops than plans.
    while current != old and replaced.get(current) and len(hops) <= len(replaced):
        hops.append(UpgradeHop(replaced[current], current, "replaces"))
        current = replaced[current]
    return UpgradePath(tuple(reversed(hops)), True) if current == old and hops else None


def _direct_path(old: DiffOperator, new: DiffOperator, lost: bool) -> UpgradePath:
    """The relation of the new CSV to the old one; `lost`: the channel of the old one does not have the new one."""
    version = tolerant_or_none(old.version)
    kind = edge_kind(new, old.name, version)
    if kind:
        return UpgradePath((UpgradeHop(old.name, new.name, kind),), True)
    replaced, target = tolerant_or_none(version_in(new.replaces)), tolerant_or_none(new.version)
    passes = (
        replaced is not None and version is not None and target is not None
        and version.compare(replaced) < 0 < target.compare(replaced)
    )  # fmt: skip
    had_one = lost or bool(old.replaces or old.skips or old.skip_range)
    return UpgradePath(
        replaces=new.replaces, skip_range=new.skip_range, passes=passes, had_one=had_one
    )  # fmt: skip


def subscription_changes(pair: Pair) -> Iterator[DiffChange]:
    """Report the changes of a Subscription except for its `config`, the request of an added or removed one, and whether
    it can still be resolved."""
    before, after = (_subscription_fields(obj) for obj in (pair.old, pair.new))
    if pair.old is not None and pair.new is not None:
        for field in SUBSCRIBED:
            if before[field] != after[field]:
                yield kinds.subscription_changed(pair.identity, field, before[field], after[field])
    elif pair.old is None:
        yield kinds.subscription_added(pair.identity, *_request(after))
    else:
        yield kinds.subscription_removed(pair.identity, *_request(before))
    if pair.new is not None:
        failure = _failure(pair.new)
        # What couldn't be resolved before is no change.
        if failure and (pair.old is None or not _failure(pair.old)):
            catalog = unknown_catalog(failure)
            if catalog and not _lost_catalog(pair.old, pair.new):
                yield resolution_unknown(pair.identity, catalog)
            else:
                yield kinds.resolution_fails(pair.identity, failure, is_new=pair.old is None)


def _lost_catalog(old: KubernetesObject | None, new: KubernetesObject) -> bool:
    """Return whether the old side had the catalog of a Subscription: then it is removed, and not unknown."""
    catalog = Subscription(new, None).catalog
    return old is not None and catalog in seen_catalogs(old) - seen_catalogs(new)


def _subscription_fields(subscription: KubernetesObject | None) -> dict[str, str]:
    spec = mapping((subscription or {}).get("spec"))
    fields = {field: text(spec.get(field)) for field in SUBSCRIBED}
    # OLM takes a missing approval for Automatic, so to write it down changes nothing.
    return {**fields, "installPlanApproval": fields["installPlanApproval"] or "Automatic"}


def _request(fields: Mapping[str, str]) -> tuple[str, str, str, str, str]:
    """Return the request of a Subscription: package, channel, catalog, approval, and the CSV to start with."""
    return (fields["name"], fields["channel"], fields["source"], fields["installPlanApproval"], fields["startingCSV"])


def _failure(subscription: KubernetesObject) -> str:
    for condition in mappings(status_of(subscription).get("conditions")):
        if condition.get("type") == "ResolutionFailed" and condition.get("status") == "True":
            return text(condition.get("message")) or text(condition.get("reason")) or "ResolutionFailed"
    return ""


def target_changes(pair: Pair) -> Iterator[DiffChange]:
    """The namespaces that an OperatorGroup targets on one side only."""
    if pair.old is None or pair.new is None:
        return
    before, after = _targets(pair.old), _targets(pair.new)
    added = tuple(namespace for namespace in after if namespace not in before)
    removed = tuple(namespace for namespace in before if namespace not in after)
    if added or removed:
        yield kinds.targets_changed(pair.identity, added, removed)


def _targets(group: KubernetesObject) -> list[str]:
    """As OLM found them, else as they are asked for; all namespaces is ""."""
    selected = status_of(group).get("namespaces")
    requested = texts(selected if selected is not None else spec_of(group).get("targetNamespaces"))
    # A selector for which OLM found nothing selects no namespace; an empty one is none (R-OG-1).
    return sorted(requested) if requested or any(mapping(spec_of(group).get("selector")).values()) else [""]


def plan_changes(old: Sequence[KubernetesObject], new: Sequence[KubernetesObject]) -> Iterator[DiffChange]:
    """Report the InstallPlans of the new side that wait, have failed or are retried without end (observed-48), unless
    the old side has the same."""
    before = {_plan(obj)[:3] for obj in old if obj.get("kind") == "InstallPlan"}
    for obj in new:
        if obj.get("kind") == "InstallPlan":
            namespace, phase, csvs, message = _plan(obj)
            is_stuck = phase in ("RequiresApproval", "Failed") or (phase == "Installing" and message)
            if is_stuck and (namespace, phase, csvs) not in before:
                yield kinds.plan_changed(object_key(obj), phase, csvs, message)


def _plan(obj: KubernetesObject) -> tuple[str, str, tuple[str, ...], str]:
    """The namespace, phase, CSVs and message of an InstallPlan: its name is made at random."""
    status = status_of(obj)
    csvs = tuple(texts(spec_of(obj).get("clusterServiceVersionNames")))
    messages = (text(condition.get("message")) for condition in mappings(status.get("conditions")))
    message = text(status.get("message")) or next(filter(None, messages), "")
    return object_key(obj).namespace, text(status.get("phase")), csvs, message
