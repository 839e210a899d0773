"""What a GitOps tool does to a cluster: it applies what the repository has, then prunes what it no longer has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from olmc.model.objects import KubernetesObject, ObjectKey, object_key
from olmc.model.state import ClusterState
from olmc.model.workspace import Manifest

# What the API server and controllers write, and an apply leaves alone.
_KEPT = ("status",)


def apply(state: ClusterState, manifests: Iterable[Manifest]) -> ClusterState:
    """The state once all manifests are applied."""
    manifests = tuple(manifests)
    objects, applied = dict(state.objects), dict(state.applied)
    for manifest in manifests:
        key = object_key(manifest.object)
        live = objects.get(key)
        if live is not None:
            merged = _merged(applied.get(key, {}), live.object, manifest.object)
            manifest = manifest._replace(object=merged)
        objects[key] = manifest
        applied[key] = manifest.object
    return ClusterState(objects, applied, state.tracked | {object_key(m.object) for m in manifests})


def pruned(state: ClusterState, manifests: Iterable[Manifest]) -> tuple[ObjectKey, ...]:
    """What the tool deletes: objects that it has applied before, and the repository no longer has."""
    kept = {object_key(manifest.object) for manifest in manifests}
    return tuple(key for key in state.applied if key in state.tracked - kept and key in state.objects)


def _merged(before: KubernetesObject, live: KubernetesObject, after: KubernetesObject) -> KubernetesObject:
    """The object that an apply leaves: the fields of `after`, without those of `before` that it no longer has, on top
    of all others that are live."""
    merged = _three_way(before, live, {k: v for k, v in after.items() if k not in _KEPT})
    return {**merged, **{key: live[key] for key in _KEPT if key in live}}


def _three_way(before: Mapping[str, Any], live: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in live.items() if key in after or key not in before}
    for key, value in after.items():
        old = live.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            earlier = before.get(key)
            kept[key] = _three_way(earlier if isinstance(earlier, dict) else {}, old, value)
        else:
            kept[key] = value
    return kept
