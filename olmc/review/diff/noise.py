"""What an upgrade changes although nothing changes for anybody: it is left out before objects are compared.

Owner references and labels that name the CSV, digests, what the API server and OLM write into `status`, annotations
that OLM projects from the CSV into every Deployment, what OLM derives from the CRDs that an operator owns (their list
in the CSV with its descriptors for consoles, olm.providedAPIs), and what other groups of changes tell better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmc.model.cluster import Name
from olmc.model.coerce import mapping, mappings, text
from olmc.model.objects import KubernetesObject
from olmc.model.operators import OLM_GROUP
from olmc.model.rbac import RBAC
from olmc.review.diff.images import IMAGE_VARIABLE, WORKLOADS
from olmc.review.diff.operators import CSV, Operator

__all__ = ["SUBSCRIBED", "metadata_without_noise", "without_noise"]

SUBSCRIBED = ("name", "channel", "source", "sourceNamespace", "startingCSV", "installPlanApproval")
"""The fields of a Subscription that changes of versions tell."""

_CONDITION_VARIABLE = "OPERATOR_CONDITION_NAME"

_METADATA = frozenset(
    """name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp managedFields
    selfLink ownerReferences""".split()
)
_LABELS = frozenset(
    """olm.owner olm.deployment-spec-hash olm.permissions.hash olm.webhook-description-hash olm.copiedFrom
    app.kubernetes.io/version helm.sh/chart""".split()
)
_ANNOTATIONS = frozenset(
    """kubectl.kubernetes.io/last-applied-configuration controller-gen.kubebuilder.io/version createdAt
    operators.operatorframework.io/builder operators.operatorframework.io/project_layout operatorframework.io/properties
    olm.operatorGroup olm.operatorNamespace olm.targetNamespaces olm.skipRange containerImage""".split()
)
_PREFIXES = ("operatorframework.io/installed-alongside-", "olm.operatorgroup.uid/")
_PROVIDED = "olm.providedAPIs"
_PROJECTED = frozenset(("alm-examples", "olm.generated-by", *_ANNOTATIONS))
_RBAC_FIELDS = frozenset(("rules", "subjects", "roleRef", "aggregationRule"))
_CSV_TOLD_ELSEWHERE = frozenset(
    ("version", "replaces", "skips", "relatedImages", "install", "installModes", "minKubeVersion")
)
_EMPTY_MEANS_NOTHING = frozenset(("resources", "securityContext", "strategy", "cleanup", "affinity"))


def without_noise(obj: KubernetesObject, owners: Mapping[Name, Operator]) -> dict[str, Any]:
    """What of an object is worth comparing; the object is not changed. `owners` are the operators of its side."""
    metadata = mapping(obj.get("metadata"))
    kept = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    kept["metadata"] = metadata_without_noise(metadata)
    if obj.get("kind") == CSV:
        kept["spec"] = _csv_spec(mapping(obj.get("spec")), mapping(obj.get("status")).get("phase") == "Succeeded")
    elif obj.get("kind") in WORKLOADS:
        kept["spec"] = _deployment_spec(mapping(obj.get("spec")), _owner(metadata, owners))
    elif text(obj.get("apiVersion")).startswith(f"{RBAC}/"):
        kept = {key: value for key, value in kept.items() if key not in _RBAC_FIELDS}
    elif obj.get("kind") == "OperatorCondition":
        kept["spec"] = _spec_without(obj, ("deployments", "serviceAccounts"))
    elif obj.get("kind") == "OperatorGroup" and text(obj.get("apiVersion")).startswith(OLM_GROUP):
        kept["spec"] = _spec_without(obj, ("targetNamespaces", "selector"))
        if not kept["spec"].get("staticProvidedAPIs") and isinstance(kept["metadata"].get("annotations"), dict):
            annotations = kept["metadata"]["annotations"]
            kept["metadata"]["annotations"] = {k: v for k, v in annotations.items() if k != _PROVIDED} or None
    elif obj.get("kind") == "Subscription" and text(obj.get("apiVersion")).startswith(OLM_GROUP):
        kept["spec"] = _spec_without(obj, SUBSCRIBED)
    return kept


def metadata_without_noise(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What of the metadata of an object is worth comparing."""
    kept = {key: value for key, value in metadata.items() if key not in _METADATA}
    for field, names in (("labels", _LABELS), ("annotations", _ANNOTATIONS)):
        if isinstance(kept.get(field), dict):
            left = {k: v for k, v in kept[field].items() if k not in names and not k.startswith(_PREFIXES)}
            kept[field] = left or None
    return kept


def _csv_spec(spec: Mapping[str, Any], is_installed: bool) -> dict[str, Any]:
    told = {*_CSV_TOLD_ELSEWHERE, "webhookdefinitions"} if is_installed else _CSV_TOLD_ELSEWHERE
    kept = {key: value for key, value in spec.items() if key not in told and not _is_nothing(key, value)}
    crds = mapping(spec.get("customresourcedefinitions"))
    kept["customresourcedefinitions"] = {key: value for key, value in crds.items() if key != "owned"} or None
    return kept


def _spec_without(obj: KubernetesObject, fields: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in mapping(obj.get("spec")).items() if key not in fields}


def _owner(metadata: Mapping[str, Any], owners: Mapping[Name, Operator]) -> Operator | None:
    labels = mapping(metadata.get("labels"))
    return owners.get(Name(text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner"))))


def _deployment_spec(spec: Mapping[str, Any], owner: Operator | None) -> dict[str, Any]:
    kept = dict(spec)
    template = dict(mapping(spec.get("template")))
    metadata = dict(mapping(template.get("metadata")))
    projected = owner.annotations if owner is not None else {}
    annotations = {
        key: value
        for key, value in mapping(metadata.get("annotations")).items()
        if key not in _PROJECTED and (key not in projected or projected[key] != value)
    }
    template["metadata"] = {**metadata_without_noise(metadata), "annotations": annotations or None}
    template["spec"] = _pod(mapping(template.get("spec")))
    kept["template"] = template
    return {key: value for key, value in kept.items() if not _is_nothing(key, value)}


def _pod(pod: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in pod.items() if not _is_nothing(key, value)}
    for field in ("containers", "initContainers"):
        if isinstance(pod.get(field), list):
            kept[field] = [_container(each) for each in mappings(pod[field])]
    return kept


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in container.items() if key != "image" and not _is_nothing(key, value)}
    if isinstance(container.get("env"), list):
        kept["env"] = [each for each in mappings(container["env"]) if not _is_told(each)] or None
    return kept


def _is_told(variable: Mapping[str, Any]) -> bool:
    """Whether a variable has the name of the CSV, or an image, which is told with the images."""
    name = text(variable.get("name"))
    return name == _CONDITION_VARIABLE or (name.startswith(IMAGE_VARIABLE) and text(variable.get("value")) != "")


def _is_nothing(key: str, value: Any) -> bool:
    return key in _EMPTY_MEANS_NOTHING and value in ({}, None)
