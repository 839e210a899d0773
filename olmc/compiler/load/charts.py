"""A Helm chart of a repository: its name, its dependencies, and the copy of it that Helm reads.

Helm follows links and packs all files of the folder. So it gets a copy without files from outside of the repository.
The copy includes the charts of the repository that it depends on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olmc.compiler.load.files import Folder, is_file, read_text, real_path, scan
from olmc.compiler.load.kustomization import REPOSITORY_MARK, relative_path, repository_of
from olmc.compiler.load.workspace_files import CHART_FILE, TEMPLATES_FOLDER, is_chart, kinds_in_templates, without_helm
from olmc.k8s.diagnostics import Location, Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.limits import DEPTH
from olmc.k8s.objects import as_text, mapping, mappings
from olmc.k8s.yaml import locate, read

CHARTS_FOLDER = "charts"

_REQUIREMENTS = "requirements.yaml"
_DECLARING = (CHART_FILE, _REQUIREMENTS)
_LOCKS = ("Chart.lock", "requirements.lock")
_LOCAL = "file://"
# A name becomes that of a folder; Helm refuses all others.
_PLAIN = regex(r"[A-Za-z0-9][\w-]*(?:\.[\w-]+)*")
_MOST_BYTES = 64 * 1024 * 1024
_MOST_FILES = 10_000


class Dependency(NamedTuple):
    """A chart that another one needs and does not have in charts/: where it says so, and from where it comes.

    `folder` is the folder of the repository in which it stands, None where it does not; `missing` is where it would
    stand then.
    """

    name: str
    repository: str
    place: Location
    folder: Path | None = None
    missing: Path | None = None

    @property
    def is_local(self) -> bool:
        """Return whether it is a folder, and nothing that Helm would fetch."""
        return self.repository.startswith(_LOCAL) or not self.repository


class Chart(NamedTuple):
    """A chart in a folder; `path` is that of its Chart.yaml in messages, `declared_in` the file with dependencies."""

    folder: Path
    name: str
    path: str
    dependencies: tuple[Dependency, ...]
    declared_in: str
    content: Mapping[str, Any]


def charts_of_operators(root: Path, folder: Folder) -> Iterator[Folder]:
    """The charts below a folder, itself among them, whose templates speak of OLM, or those of charts that they need."""
    if is_chart(folder):
        if kinds_of_chart(root, folder) is not None:
            yield folder
        if folder.folder(TEMPLATES_FOLDER) is not None:
            folder = without_helm(folder)
    for below in folder.folders:
        yield from charts_of_operators(root, below)


def kinds_of_chart(root: Path, chart: Folder) -> tuple[str, ...] | None:
    """The kinds of OLM in the templates of a chart, and of those in the repository that it needs; None where none of
    them is about OLM."""
    found = [kinds_in_templates(root, chart)]
    for dependency in _needed_folders(root, chart):
        found.append(kinds_in_templates(dependency, scan(dependency, Report())))
    known = [kinds for kinds in found if kinds is not None]
    return tuple(sorted({kind for kinds in known for kind in kinds})) if known else None


def _needed_folders(root: Path, chart: Folder) -> list[Path]:
    """The folders of the charts in the repository that a chart needs and does not have in charts/."""
    texts = (read_text(root, chart.join(name), Report()) or "" for name in chart.files if name in _DECLARING)
    if not any(_LOCAL in text for text in texts):
        return []
    needed = read_chart(real_path(root / chart.path), root).dependencies
    return [dependency.folder for dependency in needed if dependency.folder is not None]


def charts_within(root: Path, charts: Iterable[Folder]) -> frozenset[str]:
    """The folders of charts that others are installed with: those that these need, or have in charts/."""
    found: set[str] = set()
    for chart in charts:
        found.update(relative_path(folder, root) for folder in _needed_folders(root, chart))
        packed = chart.folder(CHARTS_FOLDER)
        found.update(below.path for below in (packed.folders if packed is not None else ()) if is_chart(below))
    return frozenset(found)


def has_charts(folder: Folder) -> bool:
    """Return whether there is a chart anywhere below a folder."""
    return is_chart(folder) or any(map(has_charts, folder.folders))


def outside_of_charts(folder: Folder) -> Iterator[str]:
    """The files of a folder that are in no chart."""
    if not is_chart(folder):
        yield from map(folder.join, folder.files)
        for below in folder.folders:
            yield from outside_of_charts(below)


def read_chart(folder: Path, root: Path) -> Chart:
    """Return the metadata of a chart; paths in messages are relative to `root`."""
    content, path = _content(folder / CHART_FILE, root)
    declared_in, declaring, shown = CHART_FILE, content, path
    if "dependencies" not in content and (folder / _REQUIREMENTS).is_file():
        declared_in = _REQUIREMENTS
        declaring, shown = _content(folder / _REQUIREMENTS, root)
    own = set(_vendored(folder))
    text = read_text(folder, declared_in, Report()) or ""
    sources = [document.source for document in read(shown, text, Report())]
    lacking = []
    for number, entry in enumerate(mappings(declaring.get("dependencies"))):
        name, repository = as_text(entry.get("name")), as_text(entry.get("repository"))
        if _PLAIN.fullmatch(name) and name not in own:
            place = locate(sources[0], ("dependencies", number)) if sources else Location(shown)
            local = _local(folder, repository)
            is_there = local is not None and is_file(local / CHART_FILE)
            lacking.append(Dependency(name, repository, place, *((local, None) if is_there else (None, local))))
    return Chart(folder, as_text(content.get("name")) or folder.name, path, tuple(lacking), declared_in, declaring)


def _content(path: Path, root: Path) -> tuple[Mapping[str, Any], str]:
    shown = relative_path(real_path(path), root)
    text = read_text(path.parent, path.name, Report()) or ""
    documents = read(shown, text, Report())
    return mapping(documents[0].value) if documents else {}, shown


def _vendored(folder: Path) -> Iterator[str]:
    """The names of the charts that stand in charts/, as folders or packed."""
    below = folder / CHARTS_FOLDER
    for path in sorted(below.iterdir()) if below.is_dir() else ():
        if path.suffix in (".tgz", ".gz"):
            # `NAME-VERSION.tgz`; both may have dashes in them, so any of the places can be meant.
            words = path.name.split("-")
            yield from ("-".join(words[:number]) for number in range(1, len(words)))
        elif (path / CHART_FILE).is_file():
            content, _ = _content(path / CHART_FILE, folder)
            yield as_text(content.get("name")) or path.name


def _local(folder: Path, repository: str) -> Path | None:
    """Return where a dependency stands or would stand, None for outside of the repository."""
    if not repository.startswith(_LOCAL):
        return None
    home = repository_of(folder)
    try:
        path = (folder / repository.removeprefix(_LOCAL)).resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    return path if home is None or path.is_relative_to(home) else None


class StagingError(Exception):
    """The reason why a chart can't be copied for Helm."""


def files_below(folder: Path) -> list[Path]:
    """The files in the folder of a chart, links to files among them, and none of git's own. Raises StagingError."""
    files, bounds, waiting = [], _Bounds(), [(folder, 0)]
    try:
        while waiting:
            place, depth = waiting.pop()
            bounds.enter(depth)
            for entry in os.scandir(place):
                if entry.name != REPOSITORY_MARK and entry.is_dir(follow_symlinks=False):
                    waiting.append((place / entry.name, depth + 1))
                elif entry.name != REPOSITORY_MARK and entry.is_file():
                    bounds.spend(0)
                    files.append(place / entry.name)
    except OSError as error:
        raise StagingError(f"it can't be read: {error.strerror}") from error
    return sorted(files)


class _Bounds:
    """The remaining number of files and folders, and of bytes. Folders count even if they are empty: two links in each
    of 26 folders, which lead to the next one, are 2^26 folders."""

    def __init__(self) -> None:
        self.entries, self.bytes = _MOST_FILES, _MOST_BYTES

    def enter(self, depth: int) -> None:
        """Count a folder, with so many of the chart's folders above it; raises StagingError."""
        if depth > DEPTH.most:
            raise StagingError(f"it has more than {DEPTH.most:,} folders in each other")
        self.spend(0)

    def spend(self, size: int) -> None:
        """Count a file of so many bytes, or a folder; raises StagingError."""
        self.entries -= 1
        self.bytes -= size
        if min(self.entries, self.bytes) < 0:
            raise StagingError(f"it has more than {_MOST_FILES:,} files and folders, or {_MOST_BYTES:,} bytes")


class _Copying(NamedTuple):
    """The places that a copy may read, and its remaining bounds."""

    home: Path
    bounds: _Bounds


def stage(chart: Chart, target: Path) -> dict[str, Path]:
    """Copy a chart, with the charts of the repository that it depends on, into a new folder.

    Gives the folders by the names that Helm has for them: `operators/`, `operators/charts/common/`. Dependencies that
    are not there are taken out of the copy's Chart.yaml. Raises StagingError.
    """
    folder = real_path(chart.folder)
    copying = _Copying(repository_of(folder) or folder, _Bounds())
    try:
        _copy(folder, target, copying, (folder,))
        folders = {f"{chart.name}/": folder}
        for dependency in chart.dependencies:
            if dependency.folder is not None:
                _copy(dependency.folder, target / CHARTS_FOLDER / dependency.name, copying, (dependency.folder,))
                folders[f"{chart.name}/{CHARTS_FOLDER}/{dependency.name}/"] = dependency.folder
        missing = {dependency.name for dependency in chart.dependencies if dependency.folder is None}
        if missing:
            declared = mappings(chart.content.get("dependencies"))
            kept = [entry for entry in declared if as_text(entry.get("name")) not in missing]
            text = json.dumps({**chart.content, "dependencies": kept})
            (target / chart.declared_in).write_text(text, encoding="utf-8")
        for name in _LOCKS if chart.dependencies else ():
            (target / name).unlink(missing_ok=True)
    except OSError as error:
        raise StagingError(f"it can't be read: {error.strerror}") from error
    return folders


def _copy(source: Path, target: Path, copying: _Copying, above: tuple[Path, ...]) -> None:
    copying.bounds.enter(len(above) - 1)
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        path = source / entry.name
        if entry.name == REPOSITORY_MARK:
            continue
        if entry.is_symlink():
            path = _followed(path, copying)
        if path.is_dir():
            if path in above:
                raise StagingError(f"the link {entry.name} leads to the folder that it is in")
            _copy(path, target / entry.name, copying, (*above, path))
        elif path.is_file():
            copying.bounds.spend(path.stat().st_size)
            (target / entry.name).write_bytes(path.read_bytes())


def _followed(link: Path, copying: _Copying) -> Path:
    try:
        path = link.resolve()
    except (OSError, RuntimeError) as error:
        raise StagingError(f"the link {link.name} leads nowhere") from error
    if not path.is_relative_to(copying.home):
        raise StagingError(f"the link {link.name} leads out of the repository")
    return path
