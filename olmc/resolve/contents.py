"""The manifests of bundles that a catalog lists (R-CAT-164)."""

from __future__ import annotations

from olmc.load.catalogs.content import inline_objects
from olmc.load.catalogs.served import served_properties
from olmc.model.catalog import CatalogBundle
from olmc.model.cluster import Cluster
from olmc.model.diagnostic import Report
from olmc.model.resolution import Candidate
from olmc.model.workspace import Manifest, Workspace
from olmc.resolve.steps import Content, bundle_content


def content_of(workspace: Workspace, cluster: Cluster, candidate: Candidate) -> Content | None:
    """The manifests of a served bundle: those inline in the catalog, the workspace's bundle with that CSV name, or the
    vendored one with that image (R-CAT-164); None when none is there."""
    bundle = workspace.bundles.get(candidate.name) or workspace.vendored.get(candidate.image)
    source = cluster.catalogs.get(candidate.catalog)
    package = source.catalog.packages.get(candidate.package) if source and source.catalog else None
    entry = package.bundles.get(candidate.name) if package else None
    carries_content = entry is not None and any(each.type == "olm.bundle.object" for each in entry.properties)
    if entry is None or bundle is None or (carries_content and not candidate.image):
        return inline_content(entry) if entry is not None else None
    content = bundle_content(bundle)
    # Without an image it is a catalog made of the workspace's own bundles: their content is part of it.
    return content if candidate.image else content._replace(inline=True, served=served_properties(entry))


def inline_content(entry: CatalogBundle) -> Content | None:
    """The manifests that a catalog has of a bundle, None without a CSV among them."""
    source = entry.location.source if entry.location else None
    objects = inline_objects(entry, Report())
    csv = next((obj for obj in objects if obj.get("kind") == "ClusterServiceVersion"), None)
    if csv is None or source is None:
        return None
    others = [obj for obj in objects if obj.get("kind") != "ClusterServiceVersion"]
    named = tuple((f"{index:06}", Manifest(obj, source)) for index, obj in enumerate(others))
    return Content(Manifest(csv, source), named, inline=not entry.image, served=served_properties(entry))
