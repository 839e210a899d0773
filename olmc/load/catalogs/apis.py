"""The APIs that the objects of a bundle provide and require (R-CAT-104)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from olmc.model.objects import KubernetesObject, spec_of
from olmc.model.values import mapping, mappings, text

_CRD_VERSIONS = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")


class Api(NamedTuple):
    """An API by group, version, kind and the plural of its resource, "" where that does not matter."""

    group: str
    version: str
    kind: str
    plural: str = ""

    def __str__(self) -> str:
        return f"{self.group}/{self.version}/{self.kind} ({self.plural})"


def csv_among(objects: Iterable[KubernetesObject]) -> KubernetesObject | None:
    """The first ClusterServiceVersion."""
    return next((obj for obj in objects if obj.get("kind") == "ClusterServiceVersion"), None)


def provided_apis(objects: Iterable[KubernetesObject]) -> tuple[Api, ...]:
    """The APIs that a bundle's CRDs and the APIServices of its CSV provide, each once, in order."""
    objects = tuple(objects)
    found = [api for obj in objects if obj.get("kind") == "CustomResourceDefinition" for api in crd_apis(obj)]
    found += _api_services(csv_among(objects), "owned")
    return tuple(dict.fromkeys(found))


def required_apis(objects: Iterable[KubernetesObject]) -> tuple[Api, ...]:
    """The APIs that a bundle's CSV requires, each once, in order.

    Raises ValueError with OLM's text for the name of a CRD without a dot.
    """
    csv = csv_among(objects)
    found = list(described_crds(csv, "required"))
    found += _api_services(csv, "required")
    return tuple(dict.fromkeys(found))


def crd_apis(crd: KubernetesObject) -> list[Api]:
    """The APIs of a CRD, one a version, served or not."""
    if crd.get("apiVersion") not in _CRD_VERSIONS:
        return []
    spec = spec_of(crd)
    names = mapping(spec.get("names"))
    versions = [text(each.get("name")) for each in mappings(spec.get("versions"))]
    if crd["apiVersion"] == _CRD_VERSIONS[1] and spec.get("version"):
        versions.append(text(spec["version"]))
    group, kind, plural = text(spec.get("group")), text(names.get("kind")), text(names.get("plural"))
    return list(dict.fromkeys(Api(group, version, kind, plural) for version in versions))


def described_crds(csv: KubernetesObject | None, relation: str) -> Iterator[Api]:
    """The CRDs that a CSV describes as "owned" or "required".

    Raises ValueError with OLM's text for a name without a dot.
    """
    for item in _descriptions(csv, "customresourcedefinitions", relation):
        name = text(item.get("name"))
        plural, dot, group = name.partition(".")
        if not dot:
            raise ValueError(f"couldn't parse plural.group from crd name: {name}")
        yield Api(group, text(item.get("version")), text(item.get("kind")), plural)


def _api_services(csv: KubernetesObject | None, relation: str) -> list[Api]:
    fields = ("group", "version", "kind", "name")
    return [
        Api(*(text(item.get(field)) for field in fields))
        for item in _descriptions(csv, "apiservicedefinitions", relation)
    ]


def _descriptions(csv: KubernetesObject | None, field: str, relation: str) -> list[Mapping[str, Any]]:
    spec = spec_of(csv) if csv is not None else {}
    return mappings(mapping(spec.get(field)).get(relation))
