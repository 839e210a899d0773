"""Operators that move from OLM v0 to OLM v1: what is done before a ClusterExtension takes the place of a Subscription.

OLM v1 takes over nothing that belongs to somebody else, so what a repository changes is applied once the steps of
`olmc migrate --to olm-v1 --steps` are taken (R-V1-MIG-2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from olmc.lean import NamedTuple
from olmc.model.objects import (
    CRD_KIND,
    KubernetesObject,
    ObjectKey,
    annotations_of,
    labels_of,
    mapping,
    object_key,
    owner_references,
    spec_of,
    status_of,
    text,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.model.options import Profile
from olmc.model.state import ClusterState
from olmc.model.workspace import EXTENSIONS_V1, Manifest
from olmc.olm.naming import COMPONENT_PREFIX
from olmc.transition.deletion import delete

_EXTENSION = "ClusterExtension"


class HelmMarks(NamedTuple):
    """The labels and annotations by which Helm knows the objects of a release as its own (R-V1-HELM-4)."""

    labels: dict[str, str]
    annotations: dict[str, str]


def helm_marks(extension: str, namespace: str) -> HelmMarks:
    """The marks of the release of a ClusterExtension."""
    annotations = {"meta.helm.sh/release-name": extension, "meta.helm.sh/release-namespace": namespace}
    return HelmMarks({"app.kubernetes.io/managed-by": "Helm"}, annotations)


class Handover(NamedTuple):
    """A Subscription in whose place a ClusterExtension of the same package comes: what is deleted of OLM v0."""

    extension: str
    package: str
    namespace: str
    deleted: tuple[ObjectKey, ...]


def handovers(state: ClusterState, manifests: Iterable[Manifest]) -> tuple[Handover, ...]:
    """The operators that the manifests move: their Subscription has been applied and is not among them any more, and a
    new ClusterExtension installs their package into the same namespace."""
    manifests = tuple(manifests)
    if all(manifest.object["kind"] != _EXTENSION for manifest in manifests):
        return ()  # most workspaces have none
    wanted = {object_key(manifest.object): manifest.object for manifest in manifests}
    come = {
        (text(spec_of(obj).get("namespace")), _package(obj)): key.name
        for key, obj in wanted.items()
        if key.kind == _EXTENSION and obj["apiVersion"] == EXTENSIONS_V1 and key not in state.objects
    }
    moved = []
    for key, manifest in state.objects.items() if come else ():
        package = text(spec_of(manifest.object).get("name"))
        extension = come.get((key.namespace, package))
        csv = text(status_of(manifest.object).get("installedCSV"))
        if (key.group, key.kind) != (OLM_GROUP, "Subscription") or key in wanted or extension is None or not csv:
            continue
        groups = (other for other in state.objects if _is_group(other, key.namespace) and other not in wanted)
        deleted = (key, ObjectKey(OLM_GROUP, CSV_KIND, key.namespace, csv), *groups)
        moved.append(Handover(extension, package, key.namespace, deleted))
    return tuple(sorted(moved))


def _package(extension: KubernetesObject) -> str:
    return text(mapping(mapping(spec_of(extension).get("source")).get("catalog")).get("packageName"))


def _is_group(key: ObjectKey, namespace: str) -> bool:
    return (key.group, key.kind, key.namespace) == (OLM_GROUP, "OperatorGroup", namespace)


def handed_over(
    state: ClusterState, moved: Iterable[Handover], manifests: Iterable[Manifest], profile: Profile
) -> ClusterState:
    """The state without what OLM v0 has of the operators that move; their CRDs stay, marked for Helm (R-V1-HELM-4)."""
    wanted = {object_key(manifest.object) for manifest in manifests}
    for move in moved:
        csv = state.objects.get(move.deleted[1])
        crds = {text(crd.get("name")) for crd in _owned(csv.object)} if csv is not None else set()
        objects: dict[ObjectKey, Manifest] = {}
        for key, manifest in delete(state.objects, move.deleted, profile).items():
            if key.kind == CRD_KIND and key.name in crds and key not in wanted:
                objects[key] = manifest._replace(object=_marked(manifest.object, move))
            elif key in wanted or not _is_left(key, manifest.object, move, crds):
                objects[key] = manifest
        state = state._replace(objects=objects)
    return state


def _owned(csv: KubernetesObject) -> list[Mapping[str, object]]:
    owned = mapping(spec_of(csv).get("customresourcedefinitions")).get("owned")
    return [crd for crd in owned if isinstance(crd, dict)] if isinstance(owned, list) else []


def _is_left(key: ObjectKey, obj: KubernetesObject, move: Handover, crds: set[str]) -> bool:
    """Whether an object is what OLM v0 leaves behind of an operator, which the steps delete."""
    component = f"{move.package}.{move.namespace}"
    if (key.group, key.kind) == (OLM_GROUP, "Operator"):
        return key.name == component
    of_api = key.kind == "ClusterRole" and any(text(ref.get("name")) in crds for ref in owner_references(obj))
    return of_api or f"{COMPONENT_PREFIX}{component}" in labels_of(obj)


def _marked(crd: KubernetesObject, move: Handover) -> KubernetesObject:
    """A CRD as the steps leave it: without the labels of OLM v0, and with the marks by which Helm knows its own."""
    labels = {k: v for k, v in labels_of(crd).items() if not k.startswith((COMPONENT_PREFIX, "olm.managed"))}
    marks = helm_marks(move.extension, move.namespace)
    annotations = {**annotations_of(crd), **marks.annotations}
    metadata = {**crd["metadata"], "labels": {**labels, **marks.labels}, "annotations": annotations}
    return {**crd, "metadata": metadata}
