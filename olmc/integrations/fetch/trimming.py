"""The kept part of the catalogs of images: the packages that a resolution can look at, the names of the others, and
their offers.

It follows from the workspace and the image alone, so that the same lock gives the same bytes. It stays as the publisher
wrote it, document by document.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from olmc.compiler.catalogs.content import has_inline_content, served_candidates
from olmc.compiler.catalogs.conversion import PACKAGE, meta_key, schema_of
from olmc.compiler.catalogs.loading import kept_files, read_file
from olmc.compiler.load.files import Folder, read_text
from olmc.compiler.load.vendored import (
    LEFT_OUT_FILE,
    catalog_image,
    content_digest,
    intact_folder,
    left_out_text,
    path_of,
)
from olmc.compiler.model.catalog import Candidate, Catalog, LeftOutPackage, Property, named
from olmc.compiler.model.cluster import CatalogSource, Cluster
from olmc.compiler.model.options import Options, upgrades_from_any_catalog
from olmc.compiler.model.workspace import ImageKind, LockedImage, Workspace
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.compiler.resolver.predicates import PackageKey, package_of_entries, reachable
from olmc.compiler.resolver.rounds import UnreadablePropertiesError, csv_properties, request_of, visible_catalog
from olmc.compiler.resolver.snapshot import needed_catalogs
from olmc.compiler.results import OperatorResult
from olmc.integrations.fetch.layers import place
from olmc.k8s.diagnostics import Location, Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import CatalogKey, mapping, name_of, spec_of, text
from olmc.k8s.yaml import Document, dump, locate, located
from olmc.k8s.yaml.construct import JSONSyntaxError, value_starts
from olmc.k8s.yaml.reader import looks_like_json
from olmc.k8s.yaml.split import split_documents
from olmc.targets.proposed.operator_api.approval import content_of_image
from olmc.targets.proposed.operator_api.controller import followed
from olmc.targets.proposed.operator_api.manifests import read_operators_and_installs
from olmc.targets.proposed.pipeline_hooks import settled_with_installs

# Which images a workspace needs: those of the catalogs that are seen and of the bundles that the resolution picks, and
# those that Operators and Installs name or pick.


class NeededImage(NamedTuple):
    """An image that is needed: its reference as the workspace has it, what it has to hold, and where it is named."""

    image: str
    kind: ImageKind
    location: Location | None = None


def all_catalogs(workspace: Workspace, settled: SettledCluster) -> tuple[CatalogSource, ...]:
    """The CatalogSources of a settled workspace, and its ClusterCatalogs as if they were some, in no namespace."""
    of_v1 = []
    for manifest in workspace.extension_catalogs:
        key = CatalogKey("", name_of(manifest.object))
        catalog = workspace.catalogs.get(f"/{key.name}")
        entries = served_candidates(key, catalog) if catalog is not None else ()
        of_v1.append(CatalogSource(key, 0, catalog, entries, manifest=manifest.object, source=manifest.source))
    return (*settled.cluster.catalogs.values(), *of_v1)


def needs_of(workspace: Workspace, settled: SettledCluster, options: Options) -> tuple[NeededImage, ...]:
    """The images that a settled workspace uses or misses, each once, in order; those whose content the workspace has
    itself are not among them.

    Where Installs count, also the images that are used once every Install is approved.
    """
    needs: dict[str, NeededImage] = {}
    for need in (
        *_catalogs(workspace, needed_catalogs(settled.cluster, options), options),
        *_templates(workspace),
        *_bundles(workspace, settled),
        *(_of_extensions(workspace, settled, options) if workspace.extensions else ()),
        *(_proposed(workspace, options) if options.operators_and_installs else ()),
    ):
        needs.setdefault(need.image, need)
    return tuple(needs.values())


def _of_extensions(workspace: Workspace, settled: SettledCluster, options: Options) -> Iterator[NeededImage]:
    """The catalogs that ClusterExtensions choose from, and the bundles that they choose or keep (R-V1-RES-1)."""
    from olmc.targets.v1.extensions import UNKNOWN_IMAGE, install_extensions  # most workspaces have none

    results = install_extensions(workspace, settled.cluster, options, Report()).results
    asked = {name for result in results if result.resolution is not None for name in result.resolution.asked}
    sources = (source for source in all_catalogs(workspace, settled) if not source.key.namespace)
    yield from _catalogs(workspace, (source for source in sources if source.key.name in asked), options)
    for result in results:
        resolution = result.resolution
        bundle = resolution.bundle if resolution is not None else None
        place = locate(result.manifest.source, ("spec", "source", "catalog"))
        chosen = [(bundle.name, bundle.image)] if bundle is not None else []
        kept = result.extension.installed
        chosen += [(kept.name, kept.image)] if kept is not None and kept.image != UNKNOWN_IMAGE else []
        for name, image in chosen:
            if image and name not in workspace.bundles:
                yield NeededImage(image, "bundle", place)


def _catalogs(workspace: Workspace, catalogs: Iterable[CatalogSource], options: Options) -> Iterator[NeededImage]:
    for catalog in catalogs:
        if catalog.manifest is None or catalog.key.name in workspace.catalogs:
            continue
        image = catalog_image(catalog.manifest, options.kube_version)
        if image:
            place = locate(catalog.source, ("spec", "image")) if catalog.source is not None else None
            yield NeededImage(image, "catalog", place)


def _templates(workspace: Workspace) -> Iterator[NeededImage]:
    for _, catalog in sorted(workspace.catalogs.items()):
        for image in catalog.images:
            yield NeededImage(image, "bundle", None)


def _proposed(workspace: Workspace, options: Options) -> Iterator[NeededImage]:
    """Yield the images that Operators and Installs name, and those that Operators pick from catalogs (R-OPERATOR-8)."""
    yield from _names(workspace, options)
    approving = options._replace(approve_installs=True, user="", user_groups=())
    initial, settled = settled_with_installs(workspace, approving, Report())
    if settled is None:
        return
    yield from _bundles(workspace, settled)
    outcomes = [
        outcome for outcome in followed(initial, settled.cluster, approving).outcomes if outcome.operator.catalog
    ]
    if outcomes:
        yield from _catalogs(workspace, needed_catalogs(settled.cluster, approving, clusterwide=True), approving)
    listed = {entry.image for source in settled.cluster.catalogs.values() for entry in source.entries}
    for outcome in outcomes:
        yield from _picks(workspace, outcome, listed, approving)


def _picks(workspace: Workspace, outcome: OperatorResult, listed: Set[str], options: Options) -> Iterator[NeededImage]:
    """The images of the bundles that an Operator installs, and of the one that it can't; all are `listed` somewhere."""
    images = [item.image for judged in outcome.installs for item in judged.install.content]
    if outcome.missing in listed:
        images.append(outcome.missing)
    source = outcome.operator.source
    place = locate(source, ("spec", "updates", "catalogSource")) if source is not None else None
    for image in images:
        if image and content_of_image(workspace._replace(vendored={}), image, options) is None:
            yield NeededImage(image, "bundle", place)


def _names(workspace: Workspace, options: Options) -> Iterator[NeededImage]:
    """The images that Operators and Installs name themselves."""
    proposed = read_operators_and_installs(workspace, Report())
    named = [
        *((each.image, each.source, ("spec", "updates", "manifestImage")) for each in proposed.operators),
        *(
            (item.image, each.source, ("spec", "content", index, "manifestImage"))
            for each in proposed.installs
            for index, item in enumerate(each.content)
        ),
    ]
    for image, source, keys in named:
        if image and content_of_image(workspace._replace(vendored={}), image, options) is None:
            yield NeededImage(image, "bundle", locate(source, keys) if source is not None else None)


def _bundles(workspace: Workspace, settled: SettledCluster) -> Iterator[NeededImage]:
    for done in (*settled.history, *settled.rounds.values()):
        yield from (_need(candidate) for candidate in done.missing if candidate.image)
        for lookup in done.plan.lookups if done.plan is not None else ():
            yield from _unvendored(workspace, settled.cluster, lookup.catalog, lookup.csv)
    for _, subscription in sorted(settled.beginning.subscriptions.items()):
        yield from _unvendored(workspace, settled.beginning, subscription.catalog, subscription.installed)


def _unvendored(workspace: Workspace, cluster: Cluster, key: CatalogKey, csv: str) -> Iterator[NeededImage]:
    """The image of a bundle whose content is neither in the workspace nor inline in the catalog."""
    source = cluster.catalogs.get(key)
    entry = next(named(source.entries, csv), None) if source else None
    if entry is None or source is None or source.catalog is None or not entry.image or csv in workspace.bundles:
        return
    if not has_inline_content(source.catalog.packages[entry.package].bundles[csv]):
        yield _need(entry)


def _need(candidate: Candidate) -> NeededImage:
    return NeededImage(candidate.image, "bundle", located(candidate.location))


class ImageCatalog(NamedTuple):
    """The catalog of an image with the packages to keep of it, and what is known of those to leave out."""

    catalog: Catalog
    kept: frozenset[str]
    left_out: tuple[LeftOutPackage, ...]

    @property
    def lacking(self) -> tuple[str, ...]:
        """The packages that are to be kept, and were left out before."""
        return tuple(package.name for package in self.catalog.left_out if package.name in self.kept)

    @property
    def surplus(self) -> tuple[str, ...]:
        """The packages that are there, and need not be."""
        return tuple(sorted(self.catalog.packages.keys() - self.kept))


def image_catalogs(
    workspace: Workspace, settled: SettledCluster, options: Options, *, whole: bool
) -> dict[str, ImageCatalog]:
    """The catalogs that the workspace has of images, by their reference."""
    by_image: dict[str, list[CatalogSource]] = {}
    for source in all_catalogs(workspace, settled):
        if source.manifest is not None and source.catalog is not None and source.key.name not in workspace.catalogs:
            image = catalog_image(source.manifest, options.kube_version)
            if image:
                by_image.setdefault(image, []).append(source)
    # Over the whole cluster, which packages belong together depends on all that there are (R-OPERATOR-9).
    whole = whole or options.operators_and_installs or options.descoped
    reached = frozenset() if whole else _reached(settled, options) | _asked_by_extensions(workspace)
    return {image: _image_catalog(sources, reached, whole=whole) for image, sources in by_image.items()}


def _image_catalog(sources: Sequence[CatalogSource], reached: frozenset[PackageKey], *, whole: bool) -> ImageCatalog:
    catalog = sources[0].catalog
    assert catalog is not None
    names = {*catalog.packages, *(package.name for package in catalog.left_out)}
    if whole:
        return ImageCatalog(catalog, frozenset(names), ())
    # One image may stand behind several CatalogSources.
    kept = frozenset(name for name in names if any((source.key, name) in reached for source in sources))
    entries = sources[0].entries
    fresh = (
        package_of_entries(name, (entry for entry in entries if entry.package == name))
        for name in catalog.packages.keys() - kept
    )
    before = (package for package in catalog.left_out if package.name not in kept)
    return ImageCatalog(catalog, kept, tuple(sorted((*fresh, *before))))


def _reached(settled: SettledCluster, options: Options) -> frozenset[PackageKey]:
    """The packages that resolutions of any namespace can look at, at the beginning and in the end."""
    clusters = (settled.beginning, settled.cluster)
    any_catalog = upgrades_from_any_catalog(options, settled.cluster.profile)
    return reachable(
        [visible_catalog(source) for source in settled.cluster.catalogs.values()],
        [request_of(subscription) for cluster in clusters for subscription in cluster.subscriptions.values()],
        [properties for cluster in clusters for properties in _properties_of_csvs(cluster.csvs)],
        any_catalog=any_catalog,
    )


def _properties_of_csvs(csvs: Mapping[Any, Any]) -> Iterator[tuple[Property, ...]]:
    for csv in csvs.values():
        try:
            yield csv_properties(csv, frozenset())
        except UnreadablePropertiesError:
            continue  # which prevents a resolution by itself


def _asked_by_extensions(workspace: Workspace) -> frozenset[PackageKey]:
    """The packages that ClusterExtensions ask for, of every ClusterCatalog: none brings another one along."""
    packages = [
        text(mapping(mapping(spec_of(manifest.object).get("source")).get("catalog")).get("packageName"))
        for manifest in workspace.extensions
    ]
    names = [name_of(manifest.object) for manifest in workspace.extension_catalogs]
    return frozenset((CatalogKey("", name), package) for name in names for package in packages)


class TrimmedCatalog(NamedTuple):
    """The lock's entry for a trimmed catalog, and its bytes before and after."""

    image: LockedImage
    bytes_before: int
    bytes_after: int


def trim(root: Path, folder: Folder, image: LockedImage, part: ImageCatalog, target: Path) -> TrimmedCatalog | None:
    """Write what is kept of the catalog in `folder` of the workspace to `target`; None where it can't be taken apart,
    since it is no plain file-based catalog. Raises OSError."""
    files = _kept_texts(root, folder, part)
    if files is None:
        return None
    files[LEFT_OUT_FILE] = left_out_text(part.left_out)
    for path, content in files.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(content, encoding="utf-8", newline="")
    content = content_digest((path, target / path) for path in files)
    count = f"{len(part.kept)} of {len(part.kept) + len(part.left_out)}"
    before = sum((root / path).stat().st_size for path in folder.walk())
    after = sum((target / path).stat().st_size for path in files)
    return TrimmedCatalog(image._replace(content=content, packages=count), before, after)


def _kept_texts(root: Path, folder: Folder, part: ImageCatalog) -> dict[str, str] | None:
    """The texts of the files to write by their path in the catalog."""
    if part.catalog.problem or part.catalog.images:
        return None
    texts: dict[str, str] = {}
    for path in folder.walk():
        text = read_text(root, path, Report())
        if text is None:
            return None
        texts[path] = text
    own_index = folder.join(LEFT_OUT_FILE)
    if own_index in texts and not part.catalog.left_out:
        return None  # an untrusted file of this name, which would be taken for ours
    texts.pop(own_index, None)
    removed = {package.name for package in part.left_out}
    has_packages = False
    for path in kept_files(folder.path, texts):
        file = read_file(path, texts[path], Report())
        if file.problem:
            return None
        wanted = [_package_of(document.value) not in removed for document in file.documents]
        has_packages = has_packages or any(schema_of(document.value) == PACKAGE for document in file.documents)
        if not any(wanted) and wanted:
            del texts[path]
        elif not all(wanted):
            texts[path] = _documents_text(path, texts[path], file.documents, wanted)
    if not has_packages and not part.catalog.left_out:
        return None
    return {PurePosixPath(path).relative_to(folder.path).as_posix(): text for path, text in texts.items()}


def _package_of(value: Any) -> str:
    """The package that a document of a catalog is about, "" if it is about none."""
    if not isinstance(value, dict):
        return ""
    key = meta_key(value, "name" if schema_of(value) == PACKAGE else "package")
    name = value[key] if key is not None else ""
    return name if isinstance(name, str) else ""


def _documents_text(path: str, text: str, documents: Sequence[Document], wanted: Sequence[bool]) -> str:
    """The wanted documents of a text, each as it is written there."""
    if looks_like_json(path, text):
        try:
            starts = [*value_starts(text), len(text)]
        except JSONSyntaxError:
            starts = []
        parts = [text[start:end].strip() + "\n" for start, end in pairwise(starts)]
        between = ""
    else:
        parts = [part.strip("\r\n") + "\n" for part in split_documents(text) or ()]
        between = "---\n"
    # Comments may stand where a document could.
    if len(parts) != len(documents):
        return dump([document.value for document, is_wanted in zip(documents, wanted, strict=True) if is_wanted])
    return between.join(part for part, is_wanted in zip(parts, wanted, strict=True) if is_wanted)


def trim_catalogs(
    root: Path, parts: Mapping[str, ImageCatalog], have: dict[str, LockedImage], stage: Path, placed: list[Path]
) -> tuple[TrimmedCatalog, ...]:
    """Put what is kept of catalogs in the place of the whole ones in vendor/, and what the lock says of it into `have`.

    `placed` are the folders that are new, and in the end those that are new still.
    """
    catalogs: list[TrimmedCatalog] = []
    for image, part in sorted(parts.items()):
        target = stage / f"trimmed-{len(catalogs)}"
        trimmed = _trimmed(root, have[image], part, target) if image in have else None
        if trimmed is None:
            continue
        before = root / path_of(have[image])
        if place(root, trimmed.image, target):
            placed.append(root / path_of(trimmed.image))
        if before in placed:
            placed.remove(before)
            shutil.rmtree(before)
        have[image] = trimmed.image
        catalogs.append(trimmed)
    return tuple(catalogs)


def surplus(root: Path, parts: Mapping[str, ImageCatalog], have: Mapping[str, LockedImage]) -> Iterator[str]:
    """The folders of catalogs of which less would be kept, with the number of packages that would go."""
    with tempfile.TemporaryDirectory() as scratch:
        for image, part in sorted(parts.items()):
            target = Path(tempfile.mkdtemp(dir=scratch))
            if image in have and _trimmed(root, have[image], part, target) is not None:
                number = len(part.surplus)
                yield f"{path_of(have[image])}: {number} package{'s' * (number != 1)}"


def _trimmed(root: Path, image: LockedImage, part: ImageCatalog, target: Path) -> TrimmedCatalog | None:
    """Write the kept part of a catalog to `target` and return it; None if that is all of it."""
    folder = intact_folder(root, image, Report()) if part.surplus else None
    return trim(root, folder, image, part, target) if folder is not None else None
