"""The Deployments of install strategies as OLM writes them, and what the API server says to them (R-DEP-1 … 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from olmc.kube.api_validation.field import Keys, invalid_text
from olmc.kube.api_validation.workloads import creation_errors, update_errors
from olmc.model.cluster import Cluster, Member
from olmc.model.coerce import mapping, mappings
from olmc.model.objects import Identity, KubernetesObject, annotations_of, metadata_of, spec_of
from olmc.model.operators import Csv, StrategyDeployment
from olmc.model.options import Options
from olmc.model.profile import Profile
from olmc.profiles.ownership import csv_reference, group_annotations, managed_labels, owner_labels
from olmc.settle.overrides import merged_env
from olmc.settle.serving import UNKNOWN_CA_HASH, serving_deployments, with_certificates
from olmc.settle.subscription_config import subscription_config, with_config

CONDITION_NAME = "OPERATOR_CONDITION_NAME"


def written_deployment(
    cluster: Cluster, options: Options, csv: Csv, item: StrategyDeployment, *, replaced: bool = False
) -> KubernetesObject:
    """The Deployment that OLM writes for an entry of a CSV's install strategy, put together in OLM's order.

    Missing are only the label with the hash of its specification, which is taken of what the order leaves, and what
    the API server fills in. `replaced`: the CSV is being replaced.
    """
    name, namespace, profile = item.name, csv.namespace, cluster.profile
    serving = name in serving_deployments(csv)
    spec = item.spec
    if serving:
        spec = with_certificates(spec, name, csv, profile)
    template = dict(mapping(spec.get("template")))
    annotations = template_annotations(profile, template, _csv_annotations(cluster, csv), serving=serving)
    if serving:
        annotations["olmcahash"] = UNKNOWN_CA_HASH
    template["metadata"] = {**metadata_of(template), "annotations": dict(sorted(annotations.items()))}
    labels = {
        **(item.labels if profile.deploy_label_custom else {}),
        **managed_labels(profile.deploy_label_managed),
        **owner_labels(profile, csv.name, namespace),
    }
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    config = subscription_config(cluster, csv, replaced=replaced)
    pod, extra = with_config(spec_of(template), config, cluster, options)
    if extra:
        metadata["annotations"] = dict(sorted(extra.items()))
        merged = {**extra, **template["metadata"]["annotations"]}
        template["metadata"] = {**template["metadata"], "annotations": dict(sorted(merged.items()))}
    template["spec"] = _with_condition_name(pod, csv.name, profile)
    spec = {**spec, "template": template}
    if profile.deploy_revisionhistorylimit is not None:
        spec["revisionHistoryLimit"] = profile.deploy_revisionhistorylimit
    metadata["labels"] = dict(sorted(labels.items()))
    metadata["ownerReferences"] = [csv_reference(csv.name)]
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _csv_annotations(cluster: Cluster, csv: Csv) -> dict[str, str]:
    """The annotations of a CSV with those of its group (R-OG-10)."""
    annotations = dict(csv.annotations)
    for group in cluster.groups_in(csv.namespace)[-1:]:
        annotations |= group_annotations(cluster.profile, group)
    return annotations


def template_annotations(
    profile: Profile, template: Mapping[str, Any], projected: Mapping[str, str], *, serving: bool
) -> dict[str, str]:
    """The annotations of a pod template: its own, unless a certificate's hash replaces them, and those of the CSV."""
    own = annotations_of(template)
    if serving and profile.deploy_template_olmcahash == "replaces":
        return dict(projected)
    return {**own, **projected} if profile.deploy_annotations_precedence == "csv" else {**projected, **own}


def _with_condition_name(pod: Mapping[str, Any], csv: str, profile: Profile) -> dict[str, Any]:
    """The environment variable by which an operator finds its OperatorCondition, in every container."""
    if not profile.deploy_env_operator_condition_name:
        return dict(pod)
    new = [{"name": CONDITION_NAME, "value": csv}]
    containers = [{**c, "env": merged_env(mappings(c.get("env")), new)} for c in mappings(pod.get("containers"))]
    return {**pod, "containers": containers} if containers else dict(pod)


class Refusal(NamedTuple):
    """What the API server answers to a Deployment that it does not take, and the keys that lead to the first mistake in
    the entry of the install strategy."""

    text: str
    keys: Keys


def refusal(made: KubernetesObject, existing: KubernetesObject | None) -> Refusal | None:
    """Why OLM can't write a Deployment, over one that exists if there is one; None if it can.

    OLM puts the whole object in the place of the other (R-DEP-1), so that its selector counts.
    """
    metadata = made["metadata"]
    # Whoever owns it is right: OLM writes the reference, with a uid that nobody knows beforehand.
    judged = {**made, "metadata": {key: value for key, value in metadata.items() if key != "ownerReferences"}}
    errors = creation_errors(judged) if existing is None else update_errors(judged, existing)
    if not errors:
        return None
    keys = errors[0].keys
    own = {"name": ("name",), "labels": ("label", *keys[2:])}.get(str(keys[1]), ()) if keys[0] == "metadata" else keys
    return Refusal(invalid_text("Deployment", "apps", metadata["name"], errors), own)


def existing_deployment(name: str, csv: Csv, cluster: Cluster, members: Iterable[Member]) -> KubernetesObject | None:
    """The Deployment of that name that a CSV finds in its namespace: of a manifest, or as another CSV has written it.

    `members` are those others, and what became of them. Of theirs only what stays as it was is told (observed-49).
    """
    for member in members:
        installation = member.installation
        if member.csv.namespace == csv.namespace and member.csv.name != csv.name and installation is not None:
            for deployment in member.csv.deployments[: installation.deployments]:
                if deployment.name == name:
                    return {"metadata": {"name": name}, "spec": deployment.spec}
    found = cluster.stock.get(Identity("apps", "Deployment", csv.namespace, name))
    return found.object if found is not None else None
