"""A directory becomes a Workspace: what each file is, is decided by its content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from olmc.compiler.catalogs.properties import uncatalogued
from olmc.compiler.load.bundles import (
    CATALOGS_FOLDER,
    PROJECT_FILE,
    bundles_in,
    compiled_part,
    has_many_packages,
    inputs_of,
    manifests_in_their_scope,
    report_project,
    without_bundles,
)
from olmc.compiler.load.catalog_files import read_catalog
from olmc.compiler.load.charts import has_charts, kinds_of_chart
from olmc.compiler.load.config import CONFIG_FILE, LOCK_FILE, read_lock
from olmc.compiler.load.entries import (
    Repository,
    has_kustomizations,
    has_own_objects,
    is_without_olm,
    needs_charts_of_operators,
    part_files,
    read_repository,
    report_entries,
    unapplied_files,
)
from olmc.compiler.load.files import (
    BUNDLE_FOLDERS,
    Folder,
    has_file,
    is_bundle,
    no_folder,
    real_path,
    scan,
    scan_workspace,
    update_graphs,
    without_files,
)
from olmc.compiler.load.kustomization import kustomization_in
from olmc.compiler.load.manifests import is_copy_by_status, redefined, without_duplicates
from olmc.compiler.load.releases import OWN_VALUES
from olmc.compiler.load.request import Beside, BesideFolder, CompileRequest
from olmc.compiler.load.vendored import image_catalogs, vendored_bundles, without_vendored
from olmc.compiler.load.workspace_files import (
    NAMED_MARK,
    CsvlessBundle,
    FoundFiles,
    add_catalog_files,
    add_installed_by_policies,
    add_parts,
    found_files,
    is_chart,
    without_helm,
)
from olmc.compiler.model.catalog import names_of_bundles
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.options import DEFAULT_INDEXING, Indexing, Options
from olmc.compiler.model.workspace import Bundle, Inputs, Reason, Unused, Workspace
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.diagnostics import Diagnostic, Location, Report, Severity, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import FILES, CelAccount
from olmc.k8s.objects import (
    APIResource,
    KubernetesObject,
    Manifest,
    as_text,
    mapping,
    name_of,
    namespace_of,
    object_key,
    spec_of,
)
from olmc.k8s.yaml import Document, locate, reader_of
from olmc.k8s.yaml.rules import too_large

if TYPE_CHECKING:
    from olmc.compiler.load.entries import Repository
    from olmc.compiler.load.releases import Release
    from olmc.compiler.load.repository import ClusterPart
    from olmc.compiler.model.catalog import Catalog
    from olmc.compiler.model.workspace import LockFile
    from olmc.k8s.yaml.reader import Documents

# The folder whose files count beside those of a workspace: read where it is needed, or once for several workspaces.


def read_beside(path: Path) -> BesideFolder:
    """A folder for several workspaces."""
    reading, report = found_files(is_named=True), Report()
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
    add_found(found, reading)


def add_found(found: FoundFiles, reading: FoundFiles) -> None:
    """Add what was found elsewhere to what was found in a workspace."""
    # The texts of a catalog stay the very value that was read, by which the cache knows it.
    for mine, theirs in ((reading.bundles, found.bundles), (reading.roots, found.roots), (reading.files, found.files),
                         (reading.built, found.built), (reading.catalogs, found.catalogs)):  # fmt: skip
        mine.update(theirs)  # type: ignore[arg-type]
    reading.manifests.extend(found.manifests)
    reading.unused.extend(found.unused)
    reading.policies.extend(found.policies)


def _read(path: Path, reading: FoundFiles, report: Report) -> None:
    add_parts(path, scan(path, report), reading, report)


# The catalogs that a workspace serves: folders and ConfigMaps, and what bundles without a catalog imply.

if TYPE_CHECKING:
    from olmc.compiler.catalogs.properties import UncataloguedBundle
    from olmc.compiler.load.catalog_files import CatalogLoader
    from olmc.compiler.model.catalog import Catalog, CatalogBundle


def bundles_by_reference(
    bundles: Mapping[str, Bundle], vendored: Mapping[str, Bundle]
) -> dict[str, UncataloguedBundle]:
    """The bundles as templates name them: by folder or by image."""
    by_directory = {bundle.directory: uncatalogued(bundle) for bundle in bundles.values()}
    return {image: uncatalogued(bundle, image) for image, bundle in vendored.items()} | by_directory


def bundles_of_images(
    bundles: Mapping[str, Bundle], catalogs: Mapping[str, Catalog], vendored: Mapping[str, Bundle]
) -> dict[str, Bundle]:
    """The bundles whose CSV has another name than catalogs list, by the image that they are taken for: the one of their
    package and version, if there is one image and one bundle of these (D53)."""
    entries = {package: _entries(package, catalogs) for package in {bundle.package for bundle in bundles.values()}}
    listed = {entry.name for of_package in entries.values() for entry in of_package}
    loose = defaultdict[tuple[str, str], list[Bundle]](list)
    for bundle in bundles.values():
        if bundle.name not in listed:
            loose[bundle.package, Csv(bundle.installed.object).version].append(bundle)
    images = defaultdict[tuple[str, str], set[str]](set)
    for package, of_package in entries.items():
        for entry in of_package:
            if entry.image and entry.image not in vendored and entry.name not in bundles:
                images[package, entry.version].add(entry.image)
    alone = ((key, alike[0]) for key, alike in loose.items() if len(alike) == 1)
    return {next(iter(images[key])): bundle for key, bundle in alone if len(images[key]) == 1}


def _report_other_names(
    bundles: Iterable[Bundle], taken: Mapping[str, Bundle], catalogs: Mapping[str, Catalog], report: Report
) -> None:
    """Report the bundles whose installed CSV has another name than the catalog's entry: the entry of the image that
    they are `taken` for, or the one that is called like their other CSV (R-CAT-614)."""
    bundles = tuple(bundles)
    images = {id(bundle): image for image, bundle in taken.items()}
    order = dict[tuple[str, str], int]()
    of_image = defaultdict[tuple[str, str], list[str]](list)
    for package in {bundle.package: None for bundle in bundles}:
        for entry in _entries(package, catalogs):
            order.setdefault((package, entry.name), len(order))
            of_image[package, entry.image].append(entry.name)
    for bundle in bundles:
        names = [*of_image[bundle.package, images[id(bundle)]]] if id(bundle) in images else []
        names += [bundle.name] if bundle.unpacked_csv is not None and (bundle.package, bundle.name) in order else []
        csv = name_of(bundle.installed.object)
        if names and csv not in names:
            place = locate(bundle.installed.source, ("metadata", "name"))
            _, first = min((order[bundle.package, name], name) for name in names)
            report.add(rules.OTHER_CSV_NAME.finding(place, bundle=first, csv=csv))


def images_without_csv(
    csvless: Iterable[CsvlessBundle], catalogs: Mapping[str, Catalog], known: Set[str], vendored: Mapping[str, Bundle],
    report: Report,
) -> frozenset[str]:  # fmt: skip
    """The images that bundles without a CSV are taken for: of the entries of their package without content the one
    whose version the folder names, or the only one (D53).

    Such a bundle is a failure of what asks for it, and any other is an error; both are reported.
    """
    images: set[str] = set()
    for bundle in csvless:
        entries = [e for e in _entries(bundle.package, catalogs) if e.image and e.name not in known]
        open_ones = {entry.image: entry.version for entry in entries if entry.image not in vendored}
        folder = bundle.directory.rpartition("/")[2]
        named = [image for image, version in open_ones.items() if version and folder.endswith(version)]
        chosen = named if named else list(open_ones)
        if len(chosen) == 1:
            images.add(chosen[0])
            report.add(bundle.finding._replace(severity=Severity.FAILURE))
        else:
            report.add(bundle.finding)
    return frozenset(images)


def _entries(package: str, catalogs: Mapping[str, Catalog]) -> list[CatalogBundle]:
    """Return the bundles that catalogs list in a package."""
    known = (catalog.packages.get(package) for catalog in catalogs.values())
    return [entry for each in known if each is not None for entry in each.bundles.values()]


def load_catalogs(
    reading: FoundFiles, bundles: Mapping[str, UncataloguedBundle], indexing: Indexing, report: Report,
    loader: CatalogLoader | None = None,
) -> dict[str, Catalog]:  # fmt: skip

    load = loader or read_catalog
    catalogs, roots = reading.catalogs, reading.roots
    return {name: load(roots[name], files, report, bundles, indexing) for name, files in catalogs.items()}


def implied_catalogs(
    root: Path, manifests: tuple[Manifest, ...], bundles: Mapping[str, Bundle], catalogs: Mapping[str, Catalog],
    indexing: Indexing, report: Report, *, with_operators: bool,
) -> dict[str, Catalog]:  # fmt: skip
    """Bundles that no catalog names serve the Subscriptions to catalogs that the workspace does not have (D8), and
    `with_operators` the Operators that follow one."""
    declared = {m.object["metadata"]["name"] for m in manifests if m.object["kind"] == "CatalogSource"}
    specs = [spec_of(m.object) for m in manifests if m.object["kind"] == "Subscription"]
    names = {as_text(spec.get("source")) for spec in specs}
    names |= {_catalog_of_operator(m.object) for m in manifests if m.object["kind"] == "Operator" and with_operators}
    names -= declared | catalogs.keys() | {""}
    if not names or not bundles:
        return {}

    listed = names_of_bundles(catalogs.values())
    uncatalogued_bundles = [bundle for name, bundle in bundles.items() if name not in listed]
    if not uncatalogued_bundles:
        return {}
    from olmc.compiler.catalogs.bundle_lists import catalog_from_bundles, report_dropped

    modes = update_graphs(root, uncatalogued_bundles, report)
    members = [uncatalogued(bundle) for bundle in uncatalogued_bundles]
    catalog = catalog_from_bundles(members, indexing, report, modes)
    report_dropped(catalog, members, report)
    return dict.fromkeys(sorted(names), catalog)


def _catalog_of_operator(operator: KubernetesObject) -> str:
    """The name of the catalog that an Operator follows, "" if it follows none."""
    updates = mapping(spec_of(operator).get("updates"))
    return as_text(mapping(mapping(updates.get("catalogSource")).get("ref")).get("name"))


def configmap_catalogs(manifests: tuple[Manifest, ...], report: Report) -> dict[str, Catalog]:
    """The catalogs of CatalogSources that read a ConfigMap of the workspace, by `namespace/name` (R-CAT-150)."""
    catalogs: dict[str, Catalog] = {}
    for manifest in manifests:
        spec = manifest.object.get("spec")
        if manifest.object["kind"] != "CatalogSource" or not isinstance(spec, dict):
            continue
        if spec.get("sourceType") not in ("configmap", "internal"):
            continue
        namespace, name = namespace_of(manifest.object), name_of(manifest.object)
        for other in manifests:
            key = (spec.get("configMap"), namespace)
            if other.object["kind"] == "ConfigMap" and (name_of(other.object), namespace_of(other.object)) == key:
                from olmc.compiler.catalogs.bundle_lists import catalog_from_configmap

                catalogs[f"{namespace}/{name}"] = catalog_from_configmap(other.object, other.source, report)
    return catalogs


class WorkspaceSettings(NamedTuple):
    """The settings of a workspace by which its files are read: the patterns of files that its olmc.yaml leaves out, how
    bundles without an update graph become a catalog, its lock (None: as olmc.lock has it), and the CatalogSources that
    its cluster has already, of which those of the workspace go first."""

    ignored: tuple[str, ...] = ()
    indexing: Indexing = DEFAULT_INDEXING
    lock: LockFile | None = None
    cluster_catalogs: tuple[Manifest, ...] = ()


NO_SETTINGS = WorkspaceSettings()
_NO_DOCUMENTS: Documents = MappingProxyType({})


def load(request: CompileRequest, report: Report, settings: WorkspaceSettings = NO_SETTINGS) -> Workspace:
    """Read the workspace of a request, whose options are those that hold.

    A folder with manifests/ and metadata/ is a bundle; `catalogs/NAME/` is the content of the CatalogSource NAME; every
    other YAML or JSON file holds manifests or a file-based catalog. Problems go to `report`.
    """
    if request.part is not None:
        return _load_part(request.part, request, report, settings)
    root, options, beside = request.root, request.options, request.beside
    ignored = settings.ignored if request.narrowing is None else request.narrowing.ignored
    kube_version, resources = options.kube_version, options.api_resources
    known = options.state.documents if options.state is not None else _NO_DOCUMENTS
    problem = no_folder(root)
    if problem:
        report.add(rules.NO_SUCH_PATH.finding(None, path=str(root), problem=problem))
        return Workspace((), {}, {})
    tree = request.tree
    if tree is None or tree.ignored != ignored:
        by_package = request.without_idle_bundles
        tree = scan_workspace(root, ignored, ignore_file=request.narrowing is None, known=tree, by_package=by_package)
    report.found.extend(tree.found)
    if tree.is_cut:
        return Workspace((), {}, {})
    if tree.beyond and (has_kustomizations(root, tree.folder) or not _may_be_idle(request, tree.folder)):
        report.add(too_large("the workspace", FILES, place=Location(tree.beyond)))
        return Workspace((), {}, {})
    folder = without_vendored(root, tree.folder)
    if PROJECT_FILE in folder.files and not report_project(folder, report):
        return Workspace((), {}, {})
    folder = compiled_part(folder)
    lock = settings.lock if settings.lock is not None else read_lock(root, report)
    documents: dict[tuple[str, str], list[Document]] = {}
    read = reader_of(known, documents)
    reading = found_files(is_named=beside == root, read=read)
    kustomization = kustomization_in(root, folder) if not is_bundle(folder) else None
    kinds = _chart_kinds(root, folder) if kustomization is None and is_chart(folder) else None
    is_built = kustomization is not None or kinds is not None
    if not is_built:
        whole = _without_parts(root, folder, reading, report)
        if not isinstance(whole, Folder):
            return Workspace((), {}, {}, repository=whole)
        folder = whole
    unbuilt = frozenset(reading.built)
    read_by = add_catalog_files if is_built else None
    read_folder = folder if kinds is None else without_helm(folder)
    may_be_idle = not is_built and _may_be_idle(request, folder)
    is_idle = may_be_idle and installs_nothing(root, without_bundles(folder))
    if tree.beyond and not is_idle:
        report.add(too_large("the workspace", FILES, place=Location(tree.beyond)))
        return Workspace((), {}, {})
    add_parts(root, without_bundles(folder) if is_idle else read_folder, reading, report, files=read_by)
    if kustomization is not None:
        _build(root, kustomization, reading, report)
    elif kinds is not None:
        _render(root, request.release, (kube_version, resources), kinds, reading, report)
    built = len(reading.manifests) if kustomization is not None else 0
    if beside is not None and beside != root:
        add_beside(beside, reading, report)
    add_installed_by_policies(reading, report, built)
    homes = (LockedHome(root, lock),)
    workspace = _workspace_of(reading, request, homes, settings, report)
    inputs = workspace.inputs
    if is_idle:
        idle = frozenset(path for bundle in bundles_in(folder) for path in bundle.walk())
        inputs = inputs._replace(files=inputs.files | idle, content=inputs.content | idle)
    inputs = inputs._replace(parts=unbuilt, has_own_values=kinds is not None and request.release is None)
    return workspace._replace(
        has_idle_bundles=is_idle,
        inputs=inputs,
        documents={file: held for file, held in documents.items() if file[0] in inputs.files},
    )


def _may_be_idle(request: CompileRequest, folder: Folder) -> bool:
    """Return whether a tree may be a repository of bundles that a request wants without its bundles."""
    state = request.options.state
    is_fresh = state is None or not state.objects
    return request.without_idle_bundles and is_fresh and has_many_packages(folder)


def installs_nothing(root: Path, folder: Folder) -> bool:
    """Return whether a tree without bundles has no manifest, no catalog and nothing to build."""
    reading = found_files()
    add_parts(root, folder, reading, Report())
    return not (reading.manifests or reading.catalogs or has_kustomizations(root, folder))


class LockedHome(NamedTuple):
    """A folder with an olmc.lock and what it vendors."""

    root: Path
    lock: LockFile


def _load_part(part: ClusterPart, request: CompileRequest, report: Report, settings: WorkspaceSettings) -> Workspace:
    """The workspace that the entries of a repository make up in one cluster.

    The vendored content and the lock of an entry go before those of the repository.
    """
    reading = found_files()
    for content in part.contents:
        report.found.extend(content.findings)
        add_found(content.found, reading)
    add_found(part.shared, reading)
    reading.manifests[:] = _without_repeated((*part.others, *reading.manifests))
    homes = [LockedHome(request.root, settings.lock if settings.lock is not None else read_lock(request.root, report))]
    for path in part.cluster.paths:
        home = request.root / path
        if path not in ("", ".") and has_file(home, LOCK_FILE):
            homes.insert(0, LockedHome(home, read_lock(home, report)))
    return _workspace_of(reading, request, homes, settings, report)._replace(is_of_repository=True)


def _without_repeated(manifests: Iterable[Manifest]) -> list[Manifest]:
    """The manifests without those that a later one stands for: entries of one cluster bring one object several times,
    which is no mistake."""
    return list({object_key(manifest.object): manifest for manifest in manifests}.values())


def _workspace_of(
    reading: FoundFiles, request: CompileRequest, homes: Sequence[LockedHome], settings: WorkspaceSettings,
    report: Report,
) -> Workspace:  # fmt: skip
    """The workspace that found files make up, with what is vendored in the homes, the first one first."""
    root, options, loader, indexing = request.root, request.options, request.loader, settings.indexing
    images = tuple({image.image: image for home in reversed(homes) for image in home.lock.images}.values())
    locks = [home.lock.operators for home in homes if home.lock.operators is not None]
    vendored: dict[str, Bundle] = {}
    for home in reversed(homes):
        vendored |= vendored_bundles(home.root, home.lock.images, report)
    by_reference = bundles_by_reference(reading.bundles, vendored) if reading.catalogs or images else {}
    served = load_catalogs(reading, by_reference, indexing, report, loader) if reading.catalogs else {}
    # CRDs of bundles say of which scope their kinds are, so manifests have to wait for bundles.
    of_bundles = (*reading.bundles.values(), *vendored.values())
    placed = manifests_in_their_scope(reading.manifests, of_bundles, report, options.api_resources)
    kept = without_duplicates(placed, report)
    reading.unused.extend(redefined(placed) if len(kept) < len(placed) else ())
    served |= configmap_catalogs(kept, report)
    own = {object_key(manifest.object) for manifest in kept}
    there = tuple(manifest for manifest in settings.cluster_catalogs if object_key(manifest.object) not in own)
    if images:
        for home in reversed(homes):
            served |= image_catalogs(
                home.root, (*kept, *there), home.lock.images, options.kube_version, served, by_reference, indexing,
                report, loader,
            )  # fmt: skip
    if served and (reading.bundles or reading.without_csv):
        taken = bundles_of_images(reading.bundles, served, vendored)
        _report_other_names(reading.bundles.values(), taken, served, report)
        vendored = {**taken, **vendored}
    csvless = images_without_csv(reading.without_csv, served, {*reading.bundles}, vendored, report)
    # Last, as it is for bundles that no catalog has (D8).
    served |= implied_catalogs(
        root, (*kept, *there), reading.bundles, served, indexing, report, with_operators=options.operators_and_installs
    )
    kept = (*kept, *_installed_from_catalogs(reading, served, (*kept, *there), report))
    reading.unused.extend(Unused(manifest, Reason.COPY) for manifest in kept if is_copy_by_status(manifest.object))
    inputs = _inputs(reading, served.values(), vendored.values())
    return Workspace(
        kept, reading.bundles, served, locks[0] if locks else None, images, vendored, inputs,
        cluster_catalogs=there, approvals=tuple(chain.from_iterable(part.approvals for part in reading.policies)),
        cel=CelAccount(), without_csv=csvless,
        of_policies=frozenset(chain.from_iterable(part.kept for part in reading.policies)),
        removals=tuple(chain.from_iterable(part.removals for part in reading.policies)),
    )  # fmt: skip


def is_empty(workspace: Workspace) -> bool:
    """Return whether a workspace has nothing that could be compiled."""
    return not (
        workspace.manifests
        or workspace.bundles
        or workspace.catalogs
        or workspace.vendored
        or workspace.has_idle_bundles
    )


def empty_finding(root: Path | None, names: Iterable[str] = ()) -> Diagnostic:
    """Report that there is nothing in the workspace at `root`, or in the files and streams that were given (None),
    which have these names."""
    given = [name for name in names if name != NAMED_MARK]
    path = root.as_posix() if root is not None else join_limited(given, 3) or "the input"
    return rules.EMPTY.finding(None, path="this directory" if path == "." else path)


def of_manifests(manifests: Iterable[Manifest], report: Report) -> Workspace:
    """The workspace that manifests make up by themselves; their catalogs are ConfigMaps."""
    kept = without_duplicates(manifests_in_their_scope(manifests, (), report), report)
    return Workspace(kept, {}, configmap_catalogs(kept, report))


def read_as(root: Path, folder: Path) -> str:
    """Return the role of all files in `folder` in the workspace at `root`: `bundle`, `catalog`, or "" for none."""
    home, there = real_path(root), real_path(folder)
    names = there.relative_to(home).parts if there.is_relative_to(home) else ()
    if any(name.startswith(".") for name in names):
        return ""
    for number, name in enumerate(names):
        above = home.joinpath(*names[:number])
        if name in BUNDLE_FOLDERS and all((above / child).is_dir() for child in BUNDLE_FOLDERS):
            return "bundle"
        is_bundle_itself = all((above / name / child).is_dir() for child in BUNDLE_FOLDERS)
        if number and names[number - 1] == CATALOGS_FOLDER and not is_bundle_itself:
            return "catalog"
    return ""


def _chart_kinds(root: Path, chart: Folder) -> tuple[str, ...] | None:
    """The kinds of OLM in the templates of a chart; None for a chart that neither speaks of OLM nor needs others that
    do."""
    kinds = kinds_of_chart(root, chart)
    return () if kinds is None and needs_charts_of_operators(root, chart) else kinds


def _without_parts(root: Path, folder: Folder, reading: FoundFiles, report: Report) -> Folder | Repository:
    """The folder without the files that kustomizations in it take for parts of objects; the repository, which is
    reported, for one with several workspaces in it, of which none is taken."""
    repository = read_repository(root, folder)
    if repository.entries:
        report_entries(repository.entries, report)
        return repository
    is_built = has_kustomizations(root, folder)
    may_be_silent = is_built or (has_charts(folder) and not has_own_objects(root, folder))
    if may_be_silent and is_without_olm(root, folder):
        return repository
    if not is_built:
        return folder
    parts = part_files(root, folder) | unapplied_files(root, folder)
    reading.built.update(dict.fromkeys(sorted(parts)))
    return without_files(folder, parts)


def _installed_from_catalogs(
    reading: FoundFiles, served: Mapping[str, Catalog], manifests: Sequence[Manifest], report: Report
) -> tuple[Manifest, ...]:
    """Return the objects of OperatorPolicies that name no catalog; the catalogs decide which of them has the
    package."""
    waiting = [policy for part in reading.policies for policy in part.waiting]
    if not waiting:
        return ()
    from olmc.compiler.load.policies import installed_from

    installed = installed_from(waiting, served, manifests, report)
    reading.policies.append(installed)
    return installed.manifests


def _build(root: Path, kustomization: Path, reading: FoundFiles, report: Report) -> None:
    """Replace the manifests of a folder with the objects of its kustomization."""
    from olmc.compiler.load.kustomize import build  # few workspaces are built

    built = build(root, kustomization, report)
    reading.manifests[:] = built.manifests
    reading.unused.extend(Unused(manifest, Reason.REFUSED) for manifest in built.refused)
    reading.built.update(dict.fromkeys(built.files))
    reading.policies.extend([built.installed] if built.installed is not None else [])


def _render(
    root: Path, release: Release | None, target: tuple[str, Iterable[APIResource]], kinds: tuple[str, ...],
    reading: FoundFiles, report: Report,
) -> None:  # fmt: skip
    """Replace the manifests of a folder with the objects of its chart."""
    from olmc.compiler.load.helm import HelmTarget, render  # few workspaces are charts

    kube_version, resources = target
    wanted = HelmTarget(kube_version or Options().kube_version, tuple(resources))
    rendered = render(root, root, release or OWN_VALUES, wanted, kinds, report)
    reading.manifests[:] = rendered.manifests
    reading.built.update(dict.fromkeys(rendered.files))


def _inputs(reading: FoundFiles, catalogs: Iterable[Catalog], vendored: Iterable[Bundle]) -> Inputs:
    """Return which files count, and which objects in them do not."""
    of_bundles = inputs_of((*reading.bundles.values(), *vendored))
    read = {catalog.files: catalog for catalog in catalogs}
    content = frozenset(chain(chain.from_iterable(read), of_bundles.files))
    files = (CONFIG_FILE, *reading.files, *reading.built, *content)
    unused = (
        *reading.unused,
        *of_bundles.unused,
        *(Unused(manifest, Reason.CATALOG) for catalog in read.values() for manifest in catalog.unused),
    )
    # In a file of a catalog that is no folder's, objects are manifests.
    kept = (u for u in unused if u.reason is not Reason.CATALOG or u.manifest.source.path not in reading.files)
    return Inputs(frozenset(files), tuple(kept), frozenset(reading.built), content=content - reading.files.keys())
