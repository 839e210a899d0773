"""The ClusterObjectSet of rendered objects: labels, phases, probes (R-V1-COS-2 … R-V1-COS-6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, annotations_of, labels_of, metadata_of, name_of, split_api_version, text
from olmc.targets.v1.registry_bundle import PROPERTIES_ANNOTATION, RegistryBundle

API_VERSION = "olm.operatorframework.io/v1"


EXTENSION_KIND, SET_KIND = "ClusterExtension", "ClusterObjectSet"


PREFIX = "olm.operatorframework.io/"


SYSTEM_NAMESPACE = "olmv1-system"


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


_METADATA = ("annotations", "labels", "name", "namespace")


_RBAC, _CONSOLE, _MONITORING = "rbac.authorization.k8s.io", "console.openshift.io", "monitoring.coreos.com"


# Whatever is not listed is deployed with the Deployments (R-V1-COS-3).
_REST = "deploy"


_PHASES: Mapping[str, Mapping[str, str]] = {
    # phase: kinds by their group
    "namespaces": {"": "Namespace"},
    "policies": {
        "networking.k8s.io": "NetworkPolicy",
        "policy": "PodDisruptionBudget",
        "scheduling.k8s.io": "PriorityClass",
    },
    "identity": {"": "ServiceAccount"},
    "configuration": {"": "Secret ConfigMap"},
    "storage": {"": "PersistentVolume PersistentVolumeClaim", "storage.k8s.io": "StorageClass"},
    "crds": {"apiextensions.k8s.io": "CustomResourceDefinition"},
    "roles": {_RBAC: "ClusterRole Role"},
    "bindings": {_RBAC: "ClusterRoleBinding RoleBinding"},
    "infrastructure": {"": "Service", "cert-manager.io": "Issuer Certificate"},
    _REST: {"apps": "Deployment"},
    "scaling": {"autoscaling.k8s.io": "VerticalPodAutoscaler"},
    "publish": {
        _MONITORING: "PrometheusRule ServiceMonitor PodMonitor",
        "networking.k8s.io": "Ingress",
        "route.openshift.io": "Route",
        _CONSOLE: "ConsoleYAMLSample ConsoleQuickStart ConsoleCLIDownload ConsoleLink ConsolePlugin",
    },
    "admission": {"admissionregistration.k8s.io": "ValidatingWebhookConfiguration MutatingWebhookConfiguration"},
}


MAX_PHASE = 50
"""How many objects the API takes in one phase (R-V1-COS-1)."""


class Owner(NamedTuple):
    """The ClusterExtension that a ClusterObjectSet belongs to, as far as it shows there; "" for an account that the
    release does not use."""

    name: str
    namespace: str
    service_account: str
    deadline_minutes: int | None = None


class RevisionBundle(NamedTuple):
    """The bundle that was resolved: its name, package and version, the image, the release where one is set, and the
    number of the revision that it is applied as."""

    name: str
    package: str
    version: str
    image: str
    release: str | None = None
    revision: int = 1


def is_kept(obj: KubernetesObject) -> bool:
    """Whether Helm deletes an object neither with its release nor in an upgrade (R-V1-HELM-2)."""
    return str(annotations_of(obj).get("helm.sh/resource-policy", "")).strip().lower() == "keep"


def owner_labels(extension: str) -> dict[str, str]:
    """The labels of everything that a ClusterExtension has applied (R-V1-HELM-2)."""
    return {f"{PREFIX}owner-kind": EXTENSION_KIND, f"{PREFIX}owner-name": extension}


def labelled(obj: KubernetesObject, extension: str) -> KubernetesObject:
    """An object with these labels over its own; pod templates have none of them (R-V1-HELM-2)."""
    labels = dict(sorted({**labels_of(obj), **owner_labels(extension)}.items()))
    return {**obj, "metadata": {**metadata_of(obj), "labels": labels}}


def normal_form(obj: KubernetesObject) -> KubernetesObject:
    """An object without its status and without all metadata but annotations, labels and names (R-V1-COS-2)."""
    metadata = {key: value for key, value in metadata_of(obj).items() if key in _METADATA}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


def revision_object(obj: KubernetesObject, extension: str, resolved: RevisionBundle) -> KubernetesObject:
    """A rendered object as it stands in a revision (R-V1-COS-2)."""
    normal = normal_form(labelled(obj, extension))
    annotations = {key: value for key, value in annotations_of(obj).items() if key != _LAST_APPLIED}
    added = {f"{PREFIX}bundle-version": resolved.version, f"{PREFIX}package-name": resolved.package}
    annotations |= {key: value for key, value in added.items() if value}
    metadata = {key: value for key, value in normal["metadata"].items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    return {**normal, "metadata": metadata}


def phase_of(obj: KubernetesObject) -> str:
    """The phase in which an object is applied, by its group and kind (R-V1-COS-3)."""
    group, _ = split_api_version(obj.get("apiVersion"))
    kinds = ((phase, names.get(group, "").split()) for phase, names in _PHASES.items())
    return next((phase for phase, names in kinds if obj["kind"] in names), _REST)


class RevisionPhase(NamedTuple):
    """A phase of a revision: its name and its objects, in the order in which they are listed."""

    name: str
    objects: tuple[KubernetesObject, ...]


def phases_of(objects: Sequence[KubernetesObject]) -> tuple[RevisionPhase, ...]:
    """Objects by phases, in their order; phases without objects are left out (R-V1-COS-3)."""
    by_phase: dict[str, list[KubernetesObject]] = {name: [] for name in _PHASES}
    for obj in objects:
        by_phase[phase_of(obj)].append(obj)
    return tuple(
        RevisionPhase(name, tuple(sorted(members, key=_phase_key))) for name, members in by_phase.items() if members
    )


def _phase_key(obj: KubernetesObject) -> tuple[str, ...]:
    metadata = metadata_of(obj)
    return (*split_api_version(obj.get("apiVersion")), obj["kind"], text(metadata.get("namespace")), name_of(obj))


def object_set(
    bundle: RegistryBundle,
    objects: Sequence[KubernetesObject],
    owner: Owner,
    resolved: RevisionBundle,
    revision: int = 1,
) -> KubernetesObject:
    """The ClusterObjectSet with these rendered objects of a bundle, each inline (R-V1-COS-4).

    The uid of the owner can't be known and is empty.
    """
    members = phases_of([revision_object(obj, owner.name, resolved) for obj in objects])
    deadline = {} if owner.deadline_minutes is None else {"progressDeadlineMinutes": owner.deadline_minutes}
    metadata = {
        "name": f"{owner.name}-{revision}",
        "labels": owner_labels(owner.name),
        "annotations": _set_annotations(bundle, owner, resolved),
        "ownerReferences": [owner_reference(EXTENSION_KIND, owner.name)],
    }
    spec = {
        "lifecycleState": "Active",
        "revision": revision,
        "phases": [{"name": phase.name, "objects": [{"object": obj} for obj in phase.objects]} for phase in members],
        "progressionProbes": _probes(),
        "collisionProtection": "Prevent",
        **deadline,
    }
    return {"apiVersion": API_VERSION, "kind": SET_KIND, "metadata": metadata, "spec": spec}


def _set_annotations(bundle: RegistryBundle, owner: Owner, resolved: RevisionBundle) -> dict[str, str]:
    annotations = {
        f"{PREFIX}bundle-name": resolved.name,
        f"{PREFIX}package-name": resolved.package,
        f"{PREFIX}bundle-version": resolved.version,
        f"{PREFIX}bundle-reference": resolved.image,
    }
    if owner.service_account:  # releases that use none leave both out (R-V1-REL-1)
        annotations[f"{PREFIX}service-account-name"] = owner.service_account
        annotations[f"{PREFIX}service-account-namespace"] = owner.namespace
    if resolved.release is not None:
        annotations[f"{PREFIX}bundle-release"] = resolved.release
    properties = annotations_of(bundle.csv).get(PROPERTIES_ANNOTATION)
    if properties is not None:
        annotations[PROPERTIES_ANNOTATION] = properties
    return dict(sorted(annotations.items()))


def owner_reference(kind: str, name: str) -> dict[str, Any]:
    """The reference to a ClusterExtension or ClusterObjectSet that controls an object; the uid can't be known."""
    flags = {"controller": True, "blockOwnerDeletion": True}
    return {"apiVersion": API_VERSION, "kind": kind, "name": name, "uid": "", **flags}


def _probes() -> list[dict[str, Any]]:
    """What has to hold of objects before the next phase, by kind (R-V1-COS-6)."""
    established, ready, available = map(_condition, ("Established", "Ready", "Available"))
    updated = {"type": "FieldsEqual", "fieldsEqual": {"fieldA": "status.updatedReplicas", "fieldB": "status.replicas"}}
    return [
        _probe("apiextensions.k8s.io", "CustomResourceDefinition", established),
        _probe("cert-manager.io", "Certificate", ready),
        _probe("cert-manager.io", "Issuer", ready),
        _probe("", "Namespace", _phase_is("Active")),
        _probe("", "PersistentVolumeClaim", _phase_is("Bound")),
        _probe("apps", "StatefulSet", updated, available),
        _probe("apps", "Deployment", updated, available),
    ]


def _probe(group: str, kind: str, *assertions: Mapping[str, Any]) -> dict[str, Any]:
    selector = {"type": "GroupKind", "groupKind": {"group": group, "kind": kind}}
    return {"selector": selector, "assertions": list(assertions)}


def _condition(name: str) -> dict[str, Any]:
    return {"type": "ConditionEqual", "conditionEqual": {"type": name, "status": "True"}}


def _phase_is(phase: str) -> dict[str, Any]:
    return {"type": "FieldValue", "fieldValue": {"fieldPath": "status.phase", "value": phase}}
