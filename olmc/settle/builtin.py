"""The kinds that every API server has, and until when it had others."""

from __future__ import annotations

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

# The first minor version of Kubernetes 1 that no longer serves these.
_REMOVED = {
    ("admissionregistration.k8s.io", "v1beta1"): (22, "MutatingWebhookConfiguration ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "v1beta1"): (22, "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "v1beta1"): (22, "APIService"),
    ("autoscaling", "v2beta1"): (25, "HorizontalPodAutoscaler"),
    ("autoscaling", "v2beta2"): (26, "HorizontalPodAutoscaler"),
    ("batch", "v1beta1"): (25, "CronJob"),
    ("networking.k8s.io", "v1beta1"): (22, "Ingress IngressClass"),
    ("policy", "v1beta1"): (25, "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "v1beta1"): (22, "ClusterRole ClusterRoleBinding Role RoleBinding"),
    ("scheduling.k8s.io", "v1beta1"): (22, "PriorityClass"),
}

_CLUSTER_SCOPED = frozenset(
    "APIService CSIDriver CSINode CertificateSigningRequest ClusterRole ClusterRoleBinding ComponentStatus "
    "ConsoleCLIDownload ConsoleLink ConsolePlugin ConsoleQuickStart ConsoleYAMLSample CustomResourceDefinition "
    "DeviceClass FlowSchema IPAddress IngressClass MutatingWebhookConfiguration Namespace Node OLMConfig Operator "
    "PersistentVolume PriorityClass PriorityLevelConfiguration ResourceSlice RuntimeClass ServiceCIDR StorageClass "
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration VolumeAttachment "
    "VolumeAttributesClass".split()
)


def builtin_kinds() -> tuple[tuple[str, str], ...]:
    """The group and name of every kind that an API server with OLM has today, each once, sorted."""
    return tuple(sorted({(group, kind) for (group, _), kinds in _KINDS.items() for kind in kinds.split()}))


def minor_of(kube_version: str) -> int:
    """The minor version of Kubernetes 1 in a version like `v1.36.2`."""
    parts = kube_version.removeprefix("v").split(".")
    digits = "".join(char for char in parts[1] if char.isdigit()) if len(parts) > 1 else ""
    return int(digits) if digits else 0


def is_native(api: APIKey, kube_version: str) -> bool:
    """Whether an API server of this version serves a kind without any CRD."""
    key = (api.group, api.version)
    if api.kind in _KINDS.get(key, "").split():
        return True
    first_without, kinds = _REMOVED.get(key, (0, ""))
    return minor_of(kube_version) < first_without and api.kind in kinds.split()


def is_cluster_scoped(kind: str) -> bool:
    """Whether objects of a built-in or optional kind (R-CAT-750) have no namespace."""
    return kind in _CLUSTER_SCOPED
