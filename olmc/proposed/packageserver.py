"""What packageserver's CSV says about the APIs, one Deployment for each version (R-INST-10)."""

from __future__ import annotations

from typing import Any

from olmc.model.objects import KubernetesObject
from olmc.model.operators import CSV_KIND
from olmc.profiles.ownership import CSV_API
from olmc.proposed.resources import GROUP, RESOURCES, Resource

PORT = 5443
_IMAGE = "quay.io/operator-framework/olm:v0.46.0"


def fragment() -> KubernetesObject:
    """The part of the CSV that differs from that of today: owned API services, and a Deployment for each."""
    return {
        "apiVersion": CSV_API,
        "kind": CSV_KIND,
        "metadata": {"name": "packageserver"},
        "spec": {
            "apiservicedefinitions": {"owned": [_described(resource) for resource in RESOURCES]},
            "install": {
                "strategy": "deployment",
                "spec": {"deployments": [_deployment(resource) for resource in RESOURCES]},
            },
        },
    }


def deployment_name(resource: Resource) -> str:
    return f"packageserver.{resource.version}"


def _described(resource: Resource) -> dict[str, Any]:
    return {
        "group": GROUP,
        "version": resource.version,
        "kind": resource.kind,
        "name": resource.plural,
        "displayName": resource.kind,
        "description": resource.description,
        "deploymentName": deployment_name(resource),
        "containerPort": PORT,
    }


def _deployment(resource: Resource) -> dict[str, Any]:
    name = deployment_name(resource)
    container = {
        "name": "packageserver",
        "image": _IMAGE,
        "command": ["/bin/package-server", "-v=4", "--secure-port", str(PORT), "--global-namespace", "olm"],
        "ports": [{"containerPort": PORT, "protocol": "TCP"}],
    }
    pod = {"serviceAccountName": "olm-operator-serviceaccount", "containers": [container]}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {"name": name, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}}
