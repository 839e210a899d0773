"""The APIs that the objects of a bundle provide and require (R-CAT-104)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from olmc.kube.crd import CRD_KIND, V1, V1BETA1, Crd
from olmc.model.objects import KubernetesObject
from olmc.model.operators import CSV_KIND, CRDDescription, Csv


class APIKey(NamedTuple):
    """OLM's name of an API: a GVK with the plural of its resource, "" where that does not matter.

    Two CRDs that serve one kind under different plurals are different APIs to OLM.
    """

    group: str
    version: str
    kind: str
    plural: str = ""

    def __str__(self) -> str:
        return f"{self.group}/{self.version}/{self.kind} ({self.plural})"


def csv_among(objects: Iterable[KubernetesObject]) -> Csv:
    """The first ClusterServiceVersion, one that says nothing if there is none."""
    return Csv(next((obj for obj in objects if obj.get("kind") == CSV_KIND), {}))


def provided_apis(objects: Iterable[KubernetesObject]) -> tuple[APIKey, ...]:
    """The APIs that a bundle's CRDs and the APIServices of its CSV provide, each once, in order."""
    objects = tuple(objects)
    found = [api for obj in objects if obj.get("kind") == CRD_KIND for api in crd_apis(obj)]
    csv = csv_among(objects)
    found += [APIKey(*item.api, item.name) for item in csv.owned_apiservices]
    return tuple(dict.fromkeys(found))


def required_apis(objects: Iterable[KubernetesObject]) -> tuple[APIKey, ...]:
    """The APIs that a bundle's CSV requires, each once, in order.

    Raises ValueError with OLM's text for the name of a CRD without a dot.
    """
    csv = csv_among(objects)
    found = list(described_crds(csv.required_crds))
    found += [APIKey(*item.api, item.name) for item in csv.required_apiservices]
    return tuple(dict.fromkeys(found))


def crd_apis(crd: KubernetesObject) -> list[APIKey]:
    """The APIs of a CRD, one a version, served or not."""
    if crd.get("apiVersion") not in (V1, V1BETA1):
        return []
    found = Crd(crd)
    versions = [version.name for version in found.versions]
    if crd["apiVersion"] == V1BETA1 and found.only_version:
        versions.append(found.only_version)
    return list(dict.fromkeys(APIKey(found.group, version, found.kind, found.plural) for version in versions))


def described_crds(descriptions: Iterable[CRDDescription]) -> Iterator[APIKey]:
    """The CRDs that a CSV describes.

    Raises ValueError with OLM's text for a name without a dot.
    """
    for item in descriptions:
        if "." not in item.name:
            raise ValueError(f"couldn't parse plural.group from crd name: {item.name}")
        yield APIKey(*item.api, item.plural)
