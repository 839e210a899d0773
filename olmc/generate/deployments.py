"""Deployments of install strategies (R-DEP-1 … R-DEP-11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.generate.world import World, rendered
from olmc.golang import deployment_spec_hash
from olmc.model.cluster import Member
from olmc.model.objects import KubernetesObject, Rendered, identity
from olmc.model.operators import StrategyDeployment
from olmc.settle.collect import deleted_deployments
from olmc.settle.deployments import written_deployment
from olmc.settle.serving import serving_deployments

STAGE = "deployments"
SPEC_HASH = "olm.deployment-spec-hash"


def deployments(world: World) -> Iterator[Rendered]:
    """The Deployments that were written and not deleted since, in the order of the strategy.

    >>> workspace = {"groups": {"ns/og": ["docks"]}, "operators": ["beacon.v1.0.0"]}
    >>> show(deployments, workspace, "metadata.labels", "spec.template.metadata.annotations")
    Deployment/ns/beacon-controller
      labels: {olm.deployment-spec-hash: ..., olm.managed: 'true', olm.owner: beacon.v1.0.0, ...}
      annotations: {olm.operatorGroup: og, olm.operatorNamespace: ns, olm.targetNamespaces: docks, ...}
    """
    deleted = frozenset(deleted_deployments(world.cluster))
    for member, _ in world.installed():
        written = member.installation.deployments if member.installation else 0
        # Of two with one name the second overwrites the first.
        latest = {item.name: index for index, item in enumerate(member.csv.deployments[:written])}
        for index in latest.values():
            keys = ("spec", "install", "spec", "deployments", index)
            made = _deployment(world, member, member.csv.deployments[index])
            if identity(made) not in deleted:
                yield rendered(made, STAGE, "R-DEP-1", member.csv.source, *keys)


def _deployment(world: World, member: Member, item: StrategyDeployment) -> KubernetesObject:
    """One Deployment as it is stored: with the hash of what OLM wrote, and what the API server makes of that."""
    replaced = member.phase == "Replacing"
    made = written_deployment(world.cluster, world.options, member.csv, item, replaced=replaced)
    metadata, spec = made["metadata"], made["spec"]
    # OLM hashes what it sends, before the API server adds defaults (R-DEP-8). A serving Deployment holds the hash of a
    # CA that OLM makes anew in every cluster, so nobody can know the hash over it beforehand (R-DEP-10).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/install/deployment.go#L93-L191
    if world.profile.deploy_label_spec_hash:
        serving = metadata["name"] in serving_deployments(member.csv)
        labels = {**metadata["labels"], SPEC_HASH: "" if serving else deployment_spec_hash(world.profile, spec)}
        metadata = {**metadata, "labels": dict(sorted(labels.items()))}
    template = {**spec["template"], "spec": _with_new_account_field(spec["template"]["spec"])}
    return {**made, "metadata": metadata, "spec": {**spec, "template": template}}


def _with_new_account_field(pod: Mapping[str, Any]) -> dict[str, Any]:
    """The API server copies the deprecated field for the service account to the one that replaced it."""
    account = pod.get("serviceAccount")
    return {**pod, "serviceAccountName": account} if account and not pod.get("serviceAccountName") else dict(pod)
