"""The state of a cluster that a compilation begins with: the objects in it, and what a GitOps tool had applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from olmc.model.cluster import Cluster
from olmc.model.diagnostics import Source
from olmc.model.objects import KubernetesObject, ObjectKey, Rendered, object_key
from olmc.model.workspace import Manifest


class ClusterState(NamedTuple):
    """Everything that a cluster holds, as the API server would return it.

    `objects`: all of them, with their status. `applied`: the manifests that a GitOps tool has applied, by what they are;
    they are what it prunes, and what it compares with when it applies again.
    """

    objects: Mapping[ObjectKey, Manifest]
    applied: Mapping[ObjectKey, KubernetesObject] = MappingProxyType({})


def state_of(objects: Iterable[Rendered], cluster: Cluster, applied: Iterable[Manifest]) -> ClusterState:
    """The state that a compilation ends in: its objects, with Secrets as they are stored, and its manifests."""
    known: dict[ObjectKey, Manifest] = {}
    for entry in objects:
        key = entry.identity
        stored = cluster.objects.get(key) if (key.group, key.kind) == ("", "Secret") else None
        place = entry.provenance.place
        known[key] = Manifest((stored or entry).object, place.source if place is not None else Source("", ""))
    return ClusterState(known, {object_key(manifest.object): manifest.object for manifest in applied})
