"""Which object of one side is which of the other, and what of two objects is worth comparing.

Objects are matched by identity, and where names are made of hashes by role. What an upgrade changes although nothing
changes for anybody is left out: owner references and labels that name the CSV, digests, what the API server and OLM
write into `status`, annotations that OLM projects from the CSV into every Deployment, what OLM derives from the CRDs
that an operator owns (their list in the CSV with its descriptors for consoles, olm.providedAPIs), and what other groups
of changes say better.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from olmc.diff.change import WORKLOADS
from olmc.diff.operators import CSV, DiffOperator, is_copy
from olmc.diff.roles import only_roles, role_by_images, role_by_name
from olmc.lean import NamedTuple, regex
from olmc.model.cluster import NamespacedName
from olmc.model.objects import (
    RBAC,
    KubernetesObject,
    ObjectKey,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    object_key,
    spec_of,
    status_of,
    text,
)
from olmc.model.operators import OLM_GROUP
from olmc.model.workspace import EXTENSIONS_V1

_IMAGE_VARIABLE = "RELATED_IMAGE_"
_IMAGE = regex(r"[\w.-]+(?::[0-9]+)?(?:/[\w.-]+)+(?::[\w.-]+)?(?:@[a-z0-9]+:[0-9a-f]+)?")

SUBSCRIBED = ("name", "channel", "source", "sourceNamespace", "startingCSV", "installPlanApproval")
"""The fields of a Subscription that changes of versions are about."""

_CONDITION_VARIABLE = "OPERATOR_CONDITION_NAME"

_METADATA = frozenset(
    """name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp managedFields
    selfLink ownerReferences""".split()
)
_LABELS = frozenset(
    """olm.owner olm.owner.kind olm.owner.namespace olm.deployment-spec-hash olm.permissions.hash
    olm.webhook-description-hash olm.copiedFrom app.kubernetes.io/version helm.sh/chart""".split()
)
_ANNOTATIONS = frozenset(
    """kubectl.kubernetes.io/last-applied-configuration controller-gen.kubebuilder.io/version createdAt
    operators.operatorframework.io/builder operators.operatorframework.io/project_layout operatorframework.io/properties
    olm.operatorGroup olm.operatorNamespace olm.targetNamespaces olm.skipRange olm.properties containerImage
    alm-examples description capabilities categories repository support certified olm.deprecationMessage
    operators.operatorframework.io/internal-objects console.openshift.io/operator-monitoring-default""".split()
)
_PREFIXES = (
    "operatorframework.io/installed-alongside-", "olm.operatorgroup.uid/", "app.kubernetes.io/", "helm.sh/",
    "features.operators.openshift.io/", "operators.openshift.io/", "olm.operatorframework.io/",
    "meta.helm.sh/", "olm.opgroup.permissions/aggregate-to-",
)  # fmt: skip
_PROVIDED = "olm.providedAPIs"
_PROJECTED = frozenset(("alm-examples", "olm.generated-by", "olmcahash", *_ANNOTATIONS))
_RBAC_FIELDS = frozenset(("rules", "subjects", "roleRef", "aggregationRule"))
_CSV_REPORTED_ELSEWHERE = frozenset(
    ("version", "replaces", "skips", "relatedImages", "install", "installModes", "minKubeVersion")
)
# What only people read, in a console.
_CSV_TEXTS = frozenset(
    "annotations description displayName icon keywords labels links maintainers maturity provider selector".split()
)
_OLM_VOLUMES = frozenset(("apiservice-cert", "webhook-cert"))
"""The volumes by which OLM gives a Deployment its serving certificates."""
# Go writes some of these structures even when they are empty (R-JSON-5), and then they say nothing.
_EMPTY_MEANS_NOTHING = frozenset(("resources", "securityContext", "strategy", "cleanup", "affinity"))

_SUFFIX = regex(r"[-.](admin|edit|view)(?:-[0-9A-Za-z]+)?\Z")
_WEBHOOK_NAME = "olm.webhook-description-generate-name"
_EXTENSION_LABEL = "olm.operatorframework.io/owner-name"

_Objects = dict[ObjectKey, KubernetesObject]
_Key = Callable[[ObjectKey, KubernetesObject], Hashable]


class Pair(NamedTuple):
    """An object in both sides, or in one of them; `identity` is that in the new side if it is there."""

    identity: ObjectKey
    old: KubernetesObject | None
    new: KubernetesObject | None


def folded_kind(obj: KubernetesObject) -> str:
    """What kind of noise an object is, "" if it is none: these are derived from others, and change with them."""
    kind = obj.get("kind")
    if (obj.get("apiVersion"), kind) == (EXTENSIONS_V1, "ClusterObjectSet"):
        return "ClusterObjectSet"
    if not text(obj.get("apiVersion")).startswith(f"{OLM_GROUP}/"):
        return ""
    if kind == CSV and is_copy(obj):
        return "copied CSV"
    return text(kind) if kind in ("InstallPlan", "Operator") else ""


def matched_pairs(
    old: Sequence[KubernetesObject], new: Sequence[KubernetesObject], before: Mapping[NamespacedName, DiffOperator],
    after: Mapping[NamespacedName, DiffOperator], renamed: Mapping[ObjectKey, ObjectKey] = MappingProxyType({}),
) -> list[Pair]:  # fmt: skip
    """Every object once, sorted by identity; `before` and `after` are the operators of both sides, `renamed` is by
    object of the new side the one whose place it takes."""
    olds, news = ({object_key(obj): obj for obj in objects} for objects in (old, new))
    # What has the same name is the same object; the rest is matched from the surest sign to the weakest, and none
    # twice.
    pairs = [Pair(key, olds.pop(key), news[key]) for key in list(olds) if key in news]
    for pair in pairs:
        del news[pair.identity]
    old_grants, new_grants = _grants(old), _grants(new)
    for old_key, new_key in (
        (_by_operator(before), _by_operator(after)),
        (_by_webhook, _by_webhook),
        (_webhook_of_v0, _webhook_of_v1),
        (role_of_group, role_of_group),
        (_by_grant(old_grants, exactly=True), _by_grant(new_grants, exactly=True)),
        (_by_grant(old_grants), _by_grant(new_grants)),
        (partial(role_by_name, owners=before), partial(role_by_name, owners=after)),
        (partial(role_by_images, owners=before), partial(role_by_images, owners=after)),
    ):
        pairs += _match(olds, news, old_key, new_key)
    pairs += _match(olds, news, lambda known, _: known, lambda known, _: renamed.get(known))
    was, now = only_roles(olds, before), only_roles(news, after)
    pairs += _match(olds, news, lambda known, _: was.get(known), lambda known, _: now.get(known))
    pairs += (Pair(key, obj, None) for key, obj in olds.items())
    pairs += (Pair(key, None, obj) for key, obj in news.items())
    return sorted(pairs, key=lambda pair: pair.identity)


def _match(olds: _Objects, news: _Objects, old_key: _Key, new_key: _Key) -> Iterator[Pair]:
    """The objects with the same key in order, taken out of what is left on both sides."""
    waiting: dict[Hashable, list[ObjectKey]] = {}
    for known, obj in sorted(olds.items(), key=lambda item: item[0]):
        key = old_key(known, obj)
        if key is not None:
            waiting.setdefault(key, []).append(known)
    for known, obj in sorted(news.items(), key=lambda item: item[0]):
        key = new_key(known, obj)
        # In order, so that rivals with one key are matched alike in every run.
        rivals = waiting.get(key) if key is not None else None
        if rivals:
            before = olds.pop(rivals.pop(0))
            yield Pair(known, before, news.pop(known))


def _by_operator(operators: Mapping[NamespacedName, DiffOperator]) -> _Key:
    """Objects with the very name of a CSV: the CSV itself, its OperatorCondition and the Role for that."""

    def key(known: ObjectKey, _: KubernetesObject) -> Hashable:
        operator = operators.get(NamespacedName(known.namespace, known.name))
        return (known.kind, known.namespace, operator.package) if operator is not None else None

    return key


def _by_webhook(known: ObjectKey, obj: KubernetesObject) -> Hashable:
    labels = labels_of(obj)
    name = text(labels.get(_WEBHOOK_NAME))
    return (known.kind, text(labels.get("olm.owner.namespace")), name) if name else None


def _webhook_of_v0(known: ObjectKey, obj: KubernetesObject) -> Hashable:
    """The name that a webhook configuration of OLM v0 has for OLM v1: without the random characters (R-V1-GEN-10)."""
    name = text(labels_of(obj).get(_WEBHOOK_NAME))
    return (known.kind, name.rstrip("-")) if name else None


def _webhook_of_v1(known: ObjectKey, obj: KubernetesObject) -> Hashable:
    return (known.kind, known.name) if _EXTENSION_LABEL in labels_of(obj) else None


def role_of_group(known: ObjectKey, obj: KubernetesObject) -> Hashable:
    """The OperatorGroup of an aggregating ClusterRole and for whom it is, None for anything else."""
    labels = labels_of(obj)
    suffix = _SUFFIX.search(known.name)
    if suffix is None or known.kind != "ClusterRole" or labels.get("olm.owner.kind") != "OperatorGroup":
        return None
    if "rules" in obj:
        return None
    return text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner")), suffix[1]


_NO_RULES = json.dumps(None)


class _Grants(NamedTuple):
    """The RBAC of a side: the roles, and who has them, both by kind, namespace and name of the role."""

    roles: Mapping[tuple[str, str, str], KubernetesObject]
    whom: Mapping[tuple[str, str, str], frozenset[str]]

    def rules(self, role: tuple[str, str, str]) -> str | None:
        """The rules of a role as a text; None if it is not there."""
        return json.dumps(self.roles[role].get("rules"), sort_keys=True, default=str) if role in self.roles else None


def _grants(objects: Iterable[KubernetesObject]) -> _Grants:
    roles: dict[tuple[str, str, str], KubernetesObject] = {}
    whom: dict[tuple[str, str, str], frozenset[str]] = {}
    for obj in objects:
        known = object_key(obj)
        if known.group != RBAC:
            continue
        if known.kind.endswith("Binding"):
            role = _role_of(known, obj)
            whom[role] = whom.get(role, frozenset()) | _subjects(known, obj)
        else:
            roles[known.kind, known.namespace, known.name] = obj
    return _Grants(roles, whom)


def _by_grant(grants: _Grants, *, exactly: bool = False) -> _Key:
    """What a role or a binding grants to whom; without `exactly`, only to whom. A role that grants nothing to nobody is
    like no other."""

    def key(known: ObjectKey, obj: KubernetesObject) -> Hashable:
        if known.group != RBAC:
            return None
        is_binding = known.kind.endswith("Binding")
        # Names of roles that OLM makes are hashes of what they grant, so a new rule gives a new name.
        role = _role_of(known, obj) if is_binding else (known.kind, known.namespace, known.name)
        whom = _subjects(known, obj) if is_binding else grants.whom.get(role, frozenset())
        if not whom and not (exactly and (is_binding or grants.rules(role) != _NO_RULES)):
            return None
        rules = grants.rules(role) if exactly else ""
        return known.kind, known.namespace, whom, role[2] if rules is None else rules

    return key


def _role_of(known: ObjectKey, binding: KubernetesObject) -> tuple[str, str, str]:
    reference = mapping(binding.get("roleRef"))
    kind = text(reference.get("kind"))
    return kind, known.namespace if kind == "Role" else "", text(reference.get("name"))


def _subjects(known: ObjectKey, binding: KubernetesObject) -> frozenset[str]:
    return frozenset(
        f"{text(subject.get('kind'))} {text(subject.get('namespace')) or known.namespace} {text(subject.get('name'))}"
        for subject in mappings(binding.get("subjects"))
    )


def without_noise(obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> dict[str, Any]:
    """What of an object is worth comparing; the object is not changed. `owners` are the operators of its side."""
    metadata = metadata_of(obj)
    kept = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    kept["metadata"] = metadata_without_noise(metadata)
    if obj.get("kind") == CSV:
        kept["spec"] = _csv_spec(spec_of(obj), status_of(obj).get("phase") == "Succeeded")
    elif obj.get("kind") in WORKLOADS:
        kept["spec"] = _deployment_spec(spec_of(obj), _owner(metadata, owners))
    elif text(obj.get("apiVersion")).startswith(f"{RBAC}/"):
        kept = {key: value for key, value in kept.items() if key not in _RBAC_FIELDS}
    elif obj.get("kind") == "OperatorCondition":
        kept["spec"] = _spec_without(obj, ("deployments", "serviceAccounts"))
    elif obj.get("kind") == "OperatorGroup" and text(obj.get("apiVersion")).startswith(OLM_GROUP):
        kept["spec"] = _spec_without(obj, ("targetNamespaces", "selector"))
        # Unless the list is static OLM derives it from its members.
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
    # Where a CSV is installed its webhooks are objects, and compared as such; elsewhere the CSV is all that there is.
    ignored = {*_CSV_REPORTED_ELSEWHERE, *_CSV_TEXTS, *(("webhookdefinitions",) if is_installed else ())}
    kept = {key: value for key, value in spec.items() if key not in ignored and not _is_nothing(key, value)}
    crds = mapping(spec.get("customresourcedefinitions"))
    kept["customresourcedefinitions"] = {key: value for key, value in crds.items() if key != "owned"} or None
    return kept


def _spec_without(obj: KubernetesObject, fields: tuple[str, ...]) -> dict[str, Any]:
    return {key: value for key, value in spec_of(obj).items() if key not in fields}


def _owner(metadata: Mapping[str, Any], owners: Mapping[NamespacedName, DiffOperator]) -> DiffOperator | None:
    labels = mapping(metadata.get("labels"))
    return owners.get(NamespacedName(text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner"))))


def _deployment_spec(spec: Mapping[str, Any], owner: DiffOperator | None) -> dict[str, Any]:
    kept = dict(spec)
    template = dict(mapping(spec.get("template")))
    metadata = dict(metadata_of(template))
    # OLM copies the annotations of the CSV into every pod template; a change of them is reported with the CSV.
    projected = owner.annotations if owner is not None else {}
    annotations = {
        key: value
        for key, value in mapping(metadata.get("annotations")).items()
        if key not in _PROJECTED and (key not in projected or projected[key] != value)
    }
    template["metadata"] = {**metadata_without_noise(metadata), "annotations": annotations or None}
    template["spec"] = _pod(spec_of(template))
    kept["template"] = template
    return {key: value for key, value in kept.items() if not _is_nothing(key, value)}


def _pod(pod: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in pod.items() if not _is_nothing(key, value)}
    for field in ("containers", "initContainers"):
        if isinstance(pod.get(field), list):
            kept[field] = [_container(container) for container in mappings(pod[field])]
    if isinstance(pod.get("volumes"), list):
        kept["volumes"] = [v for v in mappings(pod["volumes"]) if text(v.get("name")) not in _OLM_VOLUMES] or None
    return kept


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in container.items() if key != "image" and not _is_nothing(key, value)}
    if isinstance(container.get("volumeMounts"), list):
        mounts = mappings(container["volumeMounts"])
        kept["volumeMounts"] = [mount for mount in mounts if text(mount.get("name")) not in _OLM_VOLUMES] or None
    if isinstance(container.get("env"), list):
        kept["env"] = [
            variable for variable in mappings(container["env"]) if not _is_reported_elsewhere(variable)
        ] or None
    return kept


def _is_reported_elsewhere(variable: Mapping[str, Any]) -> bool:
    """Whether a variable has the name of the CSV, or an image, which is a change of images."""
    return text(variable.get("name")) == _CONDITION_VARIABLE or bool(image_of(variable))


def image_of(variable: Mapping[str, Any]) -> str:
    """The image that a variable of a container tells an operator to use, "" if it is about something else.

    Those that begin with RELATED_IMAGE_ are, and others by their name if the value has a tag or a digest.
    """
    name, value = text(variable.get("name")), text(variable.get("value"))
    if name.startswith(_IMAGE_VARIABLE):
        return value
    has_version = ":" in value.rpartition("/")[2]
    return value if "image" in name.lower() and has_version and _IMAGE.fullmatch(value) else ""


def _is_nothing(key: str, value: Any) -> bool:
    return key in _EMPTY_MEANS_NOTHING and value in ({}, None)
