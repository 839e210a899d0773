"""What an API server fills in where the object that was written says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from olmc.compiler.model.operators import CSV_KIND
from olmc.k8s.objects import KubernetesObject
from olmc.review.diff.crd_kinds import ABSENT
from olmc.review.diff.deltas import Delta

_ANY = object()
_POD = "spec.template.spec"
_BOX = f"{_POD}.*ontainers"
# By kind and path, list items left out: what an object has where the one that was written says nothing.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "Deployment": {
        "spec.progressDeadlineSeconds": 600, "spec.replicas": 1, "spec.strategy.type": "RollingUpdate",
        "spec.strategy.rollingUpdate.max*": "25%",
        f"{_POD}.restartPolicy": "Always", f"{_POD}.dnsPolicy": "ClusterFirst",
        f"{_POD}.terminationGracePeriodSeconds": 30, f"{_POD}.schedulerName": "default-scheduler",
        f"{_POD}.serviceAccount": _ANY, f"{_POD}.deprecatedServiceAccount": _ANY, f"{_POD}.topologySpread*": _ANY,
        f"{_POD}.volumes.*.defaultMode": 420, f"{_POD}.volumes.*.fieldRef.apiVersion": "v1",
        f"{_POD}.volumes.*.expirationSeconds": 3600, f"{_POD}.volumes.hostPath.type": "",
        f"{_BOX}.terminationMessagePath": "/dev/termination-log", f"{_BOX}.terminationMessagePolicy": "File",
        f"{_BOX}.imagePullPolicy": _ANY, f"{_BOX}.ports.protocol": "TCP", f"{_BOX}.*Probe.timeoutSeconds": 1,
        f"{_BOX}.*Probe.periodSeconds": 10, f"{_BOX}.*Probe.successThreshold": 1, f"{_BOX}.*Probe.failureThreshold": 3,
        f"{_BOX}.*.httpGet.scheme": "HTTP", f"{_BOX}.*.httpGet.path": "/", f"{_BOX}.*Probe.grpc.service": "",
        f"{_BOX}.env.*.fieldRef.apiVersion": "v1", f"{_BOX}.env.*.divisor": "0", f"{_BOX}.resources.requests.*": _ANY,
        f"{_BOX}.securityContext.procMount": "Default",
    },
    "Service": {
        "spec.type": "ClusterIP", "spec.sessionAffinity": "None", "spec.ports.protocol": "TCP",
        "spec.ports.targetPort": _ANY, "spec.ports.nodePort": _ANY, "spec.externalTrafficPolicy": "Cluster",
        "spec.allocateLoadBalancerNodePorts": True,
    },
    "Secret": {"type": "Opaque"},
    "*WebhookConfiguration": {
        "webhooks.matchPolicy": "Equivalent", "webhooks.timeoutSeconds": 10, "webhooks.failurePolicy": "Fail",
        "webhooks.reinvocationPolicy": "Never", "webhooks.rules.scope": "*", "webhooks.clientConfig.service.port": 443,
    },
    "CustomResourceDefinition": {
        "spec.conversion.strategy": "None", "spec.conversion.webhook.clientConfig.service.port": 443,
        "spec.names.listKind": _ANY, "spec.names.singular": _ANY, "spec.preserveUnknownFields": False,
        "spec.versions.additionalPrinterColumns.priority": 0,
        "spec.versions.schema.openAPIV3Schema*.x-kubernetes-list-type": "atomic",
    },
    "*RoleBinding": {"subjects.apiGroup": _ANY},
    "PriorityClass": {"preemptionPolicy": "PreemptLowerPriority", "globalDefault": False},
    "NetworkPolicy": {"spec.policyTypes": _ANY, "spec.*gress.ports.protocol": "TCP"},
    "APIService": {"spec.service.port": 443},
    CSV_KIND: {
        "spec.install.spec.deployments.spec.template.spec.*ontainers.ports.protocol": "TCP",
        "spec.webhookdefinitions.containerPort": 443, "spec.cleanup.enabled": False,
    },
    "OperatorGroup": {"spec.upgradeStrategy": "Default"},
}  # fmt: skip
# What may as well have been written as filled in, whatever it is.
_CHOSEN = ("*.requests.*", "*.topologySpread*", "*.policyTypes")


def without_defaults(old: KubernetesObject, new: KubernetesObject) -> KubernetesObject:
    """What a cluster holds, without the defaults of fields of which the object that is applied next says nothing: they
    are there afterwards as well."""
    stripped: KubernetesObject = _stripped(str(old.get("kind")), "", old, new)
    return stripped


def _stripped(kind: str, path: str, old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        below = {key: f"{path}.{key}" if path else str(key) for key in old}
        return {
            key: _stripped(kind, below[key], value, new[key]) if key in new else value
            for key, value in old.items()
            if key in new or not _is_filled_in(kind, below[key], value)
        }
    if isinstance(old, list) and isinstance(new, list):
        named = {item["name"]: item for item in new if isinstance(item, dict) and isinstance(item.get("name"), str)}
        # What has no counterpart is reported as it is.
        beside = new if len(old) == len(new) else old
        return [
            _stripped(kind, path, item, named.get(item.get("name"), other) if isinstance(item, dict) else other)
            for item, other in zip(old, beside, strict=True)
        ]
    return old


def _is_filled_in(kind: str, path: str, value: Any) -> bool:
    if isinstance(value, dict) and value:
        return all(_is_filled_in(kind, f"{path}.{key}", below) for key, below in value.items())
    return not any(fnmatchcase(path, glob) for glob in _CHOSEN) and _is_default(kind, path, value)


def is_default(kind: str, delta: Delta) -> bool:
    """Whether the new side of a delta has only defaults beyond what the old one says."""
    path = tuple(step for step in delta.path if isinstance(step, str))
    return _adds_defaults(kind, ".".join(path), delta.old, delta.new)


def _adds_defaults(kind: str, path: str, old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = ((f"{path}.{key}", old.get(key, ABSENT), new.get(key, ABSENT)) for key in old.keys() | new.keys())
        return all(_adds_defaults(kind, *pair) for pair in pairs)
    return old == new or (old in (ABSENT, {}, []) and _is_default(kind, path, new))


def _is_default(kind: str, path: str, value: Any) -> bool:
    if isinstance(value, dict) and value:
        return all(_is_default(kind, f"{path}.{key}", below) for key, below in value.items())
    if isinstance(value, list) and value and not all(isinstance(item, str) for item in value):
        return all(_is_default(kind, path, item) for item in value)
    if value in ({}, []):
        return True
    for pattern, defaults in _DEFAULTS.items():
        if fnmatchcase(kind, pattern):
            return any(
                fnmatchcase(path, glob) and (known is _ANY or known == value) for glob, known in defaults.items()
            )
    return False
