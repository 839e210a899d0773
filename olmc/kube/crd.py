"""CustomResourceDefinitions as everybody reads them, whatever a stranger has written there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from olmc.model.objects import KubernetesObject, mapping, mappings, spec_of, status_of, text, texts

CRD_KIND = "CustomResourceDefinition"
V1, V1BETA1 = "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"


class CrdVersion(NamedTuple):
    """A version of a CRD, and the schema that its objects have."""

    name: str
    served: bool
    storage: bool
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Crd:
    """A CRD; of several spellings of the same thing it knows those of v1."""

    object: KubernetesObject

    @property
    def group(self) -> str:
        return text(self._spec.get("group"))

    @property
    def kind(self) -> str:
        return text(self._names.get("kind"))

    @property
    def plural(self) -> str:
        return text(self._names.get("plural"))

    @property
    def singular(self) -> str:
        return text(self._names.get("singular"))

    @property
    def is_cluster_scoped(self) -> bool:
        return bool(self._spec.get("scope") == "Cluster")

    @property
    def preserves_unknown_fields(self) -> bool:
        return bool(self._spec.get("preserveUnknownFields"))

    @property
    def conversion(self) -> Mapping[str, Any]:
        return mapping(self._spec.get("conversion"))

    @property
    def client_config(self) -> Mapping[str, Any]:
        """How the API server reaches the webhook that converts objects."""
        return mapping(mapping(self.conversion.get("webhook")).get("clientConfig"))

    @cached_property
    def versions(self) -> list[CrdVersion]:
        return [
            CrdVersion(
                text(item.get("name")),
                bool(item.get("served")),
                bool(item.get("storage")),
                mapping(mapping(item.get("schema")).get("openAPIV3Schema")),
            )
            for item in mappings(self._spec.get("versions"))
        ]

    @property
    def only_version(self) -> str:
        """The one version that v1beta1 may name instead of a list, or in front of it."""
        return text(self._spec.get("version"))

    @property
    def served_versions(self) -> list[str]:
        return [version.name for version in self.versions if version.served]

    @property
    def stored_versions(self) -> list[str]:
        """The versions that objects may be stored in: those known so far, and the storage version (R-CAT-724)."""
        known = texts(status_of(self.object).get("storedVersions"))
        current = (version.name for version in self.versions if version.storage)
        return [*known, *(name for name in current if name not in known)]

    @cached_property
    def _spec(self) -> Mapping[str, Any]:
        return spec_of(self.object)

    @property
    def _names(self) -> Mapping[str, Any]:
        return mapping(self._spec.get("names"))
