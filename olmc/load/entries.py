"""The entries of a repository: the folders that GitOps tools apply, of which each is a workspace by itself.

A repository for several clusters holds bases, components and overlays. Read as one workspace its files would mean
nothing: bases that somebody patches, and the same Subscription once for each cluster.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from olmc.diagnostics.rules import building as rules
from olmc.load.bundles import is_bundle
from olmc.load.files import Folder, no_folder, read_text, scan
from olmc.load.kustomization import (
    NAMES,
    PART_FIELDS,
    KustomizationReference,
    is_remote,
    kustomization_in,
    policy_references,
    read_kustomization,
    references,
)
from olmc.load.manifests import SUFFIXES
from olmc.model.diagnostics import Location, Report
from olmc.model.objects import POLICY_GROUP, as_text, mapping, mappings, name_of, namespace_of, spec_of
from olmc.model.operators import OLM_GROUP
from olmc.yaml import locate, read

_OLM_INPUT = re.compile(
    r"^[\"'\s{-]*kind[\"']?\s*:\s*[\"']?(Subscription|OperatorGroup|CatalogSource|OperatorPolicy)\b", re.MULTILINE
)
_APPLIES = re.compile(r"argoproj\.io/|kustomize\.toolkit\.fluxcd\.io/")
_FLUX = "kustomize.toolkit.fluxcd.io/"
# What changes the objects of a folder when Flux applies it.
_FLUX_CHANGES = ("targetNamespace", "patches", "postBuild", "components", "images", "namePrefix", "nameSuffix")
_COMPONENT = "Component"
_MOST = 40
_MARKS = (OLM_GROUP, POLICY_GROUP)


class Applier(NamedTuple):
    """An object by which a GitOps tool applies a folder, where it stands, and its fields that change what is in the
    folder."""

    name: str
    place: Location
    changes: tuple[str, ...] = ()


class RepositoryEntry(NamedTuple):
    """A folder that is applied as a whole, relative to the repository, and who applies it as far as that is known."""

    path: str
    appliers: tuple[Applier, ...] = ()

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
    other one takes in, and every folder with policies that is beside all of them. Only those count in which there is
    something of OLM.
    """
    nodes = {below.path: _node(root, below) for below in _kustomized(folder) if kustomization_in(root, below)}
    appliers = _appliers(root, folder)
    taken = {target for node in nodes.values() for target in node.folders}
    holds = _Holding(root, nodes, {})
    entries = [
        RepositoryEntry(path, appliers.get(path, ()))
        for path, node in nodes.items()
        if not node.is_component and (path not in taken or path in appliers) and holds.olm(path)
    ]
    plain = [path for path in appliers if path not in nodes and _has_olm(root, folder, path)]
    plain += [path for path in _policy_folders(root, folder, nodes) if path not in appliers]
    entries += (RepositoryEntry(path, appliers.get(path, ())) for path in plain)
    return tuple(sorted(entries, key=lambda entry: (not entry.appliers, entry.path)))


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
        report.add(rules.SEVERAL_ENTRIES.finding(None, count=len(entries), hint=hint))


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
    if not path.endswith(SUFFIXES) or not (root / path).is_file():
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


def _appliers(root: Path, folder: Folder) -> dict[str, tuple[Applier, ...]]:
    """By the path of a folder the objects by which it is applied."""
    known: dict[str, tuple[Applier, ...]] = {}
    for path in folder.walk():
        text = (read_text(root, path, Report()) or "") if path.endswith((".yaml", ".yml")) else ""
        if not _APPLIES.search(text):
            continue
        for document in read(path, text, Report()):
            obj = mapping(document.value)
            if not (isinstance(obj.get("kind"), str) and isinstance(mapping(obj.get("metadata")).get("name"), str)):
                continue
            for source, changes in _sources(obj):
                target = posixpath.normpath(source.strip("/") or ".")
                name = "/".join(filter(None, (obj["kind"], namespace_of(obj), name_of(obj))))
                applier = Applier(name, locate(document.source, ()), changes)
                known[target] = (*known.get(target, ()), applier)
    return known


def _sources(obj: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The paths that an object of Argo CD or Flux applies, each with the fields by which it changes what is there."""
    api, spec = as_text(obj.get("apiVersion")), spec_of(obj)
    if api.startswith(_FLUX):
        yield from _paths([spec], tuple(field for field in _FLUX_CHANGES if spec.get(field)))
    elif obj["kind"] == "Application":
        for source in (mapping(spec.get("source")), *mappings(spec.get("sources"))):
            changes = tuple(field for field in ("kustomize", "helm", "plugin") if source.get(field))
            yield from _paths([source], tuple(f"source.{field}" for field in changes))
    elif obj["kind"] == "ApplicationSet":
        yield from _paths(_with_path(spec), ())


def _with_path(value: Any) -> Iterator[Mapping[str, Any]]:
    """All mappings with a `path`, at any depth: generators of ApplicationSets have theirs at many places."""
    if isinstance(value, dict):
        if isinstance(value.get("path"), str):
            yield value
        for inner in value.values():
            yield from _with_path(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _with_path(inner)


def _paths(values: Iterable[Mapping[str, Any]], changes: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for value in values:
        path = value.get("path")
        # A template is filled in by the tool, from what may not even be in the repository.
        if isinstance(path, str) and path and not set(path) & set("{}*"):
            yield path.removeprefix("./"), changes
