"""What the passes look at: the settled cluster, and the CSVs as they end up in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from olmc.golang import stable_group_uid
from olmc.model.cluster import Cluster, Member, Name, key_of
from olmc.model.location import Place, Source
from olmc.model.objects import KubernetesObject, Provenance, Rendered
from olmc.model.operators import Group
from olmc.model.options import Options
from olmc.settle.permissions import access
from olmc.settle.requirements import Surroundings

GROUP_UID_LABEL = "olm.operatorgroup.uid/"


class World(NamedTuple):
    """The settled cluster and what passes derive from it more than once.

    `csvs` are the CSVs as they stand in the cluster, with the group's annotations, labels and status.
    """

    cluster: Cluster
    options: Options
    surroundings: Surroundings
    csvs: Mapping[Name, KubernetesObject]

    def installed(self) -> Iterator[tuple[Member, KubernetesObject]]:
        """The members whose install strategy was carried out, at least in part, with their final CSVs."""
        for name, member in sorted(self.cluster.members.items()):
            if member.installation is not None:
                yield member, self.csvs[name]


Pass = Callable[[World], Iterator[Rendered]]


def rendered(obj: KubernetesObject, stage: str, rule: str, source: Source | None, *keys: str | int) -> Rendered:
    """An object with where it comes from: the place in the input, the pass and the rule."""
    return Rendered(obj, Provenance(Place(source, keys) if source else None, stage, rule))


def group_annotations(group: Group) -> dict[str, str]:
    """The annotations that a group puts on the CSVs of its namespace (R-OG-10)."""
    found = {"olm.operatorGroup": group.name, "olm.operatorNamespace": group.namespace}
    if group.targets:
        found["olm.targetNamespaces"] = ",".join(group.targets)
    return found


def group_uid_label(group: Group) -> str:
    """The key of the label on a group's target namespaces (R-OG-19); the uid is the same wherever it appears."""
    uid = group.object["metadata"].get("uid") or stable_group_uid(group.namespace, group.name)
    return GROUP_UID_LABEL + uid


def world(cluster: Cluster, options: Options) -> World:
    """Prepare the passes' view of a settled cluster."""
    surroundings = Surroundings(
        cluster.stock,
        access(cluster.stock),
        cluster.csvs,
        {},
        options.kube_version,
        frozenset(options.apis),
    )
    csvs = {name: _final_csv(member, cluster) for name, member in sorted(cluster.members.items())}
    return World(cluster, options, surroundings, csvs)


def _final_csv(member: Member, cluster: Cluster) -> KubernetesObject:
    """A CSV with finalizer, annotations, component labels and status (R-CSV-1, R-OG-10, R-COMP-3, R-CSV-29)."""
    obj = member.csv.object
    metadata = dict(obj["metadata"])
    annotations = dict(metadata.get("annotations") or {})
    if not member.csv.counts_as_copy:
        for group in cluster.groups_in(member.csv.namespace)[-1:]:
            annotations |= group_annotations(group)
    if annotations:
        metadata["annotations"] = annotations
    labels = {**(metadata.get("labels") or {}), **dict.fromkeys(cluster.adopted.get(key_of(member.csv), ()), "")}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    metadata["finalizers"] = ["operators.coreos.com/csv-cleanup"]
    final = {**obj, "metadata": metadata}
    return {**final, "status": csv_status(member)} if member.phase else final


def csv_status(member: Member) -> dict[str, Any]:
    """The status of a CSV (R-CSV-29), without times."""
    status: dict[str, Any] = {
        "phase": member.phase,
        "message": member.message,
        "reason": member.reason,
        "conditions": [{"phase": p, "message": m, "reason": r} for p, r, m in member.history],
        "cleanup": {},
    }
    if member.requirements:
        status["requirementStatus"] = [dict(item) for item in member.requirements]
    return status
