"""The catalogs at a path, as far as a graph needs them: those of a workspace, or one folder; and their channels as
rows.

olmc reads a catalog that OLM refuses to serve as far as it can: a broken graph is where a picture helps most.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from olmc.compiler.catalogs.bundle_lists import catalog_from_bundles, report_dropped
from olmc.compiler.catalogs.conversion import Blobs, add_document, packages_of
from olmc.compiler.catalogs.loading import kept_files, load_catalog, read_file
from olmc.compiler.catalogs.properties import uncatalogued
from olmc.compiler.load.bundles import CATALOGS_FOLDER
from olmc.compiler.load.config import CONFIG_FILE, cluster_catalogs, indexing_from, read_config
from olmc.compiler.load.files import Folder, is_bundle, no_folder, read_text, real_path, scan, update_graphs
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.vendored import without_vendored
from olmc.compiler.load.workspace import WorkspaceSettings, load
from olmc.compiler.model.catalog import Catalog, Package
from olmc.compiler.model.options import Options
from olmc.compiler.output.messages import QueryError, clean, not_found
from olmc.compiler.resolver.upgrade_path import EdgeKind
from olmc.compiler.rules.findings.catalogs import DROPPED_VERSIONS
from olmc.k8s.diagnostics import Diagnostic, Report, join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.review.graph.upgrade_graph import ChannelView, UpgradeGraph, Vertex, dead_ends, label

LOOSE_BUNDLES = "bundles"
"""The name under which the bundles of a workspace that no catalog lists are found."""

_SCHEMA = regex(r"schema[\"']?\s*:\s*[\"']?olm\.")
_PACKAGE_MANIFEST = regex(r"^packageName\s*:|^\s*{\s*\"packageName\"\s*:", re.MULTILINE)
_MANIFEST = regex(r"^apiVersion\s*:|[\"']apiVersion[\"']\s*:", re.MULTILINE)
_INSTALLED = regex(r"kind[\"']?\s*:\s*[\"']?(Subscription|OperatorGroup|CatalogSource|Namespace)\b")


class NamedCatalog(NamedTuple):
    """A catalog: its name, its packages, and OLM's text for why it can't be served, "" if it can.

    `left_out` are the names of packages that were not vendored.
    """

    name: str
    packages: Mapping[str, Package]
    problem: str = ""
    left_out: frozenset[str] = frozenset()


def catalogs_at(path: Path, report: Report) -> tuple[NamedCatalog, ...]:
    """The catalogs at `path`, each content once; what is wrong with them goes to `report`.

    `path` is a workspace, with its catalogs and the bundles that none of them lists, or the folder of one catalog.
    """
    if no_folder(path):
        load(CompileRequest(path), report)  # says so
        return ()
    config = read_config(path, report)
    ignored = tuple(config.get("ignore") or ())
    indexing = indexing_from(config)
    scanned = Report()
    folder = without_vendored(path, scan(path, scanned, ignored=ignored))
    texts = _catalog_texts(path, folder)
    if texts:
        report.found.extend(scanned.found)  # of a workspace `load` says it, and what of its files can't be read
        for name in set(folder.walk()) - texts.keys():
            read_text(path, name, report)
        name = real_path(path).name
        return (_named_catalog(name, load_catalog("", texts, report, indexing=indexing), texts),)
    there = cluster_catalogs(path, config)
    # Of which image a CatalogSource is for one version of Kubernetes does not matter to a graph.
    request = CompileRequest(path, Options(kube_version=""))
    workspace = load(request, report, WorkspaceSettings(ignored, indexing, cluster_catalogs=there))
    catalogs = [
        _named_catalog(name, catalog, dict(_texts(path, _files_of(name, folder))) if catalog.problem else {})
        for name, catalog in distinct_catalogs(workspace.catalogs)
    ]
    listed = {name for known in catalogs for package in known.packages.values() for name in package.bundles}
    loose = [bundle for name, bundle in workspace.bundles.items() if name not in listed]
    if loose:
        modes = update_graphs(path, loose, report)
        members = [uncatalogued(bundle) for bundle in loose]
        catalog = catalog_from_bundles(members, indexing, report, modes)
        report_dropped(catalog, members, report)
        catalogs.append(NamedCatalog(LOOSE_BUNDLES, catalog.packages, catalog.problem))
    return tuple(catalogs)


def catalog_with(catalogs: Sequence[NamedCatalog], package: str, name: str = "") -> NamedCatalog:
    """The catalog with a package, the one called `name` unless that is ""; QueryError if it isn't exactly one."""
    names = [catalog.name for catalog in catalogs]
    if name and name not in names:
        raise not_found(f"There is no catalog {name}", name, names)
    named = [catalog for catalog in catalogs if name in ("", catalog.name)]
    having = [catalog for catalog in named if package in catalog.packages]
    if len(having) > 1:
        several = ", ".join(catalog.name for catalog in having)
        raise QueryError(f"{package} is in several catalogs; choose one with --catalog: {several}.")
    unvendored = [catalog.name for catalog in named if package in catalog.left_out]
    if not having and unvendored:
        raise QueryError(
            f"{package} of catalog {unvendored[0]} is not vendored. Subscribe to it and run `olmc vendor`, or keep all"
            " packages with `olmc vendor --whole-catalogs`."
        )
    if not having:
        where = f"Catalog {name} has no" if name else "There is no"
        raise not_found(f"{where} package {package}", package, (name for catalog in named for name in catalog.packages))
    return having[0]


def is_about_dropped(diagnostic: Diagnostic, package: str) -> bool:
    """Return whether a finding names versions of a package that its graph does not have."""
    return diagnostic.code == DROPPED_VERSIONS.code and f" {package} " in diagnostic.message


def _catalog_texts(path: Path, folder: Folder) -> dict[str, str]:
    """The files below a folder that is a catalog by itself, {} for anything else."""
    if real_path(path).name == CATALOGS_FOLDER or _holds_workspace(folder):
        return {}
    texts = dict(_texts(path, folder.walk()))
    data = {name: text for name, text in texts.items() if name.endswith(SUFFIXES)}
    others = [text for text in data.values() if not _SCHEMA.search(text)]
    # A workspace may hold package manifests beside what makes use of them.
    if any(_PACKAGE_MANIFEST.search(text) for text in others):
        return {} if any(_INSTALLED.search(text) for text in others) else texts
    only_blobs = len(others) < len(data) and not any(_MANIFEST.search(text) for text in others)
    return texts if only_blobs else {}


def _holds_workspace(folder: Folder) -> bool:
    """Return whether there is a bundle, or a folder of catalogs, at any depth."""
    if is_bundle(folder) or folder.folder(CATALOGS_FOLDER) is not None or CONFIG_FILE in folder.files:
        return True
    return any(map(_holds_workspace, folder.folders))


def _texts(path: Path, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The texts of files; those that can't be read are left to the loader to complain about."""
    for name in names:
        text = read_text(path, name, Report())
        if text is not None:
            yield name, text


def distinct_catalogs(catalogs: Mapping[str, Catalog]) -> list[tuple[str, Catalog]]:
    """The catalogs by name without those that are the same under another name."""
    # One directory may serve several CatalogSources; its mistakes are one.
    named = ((name.removeprefix("/"), catalog) for name, catalog in sorted(catalogs.items(), reverse=True))
    by_content = {id(catalog): (name, catalog) for name, catalog in named}
    return sorted(by_content.values(), key=lambda pair: pair[0])


def _files_of(name: str, folder: Folder) -> Iterator[str]:
    """The files of the catalog that the loader calls `name`: those in folders of that name, or of that name itself."""
    if not folder.path:
        yield from (file for file in folder.files if file.partition(".")[0] == name and file.endswith(SUFFIXES))
    for below in folder.folders:
        if below.path.rpartition("/")[2] == name:
            yield from below.walk()
        else:
            yield from _files_of(name, below)


def _named_catalog(name: str, catalog: Catalog, texts: Mapping[str, str]) -> NamedCatalog:
    if not catalog.problem:
        return NamedCatalog(name, catalog.packages, left_out=frozenset(each.name for each in catalog.left_out))
    # Blob by blob, so that what is wrong with one leaves the others to be drawn.
    blobs = Blobs()
    for path in kept_files("", texts):
        file = read_file(path, texts[path], Report())
        for document in file.documents:
            add_document(document.value, document.source, blobs, is_yaml=file.is_yaml)
    return NamedCatalog(name, catalog.packages or packages_of(blobs)[0], catalog.problem)


Mark = Literal["head", "skipped", "deprecated", "prohibited", "stranded", "missing", "elsewhere"]
MARKS: dict[Mark, str] = {
    "head": "the last version of the channel, where upgrades end",
    "skipped": "skipped by another version: OLM never upgrades to it",
    "deprecated": "marked as such in the catalog",
    "prohibited": "it has the property olm.deprecated: OLM never installs it",
    "stranded": "its upgrades never lead to the head of the channel",
    "missing": "listed in the channel, but the catalog has no bundle",
    "elsewhere": "listed in the channel, but its bundle is only in other channels",
}
"""Return the facts about a version in a channel, and their meaning."""

_MOST = 3
_GRAVEST: tuple[Mark, ...] = ("missing", "elsewhere", "stranded", "prohibited", "deprecated", "head", "skipped")


class Cell(NamedTuple):
    """A version in a channel: its label, its marks, and all there is to know of it, line by line."""

    vertex: Vertex
    label: str
    marks: tuple[Mark, ...]
    notes: tuple[str, ...]

    @property
    def gravest(self) -> Mark | Literal["plain"]:
        """The mark that decides on the look."""
        return next((mark for mark in _GRAVEST if mark in self.marks), "plain")


class Arrow(NamedTuple):
    """A line from a version to one that upgrades it; `first` if that is where OLM goes from there."""

    source: str
    target: str
    kind: EdgeKind
    first: bool


class ChannelRow(NamedTuple):
    """A channel: its name, what is written beside it in a word and in full, its versions in order, arrows by target.

    All texts are those of a drawing: `clean`.
    """

    channel: ChannelView
    name: str
    remarks: tuple[str, ...]
    notes: tuple[str, ...]
    cells: tuple[Cell, ...]
    arrows: tuple[Arrow, ...]


def channel_rows(graph: UpgradeGraph, *, all_ranges: bool = False) -> tuple[ChannelRow, ...]:
    """The channels of a graph as they are drawn.

    Two versions are joined by one line at most: `replaces` before `skips` before `skipRange`. Of a version's skipRange
    edges there is only the one that OLM takes first, unless `all_ranges`.
    """
    arrows = _arrows(graph, all_ranges=all_ranges)
    versions = graph.vertices()
    return tuple(
        ChannelRow(
            channel,
            clean(channel.name),
            tuple(remark for remark, _ in _remarks(channel)),
            tuple(clean(note) for _, note in _remarks(channel) if note),
            tuple(_cells(channel, versions)),
            arrows[channel.name],
        )
        for channel in sorted(graph.channels, key=_rank)
    )


def _rank(channel: ChannelView) -> tuple[bool, list[tuple[int, str]]]:
    """The default channel first, then by name, with numbers in names taken as numbers."""
    # So that stable-9 comes before stable-10.
    parts = re.findall(r"([0-9]+)|([^0-9]+)", channel.name)
    return not channel.is_default, [(int(number[:18] or 0), text) for number, text in parts]


def _arrows(graph: UpgradeGraph, *, all_ranges: bool) -> dict[str, tuple[Arrow, ...]]:
    firsts = {channel.name: channel.first for channel in graph.channels}
    by_ends: dict[str, dict[tuple[str, str], Arrow]] = {name: {} for name in firsts}
    for source, target, kind, channels in graph.edges:
        for channel in channels:
            first = firsts[channel].get(source) == target
            # A range joins every version below to every one above it: hundreds of lines that hide the one that counts.
            if first or all_ranges or kind != "skipRange":
                by_ends[channel].setdefault((source, target), Arrow(source, target, kind, first))
    return {name: tuple(arrows.values()) for name, arrows in by_ends.items()}


def _remarks(channel: ChannelView) -> Iterator[tuple[str, str]]:
    if channel.is_default:
        yield "default", ""
    if channel.deprecated:
        yield "deprecated", f"{channel.name} is deprecated: {channel.message}" if channel.message else ""
    if channel.problem:
        yield "no usable order", f"OLM upgrades no version in {channel.name}: {channel.problem}"


def _cells(channel: ChannelView, versions: Mapping[str, Vertex]) -> Iterator[Cell]:
    by_skipped: dict[str, list[str]] = {}
    for entry in channel.entries.values():
        for name in entry.skips:
            by_skipped.setdefault(name, []).append(entry.name)
    ends = dead_ends(channel, versions)
    for name in channel.members:
        vertex = versions[name]
        notes = _notes(channel, vertex, by_skipped.get(name, ()), ends.get(name, ()))
        yield Cell(vertex, label(vertex), tuple(_marks(channel, vertex)), tuple(map(clean, notes)))


def _marks(channel: ChannelView, vertex: Vertex) -> Iterator[Mark]:
    if vertex.name in channel.heads:
        yield "head"
    if vertex.missing:
        yield "missing"
    elif channel.name not in vertex.channels:
        yield "elsewhere"
    elif channel.name in vertex.skipped:
        yield "skipped"
    if vertex.barred:
        yield "prohibited"
    elif vertex.deprecated:
        yield "deprecated"
    if channel.name in vertex.stranded:
        yield "stranded"


def _notes(channel: ChannelView, vertex: Vertex, skipping: Sequence[str], ends: Iterable[str]) -> Iterator[str]:
    yield vertex.name
    if vertex.name in channel.heads:
        yield f"head of {channel.name}"
    if vertex.missing:
        yield "the catalog has no bundle of it"
    elif channel.name not in vertex.channels:
        yield f"not in {channel.name}, only in {', '.join(vertex.channels) or 'no channel drawn here'}"
    elif channel.name in vertex.skipped:
        yield f"skipped by {join_limited(skipping, _MOST)}: OLM never upgrades to it"
    if vertex.deprecated:
        yield f"deprecated: {vertex.message}" if vertex.message else "deprecated"
    if vertex.barred:
        yield "OLM never installs it (property olm.deprecated)"
    if channel.name in vertex.stranded:
        yield "stranded: its upgrades never lead to the head of the channel"
        yield from (f"no way on to {text}" for text in islice(ends, _MOST))
    if vertex.name in channel.first:
        yield f"OLM upgrades it to {channel.first[vertex.name]}"
