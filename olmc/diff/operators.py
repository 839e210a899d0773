"""The operators of a side: its CSVs that are no copies, and what is installed over what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from olmc.gojson import unmarshal
from olmc.lean import NamedTuple, regex
from olmc.model.cluster import NamespacedName
from olmc.model.objects import (
    KubernetesObject,
    annotations_of,
    mapping,
    mappings,
    metadata_of,
    object_key,
    spec_of,
    status_of,
    text,
    texts,
)
from olmc.model.operators import OLM_GROUP
from olmc.olm.naming import COPIED_FROM

CSV = "ClusterServiceVersion"

_PROPERTIES = "operatorframework.io/properties"
_COMPONENT = "operators.coreos.com/"
_VERSION_IN_NAME = regex(r"[.-]v?[0-9].*$")


class DiffOperator(NamedTuple):
    """A CSV that is no copy: its package, as far as the object says, and the object."""

    namespace: str
    package: str
    csv: KubernetesObject

    @property
    def name(self) -> str:
        return text(metadata_of(self.csv).get("name"))

    @property
    def version(self) -> str:
        return text(self.spec.get("version"))

    @property
    def spec(self) -> Mapping[str, Any]:
        return spec_of(self.csv)

    @property
    def phase(self) -> str:
        return text(status_of(self.csv).get("phase"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        return annotations_of(self.csv)

    @property
    def replaces(self) -> str:
        return text(self.spec.get("replaces"))

    @property
    def skips(self) -> list[str]:
        return texts(self.spec.get("skips"))

    @property
    def skip_range(self) -> str:
        return text(self.annotations.get("olm.skipRange"))


def is_copy(csv: KubernetesObject) -> bool:
    """Whether a CSV is a copy of one in another namespace (R-COPY-1)."""
    metadata = metadata_of(csv)
    home = mapping(metadata.get("annotations")).get("olm.operatorNamespace")
    return COPIED_FROM in mapping(metadata.get("labels")) or (
        home is not None and home != (metadata.get("namespace") or "")
    )


def operators(objects: Iterable[KubernetesObject]) -> dict[NamespacedName, DiffOperator]:
    """The CSVs among objects that are no copies, by namespace and name."""
    by_name = {}
    for obj in objects:
        if obj.get("kind") == CSV and object_key(obj).group == OLM_GROUP and not is_copy(obj):
            namespace = text(metadata_of(obj).get("namespace"))
            operator = DiffOperator(namespace, _package_of(obj), obj)
            by_name[NamespacedName(namespace, operator.name)] = operator
    return by_name


def heads(installed: Mapping[NamespacedName, DiffOperator]) -> dict[NamespacedName, DiffOperator]:
    """By namespace and package the CSV that no other one of them replaces; the last by name where there are several."""
    by_package: dict[NamespacedName, list[DiffOperator]] = {}
    for operator in installed.values():
        by_package.setdefault(NamespacedName(operator.namespace, operator.package), []).append(operator)
    return {name: _head(rivals) for name, rivals in sorted(by_package.items())}


def _head(rivals: Sequence[DiffOperator]) -> DiffOperator:
    replaced = {operator.replaces for operator in rivals}
    # While OLM upgrades both CSVs are there, and the one that nobody replaces is where it goes. In a circle all count.
    on_top = [operator for operator in rivals if operator.name not in replaced] or list(rivals)
    return max(on_top, key=lambda operator: operator.name)


def not_installed(
    installed: Mapping[NamespacedName, DiffOperator], objects: Iterable[KubernetesObject]
) -> dict[tuple[str, str, str], KubernetesObject]:
    """The Deployments that the newest CSVs ask for and that are not there, by namespace, package and name.

    An operator whose requirements are not met has none; its review is about what it would run.
    """
    there = {object_key(obj) for obj in objects if obj.get("kind") == "Deployment"}
    missing = {}
    for name, operator in heads(installed).items():
        strategy = mapping(mapping(operator.spec.get("install")).get("spec"))
        for spec in mappings(strategy.get("deployments")):
            # As OLM would write it, or its own marks would be what differs from one that is installed.
            owner = {"olm.owner": operator.name, "olm.owner.kind": CSV, "olm.owner.namespace": operator.namespace}
            labels = {**owner, "olm.managed": "true"}
            asked = {"revisionHistoryLimit": 1, **mapping(spec.get("spec"))}
            metadata = {"name": text(spec.get("name")), "namespace": operator.namespace, "labels": labels}
            deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": asked}
            if object_key(deployment) not in there:
                missing[name.namespace, name.name, text(spec.get("name"))] = deployment
    return missing


def owned_apis(obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> frozenset[str]:
    """The APIs, as `plural.group`, that the operator owns which an object is part of."""
    labels = mapping(metadata_of(obj).get("labels"))
    owner = owners.get(NamespacedName(text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner"))))
    crds = mapping(owner.spec.get("customresourcedefinitions")) if owner is not None else {}
    return frozenset(text(crd.get("name")) for crd in mappings(crds.get("owned")))


def properties_of(csv: KubernetesObject) -> list[Mapping[str, Any]]:
    """The properties that OLM wrote into a CSV's annotation (R-CAT-621): mappings with `type` and `value`."""
    written = annotations_of(csv).get(_PROPERTIES)
    try:
        return mappings(mapping(unmarshal(text(written) or "{}")).get("properties"))
    except ValueError:
        return []


def _package_of(csv: KubernetesObject) -> str:
    # In the order of certainty: what OLM wrote when it installed the CSV, what it labels components with, the name.
    for prop in properties_of(csv):
        if prop.get("type") == "olm.package" and text(mapping(prop.get("value")).get("packageName")):
            return text(mapping(prop.get("value"))["packageName"])
    metadata = metadata_of(csv)
    ending = f".{text(metadata.get('namespace'))}"
    for label in sorted(mapping(metadata.get("labels"))):
        if label.startswith(_COMPONENT) and label.endswith(ending):
            return label.removeprefix(_COMPONENT).removesuffix(ending)
    name = text(metadata.get("name"))
    return _VERSION_IN_NAME.sub("", name) or name
