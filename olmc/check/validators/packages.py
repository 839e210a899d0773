"""The validator of package files, the format before bundles (R-CAT-235)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.check.validators.findings import Finding, about
from olmc.gojson import DecodeError, decode_failure, match_keys
from olmc.load.catalogs.csv_graphs import PackageManifest, package_manifest
from olmc.model.causes import Cause
from olmc.model.diagnostic import Report, Severity
from olmc.model.location import Location, Place, Source
from olmc.rules import validation as rules
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
    for path, text in files.items():
        told = Report()
        documents = read(path, text, told)
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
    for keys, detail in _problems(manifest):
        yield Finding(rules.PACKAGE_MANIFEST, about(manifest.name, detail), Place(source, keys))


def _problems(manifest: PackageManifest) -> Iterator[tuple[tuple[str | int, ...], str]]:
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
