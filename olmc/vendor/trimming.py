"""What is kept of the catalogs of images: the packages that a resolution can look at, the names of the others, and what
these offer.

What is kept follows from the workspace and the image alone, so that the same lock gives the same bytes. It stays as the
publisher wrote it, document by document.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from olmc.catalogs.blobs import PACKAGE, meta_key, schema_of
from olmc.catalogs.fbc import kept_files, read_file
from olmc.lean import NamedTuple
from olmc.load.catalog_folders import LEFT_OUT_FILE, left_out_text
from olmc.load.files import Folder, read_text
from olmc.load.vendored import catalog_image, content_digest, intact_folder, path_of
from olmc.model.catalog import Catalog, LeftOutPackage, Property
from olmc.model.cluster import CatalogSource
from olmc.model.diagnostics import Report
from olmc.model.objects import CatalogKey, mapping, name_of, spec_of, text
from olmc.model.options import Options, upgrades_from_any_catalog
from olmc.model.workspace import LockedImage, Workspace
from olmc.reconcile.loop import SettledCluster
from olmc.resolver.left_out import PackageKey, package_of_entries, reachable
from olmc.resolver.requests import UnreadablePropertiesError, csv_properties, request_of, visible_catalog
from olmc.vendor.needs import all_catalogs
from olmc.vendor.store import place
from olmc.yaml import Document, dump
from olmc.yaml.heads import documents_in
from olmc.yaml.json_text import JSONSyntaxError, value_starts
from olmc.yaml.reader import looks_like_json


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
    whole = whole or options.v2alpha1 or options.descoped
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
    """What the lock says of a trimmed catalog, and how many bytes it had and has."""

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
    gone = {package.name for package in part.left_out}
    has_packages = False
    for path in kept_files(folder.path, texts):
        file = read_file(path, texts[path], Report())
        if file.problem:
            return None
        wanted = [_package_of(document.value) not in gone for document in file.documents]
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
        parts = [part.strip("\r\n") + "\n" for part in documents_in(text)]
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
    """What is kept of a catalog, written to `target`; None if that is all of it."""
    folder = intact_folder(root, image, Report()) if part.surplus else None
    return trim(root, folder, image, part, target) if folder is not None else None
