"""The Deployments of install strategies as OLM writes them (R-DEP-1 … R-DEP-8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmc.model.cluster import Cluster
from olmc.model.objects import KubernetesObject
from olmc.model.operators import Csv
from olmc.model.options import Options
from olmc.model.profile import Profile
from olmc.model.values import mapping
from olmc.profiles.ownership import csv_reference, group_annotations, managed_labels, owner_labels
from olmc.settle.overrides import merged_env
from olmc.settle.serving import UNKNOWN_CA_HASH, serving_deployments, with_certificates
from olmc.settle.subscription_config import subscription_config, with_config

CONDITION_NAME = "OPERATOR_CONDITION_NAME"


def written_deployment(
    cluster: Cluster, options: Options, csv: Csv, item: Mapping[str, Any], *, replaced: bool = False
) -> KubernetesObject:
    """The Deployment that OLM writes for an entry of a CSV's install strategy, put together in OLM's order.

    Missing are only the label with the hash of its specification, which is taken of what the order leaves, and what
    the API server fills in. `replaced`: the CSV is being replaced.
    """
    name, namespace, profile = item.get("name") or "", csv.namespace, cluster.profile
    serving = name in serving_deployments(csv)
    spec = item.get("spec") or {}
    if serving:
        spec = with_certificates(spec, name, csv, profile)
    template = dict(spec.get("template") or {})
    annotations = template_annotations(profile, template, _csv_annotations(cluster, csv), serving=serving)
    if serving:
        annotations["olmcahash"] = UNKNOWN_CA_HASH
    template["metadata"] = {**(template.get("metadata") or {}), "annotations": dict(sorted(annotations.items()))}
    labels = {
        **((item.get("label") or {}) if profile.deploy_label_custom else {}),
        **managed_labels(profile.deploy_label_managed),
        **owner_labels(profile, csv.name, namespace),
    }
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    config = subscription_config(cluster, csv, replaced=replaced)
    pod, extra = with_config(template.get("spec") or {}, config, cluster, options)
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
    own = mapping(mapping(template.get("metadata")).get("annotations"))
    if serving and profile.deploy_template_olmcahash == "replaces":
        own = {}
    return {**own, **projected} if profile.deploy_annotations_precedence == "csv" else {**projected, **own}


def _with_condition_name(pod: Mapping[str, Any], csv: str, profile: Profile) -> dict[str, Any]:
    """The environment variable by which an operator finds its OperatorCondition, in every container."""
    if not profile.deploy_env_operator_condition_name:
        return dict(pod)
    new = [{"name": CONDITION_NAME, "value": csv}]
    containers = [{**c, "env": merged_env(c.get("env") or [], new)} for c in pod.get("containers") or ()]
    return {**pod, "containers": containers} if containers else dict(pod)
