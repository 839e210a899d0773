"""What is compiled for an editor: the workspace of a document, with the texts that nobody has saved yet."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from olmc.api import Compilation, compile
from olmc.check.check import CheckInput, check_directory, select_findings
from olmc.check.validators.findings import ValidatorSettings
from olmc.explain.left_out import left_out_of
from olmc.lean import NamedTuple
from olmc.load.cached_catalogs import CatalogTexts, read_catalog
from olmc.load.config import CONFIG_FILE, read_config
from olmc.load.entries import entries_to_choose
from olmc.load.files import no_folder, read_text, scan
from olmc.load.kustomization import REPOSITORY_MARK
from olmc.load.releases import Release
from olmc.load.unsaved import with_unsaved
from olmc.model.catalog import Catalog
from olmc.model.diagnostics import Diagnostic, Report
from olmc.model.options import Indexing, Options
from olmc.resolver.predicates import cel_problem

if TYPE_CHECKING:
    from olmc.catalogs.rendering import UncataloguedBundle
    from olmc.load.served_catalogs import CatalogLoader

_TEMPLATES = ("olm.template.", "olm.semver")


class WorkspaceEntry(NamedTuple):
    """A folder that is compiled by itself; a Helm chart with how it is installed."""

    root: Path
    release: Release | None = None


class LoadedCatalog(NamedTuple):
    """A catalog, all that it was loaded from, and what was reported about it."""

    texts: Mapping[str, str]
    indexing: Indexing
    bundles: Mapping[str, UncataloguedBundle]
    catalog: Catalog
    findings: tuple[Diagnostic, ...]


class Analysis(NamedTuple):
    """What a compilation came to: what is wrong, the last compilation that came to its end (None: none did so far), the
    files that were read, relative to the root, the texts that the editor had of them, and the catalogs; `sound` are the
    texts from which that last compilation was made."""

    entry: WorkspaceEntry
    findings: tuple[Diagnostic, ...] = ()
    compilation: Compilation | None = None
    files: frozenset[str] = frozenset()
    texts: Mapping[Path, str] = MappingProxyType({})
    catalogs: Mapping[str, LoadedCatalog] = MappingProxyType({})
    sound: Mapping[Path, str] = MappingProxyType({})

    def place_of(self, path: str) -> Path:
        """The file that a path in a finding means."""
        return normal(self.entry.root / path)

    def text_of(self, path: Path) -> str | None:
        """The text of a file as it was compiled, or as it is on the disk; None where it can't be read."""
        return text_of(path, self.texts)


def text_of(path: Path, texts: Mapping[Path, str]) -> str | None:
    """The text of a file, which is that of the disk unless it is among `texts`; None where it can't be read."""
    if path in texts:
        return texts[path]
    return read_text(path.parent, path.name, Report()) if path.is_file() else None


def normal(path: Path) -> Path:
    """A path without `..` in it."""
    return Path(os.path.normpath(path))


def root_of(document: Path, folders: Sequence[Path]) -> Path | None:
    """The folder that a document is compiled with: the nearest with an olmc.yaml up to the folder that the editor has
    open, or else that one; None outside of all. An editor without folders has that of the repository."""
    holding = [folder for folder in folders if document.is_relative_to(folder)]
    top = max(holding, key=lambda folder: len(folder.parts), default=None)
    if folders and top is None:
        return None
    for folder in document.parents:
        if (folder / CONFIG_FILE).is_file():
            return folder
        if folder == top or (top is None and (folder / REPOSITORY_MARK).exists()):
            return folder
    return None


def entries_of(root: Path, texts: Mapping[Path, str]) -> tuple[WorkspaceEntry, ...]:
    """What is compiled of a folder: itself, or of a repository with several workspaces in it each of them."""
    laid = with_unsaved(root, texts)
    if no_folder(laid):
        return ()
    ignored = tuple(read_config(laid, Report()).get("ignore") or ())
    entries = entries_to_choose(laid, scan(laid, Report(), ignored=ignored))
    chosen = dict.fromkeys(WorkspaceEntry(normal(root / entry.path), entry.release) for entry in entries)
    return tuple(chosen) or (WorkspaceEntry(root),)


def analyse(entry: WorkspaceEntry, texts: Mapping[Path, str], before: Analysis | None = None) -> Analysis:
    """Compile and check an entry as `olmc check` does, with `texts` in the place of files.

    Of the analysis `before` are the catalogs that are still the same, and the compilation if this one fails.
    """
    root, options = with_unsaved(entry.root, texts), Options()
    catalogs: dict[str, LoadedCatalog] = {}
    loader = _loader(before.catalogs if before is not None else {}, catalogs)
    made = compile(root, options, release=entry.release, loader=loader)
    left = left_out_of(root, made) if not made.failed else ()
    compiled = CheckInput(made.workspace, made.settled, made.diagnostics, made.suppressed, left)
    settings = ValidatorSettings(cel_problem=cel_problem, modes_optional=made.options.descoped)
    result = select_findings(check_directory(root, compiled, settings, options), (), ())
    files = made.inputs.files | {each.location.path for each in result.diagnostics if each.location is not None}
    given = MappingProxyType(dict(texts))
    now = Analysis(entry, result.diagnostics, made, frozenset(files), given, catalogs, given)
    if not made.failed:
        return now
    last = before or Analysis(entry)
    return now._replace(
        compilation=last.compilation, sound=last.sound, files=now.files | last.files, catalogs=catalogs or last.catalogs
    )


def concerns(analysis: Analysis, documents: Iterable[Path]) -> bool:
    """Whether one of the documents may change what an analysis came to: it was read, or stands below its folder."""
    read = {analysis.place_of(path) for path in analysis.files}
    return any(document in read or document.is_relative_to(analysis.entry.root) for document in documents)


def _loader(before: Mapping[str, LoadedCatalog], now: dict[str, LoadedCatalog]) -> CatalogLoader:
    """What loads catalogs, but for those that were loaded before from the same texts; `now` gets all of them."""

    def load(
        root: str, texts: Mapping[str, str], report: Report, bundles: Mapping[str, UncataloguedBundle],
        indexing: Indexing,
    ) -> Catalog:  # fmt: skip
        # Bundles of the workspace are part of a catalog by its templates only.
        is_stored = isinstance(texts, CatalogTexts) and texts.stored is not None  # which none with templates is
        has_templates = not is_stored and any(mark in text for text in texts.values() for mark in _TEMPLATES)
        named = bundles if has_templates else {}
        known = before.get(root)
        if known is None or known[:3] != (texts, indexing, named):
            findings = Report()
            catalog = read_catalog(root, texts, findings, bundles, indexing)
            known = LoadedCatalog(texts, indexing, named, catalog, tuple(findings.found))
        now[root] = known
        report.found.extend(known.findings)
        return known.catalog

    return load
