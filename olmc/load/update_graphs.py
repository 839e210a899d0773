"""What the `ci.yaml` of an operator in a repository of bundles says about its update graph, as the pipelines of
community catalogs read it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType

from olmc.diagnostics.rules import foreign as rules
from olmc.load.files import has_file, read_text
from olmc.model.catalog import names_of_bundles
from olmc.model.diagnostics import Location, Report, did_you_mean
from olmc.model.diagnostics import closest as closest_of
from olmc.model.options import Indexing, IndexingMode
from olmc.model.workspace import Bundle, Workspace
from olmc.yaml import locate, read

CI_FILE = "ci.yaml"
_KEY = "updateGraph"
_MODES: MappingProxyType[str, IndexingMode] = MappingProxyType(
    {"replaces-mode": "replaces", "semver-mode": "semver", "semver-skippatch-mode": "semver-skippatch"}
)


def update_graphs(root: Path, bundles: Iterable[Bundle], report: Report) -> dict[str, IndexingMode]:
    """By package how its versions become a graph, as far as a ci.yaml beside the folders of its bundles says it.

    A value that no pipeline knows is reported and counts as none.
    """
    modes: dict[str, IndexingMode] = {}
    known: dict[str, IndexingMode | None] = {}
    for bundle in bundles:
        if not bundle.directory:
            continue
        folder = bundle.directory.rpartition("/")[0]
        path = f"{folder}/{CI_FILE}" if folder else CI_FILE
        if path not in known:
            known[path] = _mode_in(root, path, report)
        mode = known[path]
        if mode is not None:
            modes.setdefault(bundle.package, mode)
    return modes


def check_update_graphs(root: Path, workspace: Workspace, indexing: Indexing, report: Report) -> None:
    """Report what is wrong with what a pipeline makes of bundles with a ci.yaml, where nothing here makes it."""
    listed = names_of_bundles(workspace.catalogs.values())
    loose = [bundle for name, bundle in workspace.bundles.items() if name not in listed]
    modes = update_graphs(root, loose, report)
    if modes:
        from olmc.catalogs.bundle_lists import catalog_from_bundles, report_dropped  # few repositories are of bundles
        from olmc.catalogs.rendering import uncatalogued

        members = [uncatalogued(bundle) for bundle in loose if bundle.package in modes]
        report_dropped(catalog_from_bundles(members, indexing, report, modes), members, report)


def _mode_in(root: Path, path: str, report: Report) -> IndexingMode | None:
    text = read_text(root, path, Report()) if has_file(root, path) else None
    documents = read(path, text, Report()) if text is not None else []
    value = documents[0].value if documents else None
    if not isinstance(value, dict) or value.get(_KEY) is None:
        return None
    mode = value[_KEY]
    if isinstance(mode, str) and mode in _MODES:
        return _MODES[mode]
    place = locate(documents[0].source, (_KEY,)) or Location(path)
    question = did_you_mean(closest_of(mode, _MODES)) if isinstance(mode, str) else ""
    hint = " ".join(filter(None, (question, f"There is {', '.join(_MODES)}.")))
    report.add(rules.UNKNOWN_GRAPH.finding(place, value=mode, hint=hint))
    return None
