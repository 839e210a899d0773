"""Which kinds have namespaces: Kubernetes' own and OLM's by group and kind, all others as their CRDs say.

The API server clears `metadata.namespace` of an object whose kind has none, so it is the kind that decides where an
object counts, whatever is written in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from olmc.model.objects import KubernetesObject
from olmc.model.values import mapping, text

Scope = Literal["Namespaced", "Cluster"]
Kind = tuple[str, str]
"""An API group and a kind in it."""

CRD = "CustomResourceDefinition"

CLUSTER_SCOPED: frozenset[Kind] = frozenset(
    (group, kind)
    for group, kinds in {
        "": "ComponentStatus Namespace Node PersistentVolume",
        "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
        "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
        "ValidatingWebhookConfiguration",
        "apiextensions.k8s.io": CRD,
        "apiregistration.k8s.io": "APIService",
        "authentication.k8s.io": "SelfSubjectReview TokenReview",
        "authorization.k8s.io": "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
        "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
        "console.openshift.io": "ConsoleCLIDownload ConsoleLink ConsolePlugin ConsoleQuickStart ConsoleYAMLSample",
        "extensions": "PodSecurityPolicy",
        "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
        "networking.k8s.io": "IPAddress IngressClass ServiceCIDR",
        "node.k8s.io": "RuntimeClass",
        "operators.coreos.com": "OLMConfig Operator",
        "policy": "PodSecurityPolicy",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
        "resource.k8s.io": "DeviceClass ResourceSlice",
        "scheduling.k8s.io": "PriorityClass",
        "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    }.items()
    for kind in kinds.split()
)
"""Kinds whose objects have no namespace: those of every API server with OLM, and those of OpenShift in bundles."""

SERVED_GROUPS = frozenset(
    """admissionregistration.k8s.io apiextensions.k8s.io apiregistration.k8s.io apps authentication.k8s.io
    authorization.k8s.io autoscaling batch certificates.k8s.io coordination.k8s.io discovery.k8s.io events.k8s.io
    extensions flowcontrol.apiserver.k8s.io networking.k8s.io node.k8s.io operators.coreos.com policy
    rbac.authorization.k8s.io resource.k8s.io scheduling.k8s.io storage.k8s.io""".split()
) | {""}
"""The groups whose kinds are known here, so that no CRD of a workspace has a say in them."""


def crd_scopes(objects: Iterable[KubernetesObject]) -> dict[Kind, Scope]:
    """The scope of every kind that a CRD among `objects` defines; of several CRDs for one kind the first counts."""
    found: dict[Kind, Scope] = {}
    for obj in objects:
        if obj.get("kind") == CRD:
            spec = mapping(obj.get("spec"))
            key = text(spec.get("group")), text(mapping(spec.get("names")).get("kind"))
            if key[0] not in SERVED_GROUPS:
                found.setdefault(key, "Cluster" if spec.get("scope") == "Cluster" else "Namespaced")
    return found


def kind_of(obj: KubernetesObject) -> Kind:
    """The group and kind of an object, in texts whatever is written there."""
    return text(obj.get("apiVersion")).rpartition("/")[0], text(obj.get("kind"))


def is_cluster_wide(kind: Kind, scopes: Mapping[Kind, Scope]) -> bool:
    """Whether the objects of a kind have no namespace, as far as anybody knows; `scopes` is what CRDs say."""
    return kind in CLUSTER_SCOPED or scopes.get(kind) == "Cluster"


def ignored_namespace(obj: KubernetesObject, scopes: Mapping[Kind, Scope]) -> Any:
    """The namespace in an object that the API server clears, None where it clears none.

    OLM's proposed v2alpha1 is left alone: what it says of its objects' namespaces has rules of its own.
    """
    namespace = mapping(obj.get("metadata")).get("namespace")
    if not namespace or obj.get("apiVersion") == "operators.coreos.com/v2alpha1":
        return None
    return namespace if is_cluster_wide(kind_of(obj), scopes) else None


def in_its_scope(obj: KubernetesObject, scopes: Mapping[Kind, Scope]) -> KubernetesObject:
    """An object as the API server stores it: without a namespace, if its kind has none."""
    if ignored_namespace(obj, scopes) is None:
        return obj
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "namespace"}}
