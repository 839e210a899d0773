"""Projects of operator-sdk: repositories in which an operator is written, and which generate its bundle.

Their config/ is what the bundle is generated from, and what developers apply to try things out; samples are for users.
What OLM gets to see is the bundle alone.
"""

from __future__ import annotations

from olmc.diagnostics.rules import foreign as rules
from olmc.load.bundles import PROJECT_FILE, is_bundle
from olmc.load.files import Folder
from olmc.model.diagnostics import Location, Report

BUNDLE_FOLDER = "bundle"
_CSV_BASES = ("config", "manifests", "bases")
"""Where a project keeps what its CSV is generated from; one of kubebuilder alone has no such folder."""


def project_bundle(folder: Folder) -> Folder | None:
    """The bundle of the project in `folder`, None where it has none or is no project."""
    bundle = folder.folder(BUNDLE_FOLDER) if PROJECT_FILE in folder.files else None
    return bundle if bundle is not None and is_bundle(bundle) else None


def compiled_part(folder: Folder) -> Folder:
    """What of a folder is compiled: of a project its bundle, of any other all of it."""
    bundle = project_bundle(folder)
    return folder if bundle is None else folder._replace(files=(), folders=(bundle,), links=())


def report_project(folder: Folder, report: Report) -> bool:
    """Say what a project is compiled as, or that it has no bundle to compile; whether there is something to compile."""
    if project_bundle(folder) is not None:
        report.add(rules.PROJECT.finding(Location(folder.join(PROJECT_FILE)), path=f"{folder.join(BUNDLE_FOLDER)}/"))
        return True
    if PROJECT_FILE not in folder.files or folder.folder(BUNDLE_FOLDER) is not None or not _has_csv_bases(folder):
        return True
    report.add(rules.NO_BUNDLE.finding(Location(folder.join(PROJECT_FILE))))
    return False


def _has_csv_bases(folder: Folder) -> bool:
    below: Folder | None = folder
    for name in _CSV_BASES:
        below = below.folder(name) if below is not None else None
    return below is not None
