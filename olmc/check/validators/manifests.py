"""The files of manifests/: what keeps the tools from loading them (R-CAT-202), and how they are judged (R-CAT-207).

The loader reads the folder that holds the CSV; here that is always manifests/. Where the tools print paths on their
machine, these are relative to the workspace; what their YAML and JSON decoders say is reported in this program's words,
and where they end a message with a dump of their memory of an object, its kind and name stand here. What the CSV and
CRD validators find they report themselves. In a Helm chart nothing is checked (R-CAT-206).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmc.catalogs.csv_graphs import SUBSTITUTES_FOR
from olmc.check.validators.findings import Finding
from olmc.check.validators.folders import HELM, REGISTRY, BundleFolder, FolderFile, media_type
from olmc.diagnostics.rules import validation as rules
from olmc.gojson import DecodeError, decode_error, decode_failure, decode_hint
from olmc.kube.api_validation.field import aggregated
from olmc.kube.api_validation.metadata import metadata_errors
from olmc.kube.restmapper import Crd
from olmc.lean import NamedTuple
from olmc.load.bundles import is_almost_csv
from olmc.model.diagnostics import Location, Missing, Place, Source, did_you_mean
from olmc.model.objects import CRD_KIND, CRD_V1, CRD_V1BETA1, KubernetesObject, metadata_of, text
from olmc.model.operators import CSV_KIND, Csv
from olmc.strconv import quoted

SUPPORTED = frozenset(
    "ClusterServiceVersion CustomResourceDefinition Secret ConfigMap Service ServiceAccount Role RoleBinding "
    "ClusterRole ClusterRoleBinding PrometheusRule ServiceMonitor PodMonitor PodDisruptionBudget PriorityClass "
    "VerticalPodAutoscaler NetworkPolicy ConsoleYAMLSample ConsoleQuickStart ConsoleCLIDownload ConsoleLink "
    "ConsolePlugin".split()
)
"""The kinds that a bundle may hold, by the tools; the catalog operator has its own list (R-CAT-107)."""


def loading_findings(folder: BundleFolder) -> Iterator[Finding]:
    """What is wrong with the files of a bundle as such, file by file."""
    for path in folder.subfolders:
        yield Finding(rules.LOADING, f"bundle manifests dir contains directory: {path}", Location(path))
    csvs = 0
    for file in folder.manifests or ():
        if file.name.startswith("."):
            message = f"bundle manifests dir has hidden file: {file.path}"
            yield Finding(rules.LOADING, message, Location(file.path))
            continue
        # The loader reads file by file, so the second CSV is the one too many (R-CAT-202).
        csvs += file.kind == CSV_KIND
        yield from _file_findings(file, csvs)
    if not csvs:
        yield from _without_csv(folder)
    for file in (*(folder.manifests or ()), *(folder.metadata or ())):
        if file.name.startswith("annotations") and file.problem:
            message = f"unable to load the annotations file {file.path}: {file.problem}"
            yield Finding(rules.LOADING, message, file.place, hint=file.hint, cause=file.cause)


def _without_csv(folder: BundleFolder) -> Iterator[Finding]:
    """That there is no CSV: for a file that was meant to be one but can't be read, that is reported already."""
    files = folder.manifests or ()
    if any(file.says_csv for file in files):
        return
    almost = next((file for file in files if file.source is not None and is_almost_csv(file.kind)), None)
    message = f"unable to find a csv in bundle directory {folder.directory or '.'}"
    if almost is not None and almost.source is not None:
        hint = did_you_mean(f"{CSV_KIND} instead of {almost.kind}")
        yield Finding(rules.LOADING, message, Place(almost.source, ("kind",)), hint=hint, cause=Missing.CSV)
    else:
        hint = "Add the ClusterServiceVersion to manifests/."
        yield Finding(rules.LOADING, message, folder.place, hint=hint, cause=Missing.CSV)


def _file_findings(file: FolderFile, csvs: int) -> Iterator[Finding]:
    if not file.kind or file.source is None:
        cause = file.problem or "Object 'Kind' is missing"
        yield Finding(rules.LOADING, f"unable to decode object: {cause}", file.place, hint=file.hint, cause=file.cause)
    elif file.kind == CSV_KIND:
        whole = Place(file.source)
        if csvs > 1:
            several = "error loading objs in directory: invalid bundle: contains multiple CSVs"
            yield Finding(rules.LOADING, several, whole)
            yield Finding(rules.LOADING, "no bundle csv found", whole)
        error = decode_error(CSV_KIND, file.value)
        if error is not None and not is_forgiven(error):
            message = f"unable to parse CSV {file.name}: {error}"
            place, failure = Place(file.source, error.path), decode_failure(error)
            yield Finding(rules.LOADING, message, place, hint=decode_hint(error), cause=failure)
    elif file.kind == CRD_KIND:
        version = file.value.get("apiVersion") or ""
        if version not in (CRD_V1, CRD_V1BETA1):
            message = f"unsupported CRD version {version} for {file.name}"
            yield Finding(rules.LOADING, message, Place(file.source, ("apiVersion",)))
            return
        error = crd_error(file.value)
        if error is not None:
            message = f"unable to parse CRD {file.name}: {error}"
            place, failure = Place(file.source, error.path), decode_failure(error)
            yield Finding(rules.LOADING, message, place, hint="Correct the value.", cause=failure)


def is_forgiven(error: DecodeError) -> bool:
    """Whether the loader of the tools decodes such a CSV all the same: it turns numbers and booleans into texts."""
    return error.expected == "string" and error.got in ("number", "bool")


def crd_error(crd: KubernetesObject) -> DecodeError | None:
    """Why an object can't be decoded as a CRD, as far as the fields go that are validated."""
    return decode_error("validated.CustomResourceDefinition", crd)


def content_findings(folder: BundleFolder) -> Iterator[Finding]:
    """What is wrong with the files of manifests/, one by one and together."""
    kind = media_type(folder)
    # R-CAT-206: a chart is left to Helm.
    if kind == HELM:
        return
    for path in folder.subfolders:
        yield Finding(rules.CONTENT, f"Unable to read file {path} in supported types", Location(path))
    files = folder.manifests or ()
    for file in files:
        yield from _file_content_findings(file, kind)
    csv = next((file for file in files if file.kind == CSV_KIND), None)
    if csv is not None and csv.source is not None:
        view = Csv(csv.value, csv.source)
        yield from _api_findings(view, files)
        yield from _release_findings(view)


def _file_content_findings(file: FolderFile, kind: str) -> Iterator[Finding]:
    if not file.kind or file.source is None:
        cause = file.problem or "Object 'Kind' is missing"
        yield Finding(rules.CONTENT, cause, file.place, hint=file.hint, cause=file.cause)
    elif kind == REGISTRY and file.kind not in SUPPORTED:
        message = f"{file.kind} is not supported type for registryV1 bundle: {file.path}"
        yield Finding(rules.CONTENT, message, Place(file.source, ("kind",)))
    elif file.kind == CRD_KIND:
        yield from _crd_version_findings(text(file.value.get("apiVersion")), file.source)
    elif file.kind == CSV_KIND:
        error = decode_error(CSV_KIND, file.value)
        if error is not None:
            place, failure = Place(file.source, error.path), decode_failure(error)
            yield Finding(rules.CONTENT, error.message, place, hint=decode_hint(error), cause=failure)
    else:
        # The tools judge metadata as that of a kind without namespaces, and take any name (R-CAT-207).
        errors = metadata_errors(file.value)
        if errors:
            name = text(metadata_of(file.value).get("name"))
            message = f"error validating object metadata: {aggregated(map(str, errors))}. {file.kind} {name}".rstrip()
            yield Finding(rules.OBJECT_METADATA, message, Place(file.source, errors[0].keys))


def _crd_version_findings(version: str, source: Source) -> Iterator[Finding]:
    place = Place(source, ("apiVersion",))
    if version == CRD_V1BETA1:
        yield Finding(rules.CONTENT_ADVICE, f"CRDs of {version} are gone since Kubernetes 1.22", place)
    elif version != CRD_V1:
        yield Finding(rules.CONTENT, f"Unsupported api version of CRD: {version}", place)


class _DefinitionKey(NamedTuple):
    """A version of a CRD by the CRD's name, which is how operator-registry tells them apart."""

    name: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.name}/{self.version}"


def _api_findings(csv: Csv, files: Sequence[FolderFile]) -> Iterator[Finding]:
    """Whether the CSV owns what the bundle has, and the other way round."""
    provided = {api: Place(file.source) for file in files if file.source is not None for api in _crd_versions(file)}
    bundle = quoted(csv.name)
    for index, item in enumerate(csv.owned_crds):
        api = _DefinitionKey(item.name, item.version, item.kind)
        # What remains of `provided` afterwards nobody owns: to this check that is advice, to the bundle validator an
        # error.
        if provided.pop(api, None) is None:
            place = csv.place("spec", "customresourcedefinitions", "owned", index)
            yield Finding(rules.CONTENT_APIS, f"owned CRD {api} not found in bundle {bundle}", place)
    for api, place in provided.items():
        message = f"CRD {api} is present in bundle {bundle} but not defined in CSV"
        yield Finding(rules.CONTENT_ADVICE, message, place)


def _crd_versions(file: FolderFile) -> Iterator[_DefinitionKey]:
    if file.kind != CRD_KIND:
        return
    crd = Crd(file.value)
    versions = [version.name for version in crd.versions]
    if file.value.get("apiVersion") == CRD_V1BETA1 and crd.only_version:
        versions = [crd.only_version]
    name = text(metadata_of(file.value).get("name"))
    for version in versions:
        yield _DefinitionKey(name, version, crd.kind)


def _release_findings(csv: Csv) -> Iterator[Finding]:
    release, substituted = csv.spec.get("release"), csv.annotations.get(SUBSTITUTES_FOR)
    if release and substituted:
        message = (
            f'bundle {quoted(csv.name)} cannot have both a release version ("{release}") and olm.substitutesFor '
            f"annotation ({quoted(substituted)})"
        )
        yield Finding(rules.CONTENT_APIS, message, csv.place("spec", "release"))
