"""Kubernetes objects as olmc handles them: plain dicts, their identity, and where they come from."""

from __future__ import annotations

from typing import Any, NamedTuple

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


class Provenance(NamedTuple):
    """Why an object is in the output: the place in the input it stems from, the pass that wrote it, the rule obeyed."""

    place: Place | None
    stage: str
    rule: str


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
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
    return Identity(group, obj.get("kind") or "", namespace, name)
