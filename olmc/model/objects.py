"""Kubernetes objects as olmc handles them: plain dicts, their identity, and where they come from."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from olmc.model.gvk import split_api_version
from olmc.model.location import Place

KubernetesObject = dict[str, Any]


class Identity(NamedTuple):
    """What makes an object the same object: the API group (not the version), kind, namespace ("" for none) and name."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


class CatalogKey(NamedTuple):
    """The name and the namespace of a CatalogSource."""

    name: str
    namespace: str


class Origin(Enum):
    """How an object came to be: what decides how it is treated, where stage and rule are for people to read."""

    MANIFEST = "a manifest of the workspace, passed through"
    BUNDLE = "made by an InstallPlan from a file of a bundle"
    BUNDLE_UPDATE = "the same, in the place of one that was there"
    STRATEGY = "made by an InstallPlan from an install strategy"
    OPERATOR_GROUP = "a ClusterRole of an OperatorGroup"
    OPERATOR_CONDITION = "an OperatorCondition, or RBAC for one"
    CERTIFICATE = "what serves and trusts a certificate of OLM"
    OLM = "anything else that OLM makes"
    KUBERNETES = "there in every cluster"


class Provenance(NamedTuple):
    """Why an object is in the output: the place in the input it stems from, the pass that wrote it, the rule applied,
    and how it came to be."""

    place: Place | None
    stage: str
    rule: str
    origin: Origin = Origin.OLM


class Rendered(NamedTuple):
    """An object of the output together with its provenance."""

    object: KubernetesObject
    provenance: Provenance

    @property
    def identity(self) -> Identity:
        return identity(self.object)


def identity(obj: KubernetesObject) -> Identity:
    """The identity of an object (`apiVersion`, `kind`, `metadata.namespace`, `metadata.name`), in texts whatever is
    written there: objects of a bundle are looked at before anybody refuses them."""
    metadata = obj.get("metadata") or {}
    group, _ = split_api_version(obj.get("apiVersion"))
    namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    return Identity(group, obj.get("kind") or "", namespace, name)
