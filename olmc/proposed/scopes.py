"""The resource of a kind, and whether its objects have a namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from olmc.model.objects import KubernetesObject
from olmc.settle.builtin import is_cluster_scoped

_CLUSTER_SCOPED = frozenset({("operators.coreos.com", "Install"), ("operators.coreos.com", "Operator")})


class _Served(NamedTuple):
    plural: str
    namespaced: bool


class Scopes(NamedTuple):
    """What CRDs say about kinds, by group and kind; for all others Kubernetes' own kinds and habits count."""

    served: Mapping[tuple[str, str], _Served]

    def resource(self, obj: KubernetesObject) -> tuple[str, str]:
        """The API group and the plural of an object's kind."""
        group = str(obj.get("apiVersion") or "").rpartition("/")[0]
        kind = str(obj.get("kind") or "")
        known = self.served.get((group, kind))
        return group, known.plural if known else _guessed_plural(kind)

    def is_namespaced(self, obj: KubernetesObject) -> bool:
        """Whether objects of this kind have a namespace."""
        group = str(obj.get("apiVersion") or "").rpartition("/")[0]
        kind = str(obj.get("kind") or "")
        known = self.served.get((group, kind))
        if known is not None:
            return known.namespaced
        return (group, kind) not in _CLUSTER_SCOPED and not is_cluster_scoped(kind)


def scopes(objects: Iterable[KubernetesObject]) -> Scopes:
    """What the CRDs among `objects` say."""
    found: dict[tuple[str, str], _Served] = {}
    for obj in objects:
        spec = obj.get("spec")
        if obj.get("kind") == "CustomResourceDefinition" and isinstance(spec, Mapping):
            names = spec.get("names") or {}
            key = (str(spec.get("group") or ""), str(names.get("kind") or ""))
            found[key] = _Served(str(names.get("plural") or ""), spec.get("scope") != "Cluster")
    return Scopes(found)


def _guessed_plural(kind: str) -> str:
    """As Kubernetes guesses it."""
    singular = kind.lower()
    if singular == "endpoints":
        return singular
    if singular.endswith("s"):
        return f"{singular}es"
    return f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}s"
