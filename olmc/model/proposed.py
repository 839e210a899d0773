"""The nouns of operators.coreos.com/v2alpha1: Operator and Install."""

from __future__ import annotations

from typing import Any, NamedTuple

from olmc.model.location import Source
from olmc.model.objects import CatalogKey, KubernetesObject


class CatalogUpdates(NamedTuple):
    """Where the updates of an Operator come from: `spec.updates.catalogSource`.

    `package` and `channel` are both "" when only an entrypoint is named.
    """

    ref: CatalogKey
    package: str = ""
    channel: str = ""
    entrypoint: str = ""
    manual: bool = False


class Operator(NamedTuple):
    """An Operator: from a catalog, from an image (""), or neither, which only collects components."""

    object: KubernetesObject
    source: Source | None
    catalog: CatalogUpdates | None = None
    image: str = ""

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])


class ContentItem(NamedTuple):
    """An item of an Install's `spec.content`: an image, or else objects; `given` is the item as it stands there."""

    given: dict[str, Any]
    image: str = ""
    objects: tuple[KubernetesObject, ...] = ()


class Install(NamedTuple):
    """An Install: what to apply, with which namespaces replaced, and whether its input says that it is approved.

    `operator` is the name of the Operator that it was generated for, "" for one that a user wrote.
    """

    name: str
    object: KubernetesObject
    source: Source | None
    content: tuple[ContentItem, ...]
    namespaces: tuple[tuple[str, str], ...] = ()
    approved: bool = False
    operator: str = ""
