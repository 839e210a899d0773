"""Compare two values place by place: lists by the keys of their items, quantities by their amounts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.operators import DEFAULT_PORT
from olmc.compiler.model.workspace import EXTENSIONS_V1
from olmc.compiler.olm.facts import csv_by_label
from olmc.k8s.gojson.scalars import amount
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import RBAC, KubernetesObject, ObjectKey, identical, mapping, mappings, object_key, spec_of, text
from olmc.review.diff import crd_kinds as kinds
from olmc.review.diff.crd_kinds import ABSENT, BREAKING, CHANGE, NOTE, RISK, DiffChange
from olmc.review.diff.object_kinds import immutable_changed
from olmc.review.diff.schemas import lost_fields, schema_changes


class ListItem(NamedTuple):
    """A step of a path into a list: what the item is known by."""

    name: str


Path = tuple[str | ListItem, ...]


class Delta(NamedTuple):
    """A place where two values differ; `ABSENT` for a side that has nothing there."""

    path: Path
    old: Any
    new: Any


# By the field that holds a list, what its items are known by: the first of these that tells all of them apart.
_KEYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "ports": (("name",), ("containerPort", "port", "protocol")),
    "volumeMounts": (("mountPath",),),
    "volumeDevices": (("devicePath",),),
    "hostAliases": (("ip",),),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "owned": (("name", "version", "kind"),),
    "required": (("name", "version", "kind"),),
    "subjects": (("kind", "namespace", "name"),),
    "ownerReferences": (("kind", "name"),),
    "webhookdefinitions": (("generateName", "type"),),
}
_LIKELY_KEYS = (("name",), ("type",), ("key",), ("path",), ("id",), ("kind", "name"))

# Lists whose items are compared as a whole: a variable with a value or a source.
_WHOLE = frozenset(("env",))

# Lists of which the order means nothing to Kubernetes.
_SETS = frozenset(
    """finalizers targetNamespaces verbs apiGroups apiVersions resources resourceNames nonResourceURLs operations
    shortNames categories required accessModes admissionReviewVersions conversionReviewVersions add drop tolerations
    enum keywords namespaces matchExpressions values rules x-kubernetes-list-map-keys""".split()
)
# Lists whose items work in their order: later ones win, the first that fits counts, or one begins after another.
_ORDERED = frozenset(
    """initContainers sources patches patchesStrategicMerge patchesJson6902 postRenderers valuesFrom substituteFrom
    envFrom http steps pipeline patchSets jsonPatches configPatches generators""".split()
)
_TELLING = {"ingress": ("action", "type"), "egress": ("action", "type"), "rules": ("mutate",)}
"""Lists that are ordered if an item has one of some keys."""
_LAST_WINS = frozenset(("env", "parameters"))
_INSIDE_QUANTITIES = frozenset(("limits", "requests", "capacity", "hard", "overhead"))
_QUANTITIES = frozenset(("sizeLimit", "divisor", "storage"))
_PLAIN_KEY = regex(r"[A-Za-z_][A-Za-z0-9_-]*")


def deltas(old: Any, new: Any, path: Path = ()) -> Iterator[Delta]:
    """Yield where two values differ. What is null and what is not there are the same (as they are to the API
    server)."""
    if old is None:
        old = ABSENT
    if new is None:
        new = ABSENT
    if old is new:
        return  # of documents that have a part in common, it was read once
    if type(old) is type(new):
        if isinstance(old, dict):
            yield from _of_mappings(old, new, path)
            return
        if isinstance(old, list):
            yield from _of_lists(old, new, path)
            return
    if not _same_scalar(old, new, path):
        yield Delta(path, old, new)


def same(old: Any, new: Any) -> bool:
    """Return whether two values mean the same."""
    return next(deltas(old, new), None) is None


def path_text(path: Path) -> str:
    """A path as `spec.containers[manager].env[MODE].value`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, ListItem):
            parts.append(f"[{step.name}]")
        elif _PLAIN_KEY.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(parts)


def _of_mappings(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> Iterator[Delta]:
    if identical(old, new):
        return
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, ABSENT), new.get(key, ABSENT)
        if before is not after:
            yield from deltas(before, after, (*path, key))


def _of_lists(old: list[Any], new: list[Any], path: Path) -> Iterator[Delta]:
    if identical(old, new):
        return
    field = next((step for step in reversed(path) if isinstance(step, str)), "")
    is_ordered = _is_ordered(field, old, new)
    if field in _SETS or is_ordered:
        old_left, new_left = _without_common(old, new)
        if not old_left and not new_left:
            if is_ordered:  # a new order is a change although no item is
                yield Delta(path, _in_order(old), _in_order(new))
            return
    # Items are compared by name where they have one: an item that is added in front changes no other.
    keys = _keys_for(field, old, new)
    if not keys and field in _LAST_WINS and all(map(_names_all, (old, new))):
        keys = ("name",)
    if keys:
        yield from _by_keys(old, new, keys, path, whole=field in _WHOLE)
        if is_ordered and _kept_labels(old, new, keys) != _kept_labels(new, old, keys):
            yield Delta(path, _in_order(old), _in_order(new))
    elif not _are_mappings(old) or not _are_mappings(new):
        yield Delta(path, old, new)
    else:
        yield from _one_by_one(*_without_common(old, new), path)


def _is_ordered(field: str, old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Whether the order of a list means something: rules of a firewall have an action, those of a NetworkPolicy not."""
    if field in _ORDERED:
        return True
    telling = _TELLING.get(field, ())
    return any(key in item for item in (*old, *new) if telling and isinstance(item, dict) for key in telling)


def _in_order(items: Sequence[Any]) -> list[Any]:
    """The items of a list by their names, or whole where these do not tell them apart."""
    is_told_apart = _are_mappings(items) and _tells_apart(items, ("name",))
    return _names(items) if is_told_apart else list(items)


def _names_all(items: Sequence[Any]) -> bool:
    return _are_mappings(items) and all(isinstance(item.get("name"), str) for item in items)


def _kept_labels(items: Sequence[Any], others: Sequence[Any], keys: tuple[str, ...]) -> list[str]:
    """The labels of items that both sides have, in the order of one side."""
    known = {_label(item, keys) for item in others}
    return [label for item in items if (label := _label(item, keys)) in known]


def aligned(field: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The items of a list `field` of both sides, each with what it was; `ABSENT` for what only one side has."""
    keys = _keys_for(field, old, new)
    label: Callable[[Any], str] = (lambda item: _label(item, keys)) if keys else _frozen
    waiting: dict[str, list[Any]] = {}
    for item in new:
        waiting.setdefault(label(item), []).append(item)
    for item in old:
        counterparts = waiting.get(label(item))
        yield item, counterparts.pop(0) if counterparts else ABSENT
    for items in waiting.values():
        yield from ((ABSENT, item) for item in items)


def _by_keys(
    old: Sequence[Any], new: Sequence[Any], keys: tuple[str, ...], path: Path, *, whole: bool
) -> Iterator[Delta]:
    """The items of both lists by what they are known by; `whole`: an item that differs is not looked into."""
    before = {_label(item, keys): item for item in old}
    after = {_label(item, keys): item for item in new}
    for label in dict.fromkeys((*before, *after)):
        was, now, place = before.get(label, ABSENT), after.get(label, ABSENT), (*path, ListItem(label))
        if not whole:
            yield from deltas(was, now, place)
        elif not same(was, now):
            yield Delta(place, was, now)


def _one_by_one(old: Sequence[Any], new: Sequence[Any], path: Path) -> Iterator[Delta]:
    """Items that nothing identifies, and that are not the same on both sides, in order."""
    for number in range(max(len(old), len(new))):
        before = old[number] if number < len(old) else ABSENT
        after = new[number] if number < len(new) else ABSENT
        yield from deltas(before, after, (*path, ListItem(str(number))))


def _keys_for(field: str, old: Sequence[Any], new: Sequence[Any]) -> tuple[str, ...]:
    """The keys by which all items of both lists can be distinguished, () if there are none."""
    if not (_are_mappings(old) and _are_mappings(new)):
        return ()
    for keys in _KEYS.get(field, _LIKELY_KEYS):
        if all(_tells_apart(items, keys) for items in (old, new)):
            return keys
    return ()


Named = Mapping[str, Mapping[str, Any]]


def named_items(field: str, old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> tuple[Named, Named]:
    """Return the items of both sides of the list `field` by the names that paths of differences have for them."""
    keys = _keys_for(field, old, new)
    if keys:
        return {_label(item, keys): item for item in old}, {_label(item, keys): item for item in new}
    was, now = _without_common(old, new)
    return {str(number): item for number, item in enumerate(was)}, {str(at): item for at, item in enumerate(now)}


def _tells_apart(items: Sequence[Mapping[str, Any]], keys: tuple[str, ...]) -> bool:
    labels = [_label(item, keys) for item in items]
    return all(labels) and len(set(labels)) == len(labels)


def _label(item: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    values = (item.get(key) for key in keys)
    return " ".join(str(value) for value in values if isinstance(value, (str, int)) and value != "")


def _are_mappings(items: Sequence[Any]) -> bool:
    return all(isinstance(item, dict) for item in items)


def _without_common(old: Sequence[Any], new: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return two lists without the items that both have, as often as both have them."""
    spare = [_frozen(item) for item in new]
    used = [False] * len(spare)
    places: dict[str, list[int]] = {}
    # From behind, since `pop` takes the last: of equal items the first is used first.
    for number in range(len(spare) - 1, -1, -1):
        places.setdefault(spare[number], []).append(number)
    left = []
    for item in old:
        counterparts = places.get(_frozen(item))
        if counterparts:
            used[counterparts.pop()] = True
        else:
            left.append(item)
    return left, [item for item, taken in zip(new, used, strict=True) if not taken]


def _frozen(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _names(items: Sequence[Any]) -> list[Any]:
    return [item.get("name") if isinstance(item, dict) else item for item in items]


def _same_scalar(old: Any, new: Any, path: Path) -> bool:
    if isinstance(old, bool) is not isinstance(new, bool):
        return False
    if old == new:
        return True
    # `1` and `1000m` are one amount, but only where Kubernetes reads an amount.
    fields = [step for step in path if isinstance(step, str)]
    if not fields or not (fields[-1] in _QUANTITIES or (len(fields) > 1 and fields[-2] in _INSIDE_QUANTITIES)):
        return False
    return _is_amount(old) and _is_amount(new) and _amounts_agree(old, new)


def _is_amount(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _amounts_agree(old: str | int | float, new: str | int | float) -> bool:
    try:
        return amount(old) == amount(new)
    except ValueError:
        return False


# The changes of a CRD, and those among them that break valid objects.
#
# A change is judged by its effect in the API server for users who have or write objects. A version that is not served
# can't be requested, and a stored one must stay readable. Without a conversion webhook an object loses the fields that
# its new version lacks.

_COMPARED = frozenset("group scope names versions version validation conversion preserveUnknownFields".split())
# What v1beta1 may have once for all versions.
_OF_VERSIONS = ("subresources", "additionalPrinterColumns")
_CONVERSION = frozenset(("strategy", "webhook", "webhookClientConfig", "conversionReviewVersions"))


class _Version(NamedTuple):
    """A version of a CRD; `other` are its fields except for the schema."""

    name: str
    served: bool
    stored: bool
    schema: Mapping[str, Any]
    other: Mapping[str, Any]


class _Definition(NamedTuple):
    """A CRD of v1 or v1beta1 in the shape of v1; `webhook` is the converter without the injected certificates, `other`
    the other fields of its specification."""

    scope: str
    names: Mapping[str, Any]
    versions: Mapping[str, _Version]
    conversion: str
    webhook: Mapping[str, Any]
    is_unpruned: bool
    other: Mapping[str, Any]

    @property
    def stored(self) -> str:
        return next((version.name for version in self.versions.values() if version.stored), "")

    @property
    def served(self) -> list[_Version]:
        return [version for version in self.versions.values() if version.served]


def _definition(crd: KubernetesObject) -> _Definition:
    """The CRD as v1 has it; what is missing or of the wrong type is empty."""
    spec = spec_of(crd)
    common = mapping(mapping(spec.get("validation")).get("openAPIV3Schema"))
    of_all = {key: spec[key] for key in _OF_VERSIONS if key in spec}
    written = mappings(spec.get("versions"))
    if not written and text(spec.get("version")):  # v1beta1 may have one version and no list of them
        written = [{"name": spec["version"], "served": True, "storage": True}]
    versions = {}
    for version in written:
        schema = mapping(mapping(version.get("schema")).get("openAPIV3Schema")) or common
        other = {key: value for key, value in version.items() if key not in ("name", "served", "storage", "schema")}
        name = text(version.get("name"))
        is_served, is_stored = bool(version.get("served")), bool(version.get("storage"))
        versions[name] = _Version(name, is_served, is_stored, schema, {**of_all, **other})
    conversion = mapping(spec.get("conversion"))
    # v1beta1 keeps what no schema names by default, v1 drops it.
    unpruned = spec.get("preserveUnknownFields", text(crd.get("apiVersion")).endswith("/v1beta1"))
    return _Definition(
        text(spec.get("scope")) or "Namespaced", mapping(spec.get("names")), versions,
        text(conversion.get("strategy")) or "None", _webhook(conversion), bool(unpruned),
        {key: value for key, value in spec.items() if key not in (*_COMPARED, *_OF_VERSIONS)},
    )  # fmt: skip


def _webhook(conversion: Mapping[str, Any]) -> Mapping[str, Any]:
    """The webhook of a conversion as v1 has it, with the port that the API server fills in."""
    webhook = mapping(conversion.get("webhook"))
    client = {**mapping(conversion.get("webhookClientConfig")), **mapping(webhook.get("clientConfig"))}
    client = {key: value for key, value in client.items() if key != "caBundle"}
    if client.get("service"):
        client["service"] = {"port": DEFAULT_PORT, **mapping(client["service"])}
    reviewed = webhook.get("conversionReviewVersions", conversion.get("conversionReviewVersions"))
    left = {key: value for key, value in conversion.items() if key not in _CONVERSION}
    return {**left, **webhook, "clientConfig": client, "conversionReviewVersions": reviewed}


def crd_changes(identity: ObjectKey, old: KubernetesObject, new: KubernetesObject) -> Iterator[DiffChange]:
    """Yield how a CRD and its predecessor differ, schemas included."""
    before, after = _definition(old), _definition(new)
    if before.scope != after.scope:
        yield kinds.scope_changed(identity, before.scope, after.scope)
    yield from _name_changes(identity, before, after)
    yield from _version_changes(identity, before, after)
    if before.stored and after.stored and before.stored != after.stored:
        yield _stored(identity, before, after)
    yield from _lossy_versions(identity, before, after)
    if before.conversion != after.conversion:
        needed = any(not same(version.schema, after.served[0].schema) for version in after.served[1:])
        yield kinds.conversion_changed(identity, before.conversion, after.conversion, needed)
    yield from _conversion_changes(identity, before, after)
    if before.is_unpruned != after.is_unpruned:
        yield kinds.pruning_changed(identity, after.is_unpruned)
    for delta in deltas(dict(before.other), dict(after.other), ("spec",)):
        yield kinds.crd_field_changed(identity, path_text(delta.path), delta.old, delta.new)
    for name, version in before.versions.items():
        if name in after.versions:
            yield from _other_changes(identity, version, after.versions[name])
            yield from _schemas(identity, version, after.versions[name], after)


def _name_changes(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    for field in ("kind", "listKind", "plural", "singular"):
        before, after = text(old.names.get(field)), text(new.names.get(field))
        if before and after and before != after:
            yield kinds.name_changed(identity, field, before, after)
    for field in ("shortNames", "categories"):
        for delta in deltas({field: old.names.get(field)}, {field: new.names.get(field)}):
            yield kinds.crd_field_changed(identity, path_text(("names", *delta.path)), delta.old, delta.new)


def _conversion_changes(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    """Yield where objects are sent to be converted, as far as that is no matter of the strategy."""
    if new.conversion != "Webhook":
        return
    before = old.webhook if old.conversion == "Webhook" else {}
    for field in ("url", "service"):
        clients = [mapping(webhook.get("clientConfig")).get(field) for webhook in (before, new.webhook)]
        for delta in deltas(clients[0], clients[1], ("conversion", "webhook", "clientConfig", field)):
            yield kinds.conversion_webhook_changed(identity, path_text(delta.path), delta.old, delta.new)
    authorities = [mapping(webhook.get("clientConfig")).get("caBundle") for webhook in (before, new.webhook)]
    if all(authorities) and authorities[0] != authorities[1]:
        path = "conversion.webhook.clientConfig.caBundle"
        yield kinds.conversion_webhook_changed(identity, path, *authorities)
    was, now = ({k: v for k, v in each.items() if k != "clientConfig"} for each in (before, new.webhook))
    for delta in deltas(was, now, ("conversion", "webhook")) if before else ():
        yield kinds.crd_field_changed(identity, path_text(delta.path), delta.old, delta.new)


def _version_changes(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    for name, version in old.versions.items():
        after = new.versions.get(name)
        if after is None:
            yield kinds.version_removed(identity, name, version.served, version.stored)
        elif version.served and not after.served:
            yield kinds.version_unserved(identity, name)
        elif after.served and not version.served:
            yield kinds.version_served(identity, name)
    yield from (kinds.version_added(identity, name) for name in new.versions if name not in old.versions)


def _stored(identity: ObjectKey, old: _Definition, new: _Definition) -> DiffChange:
    """Return the change of the stored version: the fields that objects lose when they are written in the new one.

    A version with other texts or more fields loses no fields.
    """
    names = old.stored, new.stored
    if new.conversion == "Webhook":
        return kinds.stored_version_changed(identity, *names, (), CHANGE)
    before, after = old.versions[old.stored].schema, new.versions[new.stored].schema
    lost = tuple(lost_fields(before, after))
    if any(not _in_status(path) for path in lost):
        return kinds.stored_version_changed(identity, *names, lost, BREAKING)
    differences = schema_changes(identity, new.stored, before, after, (), BREAKING)
    stricter = any(change.severity is BREAKING for change in differences)
    return kinds.stored_version_changed(identity, *names, lost, RISK if lost or stricter else CHANGE)


def _in_status(path: str) -> bool:
    return path.partition(".")[0] == "status"


def _lossy_versions(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    """The versions that lack fields of the stored one, without a webhook to keep them: those that are served from now
    on, and all of them where another version is stored from now on."""
    stored = new.versions.get(new.stored)
    if stored is None or new.conversion == "Webhook":
        return
    for version in new.served:
        was = old.versions.get(version.name)
        if version.name != stored.name and (was is None or not was.served or old.stored != new.stored):
            lost = tuple(path for path in lost_fields(stored.schema, version.schema) if not _in_status(path))
            if lost and version.schema:
                yield kinds.version_lossy(identity, version.name, stored.name, lost)


def _schemas(identity: ObjectKey, old: _Version, new: _Version, crd: _Definition) -> Iterator[DiffChange]:
    """Yield how the schema of a version differs from what it was; `crd` is the whole new definition.

    A version that was not served before can't break anybody.
    """
    others = (version for version in crd.served if version.name != new.name)
    elsewhere = tuple((version.name, version.schema) for version in others) if crd.conversion == "Webhook" else ()
    most = BREAKING if old.served else NOTE
    yield from schema_changes(identity, new.name, old.schema, new.schema, elsewhere, most)


def _other_changes(identity: ObjectKey, old: _Version, new: _Version) -> Iterator[DiffChange]:
    for delta in deltas(dict(old.other), dict(new.other)):
        yield kinds.crd_field_changed(identity, path_text((old.name, *delta.path)), delta.old, delta.new)


# Immutable fields in Kubernetes: OLM updates objects and never deletes first, so the update fails.

_Path = tuple[str, ...]

_SELECTOR: tuple[_Path, ...] = (("spec", "selector", "matchLabels"), ("spec", "selector", "matchExpressions"))
_BINDING: tuple[_Path, ...] = (("roleRef",),)
_FIELDS: Mapping[tuple[str, str], tuple[_Path, ...]] = {
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "DaemonSet"): _SELECTOR,
    ("apps", "ReplicaSet"): _SELECTOR,
    ("apps", "StatefulSet"): (
        *_SELECTOR, ("spec", "serviceName"), ("spec", "podManagementPolicy"), ("spec", "volumeClaimTemplates"),
    ),
    ("batch", "Job"): (*_SELECTOR, ("spec", "template"), ("spec", "completionMode")),
    (RBAC, "RoleBinding"): _BINDING,
    (RBAC, "ClusterRoleBinding"): _BINDING,
    ("", "PersistentVolumeClaim"): (("spec", "accessModes"), ("spec", "storageClassName"), ("spec", "volumeName")),
    ("", "Secret"): (("type",),),
    ("", "PersistentVolume"): (
        *(("spec", source) for source in ("hostPath", "local", "nfs", "iscsi", "fc", "cephfs", "rbd")),
        ("spec", "csi", "driver"), ("spec", "csi", "volumeHandle"),
    ),
    (EXTENSIONS_V1.partition("/")[0], "ClusterExtension"): (
        ("spec", "namespace"), ("spec", "serviceAccount", "name"), ("spec", "source", "catalog", "packageName"),
    ),
    ("scheduling.k8s.io", "PriorityClass"): (("value",), ("preemptionPolicy",)),
    ("storage.k8s.io", "StorageClass"): (
        ("provisioner",), ("parameters",), ("reclaimPolicy",), ("volumeBindingMode",),
    ),
}  # fmt: skip
# Their content is the author's to freeze.
_FREEZABLE = frozenset((("", "ConfigMap"), ("", "Secret")))
_CONTENT: tuple[_Path, ...] = (("data",), ("binaryData",), ("stringData",), ("immutable",))
_HEADLESS = "None"


class ImmutableFields(NamedTuple):
    """The fields of an object and its predecessor that must not change, and did: the changes, and their paths."""

    changes: tuple[DiffChange, ...] = ()
    paths: tuple[_Path, ...] = ()


def immutable_fields(old: KubernetesObject, new: KubernetesObject) -> ImmutableFields:
    """Yield the changes of immutable fields; none for an object of another name, which is another object."""
    known = object_key(new)
    if object_key(old) != known:
        return ImmutableFields()
    paths = tuple(path for path in _paths(known, old) if not same(_at(old, path), _at(new, path)))
    return ImmutableFields(tuple(_changes(known, old, new, paths)), (*paths, *_headless(known, old, new)))


def _changes(
    known: ObjectKey, old: KubernetesObject, new: KubernetesObject, paths: tuple[_Path, ...]
) -> Iterator[DiffChange]:
    of_csv = known.kind == "Deployment" and csv_by_label(new) is not None
    for path in (*paths, *_headless(known, old, new)):
        for delta in deltas(_at(old, path), _at(new, path), path):
            yield immutable_changed(known, path_text(delta.path), delta.old, delta.new, of_csv)


def _paths(known: ObjectKey, old: KubernetesObject) -> Iterator[_Path]:
    kind = (known.group, known.kind)
    yield from _FIELDS.get(kind, ())
    if kind in _FREEZABLE and old.get("immutable") is True:
        yield from _CONTENT


def _headless(known: ObjectKey, old: KubernetesObject, new: KubernetesObject) -> Iterator[_Path]:
    """The address of a Service that has one from now on, or none any more."""
    path = ("spec", "clusterIP")
    if (known.group, known.kind) == ("", "Service"):
        was, now = (_at(obj, path) == _HEADLESS for obj in (old, new))
        external = "ExternalName" in (_at(old, ("spec", "type")), _at(new, ("spec", "type")))
        if was != now and not external:
            yield path


def _at(obj: Mapping[str, Any], path: _Path) -> Any:
    for step in path[:-1]:
        obj = mapping(obj.get(step))
    return obj.get(path[-1], ABSENT)


def without_paths(obj: dict[str, Any], paths: tuple[_Path, ...]) -> dict[str, Any]:
    """An object without some of its fields; it is not changed itself."""
    for path in paths:
        obj = _without(obj, path)
    return obj


def _without(obj: Mapping[str, Any], path: _Path) -> dict[str, Any]:
    if len(path) == 1:
        return {key: value for key, value in obj.items() if key != path[0]}
    inner = obj.get(path[0])
    return {**obj, path[0]: _without(inner, path[1:])} if isinstance(inner, dict) else dict(obj)
