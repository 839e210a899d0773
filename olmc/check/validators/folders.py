"""Folders of bundles as the validators see them: their files, layout and annotations (R-CAT-202 … R-CAT-206).

Every file counts, also those that a bundle is not made of.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olmc.check.validators.findings import Finding
from olmc.diagnostics.rules import validation as rules
from olmc.lean import NamedTuple
from olmc.load.bundles import (
    ANNOTATIONS_FILE,
    CHANNELS,
    DEFAULT_CHANNEL,
    NO_TEXT,
    PACKAGE,
    PREFIX,
    annotation_texts,
    is_bundle,
    says_csv,
    unfit_annotations,
)
from olmc.load.files import Folder, read_text
from olmc.model.diagnostics import Cause, Location, Missing, Place, Report, Severity, Source
from olmc.model.operators import CSV_KIND
from olmc.model.workspace import Bundle
from olmc.strconv import quoted
from olmc.yaml import Document, read

MAX_SIZE = 1 << 20
"""The most bytes that a bundle may have when it is compressed."""

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
        """Where reading the file failed, or where its object says what it is."""
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
    """Whether a folder with only one of manifests/ and metadata/ looks like half a bundle."""
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
    """Measure a bundle. Files far below the limit are not compressed: whatever comes out, there is nothing to say."""
    paths = [root / path for path in folder.walk()]
    sizes = [path.stat().st_size for path in paths]
    most = sum(_most_compressed(size) for size in sizes)
    if most * 2 < MAX_SIZE:
        return Sizes(sum(sizes), most)
    return Sizes(sum(sizes), sum(_compressed(path.read_bytes()) for path in paths))


def _most_compressed(size: int) -> int:
    """More than `_compressed` can come to: gzip adds some bytes a block and base 64 a third."""
    return (size + size // 1000 + 64) * 4 // 3 + 4


def _compressed(data: bytes) -> int:
    """The length of the gzipped data in base 64; Go's gzip may come out a little different."""
    return -(-len(gzip.compress(data, 9, mtime=0)) // 3) * 4


def missing_folders(folder: BundleFolder) -> Iterator[Finding]:
    """What is reported about a folder without manifests/ or metadata/; nothing else is checked of such a folder."""
    if folder.manifests is None:
        yield Finding(rules.FOLDERS, "Unable to locate manifests directory", folder.place)
    if folder.metadata is None:
        yield Finding(rules.FOLDERS, "Unable to locate metadata directory", folder.place)


def media_type(folder: BundleFolder) -> str:
    """What kind of bundle the files of manifests/ make: `registry+v1`, `helm` or `plain`; "" without files."""
    files = folder.manifests or ()
    # The tools infer the type from the files, and hold the annotation against it (R-CAT-204).
    if any(file.name == "Chart.yaml" and isinstance(file.value, dict) and file.value.get("name") for file in files):
        return HELM
    if any(file.kind == CSV_KIND for file in files):
        return REGISTRY
    return PLAIN if files else ""


def annotation_findings(folder: BundleFolder) -> Iterator[Finding]:
    """What is wrong with the annotations of a bundle (R-CAT-204).

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
        for text in _problems(key, annotations, kind):
            yield Finding(rules.ANNOTATIONS, text, _place(file, key if key in annotations else None))


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
    """Where annotations were meant to be, and the way out: at a value that is no text, a file of another shape, else
    metadata/."""
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
    # What such a bundle lacks is its CSV, and that is reported already.
    no_csv = kind == PLAIN and value == REGISTRY
    if key == _MEDIA_TYPE and value != kind and not no_csv:
        yield f"Expecting annotation {quoted(key)} to have value {quoted(kind)} instead of {quoted(value)}"
    # A missing default channel is fine, an empty one is not.
    if key in _NEVER_EMPTY and not value and (key in annotations or key in _REQUIRED):
        yield f"Expecting annotation {quoted(key)} to have non-empty value"
