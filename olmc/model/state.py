"""The state of a cluster that a compilation begins with."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from olmc.lean import NamedTuple
from olmc.model.objects import KubernetesObject, ObjectKey
from olmc.model.workspace import Bundle, Manifest


class ClusterState(NamedTuple):
    """Everything that a cluster holds, as the API server would return it.

    `objects`: all of them, with their status. `applied`: the manifests that were applied, by what they are: what an
    apply compares with. `tracked`: those of the repository that the state is compared with, which are what a GitOps
    tool prunes; who else has applied what nobody can see. `expected`: what the repository comes to rest in, where it
    was named besides what the cluster holds. `ignored`: the patterns of files that the repository leaves out of itself,
    None where nobody knows. `documents` is what its files hold, by path and text, so that
    what is still in it need not be read again. `unpacked` is what plans that are not finished have unpacked, by image.
    """

    objects: Mapping[ObjectKey, Manifest]
    applied: Mapping[ObjectKey, KubernetesObject] = MappingProxyType({})
    tracked: frozenset[ObjectKey] = frozenset()
    expected: Mapping[ObjectKey, Manifest] = MappingProxyType({})
    ignored: tuple[str, ...] | None = None
    documents: Mapping[tuple[str, str], Any] = MappingProxyType({})
    unpacked: Mapping[str, Bundle] = MappingProxyType({})

    @property
    def applied_by_repository(self) -> dict[ObjectKey, KubernetesObject]:
        """The manifests of the repository that were applied."""
        return {key: self.applied[key] for key in sorted(self.tracked)}
