"""The folder of a catalog, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from olmc.load.catalogs.blobs import SCHEMA_PREFIX, Blobs, add_document, schema_of
from olmc.load.catalogs.fbc import CatalogFile, catalog_of, read_file, readable
from olmc.load.catalogs.ignoring import kept_files
from olmc.load.catalogs.package_manifests import load_package_manifests, looks_like_package_manifest
from olmc.load.catalogs.rendering import LooseBundle
from olmc.load.catalogs.semver_template import SEMVER, expand_semver
from olmc.load.catalogs.substitutes_template import SUBSTITUTES, expand_substitutes
from olmc.load.catalogs.templates import BASIC, Expand, Workshop, expand_basic, expanded, named_images
from olmc.load.catalogs.troubles import Trouble, tell, unavailable
from olmc.load.manifests import applied_objects
from olmc.model.catalog import Catalog
from olmc.model.diagnostic import Report
from olmc.model.options import DEFAULT_INDEXING, Indexing
from olmc.rules import catalogs as rules

_TEMPLATES: Mapping[str, Expand] = {BASIC: expand_basic, SEMVER: expand_semver, SUBSTITUTES: expand_substitutes}


def looks_like_catalog(value: Any) -> bool:
    """Whether a decoded document is part of a file-based catalog: its schema begins with `olm.`."""
    return schema_of(value).startswith(SCHEMA_PREFIX)


def load_catalog(
    root: str,
    files: Mapping[str, str],
    report: Report,
    bundles: Mapping[str, LooseBundle] = MappingProxyType({}),
    indexing: Indexing = DEFAULT_INDEXING,
) -> Catalog:
    """The catalog in the folder `root` of the workspace.

    `files` are the texts of all files below it by their path in the workspace, `bundles` the bundles that its templates
    may name, by image reference or by folder; `indexing` is for package manifests. A catalog that OLM could not serve
    comes back without packages and with OLM's text as its `problem`; all that is wrong with it is in `report`, as
    failures: the compilation goes on. `files` of the catalog are those that were read, `unused` what is no part of it.
    """
    read = {path: read_file(path, files[path], report) for path in kept_files(root, files)}
    if _holds_package_manifests(read):
        return load_package_manifests(root, read, indexing, report)
    blobs = Blobs()
    problem = ""
    images: dict[str, None] = {}
    for file in read.values():
        images |= dict.fromkeys(_template_images(file, bundles))
        troubles = _add_file(file, blobs, bundles, report)
        tell(troubles, report)
        problem = problem or next((trouble.text for trouble in troubles if trouble.stops), "")
        if file.problem:
            unread = rules.NOT_READ.finding(file.location, path=file.path, cause=file.problem)
            report.add(unread.caused_by(file.cause))
            problem = problem or file.problem
    catalog = unavailable(problem) if problem else catalog_of(blobs, report)
    documents = (document for file in read.values() for document in file.documents)
    unused = (manifest for document in documents for manifest in applied_objects(document))
    return catalog._replace(images=tuple(images), files=readable(read), unused=tuple(unused))


def _template_images(file: CatalogFile, bundles: Mapping[str, LooseBundle]) -> Iterator[str]:
    """The references in the templates of a file, but for those to folders of the workspace."""
    for document in file.documents:
        if schema_of(document.value) in _TEMPLATES:
            workshop = Workshop(document.source, bundles, Report())
            yield from (image for image in named_images(document.value) if workshop.is_image(image))


def _holds_package_manifests(files: Mapping[str, CatalogFile]) -> bool:
    documents = [document for file in files.values() for document in file.documents]
    return any(looks_like_package_manifest(document) for document in documents) and not any(
        looks_like_catalog(document.value) for document in documents
    )


def _add_file(file: CatalogFile, blobs: Blobs, bundles: Mapping[str, LooseBundle], report: Report) -> list[Trouble]:
    """Add what a file holds to `blobs`; what is wrong with it comes back."""
    troubles: list[Trouble] = []
    for document in file.documents:
        expand = _TEMPLATES.get(schema_of(document.value))
        if expand is None:
            troubles += add_document(document.value, document.source, blobs, is_yaml=file.is_yaml)
        else:
            workshop = Workshop(document.source, bundles, report)
            troubles += expanded(document.value, expand, workshop, blobs)
    return troubles
