"""The resource of a kind, and whether its objects have a namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from olmc.kube.scopes import SERVED_GROUPS
from olmc.model.objects import KubernetesObject, as_text, spec_of
from olmc.model.operators import OLM_GROUP
from olmc.model.values import mapping
from olmc.settle.builtin import is_cluster_scoped, plural_of

_CLUSTER_SCOPED = frozenset({(OLM_GROUP, "Install"), (OLM_GROUP, "Operator")})


class _Served(NamedTuple):
    plural: str
    namespaced: bool


class Scopes(NamedTuple):
    """What CRDs say about kinds, by group and kind; for all others Kubernetes' own kinds and habits count."""

    served: Mapping[tuple[str, str], _Served]

    def resource(self, obj: KubernetesObject) -> tuple[str, str]:
        """The API group and the plural of an object's kind."""
        group = as_text(obj.get("apiVersion")).rpartition("/")[0]
        kind = as_text(obj.get("kind"))
        known = self.served.get((group, kind))
        return group, known.plural if known else plural_of(kind)

    def is_namespaced(self, obj: KubernetesObject) -> bool:
        """Whether objects of this kind have a namespace."""
        group = as_text(obj.get("apiVersion")).rpartition("/")[0]
        kind = as_text(obj.get("kind"))
        known = self.served.get((group, kind))
        if known is not None:
            return known.namespaced
        return (group, kind) not in _CLUSTER_SCOPED and not is_cluster_scoped(kind)


def scopes(objects: Iterable[KubernetesObject]) -> Scopes:
    """What the CRDs among `objects` say."""
    found: dict[tuple[str, str], _Served] = {}
    for obj in objects:
        if obj.get("kind") == "CustomResourceDefinition":
            spec = spec_of(obj)
            names = mapping(spec.get("names"))
            key = (as_text(spec.get("group")), as_text(names.get("kind")))
            if key[0] in SERVED_GROUPS:
                continue  # no CRD has a say in the kinds of Kubernetes itself
            found[key] = _Served(as_text(names.get("plural")), spec.get("scope") != "Cluster")
    return Scopes(found)
