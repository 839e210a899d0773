"""The entries of a repository: the folders that GitOps tools apply, of which each is a workspace by itself.

A repository for several clusters holds bases, components and overlays. Read as one workspace its files would mean
nothing: bases that somebody patches, and the same Subscription once for each cluster.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.compiler.load.bundles import CATALOGS_FOLDER, is_project
from olmc.compiler.load.charts import charts_of_operators, charts_within, outside_of_charts, read_chart
from olmc.compiler.load.files import (
    Folder,
    ScannedFolder,
    has_file,
    is_bundle,
    no_folder,
    read_text,
    real_path,
    scan,
    scan_workspace,
)
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
from olmc.compiler.load.patterns import cluster_groups
from olmc.compiler.load.releases import (
    LOCAL_CLUSTER,
    OWN_VALUES,
    Applier,
    Appliers,
    Release,
    is_kept_aside,
    read_appliers,
    speaks_of_tools,
)
from olmc.compiler.load.workspace_files import CHART_FILE, TEMPLATES_FOLDER, is_chart, is_for_cluster
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import OWN_OUTPUT
from olmc.compiler.rules.findings import building as rules
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import OLM_GROUP, OLM_V1_GROUP, POLICY_GROUP, Manifest, as_text, gvk_of, mapping, namespace_of
from olmc.k8s.yaml import read

if TYPE_CHECKING:
    from olmc.compiler.load.helm import Rendering

_OLM_INPUT = regex(
    r"^(?:[\"'{-]|[^\S\n])*+kind[\"']?\s*:\s*[\"']?(Subscription|OperatorGroup|CatalogSource|OperatorPolicy"
    r"|ClusterExtension|ClusterCatalog)\b",
    re.MULTILINE,
)
# The texts in values of charts, names of bases and settings of generators if operators come of them.
_OLM_SETTINGS = regex(
    r"\bsource(?:Namespace|Type)\s*:|ocpCatalog|installPlanApproval|startingCSV|subscriptions?\s*:"
    r"|kind:\s*[\"']?(?:Subscription|OperatorGroup|CatalogSource)\b",
    re.IGNORECASE,
)
_ANY_OLM = regex(
    r"operators\.coreos\.com/v\d|olm\.operatorframework\.io/v\d|schema[\"']?\s*:\s*[\"']?olm\.|policy\.open-cluster"
)
_OLM_NAMES = regex(r"operator|subscription|opergroup|catalogsource|\bolm\b", re.IGNORECASE)
_OLM_BASES = regex(
    r"gitops-catalog|subscription|operator-?group|catalog-?source|\bolm\b"
    r"|operator.*\b(?:overlays?|channels?|stable|fast|latest|candidate|base|aggregate)\b",
    re.IGNORECASE,
)
_TOOLS = regex(r"\b(?:argoproj|toolkit\.fluxcd)\.io/v\d")
_GENERATORS = regex(r"^kind\s*:\s*[\"']?(?:PolicyGenTemplate|PolicyGenerator)\b", re.MULTILINE)
_ASIDE = frozenset({
    "archive", "archived", "archives", "doc", "docs", "example", "examples", "hack", "sample", "samples", "template",
    "templates", "test", "testdata", "tests",
})  # fmt: skip
"""Names of folders with files that no tool applies."""
_COMPONENT = "Component"
_MOST = 40
_OLM_MARKS = (f"{OLM_GROUP}/v1", f"{OLM_V1_GROUP}/v1")
_POLICY_MARK = f"{POLICY_GROUP}/v1"
_MARKS = (*_OLM_MARKS, _POLICY_MARK)
"""The API versions of objects that ask for operators. A group alone is in lists of permissions as well."""


class RepositoryEntry(NamedTuple):
    """A folder that is applied as a whole, relative to the repository, and who applies it as far as that is known.

    A Helm chart is an entry for each `release` of it: with other values it becomes something else. With `is_pattern`
    the path is that of a file with the values of a validated pattern.
    """

    path: str
    appliers: tuple[Applier, ...] = ()
    is_kustomization: bool = False
    is_chart: bool = False
    release: Release | None = None
    is_pattern: bool = False

    def __str__(self) -> str:
        names = ", ".join(dict.fromkeys(applier.name for applier in self.appliers))
        return f"{self.path} ({names})" if names else self.path


class Repository(NamedTuple):
    """A repository that holds several entries, its tree, and the objects by which GitOps tools apply its folders."""

    root: Path
    folder: Folder
    entries: tuple[RepositoryEntry, ...]
    applied: Appliers


class _KustomizedFolder(NamedTuple):
    """A folder with a kustomization: the folders and the files that it names, the texts by which it names something
    that is not in the repository, and which of the files are no objects by themselves."""

    is_component: bool
    folders: tuple[str, ...]
    files: tuple[str, ...]
    absent: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


def appliers_in(root: Path, folder: Folder) -> Appliers:
    """Read what applies the folders of the repository at `root`, whose tree is `folder`: the objects of GitOps tools in
    its files, and those that its charts become, with the values by which others of these install the charts."""
    applied = read_appliers(root, folder)
    charts = [chart for chart in _charts_in(folder) if _makes_appliers(root, chart)]
    known: dict[tuple[str, Release | None], tuple[Manifest, ...] | None] = {}
    for _ in range(_MOST_LEVELS if charts else 0):
        rendered = {}
        for chart in charts:
            releases = dict.fromkeys(applier.release for applier in applied.of(chart.path or "."))
            made = [_rendered_once(root, chart.path, release, known) for release in releases or (None,)]
            if None not in made:
                several = chain.from_iterable(filter(None, made))
                rendered[chart.join(TEMPLATES_FOLDER)] = tuple(several)
        before, applied = applied, read_appliers(root, folder, rendered)
        if applied == before:
            break
    return applied


_MOST_LEVELS = 5
"""The number of charts in a row that may create Applications of each other."""


def _rendered_once(
    root: Path, path: str, release: Release | None, known: dict[tuple[str, Release | None], tuple[Manifest, ...] | None]
) -> tuple[Manifest, ...] | None:
    """Return the objects of a chart in a release, None if olmc can't render it."""
    key = path, release
    if key not in known:
        report = Report()
        made = rendered_chart(root, path, release, Options(), (), report)
        known[key] = None if report.failed else made.manifests
    return known[key]


def rendered_chart(
    root: Path, path: str, release: Release | None, options: Options, kinds: Sequence[str], report: Report
) -> Rendering:
    """Render the chart at a path of a repository as `helm.render` does, with the values of a release or its own."""
    from olmc.compiler.load.helm import HelmTarget, render  # few repositories have charts

    target = HelmTarget(options.kube_version or Options().kube_version, tuple(options.api_resources))
    return render(root, root / path, release or OWN_VALUES, target, kinds, report)


def _charts_in(folder: Folder) -> Iterator[Folder]:
    """The charts below a folder, but for those that others have in them."""
    if is_chart(folder):
        yield folder
        return
    for below in folder.folders if not is_bundle(folder) else ():
        yield from _charts_in(below)


def _makes_appliers(root: Path, chart: Folder) -> bool:
    """Return whether a template of a chart that is not kept aside may become an object by which a GitOps tool applies
    folders."""
    templates = chart.folder(TEMPLATES_FOLDER)
    if templates is None or is_kept_aside(chart.path):
        return False
    texts = (read_text(root, path, Report()) or "" for path in templates.walk() if path.endswith(SUFFIXES))
    return any(map(speaks_of_tools, texts))


def has_kustomizations(root: Path, folder: Folder) -> bool:
    """Return whether there is a kustomization anywhere below a folder, outside of bundles, that is no output of
    olmc."""
    return any(kustomization_in(root, below) for below in _kustomized(folder))


def find_entries(root: Path, folder: Folder, applied: Appliers) -> tuple[RepositoryEntry, ...]:
    """The entries of the repository at `root`, whose tree is `folder`: those that somebody applies, then by path.

    An entry is what Argo CD or Flux apply, as far as objects in the repository say so, every kustomization that no
    other one takes in, every chart as it is installed, and every folder with policies or objects of OLM that is beside
    all of them. Only those count in which there is something of OLM.
    """
    nodes = _nodes(root, folder)
    taken = {target for node in nodes.values() for target in node.folders}
    holds = _Holding(root, nodes, {})
    entries = [
        RepositoryEntry(path, _distinct_appliers(applied.of(path)), is_kustomization=True)
        for path, node in nodes.items()
        if not node.is_component
        and (path not in taken or path in applied.by_path or path in applied.by_values)
        and holds.olm(path)
    ]
    of_operators = list(charts_of_operators(root, folder))
    installed = (chart for chart in of_operators if chart.path in applied.by_path or not is_kept_aside(chart.path))
    inner = charts_within(root, installed) - applied.by_path.keys()
    charts = {chart.path or ".": None for chart in of_operators if chart.path not in inner}
    charts |= dict.fromkeys(chart.path for chart in _charts_of_others(root, folder) if chart.path)
    charts = {path: None for path in charts if not _is_library(root, path)}
    for path in charts:
        entries += _releases(path, applied.of(path))
    plain = [
        path
        for path, appliers in applied.by_path.items()
        if path not in nodes and path not in charts and _has_olm(root, folder, path, appliers)
    ]
    loose = _policy_folders(root, folder, nodes, charts)
    if not applied.by_path and not applied.open_sources:
        loose += _loose_folders(root, folder, nodes, (*plain, *charts))
    plain += [path for path in dict.fromkeys(loose) if path not in plain and path not in charts]
    entries += (RepositoryEntry(path, _distinct_appliers(applied.of(path))) for path in plain)
    patterns = [group.path for group in cluster_groups(root, folder)]
    entries += (RepositoryEntry(path, _distinct_appliers(applied.of(path)), is_pattern=True) for path in patterns)
    return tuple(sorted(_without_examples(entries), key=lambda entry: (not entry.appliers, entry.path)))


def _without_examples(entries: Sequence[RepositoryEntry]) -> Sequence[RepositoryEntry]:
    """The entries without those in archives, examples and data of tests that no tool applies; all of them in a
    repository that has no others."""
    kept = [entry for entry in entries if entry.appliers or not is_kept_aside(entry.path)]
    return kept or entries


def _distinct_appliers(appliers: Sequence[Applier]) -> tuple[Applier, ...]:
    """The objects that apply a folder without those that another one of them makes, and without the base of an object
    whose overlays name clusters."""
    names = {applier.name for applier in appliers}
    named = {_without_namespace(applier) for applier in appliers if not _is_local(applier)}
    return tuple(
        applier
        for applier in appliers
        if applier.made_by not in names and not (_is_local(applier) and _without_namespace(applier) in named)
    )


def _is_local(applier: Applier) -> bool:
    return applier.destination.cluster in ("", LOCAL_CLUSTER)


def _without_namespace(applier: Applier) -> tuple[str, str]:
    """The kind and the name of an applier, which are all that a patch of it has."""
    kind, *_, name = applier.name.split("/")
    return kind, name


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


def read_repository(root: Path, folder: Folder) -> Repository:
    """Return what is at `root`, whose tree is `folder`, with the entries of which one has to be chosen.

    A workspace has none: it may have charts beside its objects that are installed from elsewhere. Folders of plain
    manifests are several workspaces once several of them are applied, each by itself. A single one is an entry if its
    objects of OLM have the namespace from what applies it.
    """
    is_built = has_kustomizations(root, folder)
    has_charts = any(True for _ in charts_of_operators(root, folder))
    if not (is_built or has_charts or any(True for _ in cluster_groups(root, folder))):
        plain = as_repository(root, folder)
        is_several = len({entry.path for entry in plain.entries}) > 1
        return plain if is_several or _gets_namespaces(root, plain) else plain._replace(entries=())
    applied = appliers_in(root, folder)
    found = Repository(root, folder, find_entries(root, folder, applied), applied)
    if any(entry.appliers or not entry.is_chart for entry in found.entries):
        return found
    if is_built and not found.entries and not _has_own_olm(root, folder):
        # The tools of the repository apply no operators, so a user applies the rest by hand.
        loose = _loose_folders(root, folder, _nodes(root, folder), ())
        return found._replace(entries=tuple(map(RepositoryEntry, loose)))
    outside = (path for path in outside_of_charts(folder) if not _is_aside(posixpath.dirname(path)))
    return found._replace(entries=()) if any(_is_whole_olm(root, path) for path in outside) else found


def _gets_namespaces(root: Path, repository: Repository) -> bool:
    """Return whether objects of OLM in an entry have no namespace, and what applies the entry names one."""
    folders = {below.path: below for below in _folders(repository.folder)}
    for entry in repository.entries:
        if any(applier.destination.namespace for applier in entry.appliers):
            files = as_read(folders[entry.path], entry.appliers).walk()
            if any(_has_homeless(root, path) for path in files if _is_olm(root, path)):
                return True
    return False


def _has_homeless(root: Path, path: str) -> bool:
    documents = read(path, read_text(root, path, Report()) or "", Report())
    objects = (mapping(document.value) for document in documents)
    return any(gvk_of(obj).group == OLM_GROUP and not namespace_of(obj) for obj in objects)


def _is_aside(folder: str) -> bool:
    """Return whether the files of a folder are for no tool, by the names of the folders on the way."""
    return not _ASIDE.isdisjoint(folder.lower().split("/")) or is_kept_aside(folder)


def is_without_olm(root: Path, folder: Folder) -> bool:
    """Return whether no file below a folder has anything of OLM in it."""
    for below in _folders(folder):
        if is_bundle(below):
            return False
        for name in below.files:
            text = (read_text(root, below.join(name), Report()) or "") if name.endswith(SUFFIXES) else ""
            if _ANY_OLM.search(text):
                return False
    return True


def _without_content(folder: Folder) -> Folder:
    """Return a folder without the bundles and the catalogs below it, which are not applied."""
    below = (f for f in folder.folders if not is_bundle(f) and f.path.rpartition("/")[2] != CATALOGS_FOLDER)
    return folder._replace(folders=tuple(map(_without_content, below)))


def unapplied_files(root: Path, folder: Folder) -> frozenset[str]:
    """The manifests of a repository without entries that ask for no operator: no tool is known to apply them. Empty if
    the folder itself has objects, so that it may be applied as a whole."""
    if has_own_objects(root, folder):
        return frozenset()
    files = (below.join(name) for below in _outside_of_bundles(folder) for name in below.files)
    return frozenset(
        path
        for path in files
        if path.endswith(SUFFIXES)
        and posixpath.basename(path) != CHART_FILE
        and _ANY_OLM.search(read_text(root, path, Report()) or "") is None
    )


def folders_without_olm(root: Path, folder: Folder) -> frozenset[str]:
    """The folders of a workspace with nothing of OLM in their files, which a tool may apply by themselves or not at
    all; none in a workspace with objects at its top, which may be applied as a whole."""
    if has_own_objects(root, folder):
        return frozenset()
    of_folders = (below._replace(folders=()) for below in _outside_of_bundles(folder))
    return frozenset(alone.path for alone in of_folders if is_without_olm(root, alone))


def _has_own_olm(root: Path, folder: Folder) -> bool:
    """Return whether there are objects of OLM in the files of a folder itself."""
    return any(_is_whole_olm(root, folder.join(name)) for name in folder.files)


def has_own_objects(root: Path, folder: Folder) -> bool:
    """Return whether there are objects in the files of a folder itself, other than those by which GitOps tools
    start."""
    texts = (read_text(root, folder.join(name), Report()) or "" for name in folder.files if name.endswith(SUFFIXES))
    return any(is_for_cluster(text) and not _TOOLS.search(text) for text in texts)


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


_WAY_TO_ONE = (
    "Give the folder of one as PATH; `olmc render` and `olmc diff` also take its folder or the name of what applies it "
    "with --entry:"
)


def report_entries(entries: Sequence[RepositoryEntry], report: Report) -> None:
    """Say which entries there are, where one has to be chosen."""
    if entries:
        listed = [f"  {entry}" for entry in entries[:_MOST]]
        more = [f"  and {len(entries) - _MOST} more"] if len(entries) > _MOST else []
        hint = "\n".join((_WAY_TO_ONE, *listed, *more))
        held = (("kustomizations", any(entry.is_kustomization for entry in entries)),
                ("charts", any(entry.is_chart for entry in entries)))  # fmt: skip
        kinds = " and ".join(name for name, is_there in held if is_there) or "applications"
        count = len({entry.path for entry in entries})
        report.add(rules.SEVERAL_ENTRIES.finding(None, kinds=kinds, count=count, hint=hint))


def repository_at(root: Path, tree: ScannedFolder | None = None) -> Repository | None:
    """Read the repository at `root` with its entries, None for a workspace; `tree` is its tree, if it was scanned."""
    if no_folder(root):
        return None
    tree = tree if tree is not None else scan_workspace(root, by_package=True)
    folder = tree.folder
    if tree.beyond:
        return None  # only a repository of bundles is read then
    if kustomization_in(root, folder) is not None or is_bundle(folder) or is_project(folder):
        return None
    repository = read_repository(root, folder)
    return repository if repository.entries else None


def may_have_been_repository(root: Path, tree: ScannedFolder) -> bool:
    """Return whether another version of a workspace may be a repository: it has no OLM, or tools apply folders of
    it."""
    if tree.beyond:
        return False
    applied = appliers_in(root, _without_content(tree.folder))
    return bool(applied.by_path or applied.sets) or is_without_olm(root, tree.folder)


def as_repository(root: Path, folder: Folder) -> Repository:
    """Return what is at `root`, whose tree is `folder`, as a repository, with those entries that tools apply.

    It may be a workspace, as a repository is that has no OLM any more, or one entry of plain manifests.
    """
    without = _without_content(folder)
    applied = appliers_in(root, without)
    entries = find_entries(root, without, applied)
    return Repository(root, folder, tuple(entry for entry in entries if entry.appliers), applied)


def with_entries_of(repository: Repository, other: Repository) -> Repository:
    """Return a repository with the entries of another version of it that are here as well, and without OLM.

    Without them, an object that stays would be new or removed because a file of OLM beside it is. A folder that a tool
    applies in one version alone is no such entry.
    """
    known = {entry.path for entry in repository.entries}
    missing = [entry for entry in other.entries if entry.path not in known and not entry.is_pattern]
    if not missing:
        return repository
    applied = repository.applied
    folders = {below.path: below for below in _folders(repository.folder)}
    found: list[RepositoryEntry] = []
    for entry in missing:
        folder = folders.get(entry.path)
        appliers = _distinct_appliers(applied.of(entry.path))
        if folder is None or bool(appliers) != bool(entry.appliers):
            continue
        if entry.is_chart and is_chart(folder):
            found += _releases(entry.path, appliers)
        elif not entry.is_chart and entry.is_kustomization == (kustomization_in(repository.root, folder) is not None):
            found.append(entry._replace(appliers=appliers))
    return repository._replace(entries=(*repository.entries, *dict.fromkeys(found)))


def entries_at(root: Path) -> tuple[RepositoryEntry, ...]:
    """The entries of the repository at `root`, () where there is nothing to read."""
    if no_folder(root):
        return ()
    folder = scan(root, Report())
    return find_entries(root, folder, appliers_in(root, folder))


def chosen(entries: Iterable[RepositoryEntry], name: str) -> list[RepositoryEntry]:
    """The entries that a name means: a folder, or what applies folders as `Kind/namespace/name` or its end."""
    path = posixpath.normpath(name)
    return [entry for entry in entries if path == entry.path or any(_is_called(a, name) for a in entry.appliers)]


def changed_entries(entries: Iterable[RepositoryEntry], report: Report, *, is_placed: bool = False) -> None:
    """Report what GitOps tools change in entries while they apply them; if they are `is_placed`, the namespaces and the
    variables of the tools count already."""
    for entry in entries:
        for applier in entry.appliers:
            there = applier.destination
            placed = (("targetNamespace", there.replaces), ("postBuild", there.variables is not None))
            changes = (*applier.changes, *(field for field, is_set in placed if is_set and not is_placed))
            if changes:
                fields = " and ".join(changes)
                finding = rules.ENTRY_CHANGED.finding(applier.place, name=applier.name, path=entry.path, fields=fields)
                report.add(finding._replace(hint=_PLUGIN_HINT) if "source.plugin" in changes else finding)


_PLUGIN_HINT = "olmc builds the folder without the plugin; values that only the plugin fills in are unknown."


def _is_called(applier: Applier, name: str) -> bool:
    return applier.name == name or applier.name.endswith(f"/{name}")


def _outside_of_bundles(folder: Folder) -> Iterator[Folder]:
    if not is_bundle(folder):
        yield folder
        for below in folder.folders:
            yield from _outside_of_bundles(below)


def _kustomized(folder: Folder) -> Iterator[Folder]:
    if is_bundle(folder):
        return
    if any(name in folder.files for name in NAMES):
        yield folder
    for below in folder.folders:
        yield from _kustomized(below)


def _nodes(root: Path, folder: Folder) -> dict[str, _KustomizedFolder]:
    """The kustomizations below a folder, by their paths."""
    return {below.path: _node(root, below) for below in _kustomized(folder) if kustomization_in(root, below)}


class TakingKustomization(NamedTuple):
    """A kustomization that takes in certain files, directly or by others: its file, those of the files, the fields by
    which it may change them, and its other files with their texts."""

    file: str
    taken: frozenset[str]
    fields: Mapping[str, Any]
    parts: tuple[tuple[str, str], ...]


def kustomizations_with(root: Path, folder: Folder, files: Collection[str]) -> dict[str, TakingKustomization]:
    """Return the kustomizations that take in any of the files, by their folders."""
    nodes = _nodes(root, folder) if files else {}
    taken = {path: {file for file in node.files if file in files} for path, node in nodes.items()}
    for _ in nodes:
        before = sum(map(len, taken.values()))
        for path, node in nodes.items():
            taken[path] |= {file for below in node.folders for file in taken.get(below, ())}
        if before == sum(map(len, taken.values())):
            break
    names = {below.path: next(name for name in NAMES if name in below.files) for below in _kustomized(folder)}
    found = {}
    for path, some in taken.items():
        if some:
            file = f"{path}/{names[path]}" if path else names[path]
            content, _ = read_kustomization(root / file, file)
            fields = {key: value for key, value in content.items() if key not in _LISTING}
            texts = (
                (part, read_text(root, part, Report()) or "") for part in nodes[path].parts if has_file(root, part)
            )
            found[path] = TakingKustomization(file, frozenset(some), fields, tuple(texts))
    return found


_LISTING = frozenset({"apiVersion", "kind", "metadata", "resources", "bases"})


def _node(root: Path, folder: Folder) -> _KustomizedFolder:
    name = next(name for name in NAMES if name in folder.files)
    content, _ = read_kustomization(root / folder.join(name), folder.join(name))
    folders: list[str] = []
    files: list[str] = []
    absent: list[str] = []
    parts: list[str] = []
    for reference in policy_references(content, root / folder.path):
        path = _joined(folder.path, reference)
        below = next((f for f in _folders(folder) if f.path == path), None)
        if path is None or not (root / path).exists():
            absent.append(reference.text)
        elif below is not None and any(name in below.files for name in NAMES):
            folders.append(path)
        else:
            parts += [path] if below is None else [below.join(name) for name in below.files]
    files += parts
    for reference in references(content):
        path = _joined(folder.path, reference)
        if reference.is_chart or path is None:
            absent.append(reference.text)
        elif path.endswith(SUFFIXES) or not reference.may_be_folder:
            files.append(path)
            parts += [path] if reference.keys[0] in PART_FIELDS else []
        else:
            folders.append(path)
    is_component = content.get("kind") == _COMPONENT
    return _KustomizedFolder(is_component, tuple(folders), tuple(files), tuple(absent), tuple(parts))


def _joined(folder: str, reference: KustomizationReference) -> str | None:
    """Return where a reference leads in the repository; None for what is remote or outside."""
    if is_remote(reference):
        return None
    path = posixpath.normpath(posixpath.join(folder, reference.text))
    return None if path.startswith("../") else path


class _Holding(NamedTuple):
    """The kustomizations that have objects of OLM, as far as olmc has read them."""

    root: Path
    nodes: Mapping[str, _KustomizedFolder]
    known: dict[str, bool]

    def olm(self, path: str) -> bool:
        """Return whether a kustomization, or one that it takes in, names a file with something of OLM, or something
        that is not in the repository and is called like an operator."""
        if path not in self.known and path in self.nodes:
            self.known[path] = False  # for those that take in each other
            node = self.nodes[path]
            here = any(_is_olm(self.root, file) for file in node.files)
            here = here or any(map(_OLM_BASES.search, node.absent)) or any(map(self._generates, node.parts))
            self.known[path] = here or any(self.olm(below) for below in node.folders)
        return self.known.get(path, False)

    def _generates(self, path: str) -> bool:
        """Return whether a file configures a generator of policies, and manifests of it are called like those of
        operators."""
        text = read_text(self.root, path, Report()) or "" if has_file(self.root, path) else ""
        return _GENERATORS.search(text) is not None and _OLM_NAMES.search(text) is not None


def _policy_folders(
    root: Path, folder: Folder, nodes: Mapping[str, _KustomizedFolder], charts: Iterable[str]
) -> list[str]:
    """The topmost folders with policies about OLM in files that belong to no kustomization and no chart."""
    named = {file for node in nodes.values() for file in node.files}
    parts = {*nodes, *charts}
    topmost: list[str] = []
    waiting = [folder]
    while waiting:
        below = waiting.pop()
        # A cluster may be called test.
        name = below.path.rpartition("/")[2].lower()
        if below.path in parts or name in _ASIDE - {"test"} or is_kept_aside(below.path):
            continue
        paths = [below.join(name) for name in below.files] if below.path else []
        if any(path not in named and _is_olm(root, path, _POLICY_MARK) for path in paths):
            topmost.append(below.path)
        else:
            waiting.extend(below.folders)
    return sorted(topmost)


def _loose_folders(
    root: Path, folder: Folder, nodes: Mapping[str, _KustomizedFolder], known: Sequence[str]
) -> list[str]:
    """The folders with objects of OLM in files that belong to no kustomization and no chart."""
    named = {file for node in nodes.values() for file in node.files}
    parts = {*nodes, *known}
    found: list[str] = []
    waiting = [folder]
    while waiting:
        below = waiting.pop()
        if below.path in parts or _is_aside(below.path) or is_chart(below):
            # A chart may have folders beside it that are none of its own.
            waiting.extend(f for f in below.folders if below.path not in parts and not _is_aside(below.path))
            continue
        paths = (below.join(name) for name in below.files if below.path)
        if any(path not in named and _is_whole_olm(root, path) for path in paths):
            found.append(below.path)
        else:
            waiting.extend(below.folders)
    return sorted(found)


def _is_whole_olm(root: Path, path: str) -> bool:
    """Return whether a file has something of OLM that can be applied as it stands; olmc does not read its own
    output."""
    text = read_text(root, path, Report()) or ""
    return _is_olm(root, path, *_OLM_MARKS) and "{{" not in text and not text.startswith(OWN_OUTPUT)


def _charts_of_others(root: Path, folder: Folder) -> Iterator[Folder]:
    """The charts below a folder, itself among them, for which others speak of OLM."""
    if is_chart(folder):
        if needs_charts_of_operators(root, folder):
            yield folder
        return
    for below in folder.folders:
        yield from _charts_of_others(root, below)


def needs_charts_of_operators(root: Path, chart: Folder) -> bool:
    """Return whether a chart needs others from elsewhere and has settings of OLM for them."""
    texts = (read_text(root, chart.join(name), Report()) or "" for name in chart.files if name.endswith(SUFFIXES))
    if not any(map(_OLM_SETTINGS.search, texts)):
        return False
    needed = read_chart(real_path(root / chart.path), root).dependencies
    return any(dependency.folder is None and not dependency.is_local for dependency in needed)


def _is_below(path: str, folder: str) -> bool:
    return folder in ("", path) or path.startswith(f"{folder}/")


def _is_olm(root: Path, path: str, *marks: str) -> bool:
    """Return whether a file has something of OLM, which one of the marks shows: other APIs have Subscriptions as
    well."""
    if not path.endswith(SUFFIXES) or not has_file(root, path):
        return False
    text = read_text(root, path, Report()) or ""
    return any(mark in text for mark in marks or _MARKS) and _OLM_INPUT.search(text) is not None


def _is_library(root: Path, path: str) -> bool:
    """Return whether a chart only serves other charts: Helm installs none of these."""
    return as_text(read_chart(real_path(root / path), root).content.get("type")) == "library"


def _has_olm(root: Path, folder: Folder, path: str, appliers: Iterable[Applier]) -> bool:
    """Return whether a folder without a kustomization has something of OLM in the files that tools read of it; those of
    a chart are templates."""
    below = next((f for f in _folders(folder) if f.path == path), None)
    if below is None or is_chart(below):
        return False
    return any(_is_olm(root, name) for name in as_read(below, tuple(appliers)).walk())


def as_read(folder: Folder, appliers: Sequence[Applier]) -> Folder:
    """Return a folder without a kustomization with the files that tools apply of it; the content of bundles and
    catalogs below it stays."""
    start = len(folder.path) + 1 if folder.path else 0

    def read_of(below: Folder) -> Folder:
        if below is not folder and (is_bundle(below) or below.path.rpartition("/")[2] == CATALOGS_FOLDER):
            return below
        files = (name for name in below.files if any(a.reading.takes(below.join(name)[start:]) for a in appliers))
        return below._replace(files=tuple(files), folders=tuple(map(read_of, below.folders)))

    return read_of(folder) if appliers else folder


def _folders(folder: Folder) -> Iterator[Folder]:
    yield folder
    for below in folder.folders:
        yield from _folders(below)
