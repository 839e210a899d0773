"""The layout of a bundle and its annotations (R-CAT-203, R-CAT-204, R-CAT-206)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olmc.golang.numbers import quoted
from olmc.load.annotations import (
    ANNOTATIONS_FILE,
    CHANNELS,
    DEFAULT_CHANNEL,
    NO_TEXT,
    PACKAGE,
    PREFIX,
    annotation_texts,
    unfit_annotations,
)
from olmc.load.validation.folders import BundleFolder, FolderFile
from olmc.load.validation.result import Finding
from olmc.model.causes import Missing
from olmc.model.location import Location, Place
from olmc.model.operators import CSV_KIND
from olmc.rules import validation as rules
from olmc.yaml import Document

REGISTRY, HELM, PLAIN = "registry+v1", "helm", "plain"

_MEDIA_TYPE = PREFIX + "mediatype.v1"
_REQUIRED = (_MEDIA_TYPE, PREFIX + "manifests.v1", PREFIX + "metadata.v1", PACKAGE, CHANNELS)
_NEVER_EMPTY = (CHANNELS, DEFAULT_CHANNEL)


def missing_folders(folder: BundleFolder) -> Iterator[Finding]:
    """What is said of a folder without manifests/ or metadata/; nothing else is checked of such a folder."""
    if folder.manifests is None:
        yield Finding(rules.FOLDERS, "Unable to locate manifests directory", folder.place)
    if folder.metadata is None:
        yield Finding(rules.FOLDERS, "Unable to locate metadata directory", folder.place)


def media_type(folder: BundleFolder) -> str:
    """What kind of bundle the files of manifests/ make: `registry+v1`, `helm` or `plain`; "" without files."""
    files = folder.manifests or ()
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
    no_csv = kind == PLAIN and value == REGISTRY  # what the bundle lacks is its CSV, which is told elsewhere
    if key == _MEDIA_TYPE and value != kind and not no_csv:
        yield f"Expecting annotation {quoted(key)} to have value {quoted(kind)} instead of {quoted(value)}"
    if key in _NEVER_EMPTY and not value and (key in annotations or key in _REQUIRED):
        yield f"Expecting annotation {quoted(key)} to have non-empty value"
