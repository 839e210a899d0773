"""Which objects have a namespace, and which one those get that name none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from olmc.model.diagnostic import Report
from olmc.model.objects import KubernetesObject
from olmc.model.operators import APIKey
from olmc.model.options import Options
from olmc.model.values import mapping
from olmc.model.workspace import Manifest
from olmc.settle.builtin import is_cluster_scoped, is_native

CRD = "CustomResourceDefinition"

Scope = Literal["Namespaced", "Cluster"]


def placed(manifests: tuple[Manifest, ...], options: Options, report: Report) -> tuple[Manifest, ...]:
    """The manifests as they are applied to the default namespace of the options, or as they are if there is none.

    Namespaced ones that name no namespace are in the default one, others have none.
    """
    if not options.default_namespace:
        return manifests
    from olmc.load.manifests import without_duplicates  # few have a default namespace, and imports take their time

    crds = [manifest.object for manifest in manifests if manifest.object["kind"] == CRD]
    found = tuple(_placed(manifest, crds, options) for manifest in manifests)
    return without_duplicates(found, report) if found != manifests else manifests


def _placed(manifest: Manifest, crds: Iterable[KubernetesObject], options: Options) -> Manifest:
    obj = manifest.object
    scope, given = scope_of(obj, crds, options.kube_version), obj["metadata"].get("namespace")
    if scope is None or (scope == "Namespaced") == bool(given):
        return manifest
    metadata = {key: value for key, value in obj["metadata"].items() if key != "namespace"}
    if scope == "Namespaced":
        metadata["namespace"] = options.default_namespace
    return manifest._replace(object={**obj, "metadata": metadata})


def scope_of(obj: KubernetesObject, crds: Iterable[KubernetesObject], kube_version: str) -> Scope | None:
    """The scope of an object, by the CRDs that there are and what Kubernetes has built in; None if nobody knows."""
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    for crd in crds:
        spec = mapping(crd.get("spec"))
        if spec.get("group") == group and mapping(spec.get("names")).get("kind") == obj["kind"]:
            return "Cluster" if spec.get("scope") == "Cluster" else "Namespaced"
    if not is_native(APIKey(group, version, obj["kind"]), kube_version):
        return None
    return "Cluster" if is_cluster_scoped(obj["kind"]) else "Namespaced"
