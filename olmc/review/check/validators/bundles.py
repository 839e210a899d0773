"""The bundle validator: the CSV, the rest of the bundle and its dependencies together (R-CAT-230 … R-CAT-234)."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from olmc.compiler.catalogs.csv_graphs import PackageManifest, package_manifest
from olmc.compiler.catalogs.properties import GVK_PROPERTY, LABEL, PACKAGE, pull_spec_problem, release_of, uncatalogued
from olmc.compiler.load.bundles import CATALOGS_FOLDER, compiled_part
from olmc.compiler.load.files import Folder, is_bundle, read_text, scan
from olmc.compiler.load.vendored import without_vendored
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.workspace import Bundle, BundleFile, Workspace
from olmc.compiler.olm.facts import MAX_BUNDLE_SIZE
from olmc.compiler.rules.findings import validation as rules
from olmc.k8s.api.restmapper import Crd
from olmc.k8s.diagnostics import Cause, Location, Place, Report, Severity, Source
from olmc.k8s.gojson import DecodeError, decode, decode_error, decode_failure, match_keys
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import CRD_KIND, CRD_V1, CRD_V1BETA1, GVK, Manifest, mapping, mappings, metadata_of, text
from olmc.k8s.semver import range_problem, tolerant_or_none
from olmc.k8s.strconv import quoted
from olmc.k8s.yaml import read
from olmc.review.check.validators.community import (
    capability_findings,
    category_findings,
    community_findings,
    operatorhub_findings,
    operatorhub_v2_findings,
    removed_api_findings,
)
from olmc.review.check.validators.findings import (
    Finding,
    ValidatorSettings,
    about,
    bundle_object_findings,
    containers,
    csv_of,
    good_practice_findings,
    multiarch_findings,
    report_findings,
    result_text,
)
from olmc.review.check.validators.folders import (
    BundleFolder,
    FolderFile,
    annotation_findings,
    annotations_file,
    bundle_folders,
    content_findings,
    crd_error,
    is_forgiven,
    is_meant_as_bundle,
    loading_findings,
    missing_folders,
    read_folder,
)
from olmc.review.check.validators.objects import crd_findings, csv_findings, operator_group_findings

_WARN_SHARE = 0.85
_UNIT = 1000


def bundle_findings(bundle: Bundle) -> Iterator[Finding]:
    """Yield the problems of a bundle as a whole, except for its size."""
    csv = csv_of(bundle.csv)
    yield from _crd_findings(bundle, csv)
    yield from _service_account_findings(bundle, csv)
    yield from _release_findings(bundle, csv)
    yield from _image_findings(csv)


def _crd_findings(bundle: Bundle, csv: Csv) -> Iterator[Finding]:
    provided: dict[GVK, Place] = {}
    for file in bundle.files:
        for api, place in _crd_apis(file):
            if api in provided:
                message = f"duplicate CRD {quoted(str(api))} in bundle {quoted(csv.name)}"
                yield Finding(rules.BUNDLE_CRDS, result_text(message, value=str(api)), place)
            provided[api] = place
    owned_kinds = set()
    for index, item in enumerate(csv.owned_crds):
        api = GVK(item.api.group or item.name, item.version, item.kind)
        if provided.pop(api, None) is not None:
            owned_kinds.add((api.group, api.kind))
        else:
            message = f"owned CRD {quoted(str(api))} not found in bundle {quoted(csv.name)}"
            place = csv.place("spec", "customresourcedefinitions", "owned", index)
            yield Finding(rules.BUNDLE_CRDS, result_text(message, value=str(api)), place)
    for api, place in provided.items():
        # A version that the CSV doesn't list is fine, as long as it owns another of the same kind.
        if (api.group, api.kind) not in owned_kinds:
            message = f"CRD {quoted(str(api))} is present in bundle {quoted(csv.name)} but not defined in CSV"
            yield Finding(rules.BUNDLE_CRDS, result_text(message, value=str(api)), place)


def _crd_apis(file: BundleFile) -> Iterator[tuple[GVK, Place]]:
    """The APIs of the CRD in a file, one a version, each with its place."""
    obj, source = file.manifest.object, file.manifest.source
    version = obj.get("apiVersion")
    if obj.get("kind") != CRD_KIND or version not in (CRD_V1, CRD_V1BETA1):
        return
    crd = Crd(obj)
    for index, item in enumerate(crd.versions):
        yield GVK(crd.group, item.name, crd.kind), Place(source, ("spec", "versions", index))
    if not crd.versions and version == CRD_V1BETA1:
        yield GVK(crd.group, crd.only_version, crd.kind), Place(source, ("spec", "version"))


def _service_account_findings(bundle: Bundle, csv: Csv) -> Iterator[Finding]:
    used = {text(container.pod.get("serviceAccountName")) for container in containers(csv)}
    for file in bundle.files:
        obj = file.manifest.object
        name = text(metadata_of(obj).get("name"))
        if (obj.get("apiVersion"), obj.get("kind")) == ("v1", "ServiceAccount") and name in used:
            message = (
                f"invalid service account found in bundle. This service account {name} in your bundle is not valid, "
                "because a service account with the same name was already specified in your CSV. If this was "
                "unintentional, please remove the service account manifest from your bundle. If it was intentional to "
                "specify a separate service account, please rename the SA in either the bundle manifest or the CSV."
            )
            place = Place(file.manifest.source, ("metadata", "name"))
            yield Finding(rules.SERVICE_ACCOUNT, result_text(message, value=name), place)


def _release_findings(bundle: Bundle, csv: Csv) -> Iterator[Finding]:
    try:
        release = release_of(uncatalogued(bundle))
    except ValueError:
        # Decoding the bundle has reported that it is none.
        return
    version = tolerant_or_none(text(csv.spec.get("version")))
    expected = f"{bundle.package}-v{version or '0.0.0'}-{release}"
    if release and csv.name != expected:
        detail = (
            f"bundle name with release versioning {quoted(csv.name)} does not match expected name {quoted(expected)}"
        )
        place = csv.place("metadata", "name")
        yield Finding(rules.RELEASE_NAME, result_text(detail, value=csv.name), place)


def _image_findings(csv: Csv) -> Iterator[Finding]:
    for index, item in enumerate(mappings(csv.spec.get("relatedImages"))):
        image = text(item.get("image"))
        problem = pull_spec_problem(image) if image else ""
        if image and not problem:
            continue
        message = f"relatedImages[{index}] has an empty image field"
        if problem:
            message = f"relatedImages[{index}] has an invalid image pullspec {quoted(image)}: {problem}"
        place = csv.place("spec", "relatedImages", index, "image")
        value = f"spec.relatedImages[{index}].image"
        yield Finding(rules.RELATED_IMAGES, result_text(message, value=value), place)


def size_findings(folder: BundleFolder, name: str) -> Iterator[Finding]:
    """Yield the findings about the size of a bundle whose CSV has this name (R-CAT-232)."""
    sizes = folder.sizes()
    problem = "" if sizes.compressed else "unable to check the bundle compressed size"
    problem = problem or ("" if sizes.whole else "unable to check the bundle size")
    if problem:
        yield Finding(rules.NEARLY_TOO_LARGE, result_text(problem, value=name), folder.place)
        return
    figures = (
        f"size=~{readable(sizes.compressed)} , max={readable(MAX_BUNDLE_SIZE)}. "
        f"Bundle uncompressed size is {readable(sizes.whole)}"
    )
    if sizes.compressed > MAX_BUNDLE_SIZE:
        message = f"maximum bundle compressed size with gzip size exceeded: {figures}"
        yield Finding(rules.TOO_LARGE, result_text(message, value=name), folder.place)
    elif sizes.compressed > MAX_BUNDLE_SIZE * _WARN_SHARE:
        message = f"nearing maximum bundle compressed size with gzip: {figures}"
        yield Finding(rules.NEARLY_TOO_LARGE, result_text(message, value=name), folder.place)


def readable(size: int) -> str:
    """A number of bytes in decimal units with one digit behind the point, such as `1.0 MB`."""
    if size < _UNIT:
        return f"{size} B"
    value, exponent = float(size), -1
    while value >= _UNIT:
        value /= _UNIT
        exponent += 1
    return f"{value:.1f} {'kMGTPE'[exponent]}B"


_MARK = regex(r"""\b(?:packageName|currentCSV)["']?\s*:""", re.IGNORECASE)
# A file-based catalog has its own checks.
_FILE_BASED = regex(r"""["']?schema["']?\s*:\s*["']?olm\.""", re.IGNORECASE)
_FIELDS = frozenset({"packageName", "channels", "defaultChannel"})


def package_findings(files: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the problems of the package files of one folder, nothing when it holds none.

    `files` are the texts of all files below the folder by their paths in the workspace.
    """
    texts = files.values()
    # Package files have no kind to know them by, so the folder is read only if some text looks like one.
    if not any(_MARK.search(text) for text in texts) or any(_FILE_BASED.search(text) for text in texts):
        return
    packages: list[tuple[str, Any, Source]] = []
    unreadable: list[Finding] = []
    for path, content in files.items():
        report = Report()
        documents = read(path, content, report)
        problem = next((diagnostic for diagnostic in report if diagnostic.severity is Severity.ERROR), None)
        if problem is not None:
            where = problem.location or Location(path)
            unreadable.append(_not_decoded(path, problem.message, where, problem.cause))
        elif documents and _is_package(documents[0].value):
            packages.append((path, documents[0].value, documents[0].source))
    # A file that can't be read may have been anything, unless the folder has a package file.
    if packages:
        yield from unreadable
        yield from _package_findings(packages)


def _is_package(value: Any) -> bool:
    """Return whether a document has any field of a package file."""
    if not isinstance(value, dict) or value.get("kind"):
        return False
    fields = match_keys(value, _FIELDS)
    return any(fields.get(field) for field in _FIELDS)


def _not_decoded(path: str, problem: str, where: Place | Location, cause: Cause | None) -> Finding:
    message = f"could not decode contents of file {path} into package: {problem}"
    return Finding(rules.PACKAGE_MANIFEST, message, where, cause=cause)


def _package_findings(packages: list[tuple[str, Any, Source]]) -> Iterator[Finding]:
    first = ""
    for path, value, source in packages:
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
    """Yield the problems of a package file that can be read."""
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
    GVK_PROPERTY: "registry.GVKDependency",
    PACKAGE: "registry.PackageDependency",
    LABEL: "registry.LabelDependency",
    CONSTRAINT: "registry.CelConstraint",
}


def dependency_findings(folder: BundleFolder, settings: ValidatorSettings) -> Iterator[Finding]:
    """Yield the problems of each dependency, at its place."""
    file = _dependencies_file(folder)
    if file is None or file.source is None:
        return
    for index, item in enumerate(file.value["dependencies"]):
        for problem in _problems(mapping(item), settings):
            yield Finding(rules.DEPENDENCIES, problem, Place(file.source, ("dependencies", index)))


def _dependencies_file(folder: BundleFolder) -> FolderFile | None:
    annotations = annotations_file(folder)
    for file in folder.metadata or ():
        dependencies = file.value.get("dependencies") if isinstance(file.value, dict) else None
        # The tools look for dependencies in every file but the one with the annotations.
        if file is not annotations and isinstance(dependencies, list) and dependencies:
            return file
    return None


def _problems(item: Mapping[str, Any], settings: ValidatorSettings) -> Iterator[str]:
    kind = text(item.get("type"))
    if kind not in _GO_TYPES or "value" not in item or decode_error(_GO_TYPES[kind], item["value"]) is not None:
        yield f"couldn't parse dependency of type {kind}"
        return
    value = decode(_GO_TYPES[kind], item["value"])
    if kind == GVK_PROPERTY:
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
    # Other constraints than CEL's are right, but the tools know no others (R-CAT-205).
    if cel is None:
        yield "The CEL field is missing"
        return
    if not cel["rule"]:
        yield "The CEL expression is missing"
        return
    problem = settings.cel_problem(cel["rule"])
    if problem:
        yield f"Invalid CEL expression: {problem}"


# All validators, in order (R-CAT-201), over everything in a directory: bundles, package files, OperatorGroups.

Validator = Callable[[Bundle, ValidatorSettings], Iterator[Finding]]

OPTIONAL_VALIDATORS: Mapping[str, Validator] = MappingProxyType(
    {
        "operatorhub": operatorhub_findings,
        "operatorhubv2": operatorhub_v2_findings,
        "standardcapabilities": capability_findings,
        "standardcategories": category_findings,
        "community": community_findings,
        "alpha-deprecated-apis": removed_api_findings,
        "good-practices": good_practice_findings,
        "multiarch": multiarch_findings,
        "bundle-objects": bundle_object_findings,
    }
)
"""The optional validators by name; each looks at a bundle that can be loaded."""


class ValidatedBundle(NamedTuple):
    """The input of validation: the folder of a bundle, and the bundle in it (None without a CSV)."""

    folder: BundleFolder
    bundle: Bundle | None


def subject_of(folder: BundleFolder, bundle: Bundle | None) -> ValidatedBundle:
    """The folder with its bundle; one that could not be loaded, for want of annotations, is put together here."""
    return ValidatedBundle(folder, bundle or _assemble(folder))


def _assemble(folder: BundleFolder) -> Bundle | None:
    files = [
        BundleFile(file.name, Manifest(file.value, file.source))
        for file in folder.manifests or ()
        if file.kind and file.source is not None and not file.name.startswith(".")
    ]
    csvs = [file for file in files if file.manifest.object["kind"] == CSV_KIND]
    if not csvs:
        return None
    # Of several CSVs the first counts; the others are reported by the loader.
    others = [file for file in files if file is csvs[0] or file not in csvs]
    return Bundle(folder.directory, "", (), "", csvs[0].manifest, tuple(others), {})


def subject_findings(subject: ValidatedBundle, settings: ValidatorSettings) -> Iterator[Finding]:
    """Yield the findings of all default validators, and of the selected optional ones, in a bundle.

    As with the tools, a folder that is no bundle is not read (R-CAT-203), and content that can't be decoded is not
    validated.
    """
    folder, bundle = subject
    if folder.manifests is None or folder.metadata is None:
        yield from missing_folders(folder)
        return
    yield from annotation_findings(folder)
    yield from dependency_findings(folder, settings)
    yield from loading_findings(folder)
    yield from content_findings(folder)
    if bundle is None:
        return
    for file in bundle.files:
        if file.manifest.object.get("kind") == CRD_KIND and crd_error(file.manifest.object) is None:
            yield from crd_findings(file.manifest)
    # Loading has reported what can't be decoded.
    error = decode_error(CSV_KIND, bundle.csv.object)
    if error is not None and not is_forgiven(error):
        return
    yield from csv_findings(bundle.csv, modes_optional=settings.modes_optional)
    yield from bundle_findings(bundle)
    yield from size_findings(folder, bundle.name)
    for name, validator in OPTIONAL_VALIDATORS.items():
        # In the order of the table, not in the order of the request.
        if name in settings.optional:
            yield from validator(bundle, settings)


class Validated(NamedTuple):
    """The number of validated bundles."""

    bundles: int


def validate(
    root: Path, workspace: Workspace, settings: ValidatorSettings, report: Report, *, ignored: tuple[str, ...] = (),
    apart: Container[str] = (), folder: Folder | None = None,
) -> Validated:  # fmt: skip
    """Run the validators over what lies below `root` and was loaded as `workspace`; findings go to `report`.

    `folder` is its tree, if it was scanned; else `ignored` are patterns as in `.olmcignore`, those that the workspace
    was loaded with. The validators do not read the folders of bundles `apart`.
    """
    folder = folder if folder is not None else scan(root, Report(), ignored=ignored)
    folder = compiled_part(without_vendored(root, folder))
    bundles = 0
    loaded = {bundle.directory: bundle for bundle in workspace.bundles.values()}
    for of_bundle in bundle_folders(folder):
        if of_bundle.path in apart:
            continue
        bundle = loaded.get(of_bundle.path)
        subject = subject_of(read_folder(root, of_bundle, bundle), bundle)
        if is_meant_as_bundle(subject.folder):
            report_findings(subject_findings(subject, settings), report)
            bundles += 1
    for texts in _catalog_texts(root, folder):
        report_findings(package_findings(texts), report)
    report_findings(operator_group_findings_of(workspace), report)
    return Validated(bundles)


def _catalog_texts(root: Path, folder: Folder) -> Iterator[Mapping[str, str]]:
    """The texts of the files of each folder in a folder `catalogs`, hidden files left out."""
    for below in folder.folders:
        if folder.path.rpartition("/")[2] == CATALOGS_FOLDER and not is_bundle(below):
            paths = [path for path in below.walk() if not path.rpartition("/")[2].startswith(".")]
            texts = {path: read_text(root, path, Report()) for path in paths}
            yield {path: text for path, text in texts.items() if text is not None}
        elif not is_bundle(below):
            yield from _catalog_texts(root, below)


def operator_group_findings_of(workspace: Workspace) -> Iterator[Finding]:
    """Yield the findings of the validator about the OperatorGroups of a workspace."""
    for manifest in workspace.manifests:
        if manifest.object["kind"] == "OperatorGroup":
            yield from operator_group_findings(manifest)
