"""Whether somebody sets right what is not as expected in a cluster, and when; and which objects olmc predicts.

OLM looks at a CSV again as soon as something changes that it watches and that belongs to the CSV, and at everything
when it resyncs (U-15). `olmc import --verify` leaves out of a dump the objects that OLM writes again and again,
predicts them from the rest, and compares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

from olmc.compiler.model.cluster import Cluster, NamespacedName
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import ClusterState
from olmc.compiler.olm.facts import (
    csv_by_label,
    csvs_by_reference,
    group_by_label,
    has_copy_label,
    is_copy,
    original_by_label,
    original_of,
    owner_csvs,
    serves_catalog,
)
from olmc.compiler.olm.naming import COMPONENT_PREFIX, OWNER, OWNER_KIND, WEBHOOK_NAME
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    ACCOUNT,
    CRD_KIND,
    OLM_GROUP,
    RBAC,
    KubernetesObject,
    ObjectKey,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    masked,
    may_hold_secrets,
    object_key,
    owner_references,
    spec_of,
    split_api_version,
    status_of,
    text,
    texts,
)
from olmc.review.diff.deltas import Delta, deltas
from olmc.review.diff.noise import is_default

RESYNC = "at its next resync, which comes every 15 minutes"
AT_ONCE = "at once, as it watches this"
SPEC_HASH = "olm.deployment-spec-hash"
_SERVING = ("", "-cert", "-auth-reader", "-system:auth-delegator")
_GROUP_LABEL = "olm.operatorgroup.uid/"


class Repair(NamedTuple):
    """The repairer of a difference, the time (for no repairer: the reason, and the necessary change), and the rule."""

    by: Literal["OLM", "tool", "nobody", "unknown"]
    when: str
    rule: str = ""

    @property
    def text(self) -> str:
        """It as the end of a sentence."""
        rule = f" ({self.rule})" if self.rule else ""
        if self.by == "unknown":
            return f"whether it is repaired is unknown: {self.when}{rule}"
        if self.by == "nobody":
            return f"not repaired: {self.when}{rule}"
        who = "OLM" if self.by == "OLM" else "the tool that applies the repository"
        return f"repaired by {who}, {self.when}{rule}"


TOOL = Repair("tool", "at its next sync")
NEVER = Repair("nobody", "an InstallPlan made it, and OLM does not run a plan twice", "observed-63")
_WRITTEN_ONCE = Repair("nobody", "OLM writes it in an InstallPlan only, so with the next version", "observed-63")
_UNMENTIONED = Repair("nobody", "the repository does not set these fields")
_SAME_HASH = Repair("nobody", f"OLM compares the label {SPEC_HASH} alone, until the CSV or its config changes", "U-15")
_OPERATOR = Repair("OLM", AT_ONCE, "R-COMP-1")


def repair_of_missing(
    key: ObjectKey, obj: KubernetesObject, applied: Mapping[ObjectKey, KubernetesObject], serving: frozenset[str]
) -> Repair:
    """Return who makes an expected object that is not there; `serving` are `serving_names`."""
    if key in applied:
        return TOOL
    if key.kind == "Deployment" and csvs_by_reference(obj):
        return Repair("OLM", AT_ONCE, "observed-63")
    return _by_sync(key, obj, serving) or _made_once(key, obj, NEVER)


def repair_of_different(
    key: ObjectKey, expected: KubernetesObject, held: KubernetesObject, applied: Mapping[ObjectKey, KubernetesObject],
    differing: Iterable[Delta], serving: frozenset[str],
) -> Repair:  # fmt: skip
    """Return who sets the fields of an object right that differ."""
    differing = tuple(differing)
    paths = [delta.path for delta in differing]
    if all(path[:1] == ("status",) for path in paths):
        if key.kind == CSV_KIND:
            return Repair("OLM", f"once what it waits for comes about, or {RESYNC}", "R-CSV-3")
        return Repair("OLM", AT_ONCE, "U-15")
    if key.kind == CSV_KIND and all(path[:2] == ("metadata", "annotations") for path in paths):
        return Repair("OLM", RESYNC, "R-OG-10")
    if key in applied:
        if any(_mentions(applied[key], path) for path in paths):
            return TOOL
        if key.kind == "OperatorGroup":
            return Repair("OLM", AT_ONCE, "R-OG-11")
        if (key.group, key.kind) != ("", "Namespace"):
            return _UNMENTIONED
    if (key.group, key.kind) == ("", "Namespace"):
        labels = [label for delta in differing for label in _differing_labels(delta)]
        of_groups = bool(labels) and all(label.startswith(_GROUP_LABEL) for label in labels)
        return Repair("OLM", AT_ONCE, "R-OG-19") if of_groups else _UNMENTIONED
    if key.kind == "Deployment" and csvs_by_reference(expected):
        if SPEC_HASH not in labels_of(expected):
            return Repair("unknown", f"its certificate is part of the label {SPEC_HASH}, which OLM compares", "U-3")
        # OLM compares the hash of what it would write with the label, and looks at nothing else of the object.
        same = labels_of(held).get(SPEC_HASH) == labels_of(expected).get(SPEC_HASH)
        return _SAME_HASH if same else Repair("OLM", AT_ONCE, "U-15")
    return _by_sync(key, expected, serving) or _made_once(key, expected, _WRITTEN_ONCE)


def repair_of_extra(key: ObjectKey, obj: KubernetesObject) -> Repair:
    """Return who deletes an unexpected object that OLM made."""
    if key.kind == CSV_KIND and is_copy(obj):
        return Repair("OLM", RESYNC, "R-COPY-7")
    if key.kind == CSV_KIND:
        return Repair("nobody", "OLM does not uninstall; delete it by hand", "observed-36")
    if key.group == RBAC and (has_copy_label(obj) or not key.namespace):
        return Repair("nobody", "OLM leaves permissions that a group no longer needs", "observed-55")
    return Repair("unknown", "no rule says what OLM does with it")


def _by_sync(key: ObjectKey, obj: KubernetesObject, serving: frozenset[str]) -> Repair | None:
    """For what OLM writes each time that it looks at a CSV or a group: when that is."""
    labels = labels_of(obj)
    owners = {str(ref.get("kind")).lower() for ref in owner_references(obj)}
    if key.kind == CSV_KIND:
        return Repair("OLM", f"with its original, {RESYNC}", "R-COPY-3") if is_copy(obj) else None
    if key.kind == "OperatorCondition":
        return Repair("OLM", AT_ONCE, "R-OC-1")
    if "operatorcondition" in owners:
        return Repair("OLM", AT_ONCE, "R-OC-2")
    if has_copy_label(obj):
        return Repair("OLM", RESYNC, "R-TEN-2")
    if key.kind == "ClusterRole" and group_by_label(obj) is not None:
        return Repair("OLM", RESYNC, "R-OG-18")
    if key.kind == "ClusterRole" and owners & {CRD_KIND.lower(), "apiservice"}:
        return Repair("OLM", RESYNC, "R-CR-1")
    if "olm.webhook-description-hash" in labels:
        return Repair("OLM", RESYNC, "R-WH-1")
    if key.kind == "APIService" and csv_by_label(obj) is not None:
        return Repair("OLM", AT_ONCE, "R-API-1")
    if key.name in serving:
        # It has no label of the CSV and is in another namespace, so OLM does not watch its changes.
        return Repair("OLM", RESYNC if key.name.endswith("-auth-reader") else AT_ONCE, "R-CERT-2")
    return _OPERATOR if (key.group, key.kind) == (OLM_GROUP, "Operator") else None


def _made_once(key: ObjectKey, obj: KubernetesObject, repair: Repair) -> Repair:
    """Return the repair of an object that an InstallPlan creates; no rule covers other objects."""
    by_plan = key.kind in (CRD_KIND, ACCOUNT, CSV_KIND, "Subscription", "InstallPlan") or key.group == RBAC
    return repair if by_plan or any(label.startswith(COMPONENT_PREFIX) for label in labels_of(obj)) else _UNKNOWN


_UNKNOWN = Repair("unknown", "no rule says who writes it")


def serving_names(objects: Iterable[KubernetesObject]) -> frozenset[str]:
    """The names of the objects that serve the webhooks and APIs of the CSVs with a certificate (R-CERT-2)."""
    csvs = (Csv(obj) for obj in objects if obj["kind"] == CSV_KIND and not is_copy(obj))
    served: set[str] = set()
    for csv in csvs:
        served |= {api.deployment for api in csv.owned_apiservices} | {hook.deployment for hook in csv.webhooks}
    return frozenset(f"{name}-service{end}" for name in served for end in _SERVING)


def _differing_labels(delta: Delta) -> Iterator[str]:
    """The labels in which two objects differ at a place; "" for a place that is none."""
    if delta.path[:2] != ("metadata", "labels"):
        yield ""
    elif len(delta.path) > 2:
        yield str(delta.path[2])
    else:
        yield from (*mapping(delta.old), *mapping(delta.new))


def _mentions(manifest: KubernetesObject, path: Iterable[object]) -> bool:
    """Return whether a manifest has the field at a path; of a list, all of it."""
    value: Any = manifest
    for step in path:
        if isinstance(value, dict) and step not in value:
            return False
        if not isinstance(value, dict):
            return True
        value = value[step]
    return True


# Fields that olmc does not predict, as an API server, another controller or chance writes them: fields that only they
# own, defaults, random parts of names, times.

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
_DRAWN = "…"


def predicted(objects: Iterable[KubernetesObject]) -> dict[ObjectKey, KubernetesObject]:
    """The objects that can be predicted, without what can't: two sides of one cluster are equal in them.

    An InstallPlan and a webhook configuration, whose names end by chance, are known by what they are for.
    """
    listed = [obj for obj in objects if _is_predicted(obj)]
    plans = _plan_names(listed)
    shown: dict[ObjectKey, KubernetesObject] = {}
    for obj in listed:
        folded = _folded_fields(obj, plans)
        key = object_key(folded)
        while key in shown:  # nothing that is there twice may hide behind the other
            key = key._replace(name=f"{key.name}#")
        shown[key] = folded
    return shown


def unpredicted(objects: Iterable[KubernetesObject]) -> Iterator[str]:
    """Yield why objects can't be predicted, once for each of which that is so."""
    for obj in objects:
        key = object_key(obj)
        if key.kind in _UNPREDICTED:
            yield f"{key.kind}: others write it"
        elif not _is_predicted(obj):
            yield "objects that unpack bundles or serve catalogs, and the namespaces of every cluster"


def _is_predicted(obj: KubernetesObject) -> bool:
    key = object_key(obj)
    if key.kind in _UNPREDICTED or (key.kind == "Namespace" and key.name in _OF_CLUSTER):
        return False
    return not (serves_catalog(obj) or (key.kind in _UNPACKING and _UNPACKED.fullmatch(key.name)))


def _plan_names(objects: Iterable[KubernetesObject]) -> dict[tuple[str, str], str]:
    """Return the names of the InstallPlans with the installed CSVs as their end, in their order."""
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


def _folded_fields(obj: KubernetesObject, plans: Mapping[tuple[str, str], str]) -> KubernetesObject:
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
"""Yield the fields that controllers write into objects of a kind."""


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
    if obj["kind"] in ("ClusterRole", "ClusterRoleBinding") and OWNER_KIND not in labels:
        labels.pop(OWNER, None)  # of a bundle's own, and only where its plan was carried out twice
    if obj["kind"] in ("Role", "RoleBinding") and has_copy_label(obj):
        labels = {key: value for key, value in labels.items() if not key.startswith(COMPONENT_PREFIX)}
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
    prefix = generated or f"{labels_of(obj).get(WEBHOOK_NAME, '')}-"
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
    """Return the final state of OLM: of CSVs no history, of lists that its queues write no order."""
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


# Drift: where a cluster is not what olmc expects of its repository, and whether that is repaired.

DriftKind = Literal["missing", "extra", "different"]

_OF_MEMBERS = (("metadata", "annotations"), ("aggregationRule",))
_BESIDE = "nothing expects it, and OLM did not make it"
_OLD_PLAN = "an InstallPlan of earlier"


class DriftedObject(NamedTuple):
    """An object that is not as expected: it is missing, unexpected, or different; and its repair.

    `along`: other objects that are missing, unexpected or different because of this one.
    """

    kind: DriftKind
    key: ObjectKey
    repair: Repair
    deltas: tuple[Delta, ...] = ()
    along: tuple[ObjectKey, ...] = ()

    @property
    def stays(self) -> bool:
        """Return whether it stays like that for good."""
        return self.repair.by == "nobody"


class StateComparison(NamedTuple):
    """The comparison of a cluster with its expected state: how many objects were compared, how many of them are equal,
    the differences, and how many objects can't be compared, by the reason."""

    compared: int
    equal: int
    drift: tuple[DriftedObject, ...]
    not_compared: Mapping[str, int]

    def count(self, kind: DriftKind) -> int:
        """Return how many objects differ in this way, those that follow from others included."""
        return sum(1 + len(item.along) for item in self.drift if item.kind == kind)


def compare_state(
    held: Iterable[KubernetesObject], expected: Iterable[KubernetesObject],
    applied: Mapping[ObjectKey, KubernetesObject],
) -> StateComparison:  # fmt: skip
    """Return the differences between the objects of a cluster and the expected ones, of which `applied` are manifests.

    Other objects of the cluster do not count: of unexpected objects only those that OLM has made are reported.
    """
    held = list(held)
    there, wanted = predicted(held), predicted(expected)
    found = sorted(_drift(there, wanted, applied), key=lambda item: (item.key, item.kind))
    beside: Counter[str] = Counter(unpredicted(held))
    extras = {item.key for item in found if item.kind == "extra"}
    for key in there.keys() - wanted.keys() - extras:
        beside[_OLD_PLAN if key.kind == "InstallPlan" else _BESIDE] += 1
    unequal = sum(item.kind != "extra" for item in found)
    drift = tuple(_folded(found, {**wanted, **there}))
    return StateComparison(len(wanted) + len(extras), len(wanted) - unequal, drift, dict(sorted(beside.items())))


def _drift(
    there: Mapping[ObjectKey, KubernetesObject], wanted: Mapping[ObjectKey, KubernetesObject],
    applied: Mapping[ObjectKey, KubernetesObject],
) -> Iterator[DriftedObject]:  # fmt: skip
    serving = serving_names(wanted.values())
    for key, expected in wanted.items():
        held = there.get(key)
        if held is None:
            yield DriftedObject("missing", key, repair_of_missing(key, expected, applied, serving))
            continue
        sides = masked(expected, held) if may_hold_secrets(expected) else (expected, held)
        differing = tuple(d for d in deltas(*sides) if not is_default(key.kind, d))
        if differing:
            repair = repair_of_different(key, expected, held, applied, differing, serving)
            yield DriftedObject("different", key, repair, differing)
    for key, held in there.items():
        if key not in wanted and key not in applied and _is_of_olm(key, held):
            yield DriftedObject("extra", key, repair_of_extra(key, held))


def _is_of_olm(key: ObjectKey, obj: KubernetesObject) -> bool:
    """Return whether OLM has made an object: by its labels, or by its owner; old InstallPlans are history."""
    if key.group == OLM_GROUP:
        return key.kind in (CSV_KIND, "OperatorCondition")
    owned = any(ref.get("kind") in (CSV_KIND, "OperatorCondition") for ref in owner_references(obj))
    return owned or OWNER in labels_of(obj)


def _folded(found: Iterable[DriftedObject], objects: Mapping[ObjectKey, KubernetesObject]) -> Iterator[DriftedObject]:
    """The drift without what follows from other drift, which is `along` of that."""
    drifted = {item.key: item for item in found}
    along: dict[ObjectKey, list[ObjectKey]] = {}
    for key in drifted:
        cause = _cause(key, drifted, objects)
        if cause != key:
            along.setdefault(cause, []).append(key)
    followers = {key for keys in along.values() for key in keys}
    for key, item in drifted.items():
        if key not in followers:
            yield item._replace(along=tuple(along.get(key, ())))


def _cause(
    key: ObjectKey, drifted: Mapping[ObjectKey, DriftedObject], objects: Mapping[ObjectKey, KubernetesObject]
) -> ObjectKey:
    """The object for the sake of which another one is not as expected; itself if there is none."""
    seen = {key}
    while True:
        item = drifted[key]
        causes = _reasons(key, item, objects[key], drifted)
        owners = (owner for owner in causes if owner in drifted and owner not in seen)
        owner = next((owner for owner in owners if drifted[owner].kind in ("missing", "extra")), None)
        if owner is None:
            return key
        seen.add(owner)
        key = owner


def _reasons(
    key: ObjectKey, item: DriftedObject, obj: KubernetesObject, drifted: Iterable[ObjectKey]
) -> Iterator[ObjectKey]:
    """Yield the causes of an object; for a different one, the CSVs of its group (R-OG-11, R-OG-17)."""
    if item.kind == "different":
        of_group = NamespacedName(key.namespace, key.name) if key.kind == "OperatorGroup" else group_by_label(obj)
        if of_group is not None and all(path[:1] in _OF_MEMBERS or path[:2] in _OF_MEMBERS for path, *_ in item.deltas):
            yield from (other for other in drifted if (other.kind, other.namespace) == (CSV_KIND, of_group.namespace))
        return
    original = original_of(obj) if key.kind == CSV_KIND else None
    if original is not None:
        yield key._replace(namespace=original.namespace)
    for ref in owner_references(obj):
        group, kind = split_api_version(ref.get("apiVersion"))[0], text(ref.get("kind"))
        for namespace in (key.namespace, ""):
            yield ObjectKey(group, kind, namespace, text(ref.get("name")))
    csv = csv_by_label(obj)
    if csv is not None:
        yield ObjectKey(OLM_GROUP, CSV_KIND, *csv)


_RESOLVED = frozenset({"Subscription", "InstallPlan", "CatalogSource"})
_GIVEN = "the prediction begins with it"


class Verification(NamedTuple):
    """The result: how many objects were predicted, how many of them are in the cluster as predicted, the differences,
    and how many objects were not compared, by the reason."""

    compared: int
    equal: int
    drift: tuple[DriftedObject, ...]
    not_compared: Mapping[str, int]


def left_out(state: ClusterState) -> frozenset[ObjectKey]:
    """The objects of a cluster that OLM makes of the others, so that they can be predicted: what belongs to CSVs that
    have succeeded, and to groups. OLM leaves alone what belongs to other CSVs."""
    objects = {key: manifest.object for key, manifest in state.objects.items()}
    # What the account of a group may not do (any more) OLM does not make again.
    limited = {
        key.namespace for key, obj in objects.items()
        if key.kind == "OperatorGroup" and spec_of(obj).get("serviceAccountName")
    }  # fmt: skip
    succeeded = {
        (key.namespace, key.name) for key, obj in objects.items()
        if key.kind == CSV_KIND and not is_copy(obj) and text(status_of(obj).get("phase")) == "Succeeded"
        and key.namespace not in limited
    }  # fmt: skip
    roles = {(key.namespace, key.name) for key in objects if (key.group, key.kind) == (RBAC, "Role")}
    serving = serving_names(objects.values())
    return frozenset(k for k, obj in objects.items() if _is_made_by_olm(k, obj, succeeded, roles, serving))


def _is_made_by_olm(
    key: ObjectKey, obj: KubernetesObject, succeeded: set[tuple[str, str]], roles: set[tuple[str, str]],
    serving: frozenset[str],
) -> bool:  # fmt: skip
    labels = labels_of(obj)
    if key.kind == CSV_KIND:
        return original_of(obj) in succeeded
    if group_by_label(obj) is not None:
        # The rules that are left when nothing is selected any more OLM leaves alone (observed-60).
        return key.kind == "ClusterRole" and bool(obj.get("aggregationRule") or not obj.get("rules"))
    if has_copy_label(obj):
        return original_by_label(obj) in succeeded
    owners = {text(ref.get("kind")): text(ref.get("name")) for ref in owner_references(obj)}
    if key.kind == "OperatorCondition":
        # What operators and people say in it is not made by OLM.
        overridden = spec_of(obj).get("conditions") or spec_of(obj).get("overrides")
        return (key.namespace, key.name) in succeeded and not overridden
    if "OperatorCondition" in owners:
        return (key.namespace, owners["OperatorCondition"]) in succeeded
    if key.kind == "ClusterRole" and {owner.lower() for owner in owners} & {CRD_KIND.lower(), "apiservice"}:
        return any(label.startswith("olm.opgroup.permissions/") for label in labels)
    owner = next(iter(owner_csvs(obj)), None)
    if owner not in succeeded:
        return False
    if key.kind == "Deployment":
        return SPEC_HASH in labels
    if "olm.webhook-description-hash" in labels or key.kind == "APIService" or key.name in serving:
        return True
    return key.group == RBAC and not key.namespace and (owner.namespace, key.name) in roles  # lifted for a global group


def options_for(state: ClusterState, without: frozenset[ObjectKey], options: Options) -> Options:
    """The options with which what a state is left with is compiled, as far as OLM goes on from there."""
    kept = state._replace(objects={key: manifest for key, manifest in state.objects.items() if key not in without})
    names = {key.namespace for key in state.objects if key.namespace}
    return options._replace(state=kept, namespaces=tuple(sorted({*options.namespaces, *names})))


def verified(
    state: ClusterState, predicted: Iterable[KubernetesObject], without: frozenset[ObjectKey], cluster: Cluster
) -> Verification:
    """Compare a state with the prediction from it `without` some objects, as objects and as the `cluster`."""
    held = [manifest.object for manifest in state.objects.values()]
    restless = {(name.namespace, name.name) for name, member in cluster.members.items() if member.flapping}
    reasons = Counter(filter(None, (_reason(obj, restless) for obj in held)))
    there, wanted = ([obj for obj in side if not _reason(obj, restless)] for side in (held, predicted))
    found = compare_state(there, wanted, {})
    reasons.update(found.not_compared)
    left = [item for item in found.drift if _is_left_over(item)]
    drift = tuple(item for item in found.drift if not _is_left_over(item))
    begun = {object_key(obj) for obj in held} - without
    of_begun = sum(item.key in begun for item in drift)
    missing = sum(1 + len(item.along) for item in drift if item.kind == "missing")
    unequal = sum(1 + len(item.along) for item in drift)
    compared = len(without) - sum(1 + len(item.along) for item in left) + missing + of_begun
    reasons[_GIVEN] = len(begun) - reasons.total() - of_begun
    for item in left:
        reasons[f"left over: {item.repair.when} ({item.repair.rule})"] += 1 + len(item.along)
    counted = {reason: count for reason, count in sorted(reasons.items()) if count > 0}
    return Verification(compared, compared - unequal, drift, counted)


def _is_left_over(item: DriftedObject) -> bool:
    """Return whether an object is what OLM is known to leave behind, such as what a group needed before."""
    return item.kind == "extra" and item.repair.by == "nobody"


def _reason(obj: KubernetesObject, restless: set[tuple[str, str]]) -> str:
    """Return why an object is not compared, "" for one that is."""
    key = object_key(obj)
    if key.group == OLM_GROUP and key.kind in _RESOLVED:
        return "it depends on the content of catalogs, which no dump has"
    is_restless = key.kind == CSV_KIND and (key.namespace, key.name) in restless
    return "OLM never comes to rest there" if is_restless else ""
