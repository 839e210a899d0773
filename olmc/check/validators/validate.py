"""All validators, in order (R-CAT-201), over everything in a directory: bundles, package files, OperatorGroups."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from olmc.check.validators.bundles import bundle_findings, dependency_findings, package_findings, size_findings
from olmc.check.validators.community import community_findings, removed_api_findings
from olmc.check.validators.findings import Finding, ValidatorSettings, report_findings
from olmc.check.validators.folders import (
    BundleFolder,
    annotation_findings,
    bundle_folders,
    is_meant_as_bundle,
    missing_folders,
    read_folder,
)
from olmc.check.validators.good_practices import bundle_object_findings, good_practice_findings
from olmc.check.validators.manifests import content_findings, crd_error, is_forgiven, loading_findings
from olmc.check.validators.multiarch import multiarch_findings
from olmc.check.validators.objects import crd_findings, csv_findings, operator_group_findings
from olmc.check.validators.operatorhub import (
    capability_findings,
    category_findings,
    operatorhub_findings,
    operatorhub_v2_findings,
)
from olmc.gojson import decode_error
from olmc.lean import NamedTuple
from olmc.load.bundles import CATALOGS_FOLDER, is_bundle
from olmc.load.files import Folder, read_text, scan
from olmc.load.project import compiled_part
from olmc.load.vendored import without_vendored
from olmc.model.diagnostics import Report
from olmc.model.objects import CRD_KIND
from olmc.model.operators import CSV_KIND
from olmc.model.workspace import Bundle, BundleFile, Manifest, Workspace

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
    """What is validated: the folder of a bundle, and the bundle in it (None when there is no CSV)."""

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
    """What all default validators, and the optional ones that are asked for, find in a bundle.

    As with the tools, a folder that is no bundle is not looked into (R-CAT-203), and what can't be decoded is not
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
        # In the order of the table, whatever the order in which they were asked for.
        if name in settings.optional:
            yield from validator(bundle, settings)


class Validated(NamedTuple):
    """How much was validated."""

    bundles: int


def validate(
    root: Path, workspace: Workspace, settings: ValidatorSettings, report: Report, *, ignored: tuple[str, ...] = (),
    apart: Container[str] = (),
) -> Validated:  # fmt: skip
    """Run the validators over what lies below `root` and was loaded as `workspace`; findings go to `report`.

    `ignored` are patterns as in `.olmcignore`, those that the workspace was loaded with; the folders of bundles `apart`
    are not looked at.
    """
    folder = compiled_part(without_vendored(root, scan(root, Report(), ignored=ignored)))
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
    report_findings(_operator_groups(workspace), report)
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


def _operator_groups(workspace: Workspace) -> Iterator[Finding]:
    for manifest in workspace.manifests:
        if manifest.object["kind"] == "OperatorGroup":
            yield from operator_group_findings(manifest)
