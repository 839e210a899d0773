"""What an API server, another controller or chance has written into an object, and nobody predicts: fields that only
they own, defaults, random parts of names, times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from olmc.diff.operators import is_copy
from olmc.lean import regex
from olmc.model.objects import (
    KubernetesObject,
    ObjectKey,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    object_key,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP

STATUS_KINDS = frozenset((CSV_KIND, "OperatorGroup", "Subscription", "InstallPlan", "Operator"))
"""The kinds whose status OLM writes, so that it is predicted."""

_UNPREDICTED = frozenset(
    "CatalogSource ControllerRevision Endpoints EndpointSlice Event Job Lease Node OLMConfig Pod ReplicaSet".split()
)
_UNPACKING = frozenset("ConfigMap Job Role RoleBinding ServiceAccount".split())
_UNPACKED = regex(r"[0-9a-f]{60,64}")
_OF_CLUSTER = frozenset("default kube-node-lease kube-public kube-system olm operators".split())
_OWNED = frozenset(
    """uid resourceVersion generation creationTimestamp managedFields selfLink deletionTimestamp
    deletionGracePeriodSeconds""".split()
)
_TIMES = frozenset(
    """lastTransitionTime lastUpdateTime lastUpdated certsLastUpdated certsRotateAt createdAt startTime completionTime
    lastProbeTime lastHeartbeatTime observedGeneration latestImageRegistryPoll latestTimestamp""".split()
)
_ANNOTATIONS = frozenset(
    """kubectl.kubernetes.io/last-applied-configuration deployment.kubernetes.io/revision
    kubernetes.io/service-account.uid""".split()
)
_ADDRESSES = frozenset("clusterIP clusterIPs ipFamilies ipFamilyPolicy internalTrafficPolicy".split())
_SUFFIX = regex(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\Z")
_GROUP_LABEL = "olm.operatorgroup.uid/"
_DRAWN = "…"


def predicted(objects: Iterable[KubernetesObject]) -> dict[ObjectKey, KubernetesObject]:
    """The objects that can be predicted, without what can't: two sides of one cluster are equal in them.

    An InstallPlan and a webhook configuration, whose names end by chance, are known by what they are for.
    """
    listed = [obj for obj in objects if _is_predicted(obj)]
    plans = _plan_names(listed)
    shown: dict[ObjectKey, KubernetesObject] = {}
    for obj in listed:
        folded = _folded(obj, plans)
        key = object_key(folded)
        while key in shown:  # nothing that is there twice may hide behind the other
            key = key._replace(name=f"{key.name}#")
        shown[key] = folded
    return shown


def unpredicted(objects: Iterable[KubernetesObject]) -> Iterator[str]:
    """Why objects can't be predicted, once for each of which that is so."""
    for obj in objects:
        key = object_key(obj)
        if key.kind in _UNPREDICTED:
            yield f"{key.kind}: others write it"
        elif not _is_predicted(obj):
            yield "what unpacks bundles, and the namespaces that every cluster has"


def _is_predicted(obj: KubernetesObject) -> bool:
    key = object_key(obj)
    if key.kind in _UNPREDICTED or (key.kind == "Namespace" and key.name in _OF_CLUSTER):
        return False
    return not (key.kind in _UNPACKING and _UNPACKED.fullmatch(key.name))


def _plan_names(objects: Iterable[KubernetesObject]) -> dict[tuple[str, str], str]:
    """What the InstallPlans are called once the end of their names is that which they install, in their order."""
    names: dict[tuple[str, str], str] = {}
    plans = [obj for obj in objects if _is_plan(obj)]
    for plan in sorted(plans, key=_generation):
        key = object_key(plan)
        csvs = "+".join(sorted(texts(spec_of(plan).get("clusterServiceVersionNames"))))
        known = f"{_SUFFIX.sub('', key.name)}-<{csvs}>"
        same = sum(n == key.namespace and k.partition("#")[0] == known for (n, _), k in names.items())
        names[key.namespace, key.name] = f"{known}#{same + 1}" if same else known
    return names


def _is_plan(obj: KubernetesObject) -> bool:
    return object_key(obj)[:2] == (OLM_GROUP, "InstallPlan")


def _generation(plan: KubernetesObject) -> int:
    # A plan of a dump need not have passed any API server.
    generation = spec_of(plan).get("generation")
    return generation if isinstance(generation, int) else 0


def _folded(obj: KubernetesObject, plans: Mapping[tuple[str, str], str]) -> KubernetesObject:
    kind = obj["kind"]
    folded: dict[str, Any] = {key: _cleaned(value) for key, value in obj.items() if key != "status"}
    metadata = _metadata(obj, plans)
    folded["metadata"] = metadata
    if kind in STATUS_KINDS and status_of(obj):
        folded["status"] = _status(obj, plans)
    if _is_plan(obj):
        key = object_key(obj)
        metadata["name"] = plans[key.namespace, key.name]
        csvs = texts(spec_of(folded).get("clusterServiceVersionNames"))
        folded["spec"] = {**spec_of(folded), "clusterServiceVersionNames": sorted(csvs)}
    for field in _OTHERS.get(kind, ()):
        _without(folded, field.split("."))
    if kind.endswith("WebhookConfiguration"):
        _fold_webhooks(folded, text(mapping(obj.get("metadata")).get("generateName")))
    if kind == "ClusterRole" and folded.get("aggregationRule"):
        folded.pop("rules", None)
    if kind == "Secret" and folded.get("type") == "kubernetes.io/tls":
        folded.pop("data", None)
        folded.pop("stringData", None)
    template = mapping(mapping(spec_of(folded).get("template")).get("metadata"))
    if kind == "Deployment" and "olmcahash" in annotations_of({"metadata": template}):
        # The certificate is new in each cluster, and with it the hash of what mounts it.
        template["annotations"]["olmcahash"] = _DRAWN
        metadata.get("labels", {}).pop("olm.deployment-spec-hash", None)
    return folded


_OTHERS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "Namespace": ("spec",),
    "Service": tuple(f"spec.{field}" for field in sorted(_ADDRESSES)),
    "CustomResourceDefinition": ("spec.conversion.webhook.clientConfig.caBundle",),
    "APIService": ("spec.caBundle",),
    "ServiceAccount": ("secrets", "imagePullSecrets"),
    "Secret": ("data.ca\\.crt", "data.token", "data.namespace"),
})  # fmt: skip
"""What controllers write into objects of a kind."""


def _without(value: dict[str, Any], path: list[str]) -> None:
    head, rest = path[0], path[1:]
    if head.endswith("\\"):
        head, rest = f"{head[:-1]}.{rest[0]}", rest[1:]
    if rest and isinstance(value.get(head), dict):
        _without(value[head], rest)
    elif not rest:
        value.pop(head, None)


def _cleaned(value: Any, *, is_status: bool = False) -> Any:
    """A value without what says nothing, and below a status without times; a copy."""
    if isinstance(value, dict):
        pairs = ((k, _cleaned(v, is_status=is_status)) for k, v in value.items() if not (is_status and k in _TIMES))
        return {k: v for k, v in pairs if v is not None and v != {} and v != []}
    return [_cleaned(item, is_status=is_status) for item in value] if isinstance(value, list) else value


def _metadata(obj: KubernetesObject, plans: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    metadata = {k: v for k, v in _cleaned(mapping(obj.get("metadata"))).items() if k not in _OWNED}
    metadata.pop("generateName", None)
    references = [
        {"controller": False, "blockOwnerDeletion": False, **{k: v for k, v in ref.items() if k != "uid"}}
        for ref in mappings(metadata.get("ownerReferences"))
    ]
    metadata["ownerReferences"] = sorted(references, key=lambda ref: (text(ref.get("kind")), text(ref.get("name"))))
    labels = {_group_label(key): value for key, value in mapping(metadata.get("labels")).items()}
    labels.pop("kubernetes.io/metadata.name", None)
    if obj["kind"] in ("ClusterRole", "ClusterRoleBinding") and "olm.owner.kind" not in labels:
        labels.pop("olm.owner", None)  # of a bundle's own, and only where its plan was carried out twice
    if obj["kind"] in ("Role", "RoleBinding") and "olm.copiedFrom" in labels:
        labels = {key: value for key, value in labels.items() if not key.startswith("operators.coreos.com/")}
    annotations = {key: value for key, value in mapping(metadata.get("annotations")).items() if key not in _ANNOTATIONS}
    if "olmcahash" in annotations:
        annotations["olmcahash"] = _DRAWN
    if "olm.generated-by" in annotations:
        name = text(annotations["olm.generated-by"])
        annotations["olm.generated-by"] = plans.get((text(metadata.get("namespace")), name), _SUFFIX.sub("", name))
    return _cleaned({**metadata, "labels": labels, "annotations": annotations}) or {}


def _group_label(key: str) -> str:
    return f"{_GROUP_LABEL}{_DRAWN}" if key.startswith(_GROUP_LABEL) else key


def _fold_webhooks(obj: dict[str, Any], generated: str) -> None:
    prefix = generated or f"{labels_of(obj).get('olm.webhook-description-generate-name', '')}-"
    name = text(obj["metadata"].get("name"))
    if len(prefix) > 1 and name.startswith(prefix):
        obj["metadata"]["name"] = f"{prefix}{_DRAWN}"
    if "webhooks" in obj:
        obj["webhooks"] = [_webhook(hook) for hook in mappings(obj["webhooks"])]


def _webhook(hook: Mapping[str, Any]) -> dict[str, Any]:
    selector = dict(mapping(hook.get("namespaceSelector")))
    expressions = mappings(selector.get("matchExpressions"))
    selector["matchExpressions"] = [{**e, "key": _group_label(text(e.get("key")))} for e in expressions]
    chosen = mapping(selector.get("matchLabels"))
    selector["matchLabels"] = {_group_label(key): value for key, value in chosen.items()}
    config = _cleaned({**mapping(hook.get("clientConfig")), "caBundle": None})
    return {**hook, "clientConfig": config, "namespaceSelector": _cleaned(selector)}


def _status(obj: KubernetesObject, plans: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """What OLM settles on: of CSVs no history, of lists that its queues write no order."""
    namespace = text(mapping(obj.get("metadata")).get("namespace"))
    status: dict[str, Any] = _with_plan_names(_cleaned(obj["status"], is_status=True), plans, namespace)
    if obj["kind"] == CSV_KIND:
        return {key: status[key] for key in ("phase", "reason", "message") if key in status and not is_copy(obj)}
    if obj["kind"] == "OperatorGroup" and isinstance(status.get("namespaces"), list):
        status["namespaces"] = sorted(status["namespaces"], key=str)
    if obj["kind"] == "Subscription":
        conditions = {text(item.get("type")): item for item in mappings(status.get("conditions"))}
        if status.get("state") == "AtLatestKnown":
            conditions.pop("InstallPlanPending", None)  # of a generated Subscription OLM forgets to take it away
        status["conditions"] = conditions or None
    if obj["kind"] == "InstallPlan":
        return {key: status[key] for key in ("phase", "message") if key in status}
    if obj["kind"] == "Operator":
        return {}  # it only lists what is there
    return status


def _with_plan_names(value: Any, plans: Mapping[tuple[str, str], str], namespace: str) -> Any:
    if isinstance(value, list):
        return [_with_plan_names(item, plans, namespace) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {
        k: _with_plan_names(v, plans, namespace)
        for k, v in value.items()
        if k not in ("uid", "uuid", "resourceVersion")
    }
    if kept.get("kind") == "InstallPlan" and isinstance(kept.get("name"), str):
        kept["name"] = plans.get(
            (text(kept.get("namespace")) or namespace, kept["name"]), _SUFFIX.sub("", kept["name"])
        )
    return kept
