"""What the passes look at: the settled cluster, and the CSVs as they end up in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olmc.kube.rbac_access import access
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, CsvState, NamespacedName, namespaced_name
from olmc.model.diagnostics import Place, Source
from olmc.model.objects import KubernetesObject, Origin, Provenance, Rendered, texts
from olmc.model.operators import Csv, OperatorGroup
from olmc.model.options import Options, Profile
from olmc.olm.naming import cleanup_status, group_annotations, gvk_hash, stable_group_uid
from olmc.reconcile.requirements import RequirementContext, predecessors


class RenderContext(NamedTuple):
    """The settled cluster and what passes derive from it more than once.

    `csvs` are the CSVs as they stand in the cluster, with the group's annotations, labels and status.
    """

    cluster: Cluster
    options: Options
    requirement_context: RequirementContext
    csvs: Mapping[NamespacedName, KubernetesObject]

    @property
    def profile(self) -> Profile:
        """The formats of the OLM that runs in the cluster."""
        return self.cluster.profile

    def installed(self) -> Iterator[tuple[CsvState, KubernetesObject]]:
        """The members whose install strategy was carried out, at least in part, with their final CSVs.

        A CSV comes before those that it replaces: what both write is as the newer one wrote it (R-DEP-1).
        """
        written = [(name, member) for name, member in self.cluster.members.items() if member.installation is not None]
        for name, member in sorted(written, key=lambda item: (self._age(item[1]), item[0])):
            yield member, self.csvs[name]

    def _age(self, member: CsvState) -> tuple[bool, int]:
        """Greater for a CSV that is being replaced, and the greater the fewer others that one replaces itself."""
        if member.phase != "Replacing":
            return False, 0
        return True, -len(predecessors(member.csv, self.cluster.csvs))


Pass = Callable[[RenderContext], Iterator[Rendered]]


def rendered(
    obj: KubernetesObject, stage: str, rule: str, source: Source | None, *keys: str | int, origin: Origin = Origin.OLM
) -> Rendered:
    """An object with where it comes from: the place in the input, the pass, the rule, and how it came to be."""
    return Rendered(obj, Provenance(Place(source, keys) if source else None, stage, rule, origin))


def group_uid_label(profile: Profile, group: OperatorGroup) -> dict[str, str]:
    """The label on a group's target namespaces (R-OG-19), none before there was one; the uid is the same wherever it
    appears."""
    uid = group.object["metadata"].get("uid") or stable_group_uid(group.namespace, group.name)
    return {profile.namespace_og_label.format(og_uid=uid): ""} if profile.namespace_og_label else {}


def provided_labels(profile: Profile, csv: Csv) -> dict[str, str]:
    """The labels of a CSV for the APIs that it provides and requires."""
    template = profile.csv_label_olm_api
    # OLM still means to write them, but since 0.19 a slip keeps it from doing so (R-CSV-2).
    if not template:
        return {}
    labels: dict[str, str] = {}
    # Provided ones come last, as an API that a CSV provides and requires counts as provided.
    for apis, value in ((csv.required_apis, "required"), ([owned.key for owned in csv.owned_apis], "provided")):
        for api in apis:
            labels[template.format(api=api.dotted, apihash=gvk_hash(*api))] = value
    return labels


def render_context(cluster: Cluster, options: Options) -> RenderContext:
    """Prepare the passes' view of a settled cluster."""
    requirement_context = RequirementContext(
        cluster.profile,
        cluster.objects,
        access(cluster.objects),
        cluster.csvs,
        {},
        options.kube_version,
        frozenset(options.apis),
        options.api_resources,
    )
    csvs = {name: _final_csv(member, cluster) for name, member in sorted(cluster.members.items())}
    return RenderContext(cluster, options, requirement_context, csvs)


def _final_csv(member: CsvState, cluster: Cluster) -> KubernetesObject:
    """A CSV with finalizer, annotations, component labels and status (R-CSV-1, R-OG-10, R-COMP-3, R-CSV-29)."""
    obj = member.csv.object
    metadata = dict(obj["metadata"])
    annotations = dict(member.csv.annotations)
    if not member.csv.counts_as_copy:
        # OLM annotates every CSV of a namespace before it asks whether the group can have it as a member (R-OG-10). Of
        # several groups each overwrites what the other wrote, for ever; one of them has to be shown.
        # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operatorgroup.go
        groups = cluster.groups_in(member.csv.namespace)
        known = [group for group in groups if group.name == annotations.get("olm.operatorGroup")]
        # A group that comes second finds the CSV failed, which keeps the annotations that it has (observed-52).
        for group in known or groups[-1:]:
            annotations |= group_annotations(cluster.profile, group)
    if annotations:
        metadata["annotations"] = annotations
    labels = {**member.csv.labels, **provided_labels(cluster.profile, member.csv)}
    labels = {**dict.fromkeys(cluster.adopted.get(namespaced_name(member.csv), ()), ""), **labels}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    if cluster.profile.csv_finalizer:
        others = [name for name in texts(metadata.get("finalizers")) if name != cluster.profile.csv_finalizer]
        metadata["finalizers"] = [*others, cluster.profile.csv_finalizer]
    final = {**obj, "metadata": metadata}
    # A CSV that OLM leaves alone has no status at all (R-CSV-6, R-OG-12).
    return {**final, "status": csv_status(member, cluster.profile)} if member.phase else final


def csv_status(member: CsvState, profile: Profile) -> dict[str, Any]:
    """The status of a CSV (R-CSV-29), without times."""
    status: dict[str, Any] = {
        "phase": member.phase,
        "message": member.message,
        "reason": member.reason,
        # OLM adds times to each; they would differ from run to run and come from no input (R-CSV-28).
        "conditions": [{"phase": p, "message": m, "reason": r} for p, r, m in member.history],
        **cleanup_status(profile),
    }
    if member.requirements:
        status["requirementStatus"] = [dict(item) for item in member.requirements]
    return status
