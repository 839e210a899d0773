"""The kinds that every API server with OLM has: in which versions, until when it had others, and what they are called.

Kinds that only some clusters have are in the tables as far as bundles may hold them (R-CAT-750).
"""

from __future__ import annotations

from functools import cache

from olmc.lean import NamedTuple
from olmc.model.objects import GVK, GroupKind, split_api_version
from olmc.model.operators import OLM_GROUP
from olmc.model.options import minor_of

_SERVED = {
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


# From the "Deprecated API Migration Guide" of kubernetes.io.
_REMOVED = {
    GVK(*split_api_version(api_version), kind): Removal(minor, replacement)
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

CLUSTER_SCOPED: frozenset[GroupKind] = frozenset(
    GroupKind(group, kind)
    for group, kinds in {
        "": "ComponentStatus Namespace Node PersistentVolume",
        "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
        "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
        "ValidatingWebhookConfiguration",
        "apiextensions.k8s.io": "CustomResourceDefinition",
        "apiregistration.k8s.io": "APIService",
        "authentication.k8s.io": "SelfSubjectReview TokenReview",
        "authorization.k8s.io": "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
        "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
        "console.openshift.io": "ConsoleCLIDownload ConsoleLink ConsolePlugin ConsoleQuickStart ConsoleYAMLSample",
        "extensions": "PodSecurityPolicy",
        "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
        "networking.k8s.io": "IPAddress IngressClass ServiceCIDR",
        "node.k8s.io": "RuntimeClass",
        "operators.coreos.com": "Install OLMConfig Operator",
        "policy": "PodSecurityPolicy",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
        "resource.k8s.io": "DeviceClass ResourceSlice",
        "scheduling.k8s.io": "PriorityClass",
        "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    }.items()
    for kind in kinds.split()
)
"""Kinds whose objects have no namespace: those of every API server with OLM, and those of OpenShift in bundles."""

SHORT_NAMES = {
    "CatalogSource": "catsrc",
    "CertificateSigningRequest": "csr",
    "ClusterServiceVersion": "csv csvs",
    "ComponentStatus": "cs",
    "ConfigMap": "cm",
    "CronJob": "cj",
    "CustomResourceDefinition": "crd crds",
    "DaemonSet": "ds",
    "Deployment": "deploy",
    "Endpoints": "ep",
    "Event": "ev",
    "HorizontalPodAutoscaler": "hpa",
    "Ingress": "ing",
    "InstallPlan": "ip",
    "LimitRange": "limits",
    "Namespace": "ns",
    "NetworkPolicy": "netpol",
    "Node": "no",
    "OperatorCondition": "condition",
    "OperatorGroup": "og",
    "PersistentVolume": "pv",
    "PersistentVolumeClaim": "pvc",
    "Pod": "po",
    "PodDisruptionBudget": "pdb",
    "PriorityClass": "pc",
    "ReplicaSet": "rs",
    "ReplicationController": "rc",
    "ResourceQuota": "quota",
    "Service": "svc",
    "ServiceAccount": "sa",
    "StatefulSet": "sts",
    "StorageClass": "sc",
    "Subscription": "sub subs",
    "VolumeAttributesClass": "vac",
}
"""The names that kubectl knows kinds by besides kind and plural."""

# What is built in for us, but what a real API server knows from CRDs only.
_BY_CRDS = frozenset({OLM_GROUP, "console.openshift.io"})


@cache
def builtin_kinds() -> tuple[GroupKind, ...]:
    """Every kind that an API server with OLM serves today, each once, sorted."""
    return tuple(sorted({GroupKind(group, kind) for (group, _), kinds in _SERVED.items() for kind in kinds.split()}))


@cache
def kubernetes_kinds() -> frozenset[GroupKind]:
    """The kinds that Kubernetes itself has or had, so that no CRD has a say in them."""
    known = {*builtin_kinds(), *(api.group_kind for api in _REMOVED), *CLUSTER_SCOPED}
    return frozenset(kind for kind in known if kind.group not in _BY_CRDS)


def versions_of(kind: GroupKind) -> tuple[str, ...]:
    """The versions in which an API server with OLM serves a kind today, () if it does not."""
    return tuple(v for (group, v), kinds in _SERVED.items() if group == kind.group and kind.kind in kinds.split())


def is_native(api: GVK, kube_version: str) -> bool:
    """Whether an API server of this version serves a kind without any CRD."""
    if api.kind in _SERVED.get((api.group, api.version), "").split():
        return True
    removal = _REMOVED.get(api)
    return removal is not None and minor_of(kube_version) < removal.minor


def has_native_kinds(group: str, version: str, kube_version: str) -> bool:
    """Whether an API server of this version serves any kind of a group and version without any CRD."""
    gone = (removal.minor for api, removal in _REMOVED.items() if (api.group, api.version) == (group, version))
    return (group, version) in _SERVED or any(minor_of(kube_version) < minor for minor in gone)


def removal_of(api: GVK, kube_version: str) -> Removal | None:
    """Since when an API server of this version no longer serves a kind, None if it may."""
    removal = _REMOVED.get(api)
    return removal if removal is not None and minor_of(kube_version) >= removal.minor else None


@cache
def removed_in(minor: int) -> frozenset[GVK]:
    """The APIs that a minor version of Kubernetes 1 was the first not to serve."""
    return frozenset(api for api, removal in _REMOVED.items() if removal.minor == minor)


def plural_of(kind: str) -> str:
    """The plural that Kubernetes gives a kind where nothing else says it."""
    # client-go guesses: it knows one exception, and doesn't ask what stands before a y.
    name = kind.lower()
    if name == "endpoints":
        return name
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
