"""What of the objects in a cluster says something of its state: without Secrets' values, without what controllers and
the API server write at their own pace, and without what nobody asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from olmc.lean import NamedTuple
from olmc.model.objects import (
    ACCOUNT,
    APIEXTENSIONS,
    CRD_KIND,
    RBAC,
    GroupKind,
    KubernetesObject,
    ObjectKey,
    annotations_of,
    as_text,
    gvk_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    owner_references,
    spec_of,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.model.secrets import CA_HASH, LAST_APPLIED, REDACTED, may_hold_secrets, redacted
from olmc.model.workspace import EXTENSIONS_V1
from olmc.olm.naming import COMPONENT_PREFIX

_V1_GROUP = EXTENSIONS_V1.partition("/")[0]
_SECRET = GroupKind("", "Secret")
_CONFIGMAP = GroupKind("", "ConfigMap")
_ADMISSION = "admissionregistration.k8s.io"
STATE_KINDS = frozenset(
    {
        GroupKind("", "Namespace"), GroupKind("", ACCOUNT), GroupKind("", "Service"), _SECRET,
        GroupKind("apps", "Deployment"), GroupKind(APIEXTENSIONS, CRD_KIND),
        GroupKind("apiregistration.k8s.io", "APIService"), GroupKind("scheduling.k8s.io", "PriorityClass"),
        GroupKind(_ADMISSION, "MutatingWebhookConfiguration"), GroupKind(_ADMISSION, "ValidatingWebhookConfiguration"),
        *(GroupKind(RBAC, kind) for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
    }
)  # fmt: skip
"""The kinds outside of OLM's own groups of which all objects count."""

# What belongs to one of these was made to unpack a bundle or to serve a catalog, and OLM makes it again.
_HELPERS = frozenset({GroupKind(OLM_GROUP, "CatalogSource"), _CONFIGMAP})
_ALWAYS_NEW = ("managedFields", "resourceVersion", "generation", "selfLink", "uid")
_BY_CONTROLLERS = ("deployment.kubernetes.io/revision",)
_TIMES = frozenset(
    "lastTransitionTime lastUpdateTime lastUpdated lastProbeTime lastHeartbeatTime lastConnect startTime createdAt "
    "completionTime latestImageRegistryPoll certsLastUpdated certsRotateAt observedGeneration resourceVersion "
    "uid".split()
)
# Of the annotations of a Secret these say whose token it is, and for which certificate OLM made it.
_OF_SECRETS = ("kubernetes.io/service-account.name", CA_HASH)
_GROUP_UID = "olm.operatorgroup.uid/"


def is_live(obj: KubernetesObject) -> bool:
    """Whether an object is as an API server returned it, with what only that one writes."""
    metadata = metadata_of(obj)
    return any(metadata.get(key) for key in ("uid", "resourceVersion", "managedFields"))


class Asked(NamedTuple):
    """What counts besides the kinds that always do: ConfigMaps that CatalogSources name, and kinds whose CRDs operators
    own, or have left behind."""

    configmaps: frozenset[ObjectKey]
    kinds: frozenset[GroupKind]


def asked_by(objects: Mapping[ObjectKey, KubernetesObject]) -> Asked:
    """What the CatalogSources and the CSVs among the objects make count."""
    configmaps, kinds = set(), set()
    for key, obj in objects.items():
        if (key.group, key.kind) == (OLM_GROUP, "CatalogSource"):
            configmaps.add(ObjectKey("", "ConfigMap", key.namespace, as_text(spec_of(obj).get("configMap"))))
        elif (key.group, key.kind) == (OLM_GROUP, CSV_KIND):
            definitions = mapping(spec_of(obj).get("customresourcedefinitions"))
            for owned in mappings(definitions.get("owned")):
                _, _, group = as_text(owned.get("name")).partition(".")
                kinds.add(GroupKind(group, as_text(owned.get("kind"))))
        elif (key.group, key.kind) == (APIEXTENSIONS, CRD_KIND) and _is_labelled(obj):
            spec = spec_of(obj)
            kinds.add(GroupKind(as_text(spec.get("group")), as_text(mapping(spec.get("names")).get("kind"))))
    return Asked(frozenset(configmaps), frozenset(kinds))


def counts(key: ObjectKey, obj: KubernetesObject, asked: Asked) -> bool:
    """Whether an object is a part of the state that olmc begins with; all of a rendering is."""
    if not is_live(obj):
        return True
    kind = GroupKind(key.group, key.kind)
    owners = {gvk_of(ref).group_kind for ref in owner_references(obj)}
    if owners & _HELPERS:
        return False
    if kind in STATE_KINDS or key.group in (OLM_GROUP, _V1_GROUP) or kind in asked.kinds or key in asked.configmaps:
        return True
    # What a bundle brings along is of any kind; and what a person has applied may be gone from the repository.
    is_of_olm = GroupKind(OLM_GROUP, CSV_KIND) in owners or _is_labelled(obj)
    return kind.kind not in ("Pod", "Job", "Event") and (is_of_olm or LAST_APPLIED in annotations_of(obj))


def _is_labelled(obj: KubernetesObject) -> bool:
    """Whether OLM has marked an object as its own, or as a part of an operator or of a ClusterExtension."""
    prefixes = (COMPONENT_PREFIX, f"{_V1_GROUP}/owner-")
    return any(label in ("olm.owner", "olm.managed") or label.startswith(prefixes) for label in labels_of(obj))


def group_uids(objects: Iterable[KubernetesObject]) -> frozenset[str]:
    """The uids of OperatorGroups that labels of namespaces and selectors of webhooks go by."""
    uids: set[str] = set()
    for obj in objects:
        selectors = [mapping(mapping(hook.get("namespaceSelector")).get("matchLabels"))
                     for hook in mappings(obj.get("webhooks"))]  # fmt: skip
        for labels in (labels_of(obj) if obj["kind"] == "Namespace" else {}, *selectors):
            uids |= {str(label).removeprefix(_GROUP_UID) for label in labels if str(label).startswith(_GROUP_UID)}
    return frozenset(uids)


def without_noise(obj: KubernetesObject, kept_uids: frozenset[str] = frozenset()) -> KubernetesObject:
    """An object without the annotation of kubectl, and without what changes though nobody changes anything; of a
    Secret only what it is for, of a rendering everything else, and no values of Secrets in other objects."""
    metadata = {**metadata_of(obj)}
    annotations = {**annotations_of(obj)}
    annotations.pop(LAST_APPLIED, None)
    status: Any = None
    if is_live(obj):
        uid = as_text(metadata.get("uid"))
        metadata = {key: value for key, value in metadata.items() if key not in _ALWAYS_NEW}
        metadata |= {"uid": uid} if uid and uid in kept_uids else {}
        annotations = {key: value for key, value in annotations.items() if key not in _BY_CONTROLLERS}
        if "ownerReferences" in metadata:
            references = owner_references(obj)
            metadata["ownerReferences"] = [{k: v for k, v in ref.items() if k != "uid"} for ref in references]
        status = _without_times(obj.get("status"))
    if gvk_of(obj).group_kind == _SECRET and not _is_redacted(obj):
        labels = metadata_of(redacted(obj)).get("labels")
        return _bare_secret(obj, {**metadata, "labels": labels}, annotations)
    # kubectl's templates print nothing where there is nothing.
    metadata = {key: value for key, value in metadata.items() if value is not None}
    if annotations.get(_OF_SECRETS[0]) == "":
        del annotations[_OF_SECRETS[0]]
    if annotations:
        metadata["annotations"] = annotations
    elif annotations_of(obj):
        del metadata["annotations"]
    changed = {**obj, "metadata": metadata, **({"status": status} if status is not None else {})}
    return redacted(changed) if may_hold_secrets(changed) else changed


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in _TIMES}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def _is_redacted(obj: KubernetesObject) -> bool:
    """Whether a Secret is one of a rendering, which has no values."""
    values = [value for field in ("data", "stringData") for value in (mapping(obj.get(field)).values() or ())]
    fields = all(isinstance(obj.get(field) or {}, dict) for field in ("data", "stringData"))
    return not is_live(obj) and fields and all(value in (REDACTED, "", None) for value in values)


def _bare_secret(
    obj: KubernetesObject, metadata: Mapping[str, Any], annotations: Mapping[str, Any]
) -> KubernetesObject:
    """That a Secret exists, whose it is, and what it is for."""
    kept = {key: metadata[key] for key in ("name", "namespace", "labels", "ownerReferences") if metadata.get(key)}
    if metadata.get("creationTimestamp"):
        kept["creationTimestamp"] = metadata["creationTimestamp"]
    remaining = {key: annotations[key] for key in _OF_SECRETS if annotations.get(key)}
    kept |= {"annotations": remaining} if remaining else {}
    bare: KubernetesObject = {"apiVersion": "v1", "kind": "Secret", "metadata": kept}
    return {**bare, "type": obj["type"]} if isinstance(obj.get("type"), str) else bare
