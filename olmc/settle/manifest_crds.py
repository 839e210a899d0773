"""CRDs among the manifests of a workspace: the API server may refuse them, and then they are not there (R-CAT-720)."""

from __future__ import annotations

from olmc.gojson import DecodeError, decode
from olmc.load.manifests import refused
from olmc.model.diagnostic import Report
from olmc.model.objects import KubernetesObject, metadata_of, spec_of, status_of
from olmc.model.workspace import Manifest
from olmc.yaml import locate

_V1, _CRD = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
_WHOLE = ("group", "names", "versions")


def is_refused_crd(manifest: Manifest, report: Report) -> bool:
    """Whether a manifest is a CRD that the API server refuses to create; each reason goes to `report`, at its place.

    Not judged is a CRD that was taken from a cluster, which may hold what no new one may, and what is only a part of
    one, as patches for kustomize are.
    """
    crd = manifest.object
    if (crd["apiVersion"], crd["kind"]) != (_V1, _CRD) or not _is_whole(crd) or _was_in_a_cluster(crd):
        return False
    from olmc.kube.api_validation.crds import creation_errors  # few workspaces have CRDs of their own

    try:
        errors = creation_errors(decode(_CRD, crd, exact=True))
    except DecodeError as error:
        where, place = ".".join(map(str, error.path)), locate(manifest.source, error.path)
        report.add(refused(crd, place, where, error))
        return True
    for found in errors:
        problem = str(found).removeprefix(f"{found.field}: ")
        place = locate(manifest.source, found.keys)
        report.add(refused(crd, place, found.field, problem))
    return bool(errors)


def _is_whole(crd: KubernetesObject) -> bool:
    spec = spec_of(crd)
    return all(spec.get(field) for field in _WHOLE)


def _was_in_a_cluster(crd: KubernetesObject) -> bool:
    return bool(metadata_of(crd).get("uid") or status_of(crd))
