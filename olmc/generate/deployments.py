"""Deployments of install strategies (R-DEP-1 … R-DEP-11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.generate.certificates import UNKNOWN_CA_HASH, with_certificates
from olmc.generate.config import subscription_config, with_config
from olmc.generate.world import World, rendered
from olmc.golang import deployment_spec_hash
from olmc.model.cluster import Member
from olmc.model.objects import KubernetesObject, Rendered, identity
from olmc.model.profile import Profile
from olmc.profiles.ownership import csv_reference, managed_labels, owner_labels
from olmc.settle.collect import deleted_deployments
from olmc.settle.install import serving_deployments, template_annotations
from olmc.settle.overrides import merged_env

STAGE = "deployments"
CONDITION_NAME = "OPERATOR_CONDITION_NAME"
SPEC_HASH = "olm.deployment-spec-hash"


def deployments(world: World) -> Iterator[Rendered]:
    """The Deployments that were written and not deleted since, in the order of the strategy."""
    deleted = frozenset(deleted_deployments(world.cluster))
    for member, csv in world.installed():
        written = member.installation.deployments if member.installation else 0
        # Of two with one name the second overwrites the first.
        latest = {item.get("name"): index for index, item in enumerate(member.csv.deployments[:written])}
        for index in latest.values():
            keys = ("spec", "install", "spec", "deployments", index)
            made = _deployment(world, member, csv, member.csv.deployments[index])
            if identity(made) not in deleted:
                yield rendered(made, STAGE, "R-DEP-1", member.csv.source, *keys)


def _deployment(world: World, member: Member, csv: KubernetesObject, item: Mapping[str, Any]) -> KubernetesObject:
    """One Deployment, put together in OLM's order, since the hash is taken of what the order leaves."""
    name, namespace = item.get("name") or "", member.csv.namespace
    serving = name in serving_deployments(member.csv)
    spec, profile = item.get("spec") or {}, world.profile
    if serving:
        spec = with_certificates(spec, name, member.csv, profile)
    template = dict(spec.get("template") or {})
    annotations = template_annotations(profile, template, csv["metadata"].get("annotations") or {}, serving=serving)
    if serving:
        annotations["olmcahash"] = UNKNOWN_CA_HASH
    template["metadata"] = {**(template.get("metadata") or {}), "annotations": dict(sorted(annotations.items()))}
    labels = {
        **((item.get("label") or {}) if profile.deploy_label_custom else {}),
        **managed_labels(profile.deploy_label_managed),
        **owner_labels(profile, member.csv.name, namespace),
    }
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    config = subscription_config(world, member)
    pod, extra = with_config(template.get("spec") or {}, config, world)
    if extra:
        metadata["annotations"] = dict(sorted(extra.items()))
        merged = {**extra, **template["metadata"]["annotations"]}
        template["metadata"] = {**template["metadata"], "annotations": dict(sorted(merged.items()))}
    template["spec"] = _with_condition_name(pod, member.csv.name, profile)
    spec = {**spec, "template": template}
    if profile.deploy_revisionhistorylimit is not None:
        spec["revisionHistoryLimit"] = profile.deploy_revisionhistorylimit
    if profile.deploy_label_spec_hash:
        labels[SPEC_HASH] = "" if serving else deployment_spec_hash(profile, spec)
    spec["template"] = {**template, "spec": _with_new_account_field(template["spec"])}
    metadata["labels"] = dict(sorted(labels.items()))
    metadata["ownerReferences"] = [csv_reference(member.csv.name)]
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _with_new_account_field(pod: Mapping[str, Any]) -> dict[str, Any]:
    """The API server copies the deprecated field for the service account to the one that replaced it."""
    account = pod.get("serviceAccount")
    return {**pod, "serviceAccountName": account} if account and not pod.get("serviceAccountName") else dict(pod)


def _with_condition_name(pod: Mapping[str, Any], csv: str, profile: Profile) -> dict[str, Any]:
    """The environment variable by which an operator finds its OperatorCondition, in every container."""
    if not profile.deploy_env_operator_condition_name:
        return dict(pod)
    new = [{"name": CONDITION_NAME, "value": csv}]
    containers = [{**c, "env": merged_env(c.get("env") or [], new)} for c in pod.get("containers") or ()]
    return {**pod, "containers": containers} if containers else dict(pod)
