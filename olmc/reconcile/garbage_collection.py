"""What OLM deletes: CSVs that were replaced, with what they owned, and Deployments of those that may not provide their
APIs (R-CSV-13, R-CSV-24, R-CAT-752)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.objects import CRD_KIND, ObjectKey, Rendered, labels_of, owner_references
from olmc.model.operators import Csv
from olmc.model.options import Profile
from olmc.olm.naming import COPIED_FROM, owner_labels
from olmc.reconcile.crds import without_installers
from olmc.reconcile.operator_groups import NOT_PROVIDING

_OWNERS = frozenset({"ClusterServiceVersion", "OperatorCondition"})
_LABELLED = frozenset(
    {
        "APIService",
        "ClusterRole",
        "ClusterRoleBinding",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
)
"""What has no owner but in its labels, by which OLM deletes it (R-CAT-752)."""


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
    if before in cluster.csvs and before != name:
        return False
    following = _successor(name, cluster)
    if member.group is not None and member.group.fails_forward:
        while following is not None and (later := _successor(following, cluster)) is not None:
            following = later
    return following is not None and cluster.members[following].succeeded


def _successor(name: NamespacedName, cluster: Cluster) -> NamespacedName | None:
    """The CSV that replaces one, if it exists."""
    for key, csv in sorted(cluster.csvs.items()):
        if key.namespace == name.namespace and csv.replaces == name.name and key != name and key in cluster.members:
            return key
    return None


def _without_csv(cluster: Cluster, name: NamespacedName, csv: Csv) -> Cluster:
    csvs = {key: value for key, value in cluster.csvs.items() if key != name}
    members = {key: value for key, value in cluster.members.items() if key != name}
    served = {item.service_name for each in csvs.values() for item in each.owned_apiservices}
    objects: dict[ObjectKey, Rendered] = {}
    for key, rendered in cluster.objects.items():
        adopted = key.kind == "APIService" and key.name in served
        kept = rendered if adopted else _without_owner(key, rendered, name, cluster.profile)
        if kept is not None:
            objects[key] = kept
    return cluster._replace(csvs=csvs, members=members, objects=objects, retired=(*cluster.retired, csv))


def _without_owner(key: ObjectKey, rendered: Rendered, gone: NamespacedName, profile: Profile) -> Rendered | None:
    """An object once a CSV is gone: None when that was its last owner, without the reference when it was not."""
    labels = labels_of(rendered.object)
    if key.kind in _LABELLED:
        is_own = owner_labels(profile, gone.name, gone.namespace).items() <= labels.items()
        return None if is_own else rendered
    if key.kind == CRD_KIND:
        return rendered._replace(object=without_installers(rendered.object, gone))
    refs = owner_references(rendered.object)
    home = labels.get(COPIED_FROM) or key.namespace  # a copy of the CSV goes with it, and what belongs to the copy
    left = [ref for ref in refs if not _refers_to(ref, home, gone)]
    if len(left) == len(refs):
        return rendered
    if not left:
        return None
    return rendered._replace(
        object={**rendered.object, "metadata": {**rendered.object["metadata"], "ownerReferences": left}}
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
