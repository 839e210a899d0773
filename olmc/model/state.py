"""The state of a cluster that a compilation begins with."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from olmc.model.objects import KubernetesObject, ObjectKey
from olmc.model.workspace import Manifest


class ClusterState(NamedTuple):
    """Everything that a cluster holds, as the API server would return it.

    `objects`: all of them, with their status. `applied`: the manifests that a GitOps tool has applied, by what they
    are; they are what it prunes, and what it compares with when it applies again. `expected`: what they come to rest
    in, where somebody has said besides what the cluster holds.
    """

    objects: Mapping[ObjectKey, Manifest]
    applied: Mapping[ObjectKey, KubernetesObject] = MappingProxyType({})
    expected: Mapping[ObjectKey, Manifest] = MappingProxyType({})
