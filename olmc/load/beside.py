"""The folder whose files count beside those of a workspace: read where it is needed, or once for several workspaces."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from olmc.lean import NamedTuple
from olmc.load.files import scan
from olmc.load.workspace_files import FoundFiles, parts
from olmc.model.diagnostics import Diagnostic, Report


class BesideFolder(NamedTuple):
    """A folder that was read already: what was found in it, which nobody changes, and what there is to say of it."""

    path: Path
    found: FoundFiles
    diagnostics: tuple[Diagnostic, ...]


Beside: TypeAlias = Path | BesideFolder


def read_beside(path: Path) -> BesideFolder:
    """A folder for several workspaces."""
    reading, report = FoundFiles({}, {}, {}, [], {}, [], {}, [], is_named=True), Report()
    _read(path, reading, report)
    return BesideFolder(path, reading, tuple(report.found))


def add_beside(beside: Beside, reading: FoundFiles, report: Report) -> None:
    """Add what is in a folder to what was found in a workspace."""
    if isinstance(beside, Path):
        _read(beside, reading._replace(is_named=True), report)
        return
    found = beside.found
    if reading.bundles.keys() & found.bundles.keys() or reading.catalogs.keys() & found.catalogs.keys():
        _read(beside.path, reading._replace(is_named=True), report)  # of two with one name one replaces the other
        return
    report.found.extend(beside.diagnostics)
    # The texts of a catalog stay the very value that was read, by which the cache knows it.
    for mine, theirs in ((reading.bundles, found.bundles), (reading.roots, found.roots), (reading.files, found.files),
                         (reading.built, found.built), (reading.catalogs, found.catalogs)):  # fmt: skip
        mine.update(theirs)  # type: ignore[arg-type]
    reading.manifests.extend(found.manifests)
    reading.unused.extend(found.unused)
    reading.policies.extend(found.policies)


def _read(path: Path, reading: FoundFiles, report: Report) -> None:
    for part, add in parts(scan(path, report)):
        add(path, part, reading, report)
