"""What nobody can know of a side, because its content is not there: that is no reason to call an operator gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from olmc.diff import version_kinds as kinds
from olmc.diff.change import DiffChange
from olmc.diff.operators import DiffOperator, operators
from olmc.diff.sides import Side
from olmc.lean import NamedTuple
from olmc.model.cluster import NamespacedName
from olmc.model.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CRD_KIND,
    RBAC,
    KubernetesObject,
    ObjectKey,
    labels_of,
    mapping,
    mappings,
    object_key,
    owner_references,
    spec_of,
    status_of,
    text,
)
from olmc.model.operators import OLM_GROUP


class UnknownContent(NamedTuple):
    """What an operator would be is not known: the CSV, as far as the side names it, and why."""

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
        if (obj.get("kind"), object_key(obj).group) == ("Subscription", OLM_GROUP)
        for condition in mappings(status_of(obj).get("conditions"))
        if condition.get("type") == "BundleUnpackFailed" and condition.get("status") == "True"
    )


def of_unknown(old: Side, new: Side) -> frozenset[ObjectKey]:
    """The objects and subjects of operators that only one side knows: whether they change, nobody can say."""
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
        strategy = mapping(mapping(operator.spec.get("install")).get("spec"))
        for field in ("permissions", "clusterPermissions"):
            for permission in mappings(strategy.get(field)):
                yield ObjectKey("", ACCOUNT, operator.namespace, text(permission.get("serviceAccountName")))
        yield from (ObjectKey(RBAC, "ClusterRole", "", name) for name in ("admin", "edit", "view"))
    for obj in objects:
        labels = labels_of(obj)
        owner = NamespacedName(text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner")))
        references = (
            NamespacedName(text(mapping(obj.get("metadata")).get("namespace")), text(reference.get("name")))
            for reference in owner_references(obj)
        )
        if owner in hidden or any(reference in hidden for reference in references):
            yield object_key(obj)
