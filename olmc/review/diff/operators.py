"""The operators of a side: its CSVs that are no copies, and what is installed over what."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.operators import Csv
from olmc.compiler.olm.facts import csv_by_label, is_copy, owner_csvs, package_of
from olmc.compiler.olm.naming import MANAGED, OWNER, OWNER_KIND, OWNER_NAMESPACE
from olmc.k8s.diagnostics import join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CRD_KIND,
    OLM_GROUP,
    RBAC,
    KubernetesObject,
    ObjectKey,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    namespace_of,
    object_key,
    owner_references,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.review.diff import version_kinds as kinds
from olmc.review.diff.crd_kinds import BREAKING, CHANGE, DiffChange
from olmc.review.diff.premises import Assumed, suggestion
from olmc.review.diff.settings import Side

CSV = "ClusterServiceVersion"


class DiffOperator(NamedTuple):
    """A CSV that is no copy: its package, as far as the object says, and the object."""

    namespace: str
    package: str
    csv: KubernetesObject

    @property
    def name(self) -> str:
        return text(metadata_of(self.csv).get("name"))

    @property
    def version(self) -> str:
        return text(self.spec.get("version"))

    @property
    def spec(self) -> Mapping[str, Any]:
        return spec_of(self.csv)

    @property
    def phase(self) -> str:
        return text(status_of(self.csv).get("phase"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        return annotations_of(self.csv)

    @property
    def replaces(self) -> str:
        return text(self.spec.get("replaces"))

    @property
    def skips(self) -> list[str]:
        return texts(self.spec.get("skips"))

    @property
    def skip_range(self) -> str:
        return text(self.annotations.get("olm.skipRange"))


def operators(objects: Iterable[KubernetesObject]) -> dict[NamespacedName, DiffOperator]:
    """The CSVs among objects that are no copies, by namespace and name."""
    by_name = {}
    for obj in objects:
        if obj.get("kind") == CSV and object_key(obj).group == OLM_GROUP and not is_copy(obj):
            namespace = text(metadata_of(obj).get("namespace"))
            operator = DiffOperator(namespace, package_of(obj), obj)
            by_name[NamespacedName(namespace, operator.name)] = operator
    return by_name


def heads(installed: Mapping[NamespacedName, DiffOperator]) -> dict[NamespacedName, DiffOperator]:
    """By namespace and package the CSV that no other one of them replaces; the last by name where there are several."""
    by_package: dict[NamespacedName, list[DiffOperator]] = {}
    for operator in installed.values():
        by_package.setdefault(NamespacedName(operator.namespace, operator.package), []).append(operator)
    return {name: _head(rivals) for name, rivals in sorted(by_package.items())}


def _head(rivals: Sequence[DiffOperator]) -> DiffOperator:
    replaced = {operator.replaces for operator in rivals}
    # During an upgrade OLM has both CSVs, and the one that no other replaces is the target. In a circle all count.
    on_top = [operator for operator in rivals if operator.name not in replaced] or list(rivals)
    return max(on_top, key=lambda operator: operator.name)


def not_installed(
    installed: Mapping[NamespacedName, DiffOperator], objects: Iterable[KubernetesObject]
) -> dict[tuple[str, str, str], KubernetesObject]:
    """The Deployments that the newest CSVs ask for and that are not there, by namespace, package and name.

    An operator whose requirements are not met has none; its review is about what it would run.
    """
    there = {object_key(obj) for obj in objects if obj.get("kind") == "Deployment"}
    missing = {}
    for name, operator in heads(installed).items():
        strategy = mapping(mapping(operator.spec.get("install")).get("spec"))
        for spec in mappings(strategy.get("deployments")):
            # As OLM would write it, or its own marks would be what differs from one that is installed.
            owner = {OWNER: operator.name, OWNER_KIND: CSV, OWNER_NAMESPACE: operator.namespace}
            labels = {**mapping(spec.get("label")), **owner, MANAGED: "true"}
            asked = {"revisionHistoryLimit": 1, **mapping(spec.get("spec"))}
            metadata = {"name": text(spec.get("name")), "namespace": operator.namespace, "labels": labels}
            deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": asked}
            if object_key(deployment) not in there:
                missing[name.namespace, name.name, text(spec.get("name"))] = deployment
    return missing


def kept_by_predecessors(
    before: Mapping[NamespacedName, DiffOperator], after: Mapping[NamespacedName, DiffOperator],
    old: Iterable[KubernetesObject], new: Iterable[KubernetesObject],
) -> list[KubernetesObject]:  # fmt: skip
    """Return the objects of old operators whose new CSV does not work, and that the new side lacks. They stay, because
    OLM removes a CSV and its objects only after the next one has succeeded.

    Deployments are an exception: `not_installed` has those of the new CSV.
    """
    was = heads(before)
    stuck = {
        NamespacedName(name.namespace, was[name].name) for name, operator in heads(after).items()
        if name in was and was[name].name != operator.name
        and was[name].phase == "Succeeded" and operator.phase not in ("", "Succeeded")
    }  # fmt: skip
    if not stuck:
        return []
    there = {object_key(obj) for obj in new}
    return [
        obj for obj in old
        if obj.get("kind") not in ("Deployment", "OperatorCondition") and object_key(obj) not in there
        and (not stuck.isdisjoint(owner_csvs(obj)) or _reads_authentication(obj, {namespace for namespace, _ in stuck}))
    ]  # fmt: skip


def _reads_authentication(obj: KubernetesObject, namespaces: Container[str]) -> bool:
    """Return whether a binding is one that OLM makes for a webhook of a CSV in one of the namespaces: it names no
    owner."""
    is_olms = labels_of(obj).get(MANAGED) == "true" and object_key(obj).namespace == "kube-system"
    return is_olms and any(text(subject.get("namespace")) in namespaces for subject in mappings(obj.get("subjects")))


def operator_of(obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> DiffOperator | None:
    """Return the operator that an object is part of by its labels, None if it is none's."""
    name = csv_by_label(obj)
    return owners.get(name) if name is not None else None


def owned_apis(obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> frozenset[str]:
    """The APIs, as `plural.group`, that the operator owns which an object is part of."""
    owner = operator_of(obj, owners)
    crds = mapping(owner.spec.get("customresourcedefinitions")) if owner is not None else {}
    return frozenset(text(crd.get("name")) for crd in mappings(crds.get("owned")))


# What was taken as there for both sides to be compared, as changes: a review must not rest on it silently.


def assumption_changes(old: Side, new: Side) -> Iterator[DiffChange]:
    """The kinds that only the new side needs from elsewhere, and that a side does not install on this Kubernetes."""
    if not any(side.assumed.apis or any(_reasons(side.assumed)) for side in (old, new)):
        return
    known = _subject(new) or _subject(old)
    if known is None:
        return
    for api in new.assumed.apis:
        if api not in old.assumed.apis:
            yield kinds.api_assumed(known, f"{api.kind} ({api.api_version})")
    for side, word in ((old, "old"), (new, "new")):
        reasons = tuple(_reasons(side.assumed))
        if reasons:
            # What does not work any more is worse than what never did.
            severity = BREAKING if side is new and not any(_reasons(old.assumed)) else CHANGE
            version, last = _version(side), suggestion(side.assumed)
            kubernetes = side.kube_version.removeprefix("v")
            yield kinds.not_installable(known, word, version, kubernetes, reasons, last, severity)


def _reasons(assumed: Assumed) -> Iterator[str]:
    yield from (f"{api.kind} of {api.api_version} is not served there" for api in assumed.removed)
    if assumed.minimum:
        yield f"it needs {assumed.minimum.removeprefix('v')} (minKubeVersion)"


def _heads(side: Side) -> list[DiffOperator]:
    return list(heads(operators(side.objects)).values())


def _subject(side: Side) -> ObjectKey | None:
    """The operator that is compared; of several the first."""
    return next((object_key(operator.csv) for operator in _heads(side)), None)


def _version(side: Side) -> str:
    return next((operator.version or operator.name for operator in _heads(side)), side.name)


_NAMED = 4


def remarks(old: Side, new: Side) -> Iterator[str]:
    """Yield the assumptions, as sentences for stderr."""
    for side in (old, new):
        if side.assumed.apis:
            apis = ", ".join(f"{api.kind} ({api.api_version})" for api in side.assumed.apis)
            yield f"{side.name}: taken as served by the cluster: {apis}"
        for reason in _reasons(side.assumed):
            last = suggestion(side.assumed)
            advice = f"; try --kube-version {last}" if last else ""
            yield f"{side.name}: does not install on Kubernetes {side.kube_version}: {reason}{advice}"
    reported = {change.values["package"] for change in unknown_changes(old, new)}
    unseen: dict[str, list[str]] = {}
    for name, content in unseen_operators(new).items():
        if name.name not in reported:
            unseen.setdefault(content.reason, []).append(f"{name.namespace}/{name.name}")
    for reason, names in unseen.items():
        are = "are" if len(names) > 1 else "is"
        yield f"{new.name}: {join_limited(names, _NAMED)} {are} unknown: {reason}"


# Unknown facts of a side whose content is absent: an operator is not removed because of them.


class UnknownContent(NamedTuple):
    """An operator whose future state is unknown: the CSV, as far as the side names it, and the reason."""

    csv: str
    reason: str


def unknown_operators(side: Side) -> dict[NamespacedName, UnknownContent]:
    """By namespace and package the operators whose content the side does not have."""
    unknown: dict[NamespacedName, UnknownContent] = {}
    if side.settled is None:
        return unknown
    cluster = side.settled.cluster
    if side.bundle is not None:
        if not any(operator.name == side.bundle.name for operator in operators(side.objects).values()):
            key = NamespacedName(side.home, side.bundle.package)
            unknown[key] = UnknownContent(side.bundle.name, "its bundle can't be unpacked")
        return unknown
    for namespace, done in side.settled.rounds.items():
        for candidate in done.missing:
            reason = f"its bundle is not vendored ({candidate.image or candidate.name}): run olmc vendor there"
            unknown[NamespacedName(namespace, candidate.package)] = UnknownContent(candidate.name, reason)
    for name, subscription in cluster.subscriptions.items():
        source = cluster.catalogs.get(subscription.catalog)
        if source is not None and source.catalog is None and not source.refused:
            catalog = f"{source.key.namespace}/{source.key.name}"
            reason = f"the content of CatalogSource {catalog} is not vendored: run olmc vendor there"
            unknown.setdefault(
                NamespacedName(name.namespace, subscription.package), UnknownContent(subscription.current, reason)
            )
    return unknown


def unseen_operators(side: Side) -> dict[NamespacedName, UnknownContent]:
    """Return the unknown operators, also those that are not installed and whose catalog the side does not define."""
    unseen = dict(unknown_operators(side))
    if side.settled is None:
        return unseen
    cluster = side.settled.cluster
    for name, subscription in cluster.subscriptions.items():
        key = subscription.catalog
        if key.name and key not in cluster.catalogs and not subscription.installed:
            reason = f"CatalogSource {key.namespace}/{key.name} is not defined there; `olmc check` has the way out"
            unseen.setdefault(NamespacedName(name.namespace, subscription.package), UnknownContent("", reason))
    return unseen


def unknown_changes(old: Side, new: Side) -> Iterator[DiffChange]:
    """The operators that one side only does not have the content of."""
    before, after = unknown_operators(old), unknown_operators(new)
    is_held = old.is_held or old.settled is None
    unpacking = _not_unpacked(old.objects) if is_held else frozenset()
    for name in sorted(after.keys() - before.keys() if is_held else before.keys() ^ after.keys()):
        is_new = name in after
        if is_new and name in unpacking:
            continue  # a state says that it has not come further before
        content = (after if is_new else before)[name]
        known = ObjectKey(OLM_GROUP, "ClusterServiceVersion", name.namespace, content.csv or name.name)
        yield kinds.operator_unknown(known, name.name, content.csv, "new" if is_new else "old", content.reason)


def _not_unpacked(objects: Iterable[KubernetesObject]) -> frozenset[NamespacedName]:
    """By namespace and package the Subscriptions that say that a bundle can't be unpacked (observed-66)."""
    return frozenset(
        NamespacedName(object_key(obj).namespace, text(spec_of(obj).get("name")))
        for obj in objects
        if obj.get("kind") == "Subscription" and object_key(obj).group == OLM_GROUP
        for condition in mappings(status_of(obj).get("conditions"))
        if condition.get("type") == "BundleUnpackFailed" and condition.get("status") == "True"
    )


def of_unknown(old: Side, new: Side) -> frozenset[ObjectKey]:
    """Return the objects and subjects of operators that only one side knows: whether they change is unknown."""
    keys: set[ObjectKey] = set()
    for unknown, side in ((unknown_operators(new), old), (unknown_operators(old), new)):
        if not unknown or (old.is_held and side is new):
            continue
        hidden = {
            name: operator
            for name, operator in operators(side.objects).items()
            if NamespacedName(operator.namespace, operator.package) in unknown
        }
        if hidden:
            keys |= set(parts_of(hidden, side.objects))
    return frozenset(keys)


def parts_of(hidden: Mapping[NamespacedName, DiffOperator], objects: Iterable[KubernetesObject]) -> Iterator[ObjectKey]:
    for operator in hidden.values():
        yield object_key(operator.csv)
        crds = mapping(operator.spec.get("customresourcedefinitions"))
        yield from (
            ObjectKey(APIEXTENSIONS, CRD_KIND, "", text(crd.get("name"))) for crd in mappings(crds.get("owned"))
        )
        for account in Csv(operator.csv).service_account_names:
            yield ObjectKey("", ACCOUNT, operator.namespace, account)
        yield from (ObjectKey(RBAC, "ClusterRole", "", name) for name in ("admin", "edit", "view"))
    for obj in objects:
        namespace = namespace_of(obj)
        # What a CSV owns by way of its OperatorCondition is called like the CSV.
        references = (NamespacedName(namespace, text(reference.get("name"))) for reference in owner_references(obj))
        if csv_by_label(obj) in hidden or any(reference in hidden for reference in references):
            yield object_key(obj)
