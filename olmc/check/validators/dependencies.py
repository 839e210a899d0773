"""The dependencies of a bundle, metadata/dependencies.yaml (R-CAT-205).

Of `olm.constraint` the tools understand cel alone: any other constraint, however good, is told to lack it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.check.validators.findings import Finding
from olmc.check.validators.folders import BundleFolder, FolderFile, annotations_file
from olmc.check.validators.settings import Settings
from olmc.gojson import decode, decode_error
from olmc.load.catalogs.properties import GVK, LABEL, PACKAGE
from olmc.model.coerce import mapping, text
from olmc.model.location import Place
from olmc.rules import validation as rules
from olmc.semver import range_problem

CONSTRAINT = "olm.constraint"

_GO_TYPES = {
    GVK: "registry.GVKDependency",
    PACKAGE: "registry.PackageDependency",
    LABEL: "registry.LabelDependency",
    CONSTRAINT: "registry.CelConstraint",
}


def dependency_findings(folder: BundleFolder, settings: Settings) -> Iterator[Finding]:
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


def _problems(item: Mapping[str, Any], settings: Settings) -> Iterator[str]:
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


def _cel_problems(cel: Any, settings: Settings) -> Iterator[str]:
    if cel is None:
        yield "The CEL field is missing"
        return
    if not cel["rule"]:
        yield "The CEL expression is missing"
        return
    problem = settings.cel_problem(cel["rule"])
    if problem:
        yield f"Invalid CEL expression: {problem}"
