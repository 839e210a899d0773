"""The fields of the objects of GitOps tools that decide the result: olmc compares them, and not the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.objects import KubernetesObject, ObjectKey, as_text, mappings, object_key, spec_of

_ARGO, _HELM = "argoproj.io", "helm.toolkit.fluxcd.io"
_KUSTOMIZE, _SOURCE = "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io"
_RELEASE = (
    "chart",
    "chartRef",
    "values",
    "valuesFrom",
    "postRenderers",
    "targetNamespace",
    "releaseName",
    "kubeConfig",
)
_CHART = ("chart", "version", "sourceRef", "valuesFiles", "valuesFile", "ignoreMissingValuesFiles")

_DECIDING: Mapping[tuple[str, str], Sequence[str]] = {
    (_ARGO, "Application"): ("source", "sources", "sourceHydrator", "destination"),
    (_ARGO, "ApplicationSet"): (
        "generators", "template", "templatePatch", "goTemplate", "goTemplateOptions", "applyNestedSelectors",
    ),
    (_KUSTOMIZE, "Kustomization"): (
        "path", "sourceRef", "patches", "patchesStrategicMerge", "patchesJson6902", "postBuild", "components", "images",
        "targetNamespace", "namePrefix", "nameSuffix", "commonMetadata", "decryption", "kubeConfig",
        "ignoreMissingComponents",
    ),
    (_HELM, "HelmRelease"): _RELEASE,
    (_SOURCE, "HelmChart"): _CHART,
    (_SOURCE, "HelmRepository"): ("url", "type"),
    (_SOURCE, "GitRepository"): ("url", "ref", "ignore", "include", "recurseSubmodules", "sparseCheckout"),
    (_SOURCE, "OCIRepository"): ("url", "ref", "ignore", "layerSelector"),
    (_SOURCE, "Bucket"): ("bucketName", "endpoint", "provider", "prefix", "region", "ignore"),
    ("apps.open-cluster-management.io", "Channel"): ("type", "pathname"),
    ("tanka.dev", "Environment"): ("namespace", "apiServer", "contextNames", "injectLabels", "resourceDefaults"),
}  # fmt: skip

_APPLYING = frozenset({
    (_ARGO, "Application"), (_ARGO, "ApplicationSet"), (_KUSTOMIZE, "Kustomization"), (_HELM, "HelmRelease"),
})  # fmt: skip


def decides_result(identity: ObjectKey, path: Sequence[Any]) -> bool:
    """Whether a field of an object decides what a GitOps tool applies."""
    fields = _DECIDING.get((identity.group, identity.kind))
    if fields is None or len(path) < 1 or path[0] != "spec":
        return False
    return len(path) == 1 or path[1] in fields


def applies_others(identity: ObjectKey) -> bool:
    """Whether an object has a GitOps tool apply others."""
    return (identity.group, identity.kind) in _APPLYING


def value_sources(objects: Iterable[KubernetesObject]) -> frozenset[ObjectKey]:
    """The ConfigMaps and Secrets from which Flux takes values of charts, or variables."""
    return frozenset(key for obj in objects for key in _values_of(obj))


def _values_of(obj: KubernetesObject) -> Iterator[ObjectKey]:
    api, kind = as_text(obj.get("apiVersion")), obj.get("kind")
    if kind not in ("HelmRelease", "Kustomization"):
        return
    spec = spec_of(obj)
    entries: Any = ()
    if api.startswith(f"{_HELM}/") and kind == "HelmRelease":
        entries = spec.get("valuesFrom")
    elif api.startswith(f"{_KUSTOMIZE}/") and kind == "Kustomization":
        post_build = spec.get("postBuild")
        entries = post_build.get("substituteFrom") if isinstance(post_build, Mapping) else ()
    namespace = object_key(obj).namespace if entries else ""
    for entry in mappings(entries):
        yield ObjectKey("", as_text(entry.get("kind")), namespace, as_text(entry.get("name")))
