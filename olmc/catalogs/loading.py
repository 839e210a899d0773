"""The folder of a catalog, whatever its format: file-based, or package manifests as before bundles (R-CAT-140 …
R-CAT-142)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from olmc.catalogs.blobs import SCHEMA_PREFIX, Blobs, add_document, meta_key, schema_of
from olmc.catalogs.catalog_errors import CatalogError, below, location_of, report_errors, unavailable
from olmc.catalogs.csv_graphs import base_of, database_bundle, joined, package_manifest, package_of
from olmc.catalogs.fbc import CatalogFile, catalog_of, kept_files, read_file, readable
from olmc.catalogs.properties import described_crds, provided_apis, required_apis
from olmc.catalogs.rendering import UncataloguedBundle
from olmc.catalogs.semver_template import SEMVER, expand_semver
from olmc.catalogs.templates import (
    BASIC,
    SUBSTITUTES,
    Expand,
    TemplateContext,
    expand_basic,
    expand_substitutes,
    expand_template,
    named_images,
)
from olmc.diagnostics.rule import Rule
from olmc.diagnostics.rules import catalogs as rules
from olmc.gojson import DecodeError
from olmc.kube.api_validation.field import aggregated
from olmc.kube.applied import applied_objects
from olmc.model.catalog import Catalog, Package
from olmc.model.diagnostics import Place, Report
from olmc.model.operators import CSV_KIND, Csv
from olmc.model.options import DEFAULT_INDEXING, Indexing
from olmc.model.workspace import Manifest
from olmc.yaml import Document
from olmc.yaml.pieces import Known


def looks_like_package_manifest(document: Document) -> bool:
    """Whether a document is a package file: it has a packageName (R-CAT-140)."""
    value = document.value
    key = meta_key(value, "packagename") if isinstance(value, dict) else None
    return key is not None and isinstance(value[key], str) and bool(value[key])


def load_package_manifests(root: str, files: Mapping[str, CatalogFile], indexing: Indexing, report: Report) -> Catalog:
    """The catalog in a directory of package manifests, or an unavailable one with what is wrong with it."""
    # OLM's loader decodes one document a file, and passes over hidden files and folders (R-CAT-140).
    first = {path: file.documents[0] for path, file in files.items() if file.documents and not _is_hidden(root, path)}
    bundles: dict[str, UncataloguedBundle] = {}
    errors: list[CatalogError] = []
    for bundle in _bundles(first):
        errors += bundle_errors(bundle, rules.BAD_PACKAGE_MANIFESTS, indexing)
        bundles.setdefault(bundle.name, bundle)
    packages: dict[str, Package] = {}
    for document in first.values():
        if looks_like_package_manifest(document):
            errors += _add_package(document, bundles, packages, report)
    report_errors(errors, report)
    catalog = Catalog(packages)
    if not errors:
        _report_unreached(bundles, packages, report)
    else:
        catalog = unavailable(aggregated(error.text for error in errors), errors[0].place)
    return catalog._replace(files=readable(files), unused=tuple(_unused(files, first)))


def _report_unreached(
    bundles: Mapping[str, UncataloguedBundle], packages: Mapping[str, Package], report: Report
) -> None:
    """The CSVs that nothing leads to from the head of a channel: the old database forgets them (R-CAT-141)."""
    reached = {name for package in packages.values() for name in package.bundles}
    for name, bundle in bundles.items():
        if name not in reached:
            place = location_of(below(bundle.location, "metadata", "name"))
            report.add(rules.UNREACHED_VERSION.finding(place, bundle=name))


def _unused(files: Mapping[str, CatalogFile], first: Mapping[str, Document]) -> Iterator[Manifest]:
    """The objects of all files that no bundle has: those behind the first of a file, and those without a CSV beside."""
    with_csv = {path.rpartition("/")[0] for path, document in first.items() if _kind(document) == CSV_KIND}
    for path, file in files.items():
        used = first.get(path) if path.rpartition("/")[0] in with_csv else None
        for document in file.documents:
            if document is not used:
                yield from applied_objects(document)


def _is_hidden(root: str, path: str) -> bool:
    relative = path.removeprefix(f"{root}/") if root else path
    return any(part.startswith(".") for part in relative.split("/"))


def _add_package(
    document: Document, bundles: Mapping[str, UncataloguedBundle], packages: dict[str, Package], report: Report
) -> Iterator[CatalogError]:
    place = Place(document.source)
    try:
        manifest = package_manifest(document.value, place)
    except DecodeError:
        # A file that can't be decoded as a package counts as some other file.
        return
    packages[manifest.name], problems = package_of(manifest, bundles, database_bundle, report)
    if problems:
        cause = joined(problems, "error loading package into db")
        yield CatalogError(rules.BAD_PACKAGE_MANIFESTS, problems[0].place, {"cause": cause})


def _bundles(first: Mapping[str, Document]) -> Iterator[UncataloguedBundle]:
    """Each CSV with what lies beside it in its folder, other CSVs left out."""
    folders: dict[str, list[Document]] = {}
    for path, document in first.items():
        if _kind(document):
            folders.setdefault(path.rpartition("/")[0], []).append(document)
    for documents in folders.values():
        for document in documents:
            if document.value["kind"] == CSV_KIND:
                others = [
                    beside.value for beside in documents if beside is document or beside.value["kind"] != CSV_KIND
                ]
                yield UncataloguedBundle("", (), "", document.value, tuple(others), location=Place(document.source))


def _kind(document: Document) -> Any:
    return document.value.get("kind") if isinstance(document.value, dict) else None


def bundle_errors(bundle: UncataloguedBundle, rule: Rule, indexing: Indexing) -> Iterator[CatalogError]:
    """What keeps a bundle out of the old database; `rule` is the one broken when its APIs are not in order."""
    if base_of(bundle) and not indexing.alpha:
        yield CatalogError(rules.SUBSTITUTES_FOR, bundle.location)
    try:
        required_apis(bundle.objects)
        missing = _missing_crds(bundle)
    except ValueError as error:
        missing = [str(error)]
    for cause in missing:
        text = f"error checking provided apis in bundle {bundle.name}: {cause}"
        yield CatalogError(rule, bundle.location, {"cause": text})


def _missing_crds(bundle: UncataloguedBundle) -> list[str]:
    """OLM's text for the first owned CRD that the bundle doesn't bring along (R-CAT-101)."""
    provided = provided_apis(bundle.objects)
    for api in described_crds(Csv(bundle.csv).owned_crds):
        # By version and plural, too: an owned CRD of another version is one that is missing.
        if api not in provided:
            return [f"couldn't find {api} in bundle. found: {_as_map(map(str, provided))}"]
    return []


def _as_map(keys: Iterable[str]) -> str:
    return "map[" + " ".join(f"{key}:{{}}" for key in sorted(keys)) + "]"


_TEMPLATES: Mapping[str, Expand] = {BASIC: expand_basic, SEMVER: expand_semver, SUBSTITUTES: expand_substitutes}


def looks_like_catalog(value: Any) -> bool:
    """Whether a decoded document is part of a file-based catalog: its schema begins with `olm.`."""
    return schema_of(value).startswith(SCHEMA_PREFIX)


def load_catalog(
    root: str,
    files: Mapping[str, str],
    report: Report,
    bundles: Mapping[str, UncataloguedBundle] = MappingProxyType({}),
    indexing: Indexing = DEFAULT_INDEXING,
) -> Catalog:
    """The catalog in the folder `root` of the workspace.

    `files` are the texts of all files below it by their path in the workspace, `bundles` the bundles that its templates
    may name, by image reference or by folder; `indexing` is for package manifests. A catalog that OLM could not serve
    comes back without packages and with OLM's text as its `problem`; all that is wrong with it is in `report`, as
    failures: the compilation goes on. `files` of the catalog are those that were read, `unused` what is no part of it.
    """
    known: Known = {}
    read = {path: read_file(path, files[path], report, known) for path in kept_files(root, files)}
    if _holds_package_manifests(read):
        return load_package_manifests(root, read, indexing, report)
    blobs = Blobs()
    problem = ""
    images: dict[str, None] = {}
    for file in read.values():
        images |= dict.fromkeys(_template_images(file, bundles))
        errors = _add_file(file, blobs, bundles, report)
        report_errors(errors, report, known)
        problem = problem or next((error.text for error in errors if error.stops), "")
        if file.problem:
            unread = rules.NOT_READ.finding(file.location, path=file.path, cause=file.problem)
            report.add(unread.caused_by(file.cause))
            problem = problem or file.problem
    catalog = unavailable(problem) if problem else catalog_of(blobs, report, known)
    documents = [document for file in read.values() for document in file.documents]
    unused = (manifest for document in documents for manifest in applied_objects(document))
    return catalog._replace(
        images=tuple(images),
        files=readable(read),
        unused=tuple(unused),
        self_contained=not any(schema_of(document.value) in _TEMPLATES for document in documents),
    )


def _template_images(file: CatalogFile, bundles: Mapping[str, UncataloguedBundle]) -> Iterator[str]:
    """The references in the templates of a file, but for those to folders of the workspace."""
    for document in file.documents:
        if schema_of(document.value) in _TEMPLATES:
            context = TemplateContext(document.source, bundles, Report())
            yield from (image for image in named_images(document.value) if context.is_image(image))


def _holds_package_manifests(files: Mapping[str, CatalogFile]) -> bool:
    # Both in one folder are a file-based catalog, in which a package file is a document without a schema.
    documents = [document for file in files.values() for document in file.documents]
    return any(looks_like_package_manifest(document) for document in documents) and not any(
        looks_like_catalog(document.value) for document in documents
    )


def _add_file(
    file: CatalogFile, blobs: Blobs, bundles: Mapping[str, UncataloguedBundle], report: Report
) -> list[CatalogError]:
    """Add what a file holds to `blobs`; what is wrong with it comes back."""
    errors: list[CatalogError] = []
    for document in file.documents:
        expand = _TEMPLATES.get(schema_of(document.value))
        if expand is None:
            errors += add_document(document.value, document.source, blobs, is_yaml=file.is_yaml)
        else:
            context = TemplateContext(document.source, bundles, report)
            errors += expand_template(document.value, expand, context, blobs)
    return errors
