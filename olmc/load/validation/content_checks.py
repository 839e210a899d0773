"""The files of manifests/ as operator-registry judges them (R-CAT-207).

What the CSV and CRD validators find is told by themselves. In a Helm chart nothing is checked (R-CAT-206). Where the
tools end a message with a dump of their memory of an object, its kind and name stand here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from olmc.golang.errors import decode_failure
from olmc.golang.numbers import quoted
from olmc.kube.field_errors import aggregated
from olmc.kube.object_meta import metadata_errors
from olmc.load.catalogs.csv_edges import SUBSTITUTES_FOR
from olmc.load.refusal_words import way_out
from olmc.load.validation.folders import BundleFolder, FolderFile
from olmc.load.validation.format_checks import HELM, REGISTRY, media_type
from olmc.load.validation.loading_checks import CRD_KIND, CRD_V1, CRD_V1BETA1, csv_refusal
from olmc.load.validation.result import Finding
from olmc.load.validation.views import CsvView
from olmc.model.location import Location, Place, Source
from olmc.model.operators import CSV_KIND
from olmc.model.values import mapping, mappings, text
from olmc.model.workspace import Manifest
from olmc.rules import validation as rules

SUPPORTED = frozenset(
    "ClusterServiceVersion CustomResourceDefinition Secret ConfigMap Service ServiceAccount Role RoleBinding "
    "ClusterRole ClusterRoleBinding PrometheusRule ServiceMonitor PodMonitor PodDisruptionBudget PriorityClass "
    "VerticalPodAutoscaler NetworkPolicy ConsoleYAMLSample ConsoleQuickStart ConsoleCLIDownload ConsoleLink "
    "ConsolePlugin".split()
)
"""The kinds that a bundle may hold, by the tools; the catalog operator has its own list (R-CAT-107)."""


def content_findings(folder: BundleFolder) -> Iterator[Finding]:
    """What is wrong with the files of manifests/, one by one and together."""
    kind = media_type(folder)
    if kind == HELM:
        return
    for path in folder.subfolders:
        yield Finding(rules.CONTENT, f"Unable to read file {path} in supported types", Location(path))
    files = folder.manifests or ()
    for file in files:
        yield from _file_findings(file, kind)
    csv = next((file for file in files if file.kind == CSV_KIND), None)
    if csv is not None and csv.source is not None:
        view = CsvView(Manifest(csv.value, csv.source))
        yield from _api_findings(view, files)
        yield from _release_findings(view)


def _file_findings(file: FolderFile, kind: str) -> Iterator[Finding]:
    if not file.kind or file.source is None:
        cause = file.problem or "Object 'Kind' is missing"
        yield Finding(rules.CONTENT, cause, file.place, hint=file.hint, cause=file.cause)
    elif kind == REGISTRY and file.kind not in SUPPORTED:
        told = f"{file.kind} is not supported type for registryV1 bundle: {file.path}"
        yield Finding(rules.CONTENT, told, Place(file.source, ("kind",)))
    elif file.kind == CRD_KIND:
        yield from _crd_version_findings(text(file.value.get("apiVersion")), file.source)
    elif file.kind == CSV_KIND:
        refusal = csv_refusal(file.value)
        if refusal is not None:
            place, found = Place(file.source, refusal.path), decode_failure(refusal)
            yield Finding(rules.CONTENT, refusal.message, place, hint=way_out(refusal), cause=found)
    else:
        errors = metadata_errors(file.value)
        if errors:
            name = text(mapping(file.value.get("metadata")).get("name"))
            told = f"error validating object metadata: {aggregated(map(str, errors))}. {file.kind} {name}".rstrip()
            yield Finding(rules.OBJECT_METADATA, told, Place(file.source, errors[0].keys))


def _crd_version_findings(version: str, source: Source) -> Iterator[Finding]:
    place = Place(source, ("apiVersion",))
    if version == CRD_V1BETA1:
        yield Finding(rules.CONTENT_ADVICE, f"CRDs of {version} are gone since Kubernetes 1.22", place)
    elif version != CRD_V1:
        yield Finding(rules.CONTENT, f"Unsupported api version of CRD: {version}", place)


class _Api(NamedTuple):
    """A version of a CRD as operator-registry compares them."""

    name: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.name}/{self.version}"


def _api_findings(csv: CsvView, files: Sequence[FolderFile]) -> Iterator[Finding]:
    """Whether the CSV owns what the bundle has, and the other way round."""
    provided = {api: Place(file.source) for file in files if file.source is not None for api in _crd_versions(file)}
    bundle = quoted(csv.name)
    for index, item in enumerate(csv.descriptions("customresourcedefinitions", "owned")):
        api = _Api(*(text(item.get(field)) for field in ("name", "version", "kind")))
        if provided.pop(api, None) is None:
            place = csv.place("spec", "customresourcedefinitions", "owned", index)
            yield Finding(rules.CONTENT_APIS, f"owned CRD {api} not found in bundle {bundle}", place)
    for api, place in provided.items():
        told = f"CRD {api} is present in bundle {bundle} but not defined in CSV"
        yield Finding(rules.CONTENT_ADVICE, told, place)


def _crd_versions(file: FolderFile) -> Iterator[_Api]:
    if file.kind != CRD_KIND:
        return
    spec = mapping(file.value.get("spec"))
    versions = [text(each.get("name")) for each in mappings(spec.get("versions"))]
    if file.value.get("apiVersion") == CRD_V1BETA1 and text(spec.get("version")):
        versions = [text(spec.get("version"))]
    name = text(mapping(file.value.get("metadata")).get("name"))
    for version in versions:
        yield _Api(name, version, text(mapping(spec.get("names")).get("kind")))


def _release_findings(csv: CsvView) -> Iterator[Finding]:
    release, substituted = csv.spec.get("release"), csv.annotations.get(SUBSTITUTES_FOR)
    if release and substituted:
        told = (
            f'bundle {quoted(csv.name)} cannot have both a release version ("{release}") and olm.substitutesFor '
            f"annotation ({quoted(substituted)})"
        )
        yield Finding(rules.CONTENT_APIS, told, csv.place("spec", "release"))
