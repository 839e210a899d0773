"""What OLM deletes: CSVs that were replaced, with what they owned, and Deployments of those that may not provide their
APIs (R-CSV-13, R-CSV-24, R-CAT-752)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from olmc.model.cluster import Cluster, NamespacedName, namespaced_name
from olmc.model.indexed import by_kind
from olmc.model.objects import ObjectKey, Rendered, labels_of, owner_references
from olmc.model.operators import Csv
from olmc.model.options import Profile
from olmc.olm.naming import COPIED_FROM, owner_labels
from olmc.reconcile.crds import without_installers
from olmc.reconcile.operator_groups import NOT_PROVIDING
from olmc.reconcile.requirements import successor

# By uid the condition is an owner of its own; it goes with its CSV, and what it owns goes with it (R-OC-1, R-OC-2).
_OWNERS = frozenset({"ClusterServiceVersion", "OperatorCondition"})
# A CSV can't own what has no namespace, so its finalizer deletes these by owner labels. Other cluster-wide objects of a
# bundle nobody deletes (R-CAT-752, D30).
FINALIZED_KINDS = frozenset(
    "APIService ClusterRole ClusterRoleBinding MutatingWebhookConfiguration ValidatingWebhookConfiguration".split()
)


def without_replaced(cluster: Cluster) -> Cluster:
    """The cluster without the CSVs whose successor has succeeded, oldest first; the same object if there are none."""
    for name, csv in sorted(cluster.csvs.items()):
        if _is_replaced(name, cluster):
            return without_replaced(_without_csv(cluster, name, csv))
    return cluster


def _is_replaced(name: NamespacedName, cluster: Cluster) -> bool:
    """Whether a CSV is Replacing, the oldest of its chain, and the next one Succeeded (R-CSV-24)."""
    member = cluster.members.get(name)
    if member is None or member.phase != "Replacing":
        return False
    before = NamespacedName(name.namespace, member.csv.replaces)
    # Chains go from their oldest end, one CSV at a time; one that replaces itself has no older one (R-CSV-24, Q-15).
    if before in cluster.csvs and before != name:
        return False
    following = successor(name, cluster.csvs)
    # With fail-forward those in between may all have failed: only the last of the chain counts (R-CSV-24).
    if member.group is not None and member.group.fails_forward:
        while following is not None and (later := successor(namespaced_name(following), cluster.csvs)) is not None:
            following = later
    return following is not None and cluster.members[namespaced_name(following)].succeeded


def _without_csv(cluster: Cluster, name: NamespacedName, csv: Csv) -> Cluster:
    csvs = cluster.csvs.without(name)
    members = cluster.members.without(name)
    served = {item.service_name for other in csvs.values() for item in other.owned_apiservices}
    objects: dict[ObjectKey, Rendered] = {}
    for key, rendered in cluster.objects.items():
        # Whoever else owns the API has adopted it: the labels of its new owner are written only when objects are
        # rendered (R-API-3).
        adopted = key.kind == "APIService" and key.name in served
        kept = rendered if adopted else _without_owner(key, rendered, name, cluster.profile)
        if kept is not None:
            objects[key] = kept
    gone = {key.name for key in cluster.objects if key.kind == "APIService" and key not in objects}
    objects = {key: rendered for key, rendered in objects.items() if not _belongs_to(rendered, gone)}
    return cluster._replace(csvs=csvs, members=members, objects=by_kind(objects), retired=(*cluster.retired, csv))


def _belongs_to(rendered: Rendered, services: Collection[str]) -> bool:
    """Whether an object belongs to one of the API services alone, as the ClusterRoles of their APIs do (R-CR-4)."""
    owners = owner_references(rendered.object) if services else []
    return bool(owners) and all(ref.get("kind") == "APIService" and ref.get("name") in services for ref in owners)


def _without_owner(key: ObjectKey, rendered: Rendered, gone: NamespacedName, profile: Profile) -> Rendered | None:
    """An object once a CSV is gone: None when that was its last owner, without the reference when it was not."""
    labels = labels_of(rendered.object)
    if key.kind in FINALIZED_KINDS:
        is_own = owner_labels(profile, gone.name, gone.namespace).items() <= labels.items()
        return None if is_own else rendered
    # With a CRD all its objects would go, so OLM never deletes one (R-CAT-726).
    if key.kind == "CustomResourceDefinition":
        return rendered._replace(object=without_installers(rendered.object, gone))
    references = owner_references(rendered.object)
    # A copy of the CSV goes with it, and with the copy what it owns; the copy has the CSV's name (R-TEN-2).
    home = labels.get(COPIED_FROM) or key.namespace
    remaining = [ref for ref in references if not _refers_to(ref, home, gone)]
    if len(remaining) == len(references):
        return rendered
    if not remaining:
        return None
    return rendered._replace(
        object={**rendered.object, "metadata": {**rendered.object["metadata"], "ownerReferences": remaining}}
    )


def _refers_to(ref: Mapping[str, object], home: str, gone: NamespacedName) -> bool:
    """Whether a reference leads to a CSV, or to its OperatorCondition, which goes with it (R-OC-1, R-OC-2)."""
    return ref.get("kind") in _OWNERS and ref.get("name") == gone.name and home == gone.namespace


def deleted_deployments(cluster: Cluster) -> Iterator[ObjectKey]:
    """Whatever has the name of a Deployment of a CSV that must not provide its APIs, whoever made it (R-CSV-13)."""
    for name, member in cluster.members.items():
        if member.reason in NOT_PROVIDING:
            for deployment in member.csv.deployments:
                yield ObjectKey("apps", "Deployment", name.namespace, deployment.name)
