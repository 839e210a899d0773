"""The kinds that every API server has, and until when it had others."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from olmc.kube.scopes import CLUSTER_SCOPED
from olmc.model.operators import APIKey

_KINDS = {
    ("", "v1"): "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
    "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    ("admissionregistration.k8s.io", "v1"): "MutatingWebhookConfiguration ValidatingAdmissionPolicy "
    "ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
    ("apiextensions.k8s.io", "v1"): "CustomResourceDefinition",
    ("apiregistration.k8s.io", "v1"): "APIService",
    ("apps", "v1"): "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    ("authentication.k8s.io", "v1"): "SelfSubjectReview TokenReview",
    ("authorization.k8s.io", "v1"): "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview "
    "SubjectAccessReview",
    ("autoscaling", "v1"): "HorizontalPodAutoscaler Scale",
    ("autoscaling", "v2"): "HorizontalPodAutoscaler",
    ("batch", "v1"): "CronJob Job",
    ("certificates.k8s.io", "v1"): "CertificateSigningRequest",
    ("coordination.k8s.io", "v1"): "Lease",
    ("discovery.k8s.io", "v1"): "EndpointSlice",
    ("events.k8s.io", "v1"): "Event",
    ("flowcontrol.apiserver.k8s.io", "v1"): "FlowSchema PriorityLevelConfiguration",
    ("networking.k8s.io", "v1"): "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    ("node.k8s.io", "v1"): "RuntimeClass",
    ("operators.coreos.com", "v1"): "OLMConfig Operator OperatorCondition OperatorGroup",
    ("operators.coreos.com", "v1alpha1"): "CatalogSource ClusterServiceVersion InstallPlan Subscription",
    ("operators.coreos.com", "v1alpha2"): "OperatorGroup",
    ("operators.coreos.com", "v2"): "OperatorCondition",
    ("policy", "v1"): "Eviction PodDisruptionBudget",
    ("rbac.authorization.k8s.io", "v1"): "ClusterRole ClusterRoleBinding Role RoleBinding",
    ("resource.k8s.io", "v1"): "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    ("scheduling.k8s.io", "v1"): "PriorityClass",
    ("storage.k8s.io", "v1"): "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment "
    "VolumeAttributesClass",
}


class Removal(NamedTuple):
    """From which minor version of Kubernetes 1 on an API is gone, and the apiVersion that takes its place."""

    minor: int
    replacement: str


# By apiVersion and kind (kubernetes.io, "Deprecated API Migration Guide").
_REMOVED = {
    (api_version, kind): Removal(minor, replacement)
    for api_version, minor, replacement, kinds in (
        ("admissionregistration.k8s.io/v1beta1", 22, "admissionregistration.k8s.io/v1",
         "MutatingWebhookConfiguration ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io/v1beta1", 22, "apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1beta1", 22, "apiregistration.k8s.io/v1", "APIService"),
        ("apps/v1beta1", 16, "apps/v1", "ControllerRevision Deployment StatefulSet"),
        ("apps/v1beta2", 16, "apps/v1", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"),
        ("authentication.k8s.io/v1beta1", 22, "authentication.k8s.io/v1", "TokenReview"),
        ("authorization.k8s.io/v1beta1", 22, "authorization.k8s.io/v1",
         "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"),
        ("autoscaling/v2beta1", 25, "autoscaling/v2", "HorizontalPodAutoscaler"),
        ("autoscaling/v2beta2", 26, "autoscaling/v2", "HorizontalPodAutoscaler"),
        ("batch/v1beta1", 25, "batch/v1", "CronJob"),
        ("batch/v2alpha1", 21, "batch/v1", "CronJob"),
        ("certificates.k8s.io/v1beta1", 22, "certificates.k8s.io/v1", "CertificateSigningRequest"),
        ("coordination.k8s.io/v1beta1", 22, "coordination.k8s.io/v1", "Lease"),
        ("discovery.k8s.io/v1beta1", 25, "discovery.k8s.io/v1", "EndpointSlice"),
        ("events.k8s.io/v1beta1", 25, "events.k8s.io/v1", "Event"),
        ("extensions/v1beta1", 16, "apps/v1", "DaemonSet Deployment ReplicaSet"),
        ("extensions/v1beta1", 16, "networking.k8s.io/v1", "NetworkPolicy"),
        ("extensions/v1beta1", 16, "", "PodSecurityPolicy"),
        ("extensions/v1beta1", 22, "networking.k8s.io/v1", "Ingress"),
        ("flowcontrol.apiserver.k8s.io/v1beta1", 26, "flowcontrol.apiserver.k8s.io/v1",
         "FlowSchema PriorityLevelConfiguration"),
        ("flowcontrol.apiserver.k8s.io/v1beta2", 29, "flowcontrol.apiserver.k8s.io/v1",
         "FlowSchema PriorityLevelConfiguration"),
        ("flowcontrol.apiserver.k8s.io/v1beta3", 32, "flowcontrol.apiserver.k8s.io/v1",
         "FlowSchema PriorityLevelConfiguration"),
        ("networking.k8s.io/v1beta1", 22, "networking.k8s.io/v1", "Ingress IngressClass"),
        ("node.k8s.io/v1beta1", 25, "node.k8s.io/v1", "RuntimeClass"),
        ("policy/v1beta1", 25, "policy/v1", "PodDisruptionBudget"),
        ("policy/v1beta1", 25, "", "PodSecurityPolicy"),
        ("rbac.authorization.k8s.io/v1beta1", 22, "rbac.authorization.k8s.io/v1",
         "ClusterRole ClusterRoleBinding Role RoleBinding"),
        ("scheduling.k8s.io/v1beta1", 22, "scheduling.k8s.io/v1", "PriorityClass"),
        ("storage.k8s.io/v1beta1", 22, "storage.k8s.io/v1", "CSIDriver CSINode StorageClass VolumeAttachment"),
        ("storage.k8s.io/v1beta1", 27, "storage.k8s.io/v1", "CSIStorageCapacity"),
    )
    for kind in kinds.split()
}  # fmt: skip

# OLM goes by the kind alone.
_CLUSTER_SCOPED = frozenset(kind for _, kind in CLUSTER_SCOPED)


@cache
def builtin_kinds() -> tuple[tuple[str, str], ...]:
    """The group and name of every kind that an API server with OLM has today, each once, sorted."""
    return tuple(sorted({(group, kind) for (group, _), kinds in _KINDS.items() for kind in kinds.split()}))


def versions_of(group: str, kind: str) -> tuple[str, ...]:
    """The versions in which an API server with OLM serves a kind today, () if it does not."""
    return tuple(v for (g, v), kinds in _KINDS.items() if g == group and kind in kinds.split())


def minor_of(kube_version: str) -> int:
    """The minor version of Kubernetes 1 in a version like `v1.36.2`."""
    parts = kube_version.removeprefix("v").split(".")
    digits = "".join(char for char in parts[1] if char.isdigit()) if len(parts) > 1 else ""
    return int(digits) if digits else 0


def is_native(api: APIKey, kube_version: str) -> bool:
    """Whether an API server of this version serves a kind without any CRD."""
    if api.kind in _KINDS.get((api.group, api.version), "").split():
        return True
    removal = _REMOVED.get((f"{api.group}/{api.version}", api.kind))
    return removal is not None and minor_of(kube_version) < removal.minor


def has_native_kinds(group: str, version: str, kube_version: str) -> bool:
    """Whether an API server of this version serves any kind of a group and version without any CRD."""
    minor, api_version = minor_of(kube_version), f"{group}/{version}"
    gone = (removal.minor for (known, _), removal in _REMOVED.items() if known == api_version)
    return (group, version) in _KINDS or any(minor < at for at in gone)


def removal_of(api_version: str, kind: str, kube_version: str) -> Removal | None:
    """Since when an API server of this version no longer serves a kind, None if it may."""
    removal = _REMOVED.get((api_version, kind))
    return removal if removal is not None and minor_of(kube_version) >= removal.minor else None


def is_cluster_scoped(kind: str) -> bool:
    """Whether objects of a built-in or optional kind (R-CAT-750) have no namespace."""
    return kind in _CLUSTER_SCOPED


def plural_of(kind: str) -> str:
    """The plural that Kubernetes gives a kind where nothing else says it."""
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
