"""The operators of a side: its CSVs that are no copies, and what is installed over what."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from olmc.gojson import unmarshal
from olmc.lean import NamedTuple, regex
from olmc.model.cluster import NamespacedName
from olmc.model.objects import (
    KubernetesObject,
    annotations_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    object_key,
    owner_references,
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
            labels = {**mapping(spec.get("label")), **owner, "olm.managed": "true"}
            asked = {"revisionHistoryLimit": 1, **mapping(spec.get("spec"))}
            metadata = {"name": text(spec.get("name")), "namespace": operator.namespace, "labels": labels}
            deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": asked}
            if object_key(deployment) not in there:
                missing[name.namespace, name.name, text(spec.get("name"))] = deployment
    return missing


def kept_by_predecessors(
    before: Mapping[NamespacedName, DiffOperator], after: Mapping[NamespacedName, DiffOperator],
    old: Iterable[KubernetesObject], new: Iterable[KubernetesObject],
) -> list[KubernetesObject]:  # fmt: skip
    """What the old side has of operators whose new CSV does not work, and the new side lacks: it stays, because OLM
    removes a CSV with what belongs to it once the next one has succeeded.

    But for Deployments, of which `not_installed` has those of the new CSV.
    """
    was = heads(before)
    stuck = {
        (name.namespace, was[name].name) for name, operator in heads(after).items()
        if name in was and was[name].name != operator.name
        and was[name].phase == "Succeeded" and operator.phase not in ("", "Succeeded")
    }  # fmt: skip
    if not stuck:
        return []
    there = {object_key(obj) for obj in new}
    return [
        obj for obj in old
        if obj.get("kind") not in ("Deployment", "OperatorCondition") and object_key(obj) not in there
        and (_owner(obj) in stuck or _reads_authentication(obj, {namespace for namespace, _ in stuck}))
    ]  # fmt: skip


def _reads_authentication(obj: KubernetesObject, namespaces: Container[str]) -> bool:
    """Whether a binding is one that OLM makes for a webhook of a CSV in one of the namespaces: it names no owner."""
    is_olms = labels_of(obj).get("olm.managed") == "true" and object_key(obj).namespace == "kube-system"
    return is_olms and any(text(subject.get("namespace")) in namespaces for subject in mappings(obj.get("subjects")))


def _owner(obj: KubernetesObject) -> tuple[str, str]:
    """The namespace and the name of the CSV that an object belongs to."""
    labels = labels_of(obj)
    csvs = (text(reference.get("name")) for reference in owner_references(obj) if reference.get("kind") == CSV)
    namespace = text(labels.get("olm.owner.namespace")) or object_key(obj).namespace
    return namespace, text(labels.get("olm.owner")) or next(csvs, "")


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
