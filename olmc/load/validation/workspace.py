"""Validation of everything in a directory: bundles, package files, OperatorGroups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from olmc.load.bundles import is_bundle
from olmc.load.files import Folder, read_text, scan
from olmc.load.validation.csv_checks import operator_group_findings
from olmc.load.validation.folders import bundle_folders, is_meant_as_bundle, read_folder
from olmc.load.validation.package_checks import package_findings
from olmc.load.validation.result import Finding, tell
from olmc.load.validation.settings import Settings
from olmc.load.validation.validators import subject_findings, subject_of
from olmc.load.vendored import without_vendored
from olmc.load.workspace import CATALOGS_FOLDER
from olmc.model.diagnostic import Report
from olmc.model.workspace import Workspace


class Validated(NamedTuple):
    """How much was validated."""

    bundles: int


def validate(
    root: Path, workspace: Workspace, settings: Settings, report: Report, *, ignored: tuple[str, ...] = ()
) -> Validated:
    """Run the validators over what lies below `root` and was loaded as `workspace`; findings go to `report`.

    `ignored` are patterns as in `.olmcignore`, those that the workspace was loaded with.
    """
    folder = without_vendored(root, scan(root, Report(), ignored=ignored))
    bundles = 0
    loaded = {bundle.directory: bundle for bundle in workspace.bundles.values()}
    for each in bundle_folders(folder):
        subject = subject_of(read_folder(root, each, loaded.get(each.path)), loaded.get(each.path))
        if is_meant_as_bundle(subject.folder):
            tell(subject_findings(subject, settings), report)
            bundles += 1
    for texts in _catalog_texts(root, folder):
        tell(package_findings(texts), report)
    tell(_operator_groups(workspace), report)
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
