"""Component labels, and the Operator objects that collect what carries them (R-COMP-1 … R-COMP-5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.model.cluster import NamespacedName
from olmc.model.coerce import text
from olmc.model.objects import KubernetesObject, ObjectKey, Rendered, labels_of, owner_references, status_of
from olmc.model.options import Profile
from olmc.olm.naming import component_label_key
from olmc.olm.ownership import COMPONENT_PREFIX, COPIED_FROM, MANAGED
from olmc.render.context import RenderContext, rendered

STAGE = "adoption"

_ADOPTABLE = frozenset(
    "Deployment Service APIService CustomResourceDefinition Subscription InstallPlan OperatorCondition Secret "
    "ConfigMap ServiceAccount Role RoleBinding ClusterRole ClusterRoleBinding".split()
)
# Of all other kinds the controller sees only what carries olm.managed, as its informers are filtered (R-COMP-4).
_UNFILTERED = frozenset({"Secret", "OperatorCondition", "Subscription", "InstallPlan"})
_LISTED = _ADOPTABLE | {"Namespace", "ClusterServiceVersion"}


def label_components(world: RenderContext, objects: Sequence[Rendered]) -> list[Rendered]:
    """The objects with the component labels of the CSVs that own them, and an Operator for every label in use."""
    # Versions before component labels have no Operators either, as an Operator is nothing but what carries its label.
    if not world.profile.csv_label_component:
        return list(objects)
    plans = _plan_labels(world)
    labelled = [_labelled(world, found, plans) for found in objects]
    return [*labelled, *_operators(labelled, world.profile)]


def _plan_labels(world: RenderContext) -> dict[NamespacedName, set[str]]:
    """The labels of the InstallPlans that Subscriptions refer to (R-COMP-3)."""
    found: dict[NamespacedName, set[str]] = {}
    for name, subscription in world.cluster.subscriptions.items():
        if subscription.plan:
            key = component_label_key(subscription.package, name.namespace)
            found.setdefault(NamespacedName(name.namespace, subscription.plan), set()).add(key)
    return found


def _labelled(world: RenderContext, found: Rendered, plans: Mapping[NamespacedName, set[str]]) -> Rendered:
    identity = found.identity
    if identity.kind not in _ADOPTABLE:
        return found
    metadata, labels = found.object["metadata"], labels_of(found.object)
    own = {key: value for key, value in labels.items() if not key.startswith(COMPONENT_PREFIX)}
    if identity.kind == "Subscription":
        subscription = world.cluster.subscriptions.get(NamespacedName(identity.namespace, identity.name))
        keys = {component_label_key(subscription.package, identity.namespace)} if subscription else set()
    elif identity.kind == "InstallPlan":
        keys = plans.get(NamespacedName(identity.namespace, identity.name), set())
    else:
        own = dict(labels)
        keys = _owner_keys(world, identity, found.object)
    if not keys and own == labels:
        return found
    new = dict(sorted({**own, **dict.fromkeys(keys, "")}.items()))
    kept = {key: value for key, value in metadata.items() if key != "labels"}
    order = {key: kept[key] for key in ("generateName", "name", "namespace") if key in kept}
    return found._replace(object={**found.object, "metadata": {**order, **({"labels": new} if new else {}), **kept}})


def _owner_keys(world: RenderContext, identity: ObjectKey, obj: KubernetesObject) -> set[str]:
    """The component labels of the real CSVs that own an object, by reference or by labels (R-COMP-4)."""
    labels = labels_of(obj)
    is_seen = labels.get(MANAGED) == "true" or identity.kind in _UNFILTERED or not world.profile.csv_label_managed
    if COPIED_FROM in labels or not is_seen:
        return set()
    owners = [
        NamespacedName(identity.namespace, text(ref.get("name")))
        for ref in owner_references(obj)
        if ref.get("kind") == "ClusterServiceVersion"
    ]
    if labels.get("olm.owner.kind") == "ClusterServiceVersion":
        owners.append(NamespacedName(labels.get("olm.owner.namespace", ""), labels.get("olm.owner", "")))
    keys: set[str] = set()
    for owner in owners:
        csv = world.cluster.csvs.get(owner)
        if csv is not None and not csv.counts_as_copy:
            keys |= world.cluster.adopted.get(owner, frozenset())
    return keys | world.cluster.adopted.get(identity, frozenset())


def _operators(objects: Sequence[Rendered], profile: Profile) -> Iterator[Rendered]:
    refs: dict[str, list[dict[str, Any]]] = {}
    for found in objects:
        obj = found.object
        if obj["kind"] in _LISTED:
            for key in labels_of(obj):
                if key.startswith(COMPONENT_PREFIX):
                    refs.setdefault(key, []).append(_reference(obj))
    for key in sorted(refs) if profile.operator_api else ():
        ordered = sorted(refs[key], key=lambda r: (r["kind"], r["apiVersion"], r.get("namespace", ""), r["name"]))
        selector = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
        obj = {
            "apiVersion": profile.operator_api,
            "kind": "Operator",
            "metadata": {"name": key.removeprefix(COMPONENT_PREFIX)},
            "spec": {},
            "status": {"components": {"labelSelector": selector, "refs": ordered}},
        }
        yield rendered(obj, STAGE, "R-COMP-5", None)


def _reference(obj: KubernetesObject) -> dict[str, Any]:
    metadata = obj["metadata"]
    ref: dict[str, Any] = {"kind": obj["kind"]}
    if metadata.get("namespace"):
        ref["namespace"] = metadata["namespace"]
    ref |= {"name": metadata["name"], "apiVersion": obj["apiVersion"]}
    status = status_of(obj)
    if obj["kind"] == "ClusterServiceVersion" and status.get("phase"):
        condition = {"type": status["phase"], "status": "True"}
        ref["conditions"] = [{**condition, "reason": status["reason"], "message": status["message"]}]
    return ref
