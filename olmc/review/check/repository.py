"""The check of a whole repository: of a GitOps repository cluster by cluster, of one with bundles package by package.

Each cluster is compiled and judged, and each finding is reported once. A repository of bundles has a folder for each
package, as community-operators has, and nothing that would install a bundle. Then a package depends on no other one,
unless its bundles have names in common with those of another. So memory does not grow with the number of packages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from olmc.compiler.api import Compilation
from olmc.compiler.load.bundles import CATALOGS_FOLDER, PROJECT_FILE, package_folders
from olmc.compiler.load.config import options_from, read_config
from olmc.compiler.load.entries import Repository, has_kustomizations, read_repository
from olmc.compiler.load.files import Folder, ScannedFolder, is_bundle
from olmc.compiler.load.repository import BuiltRepository, ClusterPart, EntryContent, build_repository
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.vendored import is_vendored
from olmc.compiler.load.workspace_files import is_chart
from olmc.compiler.model.cluster import CatalogSource
from olmc.compiler.rules.findings import building
from olmc.compiler.rules.findings import vendor as vendor_rules
from olmc.compiler.rules.findings.workspace import MISSING_TARGET
from olmc.k8s.diagnostics import Diagnostic, Location, OpenRelease, OversizedAnnotations, Report, RuleTag, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import FILES
from olmc.k8s.objects import CatalogKey
from olmc.k8s.yaml import at
from olmc.targets.pipeline import compile

# Each cluster is compiled by itself.


class CompiledCluster(NamedTuple):
    """A cluster of a repository, and what it was compiled to."""

    part: ClusterPart
    compilation: Compilation


class CompiledRepository(NamedTuple):
    """A repository whose clusters were compiled."""

    built: BuiltRepository
    clusters: tuple[CompiledCluster, ...]


def compile_repository(request: CompileRequest, repository: Repository) -> CompiledRepository:
    """Compile all clusters of the repository that a request is about."""
    config = read_config(request.root, Report())
    built = build_repository(repository, options_from(config, request.options, request.fixed))
    clusters = tuple(CompiledCluster(part, compile(request._replace(part=part))) for part in built.parts)
    return CompiledRepository(built, clusters)


# The findings that are reported once for the whole repository, and not for each cluster.

_PLACES = 5
_NO_GROUP_HINT = "Add an OperatorGroup, unless another repository brings one: a namespace needs exactly one."


def repository_findings(done: CompiledRepository) -> Iterator[Diagnostic]:
    """The findings about a repository as a whole: its entries, its platform, and catalogs without content."""
    yield from done.built.findings
    place = next((part.openshift for part in done.built.parts if part.openshift is not None), None)
    if place is not None:
        yield building.OPENSHIFT.finding(place)
    yield from missing_catalogs(done.clusters)


def cluster_findings(cluster: CompiledCluster, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the findings about a cluster that are not reported for the whole repository and depend on no unknown
    value."""
    contents = cluster.part.contents
    has_variables = any(content.placement.destination.variables is not None for content in contents)
    for finding in found:
        is_open = has_variables and ("${" in finding.message or RuleTag.OPEN_VALUE in finding.tags)
        # The namespaces of a cluster without a name are unknown.
        is_open |= finding.code == MISSING_TARGET.code and not cluster.part.cluster.names
        if RuleTag.OF_REPOSITORY in finding.tags or is_open or _is_merged_by_server(finding, contents):
            continue
        # A second group would stop the namespace.
        is_elsewhere = RuleTag.GROUP_UNSEEN in finding.tags and not cluster.part.cluster.names
        yield finding._replace(hint=_NO_GROUP_HINT) if is_elsewhere else finding


def _is_merged_by_server(finding: Diagnostic, contents: Sequence[EntryContent]) -> bool:
    """Return whether a finding is about the copy of an object that kubectl apply keeps, and no tool that applies it
    does."""
    path = finding.location.path if finding.location is not None else ""
    if not isinstance(finding.cause, OversizedAnnotations) or not path:
        return False
    holders = [each for each in contents if any(m.source.path == path for m in each.found.manifests)]
    appliers = [each.placement.entry.appliers for each in holders]
    return all(several and all(applier.is_server_side for applier in several) for several in appliers)


def merged(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings with one for those that say the same, which has the places of the others."""
    places: dict[Diagnostic, dict[Location | None, None]] = {}
    first: dict[tuple[str, str, str], Diagnostic] = {}
    for finding in _by_applier(found):
        one = first.setdefault((finding.code, finding.message, finding.hint), finding)
        places.setdefault(one, {})[finding.location] = None
    return tuple(_with_places(one, [place for place in listed if place is not None]) for one, listed in places.items())


def _by_applier(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings with one for all charts that an object installs with the same unknown values."""
    listed = list(found)
    charts: dict[tuple[str, str, Location | None], dict[str, None]] = {}
    for each in listed:
        if isinstance(each.cause, OpenRelease):
            charts.setdefault((each.cause.applier, each.cause.fields, each.location), {})[each.cause.chart] = None
    made = []
    for each in listed:
        cause = each.cause
        if isinstance(cause, OpenRelease):
            names = list(charts.pop((cause.applier, cause.fields, each.location), ()))
            if len(names) > 1:
                named = f"{len(names)} charts ({join_limited(names, _PLACES)})"
                other = building.OPEN_VALUES.finding(
                    each.location, name=cause.applier, chart=named, fields=cause.fields
                )
                each = other._replace(related=each.related)
            elif not names:
                continue
        made.append(each)
    return made


def _with_places(finding: Diagnostic, places: Sequence[Location]) -> Diagnostic:
    others = [place for place in places if place != finding.location]
    more = tuple(("the same", place) for place in others[:_PLACES])
    return finding._replace(related=(*finding.related, *more)) if more else finding


class _Waiting(NamedTuple):
    """A catalog without content in the repository, and the Subscriptions that wait for it with their places. Where
    only the CatalogSource is missing, `content` says who has the content, and `alike` are CatalogSources beside it."""

    key: CatalogKey
    source: CatalogSource | None
    subscriptions: dict[tuple[str, Location | None], None]
    content: str = ""
    alike: tuple[CatalogKey, ...] = ()


def missing_catalogs(clusters: Sequence[CompiledCluster]) -> Iterator[Diagnostic]:
    """The catalogs without content in the repository, and those with content that no CatalogSource serves; each with
    the Subscriptions that wait for it."""
    waiting: dict[CatalogKey, _Waiting] = {}
    for cluster in clusters:
        settled = cluster.compilation.settled
        for name, subscription in settled.cluster.subscriptions.items() if settled is not None else ():
            key = subscription.catalog
            source = settled.cluster.catalogs.get(key) if settled is not None else None
            if not key.name or "${" in key.name or not is_unknown(source):
                continue
            if source is not None and source.lacks_bundles:  # which is reported at the template
                continue
            one = waiting.setdefault(key, _Waiting(key, source, {}))
            if one.source is None and source is not None:
                waiting[key] = one = one._replace(source=source)
            if source is None and settled is not None and not one.content:
                content, alike = _content_of(key, cluster), _alike(key, settled.cluster.catalogs)
                waiting[key] = one = one._replace(content=content, alike=alike)
            one.subscriptions[str(name).removeprefix("/"), at(subscription.source, "spec", "source")] = None
    for key in sorted(waiting):
        one = waiting[key]
        yield _undeclared_finding(one) if one.content and one.source is None else _catalog_finding(one)


def _content_of(key: CatalogKey, cluster: CompiledCluster) -> str:
    """Return who has the content of a catalog that no CatalogSource serves; "" if it is unknown."""
    workspace = cluster.compilation.workspace
    names = [key.name, f"{key.namespace}/{key.name}"] if key.namespace and workspace is not None else []
    if workspace is None or not any(name in workspace.catalogs for name in names):
        return ""
    found = (cluster.part.shared, *(content.found for content in cluster.part.contents))
    roots = (reading.roots[name] for reading in found for name in names if reading.roots.get(name))
    return next((f"{root}/" for root in roots), "The repository")


def _alike(key: CatalogKey, catalogs: Iterable[CatalogKey]) -> tuple[CatalogKey, ...]:
    """The CatalogSources that a Subscription may mean: of the same name, or else in the same namespace."""
    others = sorted(catalogs)
    return tuple([each for each in others if each.name == key.name] or [each for each in others if each[0] == key[0]])


def is_unknown(source: CatalogSource | None) -> bool:
    """Return whether it is unknown what a catalog holds: nothing declares it, or its content is not in the
    repository."""
    return source is None or (source.catalog is None and not source.refused)


_CONTENT_HINT = "Put its file-based catalog into catalogs/{name}/, as `opm render IMAGE` prints it."


def _names_and_places(waiting: _Waiting) -> tuple[list[str], list[Location]]:
    """The Subscriptions that wait for a catalog, and one place in each of their files."""
    names = list(dict.fromkeys(name for name, _ in waiting.subscriptions))
    by_path = {place.path: place for _, place in reversed(waiting.subscriptions) if place is not None}
    return names, list(by_path.values())[::-1]


def _undeclared_finding(waiting: _Waiting) -> Diagnostic:
    """Report that a catalog has content, and no CatalogSource serves it."""
    key, (names, places) = waiting.key, _names_and_places(waiting)
    hint = f"{waiting.content} has its content, and no CatalogSource {key.name} is in namespace {key.namespace}. "
    if waiting.alike:
        listed = join_limited([f"CatalogSource {each.name} in {each.namespace}" for each in waiting.alike], _PLACES)
        hint += f"There is {listed}. "
    hint += "Declare the CatalogSource, or correct spec.source and spec.sourceNamespace of the Subscription."
    return vendor_rules.UNKNOWN_CATALOG.finding(
        places[0] if places else None, related=tuple((_WAITS, other) for other in places[1 : _PLACES + 1]),
        catalog=key.name, namespace=key.namespace, names=join_limited(names, _PLACES), hint=hint,
    )  # fmt: skip


_WAITS = "a Subscription that waits for it"


def _catalog_finding(waiting: _Waiting) -> Diagnostic:
    key, source = waiting.key, waiting.source
    names, places = _names_and_places(waiting)
    place = at(source.source, "spec", "image") if source is not None else None
    if place is None and places:
        place = places.pop(0)
    number = f"{len(names)} Subscription{'s wait' if len(names) != 1 else ' waits'}"
    return vendor_rules.WITHOUT_CONTENT.finding(
        place, related=tuple((_WAITS, other) for other in places[:_PLACES]),
        catalog=key.name, namespace=key.namespace, number=number, names=join_limited(names, _PLACES),
        hint=_CONTENT_HINT.format(name=key.name),
    )  # fmt: skip


class BundleRepository(NamedTuple):
    """The folders of the packages, and the tree of the repository without them."""

    rest: ScannedFolder
    packages: tuple[Folder, ...]


def package_tree(packages: Sequence[Folder], tree: ScannedFolder) -> ScannedFolder:
    """Return the tree of packages that are checked together, out of the tree of their repository."""
    is_beyond = sum(map(_number_below, packages)) > FILES.most
    return ScannedFolder(tree_of(packages), tree.ignored, beyond=packages[0].path if is_beyond else "")


def _number_below(folder: Folder) -> int:
    """Return how many files and folders are below a folder."""
    return len(folder.files) + len(folder.folders) + sum(map(_number_below, folder.folders))


def bundle_repository(root: Path, tree: ScannedFolder) -> BundleRepository | None:
    """Return the repository of bundles that a tree is, None for any other workspace."""
    folder = tree.folder
    if tree.is_cut or PROJECT_FILE in folder.files or is_bundle(folder):
        return None
    packages = tuple(package_folders(folder))
    if any(not package.path for package in packages):
        return None
    if any(is_vendored(root, child) for child in folder.folders):
        return None
    if any(is_chart(each) or each.path.rpartition("/")[2] == CATALOGS_FOLDER for each in _folders(folder)):
        return None
    if has_kustomizations(root, folder) or read_repository(root, folder).entries:
        return None
    rest = without_folders(folder, frozenset(package.path for package in packages))
    return BundleRepository(ScannedFolder(rest, tree.ignored, tree.found), packages)


def _folders(folder: Folder) -> Iterator[Folder]:
    """A folder and all below it, without what is in bundles."""
    yield folder
    for below in folder.folders if not is_bundle(folder) else ():
        yield from _folders(below)


def without_folders(folder: Folder, paths: frozenset[str]) -> Folder:
    """A tree without some of its folders."""
    below = tuple(without_folders(each, paths) for each in folder.folders if each.path not in paths)
    return folder._replace(folders=below)


def changed_packages(repository: BundleRepository, changed: frozenset[str]) -> frozenset[str] | None:
    """The folders of the packages with a changed file; None if a file beside them has changed."""
    packages = frozenset(package.path for package in repository.packages)
    found: set[str] = set()
    for path in changed:
        parts = path.split("/")
        package = next((above for n in range(len(parts)) if (above := "/".join(parts[:n])) in packages), None)
        if package is None:
            return None
        found.add(package)
    return frozenset(found)


def folders_at(folder: Folder, paths: frozenset[str]) -> Iterator[Folder]:
    """The folders of a tree with these paths, none of which is in another one."""
    for below in folder.folders:
        if below.path in paths:
            yield below
        else:
            yield from folders_at(below, paths)


def tree_of(packages: Iterable[Folder]) -> Folder:
    """The tree of a repository with nothing but these folders in it."""
    children = defaultdict[str, dict[str, Folder | None]](dict)
    for package in packages:
        path, folder = package.path, package
        children[path.rpartition("/")[0]][path] = folder
        while path := path.rpartition("/")[0]:
            children[path.rpartition("/")[0]].setdefault(path, None)

    def made(path: str) -> Folder:
        below = children[path]
        return Folder(path, (), tuple(below[each] or made(each) for each in sorted(below)))

    return made("")


class BundleNames(NamedTuple):
    """The names of the bundles of a part of a repository, of those that they replace, and of their packages."""

    bundles: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()


def dependent_parts(parts: Sequence[BundleNames]) -> list[list[int]]:
    """The numbers of the parts that depend on each other, group by group: they have a bundle or a package of one name,
    or one replaces a bundle of the other."""
    first: dict[tuple[str, str], int] = {}
    group = list(range(len(parts)))

    def root_of(number: int) -> int:
        while group[number] != number:
            number = group[number]
        return number

    for number, part in enumerate(parts):
        for key in (*(("bundle", name) for name in part.bundles), *(("package", name) for name in part.packages)):
            group[root_of(number)] = root_of(first.setdefault(key, number))
    for number, part in enumerate(parts):
        for name in part.replaced:
            group[root_of(number)] = root_of(first.get(("bundle", name), number))
    members = defaultdict[int, list[int]](list)
    for number in range(len(parts)):
        members[root_of(number)].append(number)
    return [numbers for numbers in members.values() if len(numbers) > 1]
