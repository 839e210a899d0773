"""Folders of bundles as the validators see them: their files, layout and annotations (R-CAT-202 … R-CAT-206).

Every file counts, also those that a bundle is not made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olmc.compiler.catalogs.csv_graphs import SUBSTITUTES_FOR
from olmc.compiler.load.bundles import (
    ANNOTATIONS_FILE,
    CHANNELS,
    DEFAULT_CHANNEL,
    NO_TEXT,
    PACKAGE,
    PREFIX,
    annotation_texts,
    is_almost_csv,
    says_csv,
    unfit_annotations,
)
from olmc.compiler.load.files import BUNDLE_FOLDERS, Folder, is_bundle, is_source_tree, read_text
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.workspace import Bundle
from olmc.compiler.olm.facts import MAX_BUNDLE_SIZE, compressed_size, most_compressed
from olmc.compiler.rules.findings import validation as rules
from olmc.k8s.api.restmapper import Crd
from olmc.k8s.api.validation.field import aggregated
from olmc.k8s.api.validation.metadata import metadata_errors
from olmc.k8s.diagnostics import Cause, Location, Missing, Place, Report, Severity, Source, did_you_mean
from olmc.k8s.gojson import DecodeError, decode_error, decode_failure, decode_hint
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import CRD_KIND, CRD_V1, CRD_V1BETA1, KubernetesObject, metadata_of, text
from olmc.k8s.strconv import quoted
from olmc.k8s.yaml import Document, read
from olmc.review.check.validators.findings import Finding

_CATALOGS = "catalogs"
REGISTRY, HELM, PLAIN = "registry+v1", "helm", "plain"
_MEDIA_TYPE = PREFIX + "mediatype.v1"
_REQUIRED = (_MEDIA_TYPE, PREFIX + "manifests.v1", PREFIX + "metadata.v1", PACKAGE, CHANNELS)
_NEVER_EMPTY = (CHANNELS, DEFAULT_CHANNEL)


class FolderFile(NamedTuple):
    """A file and the first document in it: its value and source, or why it can't be read, where, and a way out.

    `says_csv`: the text of a file that can't be read says that it is the CSV.
    """

    path: str
    value: Any = None
    source: Source | None = None
    problem: str = ""
    location: Location | None = None
    hint: str = ""
    says_csv: bool = False
    cause: Cause | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def kind(self) -> str:
        """The kind of the object in the file, "" for none."""
        kind = self.value.get("kind") if isinstance(self.value, dict) else None
        return kind if isinstance(kind, str) else ""

    @property
    def place(self) -> Location | Place:
        """Return where reading the file failed, or where its object says what it is."""
        if self.source is not None:
            return Place(self.source, ("kind",))
        return self.location or Location(self.path)


class Sizes(NamedTuple):
    """The bytes of all files of a bundle, and what is left of them when each is compressed as OLM does."""

    whole: int
    compressed: int


class BundleFolder(NamedTuple):
    """The folder of a bundle: the files of `manifests/` and `metadata/` in byte order, None for a missing folder.

    `subfolders` are the paths of folders in `manifests/`; `sizes` measures when it is asked, which takes its time.
    """

    directory: str
    manifests: tuple[FolderFile, ...] | None
    metadata: tuple[FolderFile, ...] | None
    subfolders: tuple[str, ...] = ()
    sizes: Callable[[], Sizes] = lambda: Sizes(0, 0)

    @property
    def place(self) -> Location:
        return Location(self.directory or ".")


def bundle_folders(folder: Folder) -> Iterator[Folder]:
    """The bundles below a folder, and the folders that were meant to be one: a CSV or the annotations of a bundle are
    there, but not both manifests/ and metadata/."""
    if folder.folder("manifests") is not None or folder.folder("metadata") is not None:
        yield folder
        if is_bundle(folder):
            return
    for below in folder.folders:
        # In a catalog a folder of one of these names is no half of a bundle.
        if folder.path.rpartition("/")[2] != _CATALOGS or is_bundle(below):
            yield from bundle_folders(below)


def is_meant_as_bundle(folder: BundleFolder) -> bool:
    """Return whether a folder with only one of manifests/ and metadata/ looks like half a bundle."""
    if folder.manifests is not None and folder.metadata is not None:
        return True
    annotations = [mapping for mapping in map(_annotations, folder.metadata or ()) if mapping]
    has_csv = any(file.kind == CSV_KIND for file in folder.manifests or ())
    return has_csv or any(key in mapping for mapping in annotations for key in (PACKAGE, CHANNELS))


def _annotations(file: FolderFile) -> Mapping[str, Any]:
    value = file.value.get("annotations") if isinstance(file.value, dict) else None
    return value if isinstance(value, dict) and any(str(key).startswith(PREFIX) for key in value) else {}


def read_folder(root: Path, folder: Folder, bundle: Bundle | None) -> BundleFolder:
    """Read the files of a bundle's folder, except those that are in `bundle` already."""
    known = {} if bundle is None else {file.manifest.source.path: file.manifest for file in bundle.files}
    files = {path: FolderFile(path, manifest.object, manifest.source) for path, manifest in known.items()}

    def files_of(part: str) -> tuple[FolderFile, ...] | None:
        inside = folder.folder(part)
        if inside is None:
            return None
        return tuple(files.get(path) or _read_file(root, path) for path in map(inside.join, inside.files))

    manifests = folder.folder("manifests")
    subfolders = tuple(below.path for below in manifests.folders) if manifests is not None else ()
    return BundleFolder(
        folder.path, files_of("manifests"), files_of("metadata"), subfolders, lambda: _sizes(root, folder)
    )


def _read_file(root: Path, path: str) -> FolderFile:
    report = Report()
    text = read_text(root, path, report)
    documents = read(path, text, report) if text is not None else []
    problem = next((diagnostic for diagnostic in report if diagnostic.severity is Severity.ERROR), None)
    if problem is not None:
        line = f" (line {problem.location.line})" if problem.location is not None and problem.location.line else ""
        message = f"{problem.message}{line}"
        says = text is not None and says_csv(text)
        return FolderFile(
            path, problem=message, location=problem.location, hint=problem.hint, says_csv=says, cause=problem.cause
        )
    first = next((document for document in documents if document.value is not None), None)
    if first is None:
        return FolderFile(path, problem="EOF")
    return FolderFile(path, first.value, first.source)


def _sizes(root: Path, folder: Folder) -> Sizes:
    """Measure a bundle, of source code with a bundle at its top only the folders of the bundle.

    Files far below the limit are not compressed: they are small enough in any case.
    """
    parts = [folder]
    if is_source_tree(folder):
        parts = [below for name in BUNDLE_FOLDERS if (below := folder.folder(name)) is not None]
    paths = [root / path for part in parts for path in part.walk()]
    sizes = [path.stat().st_size for path in paths]
    most = sum(most_compressed(size) for size in sizes)
    if most * 2 < MAX_BUNDLE_SIZE:
        return Sizes(sum(sizes), most)
    return Sizes(sum(sizes), sum(compressed_size(path.read_bytes()) for path in paths))


def missing_folders(folder: BundleFolder) -> Iterator[Finding]:
    """Yield the finding about a folder without manifests/ or metadata/; such a folder has no other checks."""
    if folder.manifests is None:
        yield Finding(rules.FOLDERS, "Unable to locate manifests directory", folder.place)
    if folder.metadata is None:
        yield Finding(rules.FOLDERS, "Unable to locate metadata directory", folder.place)


def media_type(folder: BundleFolder) -> str:
    """Return the kind of bundle by the files of manifests/: `registry+v1`, `helm` or `plain`; "" without files."""
    files = folder.manifests or ()
    # The tools infer the type from the files, and hold the annotation against it (R-CAT-204).
    if any(file.name == "Chart.yaml" and isinstance(file.value, dict) and file.value.get("name") for file in files):
        return HELM
    if any(file.kind == CSV_KIND for file in files):
        return REGISTRY
    return PLAIN if files else ""


def annotation_findings(folder: BundleFolder) -> Iterator[Finding]:
    """Yield the problems of the annotations of a bundle (R-CAT-204).

    The tools also mean to check the values of the manifests and metadata annotations, but their code never does.
    """
    kind = media_type(folder)
    if not kind:
        path = f"{folder.directory}/manifests".lstrip("/")
        yield Finding(rules.ANNOTATIONS, f"The directory {path}/ contains no yaml files", Location(path))
    file = annotations_file(folder)
    if file is None:
        place, hint = _best_place(folder)
        yield Finding(rules.ANNOTATIONS, "Could not find annotations file", place, hint=hint, cause=Missing.ANNOTATIONS)
        return
    annotations = annotation_texts(Document(file.value, file.source)) if file.source is not None else {}
    # The tools go through a map, in any order; here it is that of R-CAT-204 (D2).
    for key in (*_REQUIRED, DEFAULT_CHANNEL):
        for problem in _problems(key, annotations, kind):
            yield Finding(rules.ANNOTATIONS, problem, _place(file, key if key in annotations else None))


def annotations_file(folder: BundleFolder) -> FolderFile | None:
    """The first file of metadata/ with a mapping of texts under `annotations`.

    In YAML the tools take a number or a boolean for the text that it is written as.
    """
    return next((file for file in folder.metadata or () if _wrong_value(file) == ""), None)


def _wrong_value(file: FolderFile) -> str | None:
    """The key of the first annotation that is no text, "" when all are; None for a file without annotations."""
    annotations = file.value.get("annotations") if isinstance(file.value, dict) else None
    if not isinstance(annotations, dict) or file.source is None:
        return None
    texts = annotation_texts(Document(file.value, file.source))
    return next((key for key, text in texts.items() if text is None), "")


def _best_place(folder: BundleFolder) -> tuple[Place | Location, str]:
    """Return where annotations were meant to be, and the way out: at a value that is no text, a file of another shape,
    else metadata/."""
    files = folder.metadata or ()
    for file in files:
        key = _wrong_value(file)
        if key:
            return _place(file, key), NO_TEXT
    meant = next((file for file in files if file.name.startswith(ANNOTATIONS_FILE)), None)
    if meant is None:
        return Location(f"{folder.directory}/metadata".lstrip("/")), "Add metadata/annotations.yaml."
    if meant.source is None:
        return meant.place, meant.hint
    keys, hint = unfit_annotations(Document(meant.value, meant.source))
    return Place(meant.source, keys), hint


def _place(file: FolderFile, key: str | None) -> Place | Location:
    if file.source is None:
        return file.place
    return Place(file.source, ("annotations",) if key is None else ("annotations", key))


def _problems(key: str, annotations: Mapping[str, str | None], kind: str) -> Iterator[str]:
    value = annotations.get(key) or ""
    if key not in annotations and key in _REQUIRED:
        yield f"Missing annotation {quoted(key)}"
    # Such a bundle lacks its CSV, and that is reported already.
    no_csv = kind == PLAIN and value == REGISTRY
    if key == _MEDIA_TYPE and value != kind and not no_csv:
        yield f"Expecting annotation {quoted(key)} to have value {quoted(kind)} instead of {quoted(value)}"
    # A missing default channel is fine, an empty one is not.
    if key in _NEVER_EMPTY and not value and (key in annotations or key in _REQUIRED):
        yield f"Expecting annotation {quoted(key)} to have non-empty value"


# The files of manifests/: what keeps the tools from loading them (R-CAT-202), and how they are judged (R-CAT-207).
#
# The loader reads the folder that holds the CSV; here that is always manifests/. Where the tools print paths on their
# machine, these are relative to the workspace; what their YAML and JSON decoders say is reported in this program's
# words, and where they end a message with a dump of their memory of an object, its kind and name stand here. What the
# CSV and CRD validators find they report themselves. In a Helm chart nothing is checked (R-CAT-206).

SUPPORTED = frozenset(
    "ClusterServiceVersion CustomResourceDefinition Secret ConfigMap Service ServiceAccount Role RoleBinding "
    "ClusterRole ClusterRoleBinding PrometheusRule ServiceMonitor PodMonitor PodDisruptionBudget PriorityClass "
    "VerticalPodAutoscaler NetworkPolicy ConsoleYAMLSample ConsoleQuickStart ConsoleCLIDownload ConsoleLink "
    "ConsolePlugin".split()
)
"""The kinds that a bundle may hold, by the tools; the catalog operator has its own list (R-CAT-107)."""


def loading_findings(folder: BundleFolder) -> Iterator[Finding]:
    """Yield the problems of the files of a bundle as such, file by file."""
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
    """Report that there is no CSV: for a file that was meant to be one but can't be read, that is reported already."""
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
    """Return whether the loader of the tools decodes such a CSV all the same: it turns numbers and booleans into
    texts."""
    return error.expected == "string" and error.got in ("number", "bool")


def crd_error(crd: KubernetesObject) -> DecodeError | None:
    """Return why an object can't be decoded as a CRD, as far as the fields go that are validated."""
    return decode_error("validated.CustomResourceDefinition", crd)


def content_findings(folder: BundleFolder) -> Iterator[Finding]:
    """Yield the problems of the files of manifests/, one by one and together."""
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
        yield Finding(rules.CONTENT_ADVICE, f"CRDs of {version} have not been served since Kubernetes 1.22", place)
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
    """Return whether the CSV owns what the bundle has, and the other way round."""
    provided = {api: Place(file.source) for file in files if file.source is not None for api in _crd_versions(file)}
    bundle = quoted(csv.name)
    for index, item in enumerate(csv.owned_crds):
        api = _DefinitionKey(item.name, item.version, item.kind)
        # Provided APIs that remain in `provided` have no owner: this check advises, and the bundle validator fails.
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
