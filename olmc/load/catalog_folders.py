"""The folders of catalogs: the files of one, and the catalogs of images that were vendored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.load.cached_catalogs import known_texts
from olmc.load.files import Folder, read_bytes, read_text
from olmc.load.vendored import catalog_image, intact_folder
from olmc.model.catalog import Catalog, LeftOutPackage
from olmc.model.diagnostics import Report
from olmc.model.objects import GVK, mapping, texts
from olmc.model.options import Indexing
from olmc.model.workspace import LockedImage, Manifest
from olmc.yaml import read

if TYPE_CHECKING:
    from olmc.catalogs.rendering import UncataloguedBundle
    from olmc.load.served_catalogs import CatalogLoader

INDEX_IGNORE = ".indexignore"
LEFT_OUT_FILE = "olmc-left-out.json"
"""The file in a catalog that was not vendored whole which names the other packages; one line each."""


def catalog_texts(root: Path, folder: Folder, report: Report) -> Mapping[str, str]:
    """The texts of all files of a catalog but those that its .indexignore files name; of a large one those that were
    read before are decoded when somebody asks for them."""
    paths = tuple(folder.walk())
    ignore_files = [path for path in paths if path.rpartition("/")[2] == INDEX_IGNORE]
    ignoring_texts = {path: text for path in ignore_files if (text := read_text(root, path, report)) is not None}
    if ignoring_texts:
        from olmc.catalogs.fbc import kept_files

        paths = tuple(kept_files(folder.path, {**dict.fromkeys(paths, ""), **ignoring_texts}))
    contents = {path: data for path in paths if (data := read_bytes(root, path, report)) is not None}
    return known_texts(folder.path, contents, ignoring_texts, report)


def image_catalogs(
    root: Path, manifests: tuple[Manifest, ...], images: Sequence[LockedImage], kube_version: str,
    served: Mapping[str, Catalog], bundles: Mapping[str, UncataloguedBundle], indexing: Indexing, report: Report,
    loader: CatalogLoader | None = None,
) -> dict[str, Catalog]:  # fmt: skip
    """The catalogs of CatalogSources whose image was vendored, by `namespace/name`; those of ClusterCatalogs by
    `/name`. catalogs/NAME/ goes first."""
    from olmc.load.cached_catalogs import read_catalog

    load = loader or read_catalog
    locked = {image.image: image for image in images if image.kind == "catalog"}
    loaded: dict[str, Catalog | None] = {}
    catalogs: dict[str, Catalog] = {}
    for manifest in manifests:
        metadata = manifest.object["metadata"]
        if manifest.object["kind"] not in ("CatalogSource", "ClusterCatalog") or metadata["name"] in served:
            continue
        image = locked.get(catalog_image(manifest.object, kube_version))
        if image is None:
            continue
        # Several CatalogSources may show one image, which is held against its digest and read once.
        if image.image not in loaded:
            folder = intact_folder(root, image, report)
            texts = catalog_texts(root, folder, report) if folder is not None else {}
            left_out = ""
            # An untrusted catalog may have a file of this name as well.
            if folder is not None and image.packages:
                texts = dict(texts)
                left_out = texts.pop(folder.join(LEFT_OUT_FILE), "")
            catalog = folder and load(folder.path, texts, report, bundles, indexing)
            loaded[image.image] = catalog and catalog._replace(left_out=left_out_packages(left_out))
        catalog = loaded[image.image]
        if catalog is not None:
            catalogs[f"{metadata.get('namespace') or ''}/{metadata['name']}"] = catalog
    return catalogs


def left_out_text(packages: Iterable[LeftOutPackage]) -> str:
    """The file that names packages which were left out: a line of JSON each, so that a diff shows what moved."""
    return "".join(
        json.dumps({key: value for key, value in package._asdict().items() if value}, ensure_ascii=False) + "\n"
        for package in sorted(packages)
    )


def left_out_packages(text: str) -> tuple[LeftOutPackage, ...]:
    """The packages that such a file names."""
    packages = []
    for document in read(LEFT_OUT_FILE, text, Report()):
        fields = mapping(document.value)
        apis = [GVK(*parts) for item in fields.get("apis") or () if len(parts := texts(item)) == len(GVK._fields)]
        names, labels = texts(fields.get("packages")), texts(fields.get("labels"))
        packages.append(LeftOutPackage(str(fields.get("name")), tuple(names), tuple(apis), tuple(labels)))
    return tuple(packages)
