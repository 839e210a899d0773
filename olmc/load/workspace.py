"""A directory becomes a Workspace: what each file is, is decided by its content."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from olmc.diagnostics.rules import workspace as left_out_rules
from olmc.diagnostics.rules import workspace as rules
from olmc.kube.applied import is_whole_object, tool_lists
from olmc.load.bundles import BUNDLE_FOLDERS, PROJECT_FILE, files_of, inputs_of, is_bundle, read_bundle
from olmc.load.config import CONFIG_FILE, read_lock
from olmc.load.files import Folder, no_folder, read_text, scan, without_files
from olmc.load.foreign import (
    TEMPLATES_FOLDER,
    foreign_file,
    is_chart,
    is_for_cluster,
    kinds_in_templates,
    unrendered_chart,
    without_helm,
)
from olmc.load.kustomization import kustomization_in
from olmc.load.manifests import SUFFIXES, is_copy_by_status, manifests_in, without_duplicates
from olmc.load.scopes import manifests_in_their_scope
from olmc.load.vendored import vendored_bundles, without_vendored
from olmc.model.diagnostics import Location, Report
from olmc.model.objects import (
    POLICY_GROUP,
    KubernetesObject,
    as_text,
    mapping,
    name_of,
    namespace_of,
    object_key,
    spec_of,
)
from olmc.model.options import DEFAULT_INDEXING, APIResource, Indexing, Options
from olmc.model.workspace import GENERATED, IMPORTED, SCAFFOLDED, Bundle, Inputs, Manifest, Reason, Unused, Workspace
from olmc.yaml import locate, read

if TYPE_CHECKING:
    from olmc.catalogs.rendering import UncataloguedBundle
    from olmc.load.policies import Installed
    from olmc.load.releases import Release
    from olmc.model.catalog import Catalog
    from olmc.model.workspace import LockFile

CATALOGS_FOLDER = "catalogs"
_OF_CATALOG = "olm.package"

# A key with a text at the beginning of a line, or anywhere in a document that is written in one line: a CRD has a
# `schema` as well, with a mapping below it.
_CATALOG_TEXT = re.compile(
    r"""^\s*[{,]?\s*["']?(?:schema|packageName)["']?\s*:[ \t]*[^\s{\[#]|[{,]\s*["']?schema["']?\s*:\s*["']?olm\.""",
    re.MULTILINE | re.IGNORECASE,
)


def load(
    root: Path, report: Report, *, ignored: tuple[str, ...] = (), ignore_file: bool = True,
    indexing: Indexing = DEFAULT_INDEXING, kube_version: str = "", lock: LockFile | None = None,
    v2alpha1: bool = False,
    beside: Path | None = None,
    resources: Iterable[APIResource] = (), cluster_catalogs: Iterable[Manifest] = (), release: Release | None = None,
) -> Workspace:  # fmt: skip
    """Read the workspace at `root`.

    A folder with manifests/ and metadata/ is a bundle; `catalogs/NAME/` is the content of the CatalogSource NAME; every
    other YAML or JSON file holds manifests or a file-based catalog. `ignored` are patterns as in `.olmcignore`, which
    count in its place without `ignore_file`; `indexing` says how bundles without an update graph become a catalog,
    `kube_version` is for CatalogSources whose image depends on it. `lock` is what counts in place of olmc.lock in the
    workspace, `beside` another folder whose files count as well: those that the user names. With `v2alpha1` bundles
    without a catalog serve the Operators of that version, too. `resources` are the kinds that the cluster serves
    besides; `cluster_catalogs` are the CatalogSources that it has already, of which those of the workspace go first.
    If the folder is a Helm chart with objects of OLM, `release` says how it is installed.
    """
    problem = no_folder(root)
    if problem:
        report.add(rules.NO_SUCH_PATH.finding(None, path=str(root), problem=problem))
        return Workspace((), {}, {})
    folder = without_vendored(root, scan(root, report, ignored=ignored, ignore_file=ignore_file))
    if PROJECT_FILE in folder.files:
        from olmc.load.project import compiled_part, report_project  # few workspaces are one

        if not report_project(folder, report):
            return Workspace((), {}, {})
        folder = compiled_part(folder)
    lock = lock if lock is not None else read_lock(root, report)
    images = lock.images
    reading = _Reading({}, {}, {}, [], {}, [], {}, [], is_named=beside == root)
    kustomization = kustomization_in(root, folder) if not is_bundle(folder) else None
    kinds = kinds_in_templates(root, folder) if kustomization is None and is_chart(folder) else None
    is_built = kustomization is not None or kinds is not None
    if not is_built:
        whole = _without_parts(root, folder, reading, report)
        if whole is None:
            return Workspace((), {}, {})
        folder = whole
    for part, add in _parts(folder if kinds is None else without_helm(folder)):
        add = _add_catalog_files if is_built and add is _add_files else add
        add(root, part, reading, report)
    if kustomization is not None:
        _build(root, kustomization, reading, report)
    elif kinds is not None:
        _render(root, release, (kube_version, resources), kinds, reading, report)
    built = len(reading.manifests) if kustomization is not None else 0
    if beside is not None and beside != root:
        for part, add in _parts(scan(beside, report)):
            add(beside, part, reading._replace(is_named=True), report)
    _add_installed_by_policies(reading, report, built)
    vendored = vendored_bundles(root, images, report)
    by_reference = _by_reference(reading.bundles, vendored) if reading.catalogs or images else {}
    served = _load_catalogs(reading, by_reference, indexing, report) if reading.catalogs else {}
    # CRDs of bundles say of which scope their kinds are, so manifests have to wait for bundles.
    of_bundles = (*reading.bundles.values(), *vendored.values())
    placed = manifests_in_their_scope(reading.manifests, of_bundles, report, resources)
    kept = without_duplicates(placed, report)
    served |= _configmap_catalogs(kept, report)
    own = {object_key(manifest.object) for manifest in kept}
    there = tuple(manifest for manifest in cluster_catalogs if object_key(manifest.object) not in own)
    if images:
        from olmc.load.catalog_folders import image_catalogs  # many workspaces have none

        served |= image_catalogs(root, (*kept, *there), images, kube_version, served, by_reference, indexing, report)
    # Last, as it is for bundles that no catalog has (D8).
    served |= _implied_catalogs(root, (*kept, *there), reading.bundles, served, indexing, report, v2alpha1=v2alpha1)
    kept = (*kept, *_installed_from_catalogs(reading, served, (*kept, *there), report))
    reading.unused.extend(Unused(manifest, Reason.COPY) for manifest in kept if is_copy_by_status(manifest.object))
    inputs = _inputs(reading, served.values(), vendored.values())
    return Workspace(
        kept, reading.bundles, served, lock.operators, images, vendored, inputs,
        cluster_catalogs=there, approvals=tuple(chain.from_iterable(part.approvals for part in reading.policies)),
    )  # fmt: skip


def is_empty(workspace: Workspace) -> bool:
    """Whether a workspace has nothing that could be compiled."""
    return not (workspace.manifests or workspace.bundles or workspace.catalogs or workspace.vendored)


def of_manifests(manifests: Iterable[Manifest], report: Report) -> Workspace:
    """The workspace that manifests make up by themselves; their catalogs are ConfigMaps."""
    kept = without_duplicates(manifests_in_their_scope(manifests, (), report), report)
    return Workspace(kept, {}, _configmap_catalogs(kept, report))


def read_as(root: Path, folder: Path) -> str:
    """What every file in `folder` is part of for the workspace at `root`, whoever wrote it: `bundle`, `catalog`, or ""
    for nothing."""
    home, there = root.resolve(), folder.resolve()
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


def _by_reference(bundles: Mapping[str, Bundle], vendored: Mapping[str, Bundle]) -> dict[str, UncataloguedBundle]:
    """The bundles as templates name them: by folder or by image."""
    from olmc.catalogs.rendering import uncatalogued  # takes long to import, and many workspaces have no catalogs

    by_directory = {bundle.directory: uncatalogued(bundle) for bundle in bundles.values()}
    return {image: uncatalogued(bundle, image) for image, bundle in vendored.items()} | by_directory


def _load_catalogs(
    reading: _Reading, bundles: Mapping[str, UncataloguedBundle], indexing: Indexing, report: Report
) -> dict[str, Catalog]:
    from olmc.catalogs.loading import load_catalog

    catalogs, roots = reading.catalogs, reading.roots
    return {name: load_catalog(roots[name], files, report, bundles, indexing) for name, files in catalogs.items()}


class _Reading(NamedTuple):
    """What is found while files are read; by the name of a catalog its texts by path, and the folder it stands in.

    `files` are those in which all objects count, `unused` objects that do not count, `built` the files that manifests
    were built of, `policies` what they install. `is_named`: the files are named by the user, so that none is of
    another tool.
    """

    bundles: dict[str, Bundle]
    catalogs: dict[str, dict[str, str]]
    roots: dict[str, str]
    manifests: list[Manifest]
    files: dict[str, None]
    unused: list[Unused]
    built: dict[str, None]
    policies: list[Installed]
    is_named: bool = False

    def add_catalog(self, name: str, folder: str, texts: Mapping[str, str]) -> None:
        """Texts of a catalog; the first folder of its name is where it stands."""
        self.catalogs.setdefault(name, {}).update(texts)
        self.roots.setdefault(name, folder)


_Add = Callable[[Path, Folder, _Reading, Report], None]


def _parts(folder: Folder) -> Iterator[tuple[Folder, _Add]]:
    """The folders of the workspace, and for what each is the function that reads it."""
    if is_bundle(folder):
        yield folder, _add_bundle
        return
    yield folder, _add_files
    inside_catalogs = folder.path.rpartition("/")[2] == CATALOGS_FOLDER
    if is_chart(folder):
        yield folder, _add_chart
        templates = folder.join(TEMPLATES_FOLDER)
        folder = folder._replace(folders=tuple(below for below in folder.folders if below.path != templates))
    for below in folder.folders:
        if inside_catalogs and not is_bundle(below):
            yield below, _add_catalog
        else:
            yield from _parts(below)


def _add_bundle(root: Path, folder: Folder, reading: _Reading, report: Report) -> None:
    bundle = read_bundle(root, folder, report)
    if bundle is None:
        return
    replaced = reading.bundles.get(bundle.name)
    if replaced is not None:
        # The last one counts, as with manifests; what only the first one has is no part of the workspace any more.
        others = (file.manifest for file in replaced.files if file.manifest.object not in bundle.objects)
        reading.unused.extend(Unused(manifest, Reason.REPLACED) for manifest in others)
        reading.files.update(dict.fromkeys(files_of(replaced)))
        related = (("the other one", Location(replaced.directory)),)
        report.add(rules.SAME_BUNDLE.finding(Location(bundle.directory), name=bundle.name, related=related))
    reading.bundles[bundle.name] = bundle


def _add_catalog(root: Path, folder: Folder, reading: _Reading, report: Report) -> None:
    """A folder in catalogs/: the catalog of its name, or files like any other if none of them looks like one's."""
    from olmc.load.catalog_folders import catalog_texts  # many workspaces have none

    texts = catalog_texts(root, folder, report)
    # By its text: a catalog may have tens of megabytes, and to parse it just to see that it is one costs as much again.
    if any(_CATALOG_TEXT.search(text) for text in texts.values()):
        reading.add_catalog(folder.path.rpartition("/")[2], folder.path, texts)
        return
    for path, text in texts.items():
        if path.endswith(SUFFIXES):
            _add_text(path, text, reading, report)


def _add_chart(root: Path, folder: Folder, reading: _Reading, report: Report) -> None:  # noqa: ARG001
    """What a chart holds beyond files that are read as any other: templates, of which only is said that they exist."""
    for diagnostic in unrendered_chart(root, folder, SUFFIXES):
        report.add(diagnostic)


def _add_files(root: Path, folder: Folder, reading: _Reading, report: Report) -> None:
    for name in folder.files:
        path = folder.join(name)
        if name.endswith(SUFFIXES) and path != CONFIG_FILE:
            text = read_text(root, path, report)
            if text is not None:
                _add_text(path, text, reading, report)


def _add_catalog_files(root: Path, folder: Folder, reading: _Reading, report: Report) -> None:
    """Files beside what is built: of them only catalogs count."""
    for name in folder.files:
        path = folder.join(name)
        text = read_text(root, path, Report()) if name.endswith(SUFFIXES) and path != CONFIG_FILE else None
        if text is not None and _OF_CATALOG in text and _CATALOG_TEXT.search(text):
            _add_text(path, text, reading, report)


def _without_parts(root: Path, folder: Folder, reading: _Reading, report: Report) -> Folder | None:
    """The folder without the files that kustomizations in it take for parts of objects; None, which is reported, for a
    repository with several workspaces in it, of which none is taken."""
    from olmc.load.entries import entries_to_choose, has_kustomizations, part_files, report_entries  # few have any

    entries = entries_to_choose(root, folder)
    if entries:
        report_entries(entries, report)
        return None
    if not has_kustomizations(folder):
        return folder
    parts = part_files(root, folder)
    reading.built.update(dict.fromkeys(sorted(parts)))
    return without_files(folder, parts)


def _add_installed_by_policies(reading: _Reading, report: Report, built: int) -> None:
    """What policies of Open Cluster Management put into the cluster counts beside them; of those that were built first,
    the build says so itself."""
    others = reading.manifests[built:]
    if any(manifest.object["apiVersion"].startswith(POLICY_GROUP) for manifest in others):
        from olmc.load.policies import installed_by  # few workspaces have any

        installed = installed_by(others, report)
        reading.manifests.extend(installed.manifests)
        reading.policies.append(installed)


def _installed_from_catalogs(
    reading: _Reading, served: Mapping[str, Catalog], manifests: Sequence[Manifest], report: Report
) -> tuple[Manifest, ...]:
    """What OperatorPolicies install that leave it to the catalogs which of them has their package."""
    waiting = [policy for part in reading.policies for policy in part.waiting]
    if not waiting:
        return ()
    from olmc.load.policies import installed_from

    installed = installed_from(waiting, served, manifests, report)
    reading.policies.append(installed)
    return installed.manifests


def _build(root: Path, kustomization: Path, reading: _Reading, report: Report) -> None:
    """What a kustomization builds to takes the place of the manifests that are there."""
    from olmc.load.kustomize import build  # few workspaces are built

    built = build(root, kustomization, report)
    reading.manifests[:] = built.manifests
    reading.unused.extend(Unused(manifest, Reason.REFUSED) for manifest in built.refused)
    reading.built.update(dict.fromkeys(built.files))
    reading.policies.extend([built.installed] if built.installed is not None else [])


def _render(
    root: Path, release: Release | None, target: tuple[str, Iterable[APIResource]], kinds: tuple[str, ...],
    reading: _Reading, report: Report,
) -> None:  # fmt: skip
    """What a chart becomes takes the place of the manifests that are there."""
    from olmc.load.helm import HelmTarget, render  # few workspaces are charts
    from olmc.load.releases import OWN_VALUES

    kube_version, resources = target
    wanted = HelmTarget(kube_version or Options().kube_version, tuple(resources))
    rendered = render(root, root, release or OWN_VALUES, wanted, kinds, report)
    reading.manifests[:] = rendered.manifests
    reading.built.update(dict.fromkeys(rendered.files))


def _add_text(path: str, text: str, reading: _Reading, report: Report) -> None:
    """A file of manifests, or of a catalog that is called like its folder, at the top like the file itself."""
    if text.startswith((GENERATED, SCAFFOLDED, IMPORTED)):
        return  # olmc's own output is no input, nor is what only runs it
    # An object may have a field `schema`, which does not make it a part of a catalog; the rest of its file can be one.
    findings = Report()
    documents = read(path, text, findings)
    if findings.failed and not reading.is_named and not is_for_cluster(text):
        report.add(foreign_file(path, findings))
        return
    report.found.extend(findings.found)
    of_catalogs = [document for document in documents if _has_catalog_schema(document.value)]
    odd = [document for document in of_catalogs if is_whole_object(document.value)]
    for document in odd:
        place = locate(document.source, ())
        report.add(left_out_rules.OBJECT_WITH_SCHEMA.finding(place, kind=document.value["kind"]))
    if len(odd) < len(of_catalogs):
        folder, _, file = path.rpartition("/")
        reading.add_catalog(folder.rpartition("/")[2] or file.partition(".")[0], folder, {path: text})
        documents = [document for document in documents if is_whole_object(document.value)]
    reading.files[path] = None
    reading.unused.extend(Unused(manifest, Reason.TOOLS) for manifest in tool_lists(documents))
    reading.manifests.extend(manifests_in(documents, report))


def _has_catalog_schema(value: Any) -> bool:
    """Whether a document says that it is part of a file-based catalog, whose keys count in any case (R-CAT-121)."""
    items = value.items() if isinstance(value, dict) else ()
    return any(key.casefold() == "schema" and isinstance(text, str) and text.startswith("olm.") for key, text in items)


def _inputs(reading: _Reading, catalogs: Iterable[Catalog], vendored: Iterable[Bundle]) -> Inputs:
    """Which files count, and which objects in them do not."""
    of_bundles = inputs_of((*reading.bundles.values(), *vendored))
    read = {catalog.files: catalog for catalog in catalogs}
    files = (CONFIG_FILE, *reading.files, *reading.built, *chain.from_iterable(read), *of_bundles.files)
    unused = (
        *reading.unused,
        *of_bundles.unused,
        *(Unused(manifest, Reason.CATALOG) for catalog in read.values() for manifest in catalog.unused),
    )
    # In a file of a catalog that is no folder's, objects are manifests.
    kept = (u for u in unused if u.reason is not Reason.CATALOG or u.manifest.source.path not in reading.files)
    return Inputs(frozenset(files), tuple(kept), frozenset(reading.built))


def _implied_catalogs(
    root: Path, manifests: tuple[Manifest, ...], bundles: Mapping[str, Bundle], catalogs: Mapping[str, Catalog],
    indexing: Indexing, report: Report, *, v2alpha1: bool,
) -> dict[str, Catalog]:  # fmt: skip
    """Bundles that no catalog names serve the Subscriptions to catalogs that the workspace does not have (D8), and with
    `v2alpha1` the Operators of that version."""
    declared = {m.object["metadata"]["name"] for m in manifests if m.object["kind"] == "CatalogSource"}
    specs = [spec_of(m.object) for m in manifests if m.object["kind"] == "Subscription"]
    names = {as_text(spec.get("source")) for spec in specs}
    names |= {_catalog_of_operator(m.object) for m in manifests if m.object["kind"] == "Operator" and v2alpha1}
    names -= declared | catalogs.keys() | {""}
    listed = {name for c in catalogs.values() for package in c.packages.values() for name in package.bundles}
    uncatalogued_bundles = [bundle for name, bundle in bundles.items() if name not in listed]
    if not names or not uncatalogued_bundles:
        return {}
    from olmc.catalogs.bundle_lists import catalog_from_bundles, report_dropped
    from olmc.catalogs.rendering import uncatalogued
    from olmc.load.update_graphs import update_graphs

    modes = update_graphs(root, uncatalogued_bundles, report)
    members = [uncatalogued(bundle) for bundle in uncatalogued_bundles]
    catalog = catalog_from_bundles(members, indexing, report, modes)
    report_dropped(catalog, members, report)
    return dict.fromkeys(sorted(names), catalog)


def _catalog_of_operator(operator: KubernetesObject) -> str:
    """The name of the catalog that an Operator of v2alpha1 follows, "" if it follows none."""
    updates = mapping(spec_of(operator).get("updates"))
    return as_text(mapping(mapping(updates.get("catalogSource")).get("ref")).get("name"))


def _configmap_catalogs(manifests: tuple[Manifest, ...], report: Report) -> dict[str, Catalog]:
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
                from olmc.catalogs.bundle_lists import catalog_from_configmap

                catalogs[f"{namespace}/{name}"] = catalog_from_configmap(other.object, other.source, report)
    return catalogs
