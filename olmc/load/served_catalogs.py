"""The catalogs that a workspace serves: folders and ConfigMaps, and what bundles without a catalog imply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.load.workspace_files import FoundFiles
from olmc.model.diagnostics import Report
from olmc.model.objects import KubernetesObject, as_text, mapping, name_of, namespace_of, spec_of
from olmc.model.options import Indexing
from olmc.model.workspace import Bundle, Manifest

if TYPE_CHECKING:
    from olmc.catalogs.rendering import UncataloguedBundle
    from olmc.model.catalog import Catalog

    CatalogLoader = Callable[[str, Mapping[str, str], Report, Mapping[str, UncataloguedBundle], Indexing], Catalog]
    """What makes a catalog of a folder and the texts in it, as `olmc.catalogs.loading.load_catalog` does."""


def bundles_by_reference(
    bundles: Mapping[str, Bundle], vendored: Mapping[str, Bundle]
) -> dict[str, UncataloguedBundle]:
    """The bundles as templates name them: by folder or by image."""
    from olmc.catalogs.rendering import uncatalogued  # takes long to import, and many workspaces have no catalogs

    by_directory = {bundle.directory: uncatalogued(bundle) for bundle in bundles.values()}
    return {image: uncatalogued(bundle, image) for image, bundle in vendored.items()} | by_directory


def load_catalogs(
    reading: FoundFiles, bundles: Mapping[str, UncataloguedBundle], indexing: Indexing, report: Report,
    loader: CatalogLoader | None = None,
) -> dict[str, Catalog]:  # fmt: skip
    from olmc.load.cached_catalogs import read_catalog

    load = loader or read_catalog
    catalogs, roots = reading.catalogs, reading.roots
    return {name: load(roots[name], files, report, bundles, indexing) for name, files in catalogs.items()}


def implied_catalogs(
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
    if not names or not bundles:
        return {}
    from olmc.model.catalog import names_of_bundles  # many workspaces have none

    listed = names_of_bundles(catalogs.values())
    uncatalogued_bundles = [bundle for name, bundle in bundles.items() if name not in listed]
    if not uncatalogued_bundles:
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
                from olmc.catalogs.bundle_lists import catalog_from_configmap

                catalogs[f"{namespace}/{name}"] = catalog_from_configmap(other.object, other.source, report)
    return catalogs
