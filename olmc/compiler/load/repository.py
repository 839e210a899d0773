"""A repository as the clusters that GitOps tools make of it: which entries go where, and what each entry builds to.

Entries of one cluster count for each other, as they do in the cluster: the OperatorGroup of one lets the Subscription
of another one resolve. Where nothing in the repository says to which cluster an entry goes, any other entry may be
there as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from olmc.compiler.load.bundles import CATALOGS_FOLDER, manifests_in_namespace
from olmc.compiler.load.charts import kinds_of_chart
from olmc.compiler.load.config import CONFIG_FILE, LOCK_FILE, openshift_place
from olmc.compiler.load.entries import (
    Repository,
    RepositoryEntry,
    as_read,
    changed_entries,
    entries_at,
    rendered_chart,
    repository_at,
)
from olmc.compiler.load.files import Folder, is_bundle, read_text, real_path
from olmc.compiler.load.kustomization import SharedBases, kustomization_in, relative_path, repository_of
from olmc.compiler.load.patterns import cluster_groups
from olmc.compiler.load.releases import LOCAL_CLUSTER, Applier, Destination, Variables
from olmc.compiler.load.vendored import VENDOR_FOLDER
from olmc.compiler.load.workspace_files import FoundFiles, add_installed_by_policies, add_parts, found_files
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import Reason, Unused
from olmc.compiler.rules.findings import building as rules
from olmc.k8s.diagnostics import Diagnostic, Location, RefusedObject, Report, Severity, join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import (
    OLM_GROUP,
    OLM_V1_GROUP,
    RBAC,
    KubernetesObject,
    Manifest,
    ObjectKey,
    annotations_of,
    gvk_of,
    mapping,
    name_of,
    namespace_of,
    object_key,
    spec_of,
    texts,
)
from olmc.k8s.objects import text as as_text
from olmc.k8s.yaml import read

# Which entries make up which cluster.


class Placement(NamedTuple):
    """An entry as it is applied to one place: the namespace and the variables that the GitOps tool gives it."""

    entry: RepositoryEntry
    destination: Destination = Destination()


class RepositoryCluster(NamedTuple):
    """Clusters with the same entries, by their names; () for an entry of which the repository names no cluster."""

    names: tuple[str, ...]
    placements: tuple[Placement, ...]

    @property
    def title(self) -> str:
        """The names of the clusters, or the folder of the entry."""
        return ", ".join(self.names) or self.placements[0].entry.path

    @property
    def paths(self) -> tuple[str, ...]:
        """The folders of the entries."""
        return tuple(dict.fromkeys(placement.entry.path for placement in self.placements))


def clusters_of(entries: Sequence[RepositoryEntry]) -> tuple[RepositoryCluster, ...]:
    """Group entries by the clusters that they are applied to; clusters with the same entries are one group.

    An entry that no tool of the repository applies is in the cluster that one of its folders is called after.
    """
    by_name: dict[str, dict[Placement, None]] = {}
    open_placements: list[Placement] = []
    for entry in entries:
        destinations = dict.fromkeys(_destination(entry, applier) for applier in entry.appliers)
        for destination in destinations or [Destination()]:
            # Variables may come from objects that each cluster has for itself.
            has_sources = destination.variables is not None and destination.variables.sources
            placement = Placement(entry, destination if has_sources else destination._replace(cluster=""))
            if destination.cluster:
                by_name.setdefault(destination.cluster, {})[placement] = None
            else:
                open_placements.append(placement)
    alone: list[RepositoryCluster] = []
    for placement in dict.fromkeys(open_placements):
        named = [name for name in placement.entry.path.split("/") if name in by_name]
        if named:
            by_name[named[-1]][placement] = None
        elif not any(placement in placements for placements in by_name.values()):
            alone.append(RepositoryCluster((), (placement,)))
    names: dict[tuple[Placement, ...], list[str]] = {}
    for name, placements in sorted(by_name.items()):
        names.setdefault(tuple(placements), []).append(name)
    named_clusters = (RepositoryCluster(tuple(several), placements) for placements, several in names.items())
    return (*named_clusters, *alone)


def _destination(entry: RepositoryEntry, applier: Applier) -> Destination:
    release = entry.release
    if release is not None and release.namespace and not applier.destination.namespace:
        return applier.destination._replace(namespace=release.namespace)
    return applier.destination


def headings_of(*sides: Sequence[RepositoryCluster]) -> list[list[str]]:
    """The titles of clusters, on each side of a comparison; where a side has equal ones, with what applies the entry,
    then the namespace, then the file that says so, as far as that takes to tell them apart, and at last a number. Both
    sides say the same of a cluster."""
    headings = [[cluster.title for cluster in side] for side in sides]
    for most in range(1, 4):
        equal = {each for side in headings for each, count in Counter(side).items() if count > 1}
        for side, clusters in zip(headings, sides, strict=True):
            for at, cluster in enumerate(clusters):
                if side[at] in equal and not cluster.names:
                    more = ", ".join(filter(None, _details(cluster)[:most]))
                    side[at] = f"{cluster.title} ({more})" if more else side[at]
    return [[f"{each} #{number}" if (number := side[:at].count(each) + 1) > 1 else each for at, each in enumerate(side)]
            for side in headings]  # fmt: skip


def _details(cluster: RepositoryCluster) -> tuple[str, str, str]:
    """The objects that apply the one entry of a cluster without a name, the namespace for it, and their files."""
    entry, destination = cluster.placements[0]
    own = [each for each in entry.appliers if _destination(entry, each)._replace(cluster="") == destination]
    appliers, namespace = own or entry.appliers, destination.namespace
    return (
        ", ".join(dict.fromkeys(applier.name for applier in appliers)),
        f"namespace {namespace}" if namespace else "",
        ", ".join(dict.fromkeys(applier.place.path for applier in appliers)),
    )


# The objects of the entries.

_OFFLINE = frozenset(
    rule.code
    for rule in (rules.REMOTE_BASE, rules.HELM_IN_KUSTOMIZATION, rules.PLUGIN_IN_KUSTOMIZATION, rules.BASE_OUTSIDE,
                 rules.NO_KUSTOMIZE, rules.REMOTE_CHART, rules.NO_HELM, rules.NOT_RENDERED, rules.NO_VALUE_FILE)
)  # fmt: skip
"""Codes of what olmc lacks to build an entry, and a GitOps tool may have."""

_SHOWN = 12


class EntryContent(NamedTuple):
    """The objects of an entry, as it is applied: its content, the findings about that, the `problems` that prevent its
    build, and the objects that get their namespace from a tool outside of the repository."""

    placement: Placement
    found: FoundFiles
    findings: tuple[Diagnostic, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    homeless: tuple[Manifest, ...] = ()
    variables: tuple[str, ...] = ()


class ClusterPart(NamedTuple):
    """The input of a compilation of one cluster of a repository: the cluster, the content of its entries, and the
    manifests of other entries that may be in the cluster. `shared` are the catalogs at the top of the repository,
    `openshift` is the place that shows that the cluster is an OpenShift. `heading` is a title that no other cluster of
    the repository has."""

    cluster: RepositoryCluster
    contents: tuple[EntryContent, ...]
    shared: FoundFiles
    others: tuple[Manifest, ...] = ()
    openshift: Location | None = None
    heading: str = ""

    @property
    def left_out(self) -> tuple[str, ...]:
        """The folders of the entries that can't be built."""
        return tuple(content.placement.entry.path for content in self.contents if content.problems)

    @property
    def has_broken(self) -> bool:
        """Return whether an entry is left out for its own files, and not for something that olmc lacks offline."""
        return any(problem.code not in _OFFLINE for content in self.contents for problem in content.problems)


class BuiltRepository(NamedTuple):
    """A repository whose entries were built: its clusters, and the findings about its entries."""

    repository: Repository
    parts: tuple[ClusterPart, ...]
    findings: tuple[Diagnostic, ...]


def build_repository(repository: Repository, options: Options) -> BuiltRepository:
    """Build each entry of a repository once; what can't be built is a finding, and the rest counts."""
    clusters = clusters_of(repository.entries)
    placements = dict.fromkeys(p for cluster in clusters for p in cluster.placements)
    held = _variables_in(repository, placements)
    bases = SharedBases({}, {})
    built = {placement: _content(repository, placement, held, options, bases) for placement in placements}
    contents = tuple(built.values())
    openshift = next(filter(None, (openshift_place(content.found.manifests) for content in contents)), None)
    shared = _shared(repository)
    may_matter = {placement: tuple(_shareable(content)) for placement, content in built.items()}
    parts = []
    shown = tuple(_without_variants(clusters, built))
    for cluster, heading in zip(shown, *headings_of(shown), strict=True):
        own = tuple(built[placement] for placement in cluster.placements)
        others = tuple(_others(cluster, own, clusters, may_matter))
        parts.append(ClusterPart(cluster, own, shared, others, openshift, heading))
    return BuiltRepository(repository, tuple(parts), tuple(_findings(contents)))


def pattern_part(root: Path, path: str, options: Options) -> ClusterPart | None:
    """Build the cluster of a file with values of a validated pattern in the repository at `root`; None for any other
    path."""
    repository = repository_at(root)
    entries = tuple(each for each in repository.entries if each.is_pattern and each.path == path) if repository else ()
    if repository is None or not entries:
        return None
    return next(iter(build_repository(repository._replace(entries=entries), options).parts), None)


def has_content_of_all(root: Path) -> bool:
    """Return whether the top of the repository at `root` has settings, catalogs or bundles, which all entries use."""
    return any((root / name).exists() for name in _OF_ALL_ENTRIES)


_MISSING = regex(r"into catalogs/([\w.-]+)/\.$")


def with_top_catalogs(root: Path, diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Add to the hint about a missing catalog that the top of the repository has it, if the workspace at `root` is an
    entry there: as a folder by itself it does not use that catalog."""
    missing = [match[1] if (match := _MISSING.search(each.hint)) is not None else "" for each in diagnostics]
    top = repository_of(root) if any(missing) else None
    if top is None or not any(name and (top / CATALOGS_FOLDER / name).is_dir() for name in missing):
        return diagnostics
    path = relative_path(real_path(root), top)
    if path not in {entry.path for entry in entries_at(top)}:
        return diagnostics
    hint = f"Commands with --entry {path} at the root of the repository use the catalog that is there."
    has_it = [bool(name) and (top / CATALOGS_FOLDER / name).is_dir() for name in missing]
    pairs = zip(diagnostics, has_it, strict=True)
    return tuple(each._replace(hint=f"{each.hint} {hint}") if has else each for each, has in pairs)


def entry_parts(root: Path, entry: RepositoryEntry, options: Options) -> tuple[ClusterPart, ...]:
    """Build the clusters of an entry of the repository at `root`, with the content at its top; () in a workspace."""
    repository = repository_at(root)
    return build_repository(repository._replace(entries=(entry,)), options).parts if repository is not None else ()


def same_part(root: Path, part: ClusterPart, options: Options) -> ClusterPart | None:
    """Build a cluster of one entry as another version of its repository at `root` has it; None where it has none."""
    entry = part.cluster.placements[0].entry
    same = (known for known in entries_at(root) if (known.path, known.release) == (entry.path, entry.release))
    parts = [built for known in same for built in entry_parts(root, known, options)]
    return next((built for built in parts if built.cluster.names == part.cluster.names), parts[0] if parts else None)


_BUNDLES_FOLDER = "bundles"
_OF_ALL_ENTRIES = (CATALOGS_FOLDER, _BUNDLES_FOLDER, VENDOR_FOLDER, LOCK_FILE, CONFIG_FILE)


def _shared(repository: Repository) -> FoundFiles:
    """Read the catalogs and the bundles at the top of a repository, which count for all entries."""
    reading = found_files()
    catalogs, bundles = map(repository.folder.folder, (CATALOGS_FOLDER, _BUNDLES_FOLDER))
    for folder in (*filter(None, (catalogs,)), *(_bundles_in(bundles) if bundles is not None else ())):
        add_parts(repository.root, folder, reading, Report())
        reading.manifests.clear()
    return reading


def _bundles_in(folder: Folder) -> Iterator[Folder]:
    if is_bundle(folder):
        yield folder
        return
    for below in folder.folders:
        yield from _bundles_in(below)


def _content(
    repository: Repository, placement: Placement, held: _Held, options: Options, bases: SharedBases
) -> EntryContent:
    entry, report, reading = placement.entry, Report(), found_files()
    _read_entry(repository, entry, reading, options, bases, report)
    variables = placement.destination.variables
    unknown: tuple[str, ...] = ()
    if variables is not None:
        unknown = _fill_in(reading, variables, _held_for(placement, held))
    if entry.appliers and all(map(_is_of_argo, entry.appliers)):
        reading.manifests[:] = [manifest for manifest in reading.manifests if not _is_unapplied_hook(manifest)]
    homeless = _place(reading, placement.destination, options)
    add_installed_by_policies(reading, report, len(reading.manifests) if entry.is_kustomization else 0)
    problems = tuple(each for each in report if each.severity is Severity.ERROR)
    # With values of somebody else a chart becomes something else.
    is_open = entry.is_chart and entry.release is None
    findings = tuple(
        each for each in report
        if each.severity is not Severity.ERROR and not (is_open and isinstance(each.cause, RefusedObject))
    )  # fmt: skip
    return EntryContent(placement, reading, findings, problems, homeless, unknown)


def _read_entry(
    repository: Repository, entry: RepositoryEntry, reading: FoundFiles, options: Options, bases: SharedBases,
    report: Report,
) -> None:  # fmt: skip
    """Read what an entry builds to; paths are relative to the repository."""
    root = repository.root
    if entry.is_pattern:
        groups = cluster_groups(root, repository.folder)
        reading.manifests.extend(chain.from_iterable(group.manifests for group in groups if group.path == entry.path))
        reading.built[entry.path] = None
        return
    folder = folder_at(repository.folder, entry.path)
    if folder is None:
        return
    if entry.is_kustomization and (kustomization := kustomization_in(root, folder)) is not None:
        from olmc.compiler.load.kustomize import build

        built = build(root, kustomization, report, bases)
        reading.manifests.extend(built.manifests)
        reading.unused.extend(Unused(manifest, Reason.REFUSED) for manifest in built.refused)
        reading.built.update(dict.fromkeys(built.files))
        reading.policies.extend([built.installed] if built.installed is not None else [])
    elif entry.is_chart:
        kinds = kinds_of_chart(root, folder) or ()
        rendered = rendered_chart(root, entry.path, entry.release, options, kinds, report)
        reading.manifests.extend(rendered.manifests)
        reading.built.update(dict.fromkeys(rendered.files))
    else:
        add_parts(root, as_read(folder, entry.appliers), reading, report)


def folder_at(folder: Folder, path: str) -> Folder | None:
    """Return the folder at a path below another one, None where the tree has none."""
    below: Folder | None = folder
    for name in path.split("/") if path not in ("", ".") else ():
        below = below.folder(name) if below is not None else None
    return below


def _is_of_argo(applier: Applier) -> bool:
    return applier.name.startswith(("Application/", "ApplicationSet/", "clusterGroup/"))


_UNAPPLIED_HOOKS = frozenset(("Skip", "SyncFail", "PreDelete", "PostDelete"))
"""Hooks of Argo CD that a sync does not create unless it fails."""


def _is_unapplied_hook(manifest: Manifest) -> bool:
    """Return whether Argo CD leaves an object out of each sync that succeeds, as its annotation asks."""
    hooks = as_text(annotations_of(manifest.object).get("argocd.argoproj.io/hook")).split(",")
    return _UNAPPLIED_HOOKS.issuperset(hook.strip() for hook in hooks)


def _place(reading: FoundFiles, destination: Destination, options: Options) -> tuple[Manifest, ...]:
    """Give the manifests the namespace that the GitOps tool gives them; return those whose namespace is unknown."""
    placed, homeless = manifests_in_namespace(
        reading.manifests, destination.namespace, options, replaces=destination.replaces
    )
    reading.manifests[:] = placed
    return homeless


# Variables that Flux fills in.

_VARIABLE = regex(r"(?<!\$)\$\{([A-Za-z_]\w*)(?::?[-=]([^}]*))?\}")


class _HeldValues(NamedTuple):
    """A ConfigMap or Secret of the repository with values of variables, and its file."""

    path: str
    namespace: str
    values: Mapping[str, str]


_Held = Mapping[tuple[str, str], Sequence[_HeldValues]]


def _variables_in(repository: Repository, placements: Iterable[Placement]) -> _Held:
    """The ConfigMaps and Secrets in the repository from which Flux fills in values, by kind and name."""
    sources = {
        (source.kind, source.name)
        for placement in placements
        for source in (placement.destination.variables or Variables()).sources
    }
    held: dict[tuple[str, str], list[_HeldValues]] = {}
    for path in repository.folder.walk() if sources else ():
        text = (read_text(repository.root, path, Report()) or "") if path.endswith((".yaml", ".yml")) else ""
        if "ConfigMap" not in text and "Secret" not in text:
            continue
        for document in read(path, text, Report()):
            obj = mapping(document.value)
            key = (as_text(obj.get("kind")), name_of(obj))
            if key in sources and "sops" not in obj:
                plain = "data" if key[0] == "ConfigMap" else "stringData"
                values = {name: str(value) for name, value in mapping(obj.get(plain)).items()}
                held.setdefault(key, []).append(_HeldValues(path, namespace_of(obj), values))
    return held


def _held_for(placement: Placement, held: _Held) -> dict[str, str]:
    """The values that Flux takes for an entry: each cluster has objects of its own, so that those count whose file is
    nearest to the object that applies the entry."""
    variables, entry = placement.destination.variables or Variables(), placement.entry
    appliers = [each for each in entry.appliers if each.destination == placement.destination]
    places = [entry.path, *(each.place.path for each in appliers)]
    namespaces = {each.name.split("/")[1] if each.name.count("/") == 2 else "" for each in appliers}
    values: dict[str, str] = {}
    for source in variables.sources:
        several = held.get((source.kind, source.name), ())
        # Without a namespace, somebody else places the object.
        found = [each for each in several if "" in namespaces or each.namespace in ("", *namespaces)]
        nearest = max((_shared_folders(each.path, places) for each in found), default=0)
        for each in found:
            values |= each.values if _shared_folders(each.path, places) == nearest else {}
    return values


def _shared_folders(path: str, places: Iterable[str]) -> int:
    """Return how many folders a file has in common with the nearest of the places."""
    folders = path.split("/")[:-1]
    return max(
        next((at for at, (one, other) in enumerate(zip(folders, place.split("/"), strict=False)) if one != other),
             min(len(folders), place.count("/") + 1))
        for place in places
    )  # fmt: skip


def _fill_in(reading: FoundFiles, variables: Variables, held: Mapping[str, str]) -> tuple[str, ...]:
    """Fill variables into manifests, as Flux does; return those of objects of OLM whose values are not known."""
    values = {**held, **dict(variables.values)}
    unknown: dict[str, None] = {}

    def filled(value: Any, of_olm: bool) -> Any:
        if isinstance(value, str) and "${" in value:
            return _VARIABLE.sub(lambda match: known(match[0], match[1], match[2], of_olm), value)
        if isinstance(value, dict):
            return {key: filled(inner, of_olm) for key, inner in value.items()}
        return [filled(inner, of_olm) for inner in value] if isinstance(value, list) else value

    def known(text: str, name: str, default: str | None, of_olm: bool) -> str:
        if name in values or default is not None:
            return values.get(name, default or "")
        if of_olm:
            unknown[name] = None
        return text

    reading.manifests[:] = [
        manifest._replace(object=filled(manifest.object, gvk_of(manifest.object).group == OLM_GROUP))
        for manifest in reading.manifests
    ]
    return tuple(unknown)


# Entries that are variants of each other, and entries that may be in a cluster as well.

_DECIDING = {
    OLM_GROUP: ("Subscription", "OperatorGroup", "CatalogSource"),
    OLM_V1_GROUP: ("ClusterExtension", "ClusterCatalog"),
}


def _without_variants(
    clusters: Iterable[RepositoryCluster], built: Mapping[Placement, EntryContent]
) -> Iterator[RepositoryCluster]:
    """The clusters, each without entries that can't be in it beside others: with the same object in another form, or
    with a second OperatorGroup for a namespace. Such entries are variants, of which somebody chooses one.

    Entries that tools of the repository apply to one cluster by its name are all in it, and their conflict is real.
    """
    for cluster in clusters:
        known: dict[object, KubernetesObject] = {}
        kept: list[Placement] = []
        variants: list[Placement] = []
        for placement in cluster.placements:
            own = dict(_deciding_objects(built[placement].found.manifests))
            differs = any(key in known and known[key] != obj for key, obj in own.items())
            is_variant = differs and not _is_applied_by_name(placement.entry, cluster.names)
            (variants if is_variant else kept).append(placement)
            known |= {} if is_variant else own
        yield cluster._replace(placements=tuple(kept))
        yield from (RepositoryCluster((), (placement,)) for placement in variants)


def _is_applied_by_name(entry: RepositoryEntry, clusters: Sequence[str]) -> bool:
    """Return whether an object of a tool in the repository applies an entry to a cluster by its name, and no pattern of
    a set does so for clusters that only the tool knows."""
    return any(
        applier.destination.cluster in clusters
        and applier.destination.cluster != LOCAL_CLUSTER
        and not applier.name.startswith("ApplicationSet/")
        for applier in entry.appliers
    )


def _deciding_objects(manifests: Iterable[Manifest]) -> Iterator[tuple[object, KubernetesObject]]:
    for manifest in manifests:
        gvk = gvk_of(manifest.object)
        if gvk.kind in _DECIDING.get(gvk.group, ()):
            namespace = namespace_of(manifest.object)
            key = namespace if gvk.kind == "OperatorGroup" and namespace else object_key(manifest.object)
            yield key, {"metadata": {"name": name_of(manifest.object)}, "spec": manifest.object.get("spec")}


def _others(
    cluster: RepositoryCluster, own: Sequence[EntryContent], clusters: Sequence[RepositoryCluster],
    may_matter: Mapping[Placement, Sequence[Manifest]],
) -> Iterator[Manifest]:  # fmt: skip
    """The manifests of other entries that may be in a cluster, as far as they matter to its entries: Namespaces that
    they use, the catalogs that Subscriptions ask for, an OperatorGroup where a namespace has none, and for
    ClusterExtensions all ClusterCatalogs and the permissions of their ServiceAccounts. `may_matter` are those of each
    entry that may."""
    elsewhere = {p for other in clusters if cluster.names and other.names for p in other.placements}
    manifests = [manifest for content in own for manifest in content.found.manifests]
    keys = {object_key(manifest.object) for manifest in manifests}
    subscriptions = [m.object for m in manifests if m.object["kind"] == "Subscription"]
    lacking = {namespace_of(obj) for obj in subscriptions} - {
        namespace_of(m.object) for m in manifests if m.object["kind"] == "OperatorGroup"
    }
    asked = {(spec_of(obj).get("sourceNamespace"), spec_of(obj).get("source")) for obj in subscriptions}
    has_extensions = any(manifest.object["kind"] == "ClusterExtension" for manifest in manifests)
    namespaces: dict[ObjectKey, Manifest] = {}
    for placement, shareable in may_matter.items():
        if placement in cluster.placements or placement in elsewhere:
            continue
        for manifest in shareable:
            obj, key = manifest.object, object_key(manifest.object)
            is_for_extensions = has_extensions and (key.group, key.kind) in _FOR_EXTENSIONS
            if key.kind == "Namespace":
                namespaces.setdefault(key, manifest)
                continue
            if key in keys or not (is_for_extensions or _matters(obj, key, lacking, asked)):
                continue
            keys.add(key)
            manifests.append(manifest)
            if key.kind == "OperatorGroup":
                lacking.discard(namespace_of(obj))
            yield manifest
    is_used = _uses_namespace([manifest.object for manifest in manifests])
    yield from (manifest for key, manifest in namespaces.items() if key not in keys and is_used(key.name))


def _uses_namespace(objects: Sequence[KubernetesObject]) -> Callable[[str], bool]:
    """Return a function that says whether objects are in a namespace, install into it or may target it."""
    groups = [spec_of(obj) for obj in objects if obj["kind"] == "OperatorGroup"]
    selects = any(spec.get("selector") for spec in groups)
    targets = {name for spec in groups for name in texts(spec.get("targetNamespaces"))}
    installing = {as_text(spec_of(obj).get("namespace")) for obj in objects if obj["kind"] == "ClusterExtension"}
    used = {*targets, *installing, *map(namespace_of, objects)}
    return lambda name: selects or name in used


_FOR_EXTENSIONS = frozenset({(OLM_V1_GROUP, "ClusterCatalog"), ("", "ServiceAccount")}) | {
    (RBAC, kind) for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
}


def _shareable(content: EntryContent) -> Iterator[Manifest]:
    """The manifests of an entry that may matter to other entries."""
    for manifest in content.found.manifests:
        gvk = gvk_of(manifest.object)
        if (gvk.group, gvk.kind) in _SHAREABLE:
            yield manifest


_SHAREABLE = _FOR_EXTENSIONS | {(OLM_GROUP, "OperatorGroup"), (OLM_GROUP, "CatalogSource"), ("", "Namespace")}


def _matters(obj: KubernetesObject, key: ObjectKey, lacking: set[str], asked: set[tuple[object, object]]) -> bool:
    if key.group == OLM_GROUP and key.kind == "OperatorGroup":
        return namespace_of(obj) in lacking
    return key[:2] == (OLM_GROUP, "CatalogSource") and (namespace_of(obj), name_of(obj)) in asked


# Findings about entries: what can't be built, what a tool outside of the repository decides.


def _findings(contents: Sequence[EntryContent]) -> Iterator[Diagnostic]:
    """The findings about entries: one for each reason for which some can't be built, with all of them."""
    report = Report()
    # Its namespace and its variables count here.
    changed_entries(dict.fromkeys(content.placement.entry for content in contents), report, is_placed=True)
    yield from report
    by_problem: dict[Diagnostic, list[str]] = {}
    for content in contents:
        for problem in content.problems:
            by_problem.setdefault(problem, []).append(_named(content.placement))
    for problem, paths in by_problem.items():
        listed = dict.fromkeys(paths)
        severity = Severity.WARNING if problem.code in _OFFLINE else Severity.FAILURE
        hint = f"{problem.hint}\n" * bool(problem.hint) + f"olmc leaves out: {', '.join(listed)}."
        yield problem._replace(severity=severity, hint=hint)
    for content in contents:
        yield from _unplaced(content)
        yield from _unknown_variables(content)


def _named(placement: Placement) -> str:
    """The folder of an entry, of a chart with who installs it."""
    return str(placement.entry) if placement.entry.is_chart else placement.entry.path


def _unplaced(content: EntryContent) -> Iterator[Diagnostic]:
    """Report that objects of OLM in an entry get their namespace from somebody outside of the repository."""
    listed = [f"{m.object['kind']} {name_of(m.object)}" for m in content.homeless]
    if any(gvk_of(manifest.object).group == OLM_GROUP for manifest in content.homeless):
        place = Location(content.homeless[0].source.path)
        yield rules.PLACED_BY_OTHERS.finding(
            place, path=content.placement.entry.path, names=join_limited(listed, _SHOWN)
        )


def _unknown_variables(content: EntryContent) -> Iterator[Diagnostic]:
    variables = content.placement.destination.variables
    if content.variables and variables is not None:
        sources = ", ".join(f"{source.kind} {source.name}" for source in variables.sources) or "its environment"
        place = content.placement.entry.appliers[0].place
        names = join_limited([f"${{{name}}}" for name in content.variables], _SHOWN)
        yield rules.UNKNOWN_VARIABLES.finding(place, path=content.placement.entry.path, names=names, sources=sources)
