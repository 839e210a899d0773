"""Fields that Kubernetes lets nobody change: OLM updates objects and never deletes first, so the update fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.diff.change import ABSENT, DiffChange
from olmc.diff.deltas import deltas, path_text, same
from olmc.diff.object_kinds import immutable_changed
from olmc.lean import NamedTuple
from olmc.model.objects import RBAC, KubernetesObject, ObjectKey, labels_of, mapping, object_key
from olmc.model.workspace import EXTENSIONS_V1

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
    """What changed of an object that must not; nothing for one that has another name, which is another object."""
    known = object_key(new)
    if object_key(old) != known:
        return ImmutableFields()
    paths = tuple(path for path in _paths(known, old) if not same(_at(old, path), _at(new, path)))
    return ImmutableFields(tuple(_changes(known, old, new, paths)), (*paths, *_headless(known, old, new)))


def _changes(
    known: ObjectKey, old: KubernetesObject, new: KubernetesObject, paths: tuple[_Path, ...]
) -> Iterator[DiffChange]:
    of_csv = "olm.owner" in labels_of(new) and known.kind == "Deployment"
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
