"""What manifests and InstallPlans brought, as it is; component labels, and the Operator objects that collect what
carries them (R-COMP-1 … R-COMP-5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.diagnostics.rules import output as rules
from olmc.kube.builtin_kinds import removal_of
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.diagnostics import Place, Report
from olmc.model.objects import (
    APIEXTENSIONS,
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    Rendered,
    gvk_of,
    labels_of,
    namespace_of,
    object_key,
    owner_references,
    status_of,
    text,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.model.options import Options, Profile
from olmc.olm.naming import COMPONENT_PREFIX, COPIED_FROM, MANAGED, component_label_key, managed_labels, with_labels
from olmc.reconcile.garbage_collection import deleted_deployments
from olmc.render.context import RenderContext, rendered
from olmc.render.csvs import OLMCONFIG, homes_of_copies
from olmc.yaml import locate

REDACTED = "REDACTED"


def stored_objects(world: RenderContext) -> Iterator[Rendered]:
    """Manifests and the objects of bundles; in review output the values of Secrets are not shown.

    >>> secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "ns"}}
    >>> account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "installer", "namespace": "ns"}}
    >>> groups = {"ns/og": {"serviceAccountName": "installer"}}
    >>> workspace = {"groups": groups, "manifests": [{**secret, "data": {"token": "aGFyYm91cg=="}}, account]}
    >>> show(stored_objects, workspace, "data", "metadata.labels")
    Secret/ns/key
      data: {token: REDACTED}
    ServiceAccount/ns/installer
      labels: {olm.managed: 'true'}
    """
    accounts = _group_accounts(world)
    others = _written_elsewhere(world)
    csvs = {*world.cluster.csvs, *homes_of_copies(world)}
    for key, found in world.cluster.objects.items():
        if key == OLMCONFIG or key in others or (key.group, key.kind) in (("", "Namespace"), (APIEXTENSIONS, CRD_KIND)):
            continue
        if world.options.copied_csvs and _is_orphan(found.object, csvs):
            continue
        # Review output is there to be read by many and committed; what is secret stays where it is.
        if (key.group, key.kind) == ("", "Secret") and world.options.purpose == "review":
            yield found._replace(object=_redacted(found))
        elif key in accounts:
            yield found._replace(object=_managed(found.object, world.profile))
        else:
            yield found


def _is_orphan(obj: KubernetesObject, csvs: Collection[NamespacedName]) -> bool:
    """Whether an object belongs to copied CSVs alone, and none of them is there any more, so that it went with them
    (R-COPY-7)."""
    owners, namespace = owner_references(obj), namespace_of(obj)
    if not owners or COPIED_FROM not in labels_of(obj):
        return False
    return all(
        ref.get("kind") == CSV_KIND and NamespacedName(namespace, text(ref.get("name"))) not in csvs for ref in owners
    )


def _written_elsewhere(world: RenderContext) -> frozenset[ObjectKey]:
    """Manifests that OLM takes over (conditions of its CSVs, API services that it adopts, Operators) or deletes."""
    conditions = (ObjectKey(OLM_GROUP, "OperatorCondition", name.namespace, name.name) for name in world.cluster.csvs)
    services = (
        ObjectKey("apiregistration.k8s.io", "APIService", "", item.service_name)
        for member, _ in world.installed()
        for item in member.csv.owned_apiservices
    )
    operators = (key for key in world.cluster.objects if key.kind == "Operator" and key.group == OLM_GROUP)
    return frozenset((*conditions, *services, *operators, *deleted_deployments(world.cluster)))


def _group_accounts(world: RenderContext) -> frozenset[ObjectKey]:
    """The ServiceAccounts that OperatorGroups name: OLM marks them as its own (R-OG-8)."""
    named = [(group.namespace, group.account) for group in world.cluster.groups]
    return frozenset(ObjectKey("", "ServiceAccount", namespace, name) for namespace, name in named if name)


def _managed(obj: KubernetesObject, profile: Profile) -> KubernetesObject:
    labels = {**labels_of(obj), **managed_labels(profile.csv_label_managed)}
    return {**obj, "metadata": with_labels(obj["metadata"], labels)}


def _redacted(found: Rendered) -> dict[str, object]:
    return {
        key: dict.fromkeys(value, REDACTED) if key in ("data", "stringData") and value else value
        for key, value in found.object.items()
    }


def catalog_sources(world: RenderContext) -> Iterator[Rendered]:
    """The CatalogSources of the workspace.

    >>> operators = "operators.coreos.com/v1alpha1"
    >>> metadata, spec = {"name": "acme", "namespace": "olm"}, {"sourceType": "grpc", "image": "quay.io/acme/all:v1"}
    >>> catalog = {"apiVersion": operators, "kind": "CatalogSource", "metadata": metadata, "spec": spec}
    >>> show(catalog_sources, {"manifests": [catalog]}, "spec")
    CatalogSource/olm/acme
      spec: {sourceType: grpc, image: 'quay.io/acme/all:v1'}
    """
    for source in world.cluster.catalogs.values():
        if source.manifest is not None:
            yield rendered(source.manifest, "catalog_sources", "input", source.source)


def report_unserved(objects: Iterable[Rendered], cluster: Cluster, options: Options, report: Report) -> None:
    """Report every object of the output, and of plans that did not get so far, whose API is gone."""
    for obj, place in (*_rendered(objects), *_not_executed(cluster)):
        api = gvk_of(obj)
        removal = removal_of(api, options.kube_version)
        if removal is None or api.path in options.apis:
            continue
        name = "/".join(part for part in object_key(obj)[2:] if part)
        hint = (
            f"Write it as {removal.replacement}, or render for the version that your cluster has (--kube-version)."
            if removal.replacement
            else "Nothing has taken its place: leave it out (--exclude), and look at Pod Security admission."
        )
        found = locate(place.source, (*place.keys, "apiVersion")) if place is not None else None
        report.add(
            rules.NOT_SERVED.finding(
                found,
                version=options.kube_version,
                kind=api.kind,
                name=name,
                api=api.api_version,
                removed=removal.minor,
                hint=hint,
            )
        )


def _rendered(objects: Iterable[Rendered]) -> Iterator[tuple[KubernetesObject, Place | None]]:
    for found in objects:
        yield found.object, found.provenance.place


def _not_executed(cluster: Cluster) -> Iterator[tuple[KubernetesObject, Place | None]]:
    """The objects of the steps that a plan would still have to carry out."""
    for plan in cluster.plans:
        for step in plan.steps[plan.executed :] if plan.approved else ():
            if not step.derived:
                named = {**step.object, "apiVersion": step.api_version, "kind": step.kind}
                yield named, Place(step.source) if step.source else None


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
