"""registry+v1 bundle directories (R-CAT-100 … R-CAT-106)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from olmc.load.catalogs.apis import provided_apis
from olmc.load.files import Folder, read_text
from olmc.model.diagnostic import Diagnostic, Report, Severity
from olmc.model.location import Location
from olmc.model.workspace import Bundle, BundleFile, Manifest
from olmc.profiles.kinds import CORE_KINDS
from olmc.rules import load as rules
from olmc.yaml import Document, locate, read

PREFIX = "operators.operatorframework.io.bundle."
PACKAGE = PREFIX + "package.v1"
CHANNELS = PREFIX + "channels.v1"
DEFAULT_CHANNEL = PREFIX + "channel.default.v1"

# Go's decoder takes these in any case, and some real bundles have them so.
_TOP_KEYS = {"apiversion": "apiVersion", "kind": "kind", "metadata": "metadata", "spec": "spec"}


BUNDLE_FOLDERS = ("manifests", "metadata")


def is_bundle(folder: Folder) -> bool:
    """Whether a directory is a bundle: it has manifests/ and metadata/ (R-CAT-100)."""
    return all(folder.folder(name) is not None for name in BUNDLE_FOLDERS)


def read_bundle(root: Path, folder: Folder, report: Report) -> Bundle | None:
    """The bundle in `folder`, or None with the diagnostics that say why it is none."""
    manifests, metadata = folder.folder("manifests"), folder.folder("metadata")
    if manifests is None or metadata is None:
        return None
    files = _manifest_files(root, manifests, report)
    place = Location(folder.path or ".")
    if not files:
        report.add(rules.NO_BUNDLE_OBJECTS.finding(place, path=manifests.path))
        return None
    csv = next((f.manifest for f in files if f.manifest.object["kind"] == "ClusterServiceVersion"), None)
    if csv is None:
        report.add(rules.NO_CSV.finding(place, path=manifests.path))
        return None
    roles = _metadata_roles(root, metadata, report)
    annotations = roles["annotations"]
    if not isinstance(annotations, Mapping):
        report.add(rules.NO_ANNOTATIONS.finding(Location(metadata.path), path=metadata.path))
        return None
    bundle = Bundle(
        directory=folder.path,
        package=str(annotations.get(PACKAGE) or ""),
        channels=tuple(str(annotations.get(CHANNELS) or "").split(",")),
        default_channel=str(annotations.get(DEFAULT_CHANNEL) or ""),
        csv=csv,
        files=tuple(f for f in files if f.manifest is csv or f.manifest.object["kind"] != csv.object["kind"]),
        annotations={str(key): str(value) for key, value in annotations.items()},
        dependencies=_items(roles["dependencies"]),
        properties=_items(roles["properties"]),
    )
    if not bundle.name:
        report.add(rules.NO_NAME.finding(locate(csv.source, ("metadata",)), kind="ClusterServiceVersion"))
        return None
    _check_owned_crds(bundle, report)
    _check_kinds(bundle, report)
    return bundle


def _manifest_files(root: Path, folder: Folder, report: Report) -> list[BundleFile]:
    found: list[BundleFile] = []
    for name in folder.files:
        if name.startswith("."):
            continue
        path = folder.join(name)
        text = read_text(root, path, report)
        if text is None:
            continue
        document, cause = _first_document(path, text, report)
        if document is None:
            if cause:
                report.add(rules.NOT_DECODED.finding(Location(path), path=path, cause=cause))
            continue
        obj = {**_with_usual_keys(document.value)}
        obj["metadata"] = obj.get("metadata") or {}
        found.append(BundleFile(name, Manifest(obj, document.source)))
    return found


def _first_document(path: str, text: str, report: Report) -> tuple[Document | None, str]:
    """The first object of a file (rule 2 of R-CAT-101), or why there is none."""
    private = Report()
    documents = read(path, text, private)
    problem = next((d for d in private if d.severity is Severity.ERROR), None)
    if problem is not None:
        return None, _with_place(problem)
    for diagnostic in private:
        report.add(diagnostic)
    documents = [document for document in documents if document.value is not None]
    if not documents:
        return None, ""
    first = documents[0]
    if len(documents) > 1:
        report.add(rules.SEVERAL_DOCUMENTS.finding(locate(documents[1].source, ()), path=path))
    if not isinstance(first.value, dict):
        return None, "it is not a mapping"
    usual = _with_usual_keys(first.value)
    if not isinstance(usual.get("kind"), str) or not usual["kind"]:
        return None, "Object 'Kind' is missing"
    if not isinstance(usual.get("metadata") or {}, dict):
        return None, "its metadata is not a mapping"
    return first, ""


def _with_place(problem: Diagnostic) -> str:
    return f"{problem.message} (line {problem.location.line})" if problem.location else problem.message


def _with_usual_keys(value: dict[str, Any]) -> dict[str, Any]:
    if "kind" in value and "apiVersion" in value:
        return value
    renamed = {key: _TOP_KEYS.get(key.lower(), key) for key in value}
    return {new: value[old] for old, new in renamed.items() if old == new or new not in value}


def _metadata_roles(root: Path, folder: Folder, report: Report) -> dict[str, Any]:
    """The first non-empty content of each role, over all files of metadata/ (R-CAT-102)."""
    roles: dict[str, Any] = {"annotations": None, "dependencies": None, "properties": None}
    for path in folder.walk():
        text = read_text(root, path, report)
        documents = read(path, text, Report()) if text is not None else []
        value = documents[0].value if documents else None
        if not isinstance(value, Mapping):
            continue
        annotations = value.get("annotations")
        if roles["annotations"] is None and isinstance(annotations, Mapping):
            wanted = (PACKAGE, CHANNELS, DEFAULT_CHANNEL)
            roles["annotations"] = annotations if any(annotations.get(key) for key in wanted) else None
        for role in ("dependencies", "properties"):
            if roles[role] is None and isinstance(value.get(role), list) and value[role]:
                roles[role] = value[role]
    return roles


def _items(value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(item for item in value or () if isinstance(item, Mapping))


def _check_owned_crds(bundle: Bundle, report: Report) -> None:
    """Point 8 of R-CAT-101: what the CSV owns must be in the bundle."""
    provided = {str(api) for api in provided_apis(bundle.objects)}
    spec = bundle.csv.object.get("spec")
    described = spec.get("customresourcedefinitions") if isinstance(spec, dict) else None
    owned = described.get("owned") if isinstance(described, dict) else None
    for index, item in enumerate(owned if isinstance(owned, list) else ()):
        if not isinstance(item, Mapping):
            continue
        name = str(item.get("name") or "")
        plural, dot, group = name.partition(".")
        api = f"{group}/{item.get('version')}/{item.get('kind')} ({plural})"
        if dot and api in provided:
            continue
        place = locate(bundle.csv.source, ("spec", "customresourcedefinitions", "owned", index))
        if not dot:
            report.add(rules.NO_DOT.finding(place, bundle=bundle.name, name=name))
        else:
            found = "map[" + " ".join(f"{key}:{{}}" for key in sorted(provided)) + "]"
            report.add(rules.MISSING_CRD.finding(place, bundle=bundle.name, api=api, found=found))


def _check_kinds(bundle: Bundle, report: Report) -> None:
    """OLM decides by kind alone, so an object of another API with a core kind's name becomes that core object."""
    for file in bundle.files:
        obj = file.manifest.object
        api_version = str(obj.get("apiVersion") or "")
        if obj["kind"] in CORE_KINDS and api_version != CORE_KINDS[obj["kind"]]:
            place = locate(file.manifest.source, ("kind",))
            report.add(rules.CONFLICTING_KINDS.finding(place, api=api_version or "apiVersion-less", kind=obj["kind"]))
