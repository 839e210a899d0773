"""The validator of package files, the format before bundles (R-CAT-235)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.catalogs.csv_graphs import PackageManifest, package_manifest
from olmc.catalogs.properties import GVK, LABEL, PACKAGE
from olmc.check.validators.findings import Finding, ValidatorSettings, about
from olmc.check.validators.folders import BundleFolder, FolderFile, annotations_file
from olmc.diagnostics.rules import validation as rules
from olmc.gojson import DecodeError, decode, decode_error, decode_failure, match_keys
from olmc.model.coerce import mapping, text
from olmc.model.diagnostics import Cause, Location, Place, Report, Severity, Source
from olmc.semver import range_problem
from olmc.strconv import quoted
from olmc.yaml import read

_MARK = re.compile(r"""\b(?:packageName|currentCSV)["']?\s*:""", re.IGNORECASE)
# A file-based catalog has its own checks.
_FILE_BASED = re.compile(r"""["']?schema["']?\s*:\s*["']?olm\.""", re.IGNORECASE)
_FIELDS = frozenset({"packageName", "channels", "defaultChannel"})


def package_findings(files: Mapping[str, str]) -> Iterator[Finding]:
    """What is wrong with the package files of one folder, nothing when it holds none.

    `files` are the texts of all files below the folder by their paths in the workspace.
    """
    texts = files.values()
    if not any(_MARK.search(text) for text in texts) or any(_FILE_BASED.search(text) for text in texts):
        return
    found: list[tuple[str, Any, Source]] = []
    unreadable: list[Finding] = []
    for path, content in files.items():
        told = Report()
        documents = read(path, content, told)
        problem = next((each for each in told if each.severity is Severity.ERROR), None)
        if problem is not None:
            where = problem.location or Location(path)
            unreadable.append(_not_decoded(path, problem.message, where, problem.cause))
        elif documents and _is_package(documents[0].value):
            found.append((path, documents[0].value, documents[0].source))
    if found:
        yield from unreadable
        yield from _findings(found)


def _is_package(value: Any) -> bool:
    """Whether a document has any field of a package file."""
    if not isinstance(value, dict) or value.get("kind"):
        return False
    fields = match_keys(value, _FIELDS)
    return any(fields.get(field) for field in _FIELDS)


def _not_decoded(path: str, problem: str, where: Place | Location, cause: Cause | None) -> Finding:
    told = f"could not decode contents of file {path} into package: {problem}"
    return Finding(rules.PACKAGE_MANIFEST, told, where, cause=cause)


def _findings(found: list[tuple[str, Any, Source]]) -> Iterator[Finding]:
    first = ""
    for path, value, source in found:
        try:
            manifest = package_manifest(value, Place(source))
        except DecodeError as error:
            yield _not_decoded(path, str(error), Place(source, error.path), decode_failure(error))
            continue
        if first:
            yield Finding(rules.PACKAGE_MANIFEST, "multiple package manifest files found in directory", Place(source))
        else:
            first = path
            yield from manifest_findings(manifest, source)


def manifest_findings(manifest: PackageManifest, source: Source) -> Iterator[Finding]:
    """What is wrong with a package file that can be read."""
    for keys, detail in _package_file_problems(manifest):
        yield Finding(rules.PACKAGE_MANIFEST, about(manifest.name, detail), Place(source, keys))


def _package_file_problems(manifest: PackageManifest) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if not manifest.name:
        yield ("packageName",), "packageName empty"
    if not manifest.channels:
        yield ("channels",), "channels empty"
        return
    if not manifest.default_channel and len(manifest.channels) > 1:
        yield (), "default channel is empty but more than one channel exists"
    seen: set[str] = set()
    for index, (name, csv) in enumerate(manifest.channels):
        if not name:
            yield ("channels", index), f"channel {index} name is empty"
        if not csv:
            yield ("channels", index), f"channel {quoted(name)} currentCSV is empty"
        if name in seen:
            yield ("channels", index, "name"), f"duplicate package manifest channel name {quoted(name)}"
        seen.add(name)
    if manifest.default_channel and manifest.default_channel not in seen:
        detail = f"default channel {quoted(manifest.default_channel)} not found in the list of declared channels"
        yield ("defaultChannel",), detail


CONSTRAINT = "olm.constraint"

_GO_TYPES = {
    GVK: "registry.GVKDependency",
    PACKAGE: "registry.PackageDependency",
    LABEL: "registry.LabelDependency",
    CONSTRAINT: "registry.CelConstraint",
}


def dependency_findings(folder: BundleFolder, settings: ValidatorSettings) -> Iterator[Finding]:
    """What is wrong with each dependency, at its place."""
    file = _dependencies_file(folder)
    if file is None or file.source is None:
        return
    for index, item in enumerate(file.value["dependencies"]):
        for problem in _problems(mapping(item), settings):
            yield Finding(rules.DEPENDENCIES, problem, Place(file.source, ("dependencies", index)))


def _dependencies_file(folder: BundleFolder) -> FolderFile | None:
    annotations = annotations_file(folder)
    for file in folder.metadata or ():
        found = file.value.get("dependencies") if isinstance(file.value, dict) else None
        # The tools look for dependencies in every file but the one with the annotations.
        if file is not annotations and isinstance(found, list) and found:
            return file
    return None


def _problems(item: Mapping[str, Any], settings: ValidatorSettings) -> Iterator[str]:
    kind = text(item.get("type"))
    if kind not in _GO_TYPES or "value" not in item or decode_error(_GO_TYPES[kind], item["value"]) is not None:
        yield f"couldn't parse dependency of type {kind}"
        return
    value = decode(_GO_TYPES[kind], item["value"])
    if kind == GVK:
        yield from (f"API {field.capitalize()} is empty" for field in value if not value[field])
    elif kind == PACKAGE:
        yield from _package_problems(value["packageName"], value["version"])
    elif kind == LABEL:
        yield from () if value["label"] else ("Label information is missing",)
    else:
        yield from _cel_problems(value["cel"], settings)


def _package_problems(name: str, version: str) -> Iterator[str]:
    if not name:
        yield "Package name is empty"
    if not version:
        yield "Package version is empty"
    elif range_problem(version):
        yield "Invalid semver format version"


def _cel_problems(cel: Any, settings: ValidatorSettings) -> Iterator[str]:
    if cel is None:
        yield "The CEL field is missing"
        return
    if not cel["rule"]:
        yield "The CEL expression is missing"
        return
    problem = settings.cel_problem(cel["rule"])
    if problem:
        yield f"Invalid CEL expression: {problem}"
