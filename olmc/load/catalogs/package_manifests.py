"""Directories of package manifests, the format before bundles (R-CAT-140 … R-CAT-142)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.gojson import DecodeError
from olmc.kube.api_validation.field import aggregated
from olmc.load.catalogs.apis import described_crds, provided_apis, required_apis
from olmc.load.catalogs.blobs import meta_key
from olmc.load.catalogs.csv_edges import base_of
from olmc.load.catalogs.csv_graphs import database_bundle, package_manifest, package_of, wrapped
from olmc.load.catalogs.fbc import CatalogFile, readable
from olmc.load.catalogs.rendering import LooseBundle
from olmc.load.catalogs.troubles import Trouble, tell, unavailable
from olmc.load.manifests import applied_objects
from olmc.model.catalog import Catalog, Package
from olmc.model.diagnostic import Report
from olmc.model.location import Place
from olmc.model.operators import CSV_KIND, Csv
from olmc.model.options import Indexing
from olmc.model.workspace import Manifest
from olmc.rules import catalogs as rules
from olmc.rules.rule import Rule
from olmc.yaml import Document


def looks_like_package_manifest(document: Document) -> bool:
    """Whether a document is a package file: it has a packageName (R-CAT-140)."""
    value = document.value
    key = meta_key(value, "packagename") if isinstance(value, dict) else None
    return key is not None and isinstance(value[key], str) and bool(value[key])


def load_package_manifests(root: str, files: Mapping[str, CatalogFile], indexing: Indexing, report: Report) -> Catalog:
    """The catalog in a directory of package manifests, or an unavailable one with what is wrong with it."""
    first = {path: file.documents[0] for path, file in files.items() if file.documents and not _is_hidden(root, path)}
    bundles: dict[str, LooseBundle] = {}
    troubles: list[Trouble] = []
    for bundle in _bundles(first):
        troubles += bundle_troubles(bundle, rules.BAD_PACKAGE_MANIFESTS, indexing)
        bundles.setdefault(bundle.name, bundle)
    packages: dict[str, Package] = {}
    for document in first.values():
        if looks_like_package_manifest(document):
            troubles += _add_package(document, bundles, packages, report)
    tell(troubles, report)
    catalog = Catalog(packages)
    if troubles:
        catalog = unavailable(aggregated(trouble.text for trouble in troubles), troubles[0].place)
    return catalog._replace(files=readable(files), unused=tuple(_unused(files, first)))


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
    document: Document, bundles: Mapping[str, LooseBundle], packages: dict[str, Package], report: Report
) -> Iterator[Trouble]:
    place = Place(document.source)
    try:
        manifest = package_manifest(document.value, place)
    except DecodeError:
        # A file that can't be decoded as a package counts as some other file.
        return
    packages[manifest.name], problems = package_of(manifest, bundles, database_bundle, report)
    if problems:
        cause = wrapped(problems, "error loading package into db")
        yield Trouble(rules.BAD_PACKAGE_MANIFESTS, problems[0].place, {"cause": cause})


def _bundles(first: Mapping[str, Document]) -> Iterator[LooseBundle]:
    """Each CSV with what lies beside it in its folder, other CSVs left out."""
    folders: dict[str, list[Document]] = {}
    for path, document in first.items():
        if _kind(document):
            folders.setdefault(path.rpartition("/")[0], []).append(document)
    for documents in folders.values():
        for document in documents:
            if document.value["kind"] == CSV_KIND:
                others = [each.value for each in documents if each is document or each.value["kind"] != CSV_KIND]
                yield LooseBundle("", (), "", document.value, tuple(others), location=Place(document.source))


def _kind(document: Document) -> Any:
    return document.value.get("kind") if isinstance(document.value, dict) else None


def bundle_troubles(bundle: LooseBundle, rule: Rule, indexing: Indexing) -> Iterator[Trouble]:
    """What keeps a bundle out of the old database; `rule` is the one broken when its APIs are not in order."""
    if base_of(bundle) and not indexing.alpha:
        yield Trouble(rules.SUBSTITUTES_FOR, bundle.location)
    try:
        required_apis(bundle.objects)
        missing = _missing_crds(bundle)
    except ValueError as error:
        missing = [str(error)]
    for cause in missing:
        text = f"error checking provided apis in bundle {bundle.name}: {cause}"
        yield Trouble(rule, bundle.location, {"cause": text})


def _missing_crds(bundle: LooseBundle) -> list[str]:
    """OLM's text for the first owned CRD that the bundle doesn't bring along (R-CAT-101)."""
    provided = provided_apis(bundle.objects)
    for api in described_crds(Csv(bundle.csv).owned_crds):
        if api not in provided:
            return [f"couldn't find {api} in bundle. found: {_as_map(map(str, provided))}"]
    return []


def _as_map(keys: Iterable[str]) -> str:
    return "map[" + " ".join(f"{key}:{{}}" for key in sorted(keys)) + "]"
