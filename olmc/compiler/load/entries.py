"""The entries of a repository: the folders that GitOps tools apply, of which each is a workspace by itself.

A repository for several clusters holds bases, components and overlays. Read as one workspace its files would mean
nothing: bases that somebody patches, and the same Subscription once for each cluster.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from olmc.compiler.load.bundles import CATALOGS_FOLDER, is_bundle
from olmc.compiler.load.charts import charts_of_operators, outside_of_charts
from olmc.compiler.load.files import Folder, has_file, no_folder, read_text, scan
from olmc.compiler.load.kustomization import (
    NAMES,
    PART_FIELDS,
    KustomizationReference,
    is_remote,
    kustomization_in,
    policy_references,
    read_kustomization,
    references,
)
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.load.releases import Applier, Release, read_appliers
from olmc.compiler.rules.findings import building as rules
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import OLM_GROUP, POLICY_GROUP

_OLM_INPUT = regex(
    r"^(?:[\"'{-]|[^\S\n])*+kind[\"']?\s*:\s*[\"']?(Subscription|OperatorGroup|CatalogSource|OperatorPolicy)\b",
    re.MULTILINE,
)
_COMPONENT = "Component"
_MOST = 40
_MARKS = (OLM_GROUP, POLICY_GROUP)


class RepositoryEntry(NamedTuple):
    """A folder that is applied as a whole, relative to the repository, and who applies it as far as that is known.

    A Helm chart is an entry for each `release` of it: with other values it becomes something else.
    """

    path: str
    appliers: tuple[Applier, ...] = ()
    is_kustomization: bool = False
    is_chart: bool = False
    release: Release | None = None

    def __str__(self) -> str:
        names = ", ".join(dict.fromkeys(applier.name for applier in self.appliers))
        return f"{self.path} ({names})" if names else self.path


class _KustomizedFolder(NamedTuple):
    """A folder with a kustomization: the folders and the files that it names, what may stand in it unseen, and which
    of the files are no objects by themselves."""

    is_component: bool
    folders: tuple[str, ...]
    files: tuple[str, ...]
    has_remotes: bool
    parts: tuple[str, ...] = ()


def has_kustomizations(folder: Folder) -> bool:
    """Whether there is a kustomization anywhere below a folder, outside of bundles."""
    return any(True for _ in _kustomized(folder))


def find_entries(root: Path, folder: Folder) -> tuple[RepositoryEntry, ...]:
    """The entries of the repository at `root`, whose tree is `folder`: those that somebody applies, then by path.

    An entry is what Argo CD or Flux apply, as far as objects in the repository say so, every kustomization that no
    other one takes in, every chart as it is installed, and every folder with policies that is beside all of them. Only
    those count in which there is something of OLM.
    """
    nodes = {below.path: _node(root, below) for below in _kustomized(folder) if kustomization_in(root, below)}
    applied = read_appliers(root, folder)
    appliers = {path: _told_once(several) for path, several in applied.items()}
    taken = {target for node in nodes.values() for target in node.folders}
    holds = _Holding(root, nodes, {})
    entries = [
        RepositoryEntry(path, appliers.get(path, ()), is_kustomization=True)
        for path, node in nodes.items()
        if not node.is_component and (path not in taken or path in appliers) and holds.olm(path)
    ]
    charts = dict.fromkeys(chart.path or "." for chart in charts_of_operators(root, folder))
    for path in charts:
        entries += _releases(path, applied.get(path, ()))
    plain = [path for path in appliers if path not in nodes and path not in charts and _has_olm(root, folder, path)]
    plain += [path for path in _policy_folders(root, folder, nodes) if path not in appliers and path not in charts]
    entries += (RepositoryEntry(path, appliers.get(path, ())) for path in plain)
    return tuple(sorted(entries, key=lambda entry: (not entry.appliers, entry.path)))


def _told_once(appliers: Sequence[Applier]) -> tuple[Applier, ...]:
    """The objects that apply a folder without what is made by another one of them."""
    names = {applier.name for applier in appliers}
    return tuple(applier for applier in appliers if applier.made_by not in names)


def _releases(chart: str, appliers: Sequence[Applier]) -> Iterator[RepositoryEntry]:
    """A chart as it is installed by each of its appliers, or by itself without any."""
    by_release: dict[Release | None, list[Applier]] = {}
    sets = {applier.made_by for applier in appliers}
    for applier in appliers:
        if applier.name in sets:
            continue  # what it makes is known
        # The values are what a chart is rendered with, so they are no change of it.
        kept = tuple(field for field in applier.changes if field not in ("source.helm", "source.plugin"))
        by_release.setdefault(applier.release, []).append(applier._replace(changes=kept))
    for release, installing in by_release.items():
        yield RepositoryEntry(chart, tuple(installing), is_chart=True, release=release)
    if not by_release:
        yield RepositoryEntry(chart, is_chart=True)


def entries_to_choose(root: Path, folder: Folder) -> tuple[RepositoryEntry, ...]:
    """The entries of what is no workspace but a repository, () for a workspace: there may be charts beside what is in
    it, which nobody installs from here. Folders of plain manifests are several workspaces once several of them are
    applied, each by itself."""
    if not (has_kustomizations(folder) or any(True for _ in charts_of_operators(root, folder))):
        applied = tuple(entry for entry in find_entries(root, _without_content(folder)) if entry.appliers)
        return applied if len({entry.path for entry in applied}) > 1 else ()
    entries = find_entries(root, folder)
    if any(entry.appliers or not entry.is_chart for entry in entries):
        return entries
    return () if any(_is_olm(root, path) for path in outside_of_charts(folder)) else entries


def _without_content(folder: Folder) -> Folder:
    """A folder without the bundles and the catalogs below it, in which nobody says what is applied."""
    below = (f for f in folder.folders if not is_bundle(f) and f.path.rpartition("/")[2] != CATALOGS_FOLDER)
    return folder._replace(folders=tuple(map(_without_content, below)))


def part_files(root: Path, folder: Folder) -> frozenset[str]:
    """The files that kustomizations below a folder take for no objects: patches, settings of generators and
    transformers, and what PolicyGenerators wrap.

    Such files look like objects, and often lack what every object has.
    """
    parts: set[str] = set()
    for below in _kustomized(folder):
        if kustomization_in(root, below) is not None:
            node = _node(root, below)
            parts.update(node.parts)
    return frozenset(parts)


def report_entries(entries: Sequence[RepositoryEntry], report: Report) -> None:
    """Say which entries there are, where one has to be chosen."""
    if entries:
        listed = [f"  {entry}" for entry in entries[:_MOST]]
        more = [f"  and {len(entries) - _MOST} more"] if len(entries) > _MOST else []
        hint = "\n".join(("Give the folder of one, or --entry with its folder or with who applies it:", *listed, *more))
        held = (("kustomizations", any(entry.is_kustomization for entry in entries)),
                ("charts", any(entry.is_chart for entry in entries)))  # fmt: skip
        kinds = " and ".join(name for name, is_there in held if is_there) or "applications"
        count = len({entry.path for entry in entries})
        report.add(rules.SEVERAL_ENTRIES.finding(None, kinds=kinds, count=count, hint=hint))


def entries_at(root: Path) -> tuple[RepositoryEntry, ...]:
    """The entries of the repository at `root`, () where there is nothing to read."""
    return () if no_folder(root) else find_entries(root, scan(root, Report()))


def chosen(entries: Iterable[RepositoryEntry], name: str) -> list[RepositoryEntry]:
    """The entries that a name means: a folder, or what applies folders as `Kind/namespace/name` or its end."""
    path = posixpath.normpath(name)
    return [entry for entry in entries if path == entry.path or any(_is_called(a, name) for a in entry.appliers)]


def changed_entries(entries: Iterable[RepositoryEntry], report: Report) -> None:
    """Say of entries what GitOps tools change in them while they apply them."""
    for entry in entries:
        for applier in entry.appliers:
            if applier.changes:
                fields = " and ".join(applier.changes)
                finding = rules.ENTRY_CHANGED.finding(applier.place, name=applier.name, path=entry.path, fields=fields)
                report.add(finding)


def _is_called(applier: Applier, name: str) -> bool:
    return applier.name == name or applier.name.endswith(f"/{name}")


def _kustomized(folder: Folder) -> Iterator[Folder]:
    if is_bundle(folder):
        return
    if any(name in folder.files for name in NAMES):
        yield folder
    for below in folder.folders:
        yield from _kustomized(below)


def _node(root: Path, folder: Folder) -> _KustomizedFolder:
    name = next(name for name in NAMES if name in folder.files)
    content, _ = read_kustomization(root / folder.join(name), folder.join(name))
    folders, files, has_remotes = [], [], False
    parts: list[str] = []
    for reference in policy_references(content, root / folder.path):
        path = _joined(folder.path, reference)
        below = next((f for f in _folders(folder) if f.path == path), None)
        if path is None:
            has_remotes = True
        elif below is not None and any(name in below.files for name in NAMES):
            folders.append(path)
        else:
            parts += [path] if below is None else [below.join(name) for name in below.files]
    files += parts
    for reference in references(content):
        path = _joined(folder.path, reference)
        if reference.is_chart or path is None:
            has_remotes = True
        elif path.endswith(SUFFIXES) or not reference.may_be_folder:
            files.append(path)
            parts += [path] if reference.keys[0] in PART_FIELDS else []
        else:
            folders.append(path)
    return _KustomizedFolder(content.get("kind") == _COMPONENT, tuple(folders), tuple(files), has_remotes, tuple(parts))


def _joined(folder: str, reference: KustomizationReference) -> str | None:
    """Where a reference leads in the repository; None for what is remote or outside."""
    if is_remote(reference):
        return None
    path = posixpath.normpath(posixpath.join(folder, reference.text))
    return None if path.startswith("../") else path


class _Holding(NamedTuple):
    """Which kustomizations have something of OLM, as far as that was asked for."""

    root: Path
    nodes: Mapping[str, _KustomizedFolder]
    known: dict[str, bool]

    def olm(self, path: str) -> bool:
        """Whether a kustomization, or one that it takes in, names a file with something of OLM."""
        if path not in self.known and path in self.nodes:
            self.known[path] = False  # for those that take in each other
            node = self.nodes[path]
            here = any(_is_olm(self.root, file) for file in node.files)
            self.known[path] = here or any(self.olm(below) for below in node.folders)
        return self.known.get(path, False)


def _policy_folders(root: Path, folder: Folder, nodes: Mapping[str, _KustomizedFolder]) -> list[str]:
    """The topmost folders with policies about OLM in files that belong to no kustomization."""
    named = {file for node in nodes.values() for file in node.files}
    topmost: list[str] = []
    for below in _folders(folder):
        is_part = any(_is_below(below.path, path) for path in (*nodes, *topmost))
        paths = [below.join(name) for name in below.files] if below.path and not is_part else []
        if any(path not in named and _is_olm(root, path, POLICY_GROUP) for path in paths):
            topmost.append(below.path)
    return topmost


def _is_below(path: str, folder: str) -> bool:
    return folder in ("", path) or path.startswith(f"{folder}/")


def _is_olm(root: Path, path: str, *marks: str) -> bool:
    """Whether a file has something of OLM, which one of the marks shows: other APIs have Subscriptions as well."""
    if not path.endswith(SUFFIXES) or not has_file(root, path):
        return False
    text = read_text(root, path, Report()) or ""
    return any(mark in text for mark in marks or _MARKS) and _OLM_INPUT.search(text) is not None


def _has_olm(root: Path, folder: Folder, path: str) -> bool:
    """Whether a folder without a kustomization has something of OLM in its files."""
    below = next((f for f in _folders(folder) if f.path == path), None)
    return below is not None and any(_is_olm(root, name) for name in below.walk())


def _folders(folder: Folder) -> Iterator[Folder]:
    yield folder
    for below in folder.folders:
        yield from _folders(below)
