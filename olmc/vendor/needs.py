"""Which images a workspace needs: those of the catalogs that are seen, of the bundles that the resolution picks, and
those that Operators and Installs of v2alpha1 name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from olmc.load.catalogs.content import has_inline_content
from olmc.load.v2alpha1 import read_v2alpha1
from olmc.load.vendored import catalog_image
from olmc.model.cluster import Cluster
from olmc.model.diagnostic import Report
from olmc.model.location import Location
from olmc.model.lock import ImageKind
from olmc.model.objects import CatalogKey
from olmc.model.options import Options
from olmc.model.resolution import Candidate
from olmc.model.workspace import Workspace
from olmc.proposed.content import content_of_image
from olmc.resolve.visibility import needed_catalogs
from olmc.settle.rest import Settled
from olmc.yaml import locate


class Need(NamedTuple):
    """An image that is needed: its reference as the workspace has it, what it has to hold, and where it is named."""

    image: str
    kind: ImageKind
    location: Location | None = None


def needs_of(workspace: Workspace, settled: Settled, options: Options) -> tuple[Need, ...]:
    """The images that a settled workspace uses or misses, each once, in order; those whose content the workspace has
    itself are not among them."""
    found: dict[str, Need] = {}
    for need in (
        *_catalogs(workspace, settled, options),
        *_templates(workspace),
        *_bundles(workspace, settled),
        *_installs(workspace, options),
    ):
        found.setdefault(need.image, need)
    return tuple(found.values())


def _catalogs(workspace: Workspace, settled: Settled, options: Options) -> Iterator[Need]:
    for catalog in needed_catalogs(settled.cluster, options):
        if catalog.manifest is None or catalog.key.name in workspace.catalogs:
            continue
        image = catalog_image(catalog.manifest, options.kube_version)
        if image:
            place = locate(catalog.source, ("spec", "image")) if catalog.source is not None else None
            yield Need(image, "catalog", place)


def _templates(workspace: Workspace) -> Iterator[Need]:
    for _, catalog in sorted(workspace.catalogs.items()):
        for image in catalog.images:
            yield Need(image, "bundle", None)


def _installs(workspace: Workspace, options: Options) -> Iterator[Need]:
    """The images that Operators and Installs of v2alpha1 name, with the option for these."""
    proposed = read_v2alpha1(workspace if options.v2alpha1 else workspace._replace(manifests=()), Report())
    named = [
        *((each.image, each.source, ("spec", "updates", "manifestImage")) for each in proposed.operators),
        *(
            (item.image, each.source, ("spec", "content", index, "manifestImage"))
            for each in proposed.installs
            for index, item in enumerate(each.content)
        ),
    ]
    itself = workspace._replace(vendored={})
    for image, source, keys in named:
        if image and content_of_image(itself, image, options) is None:
            yield Need(image, "bundle", locate(source, keys) if source is not None else None)


def _bundles(workspace: Workspace, settled: Settled) -> Iterator[Need]:
    for done in (*settled.history, *settled.rounds.values()):
        yield from (_need(candidate) for candidate in done.missing if candidate.image)
        for lookup in done.plan.lookups if done.plan is not None else ():
            yield from _unpacked(workspace, settled.cluster, lookup.catalog, lookup.csv)
    for _, subscription in sorted(settled.beginning.subscriptions.items()):
        yield from _unpacked(workspace, settled.beginning, subscription.catalog, subscription.installed)


def _unpacked(workspace: Workspace, cluster: Cluster, key: CatalogKey, csv: str) -> Iterator[Need]:
    """The image of a bundle whose content is neither in the workspace nor inline in the catalog."""
    source = cluster.catalogs.get(key)
    entry = next((entry for entry in (source.entries if source else ()) if entry.name == csv), None)
    if entry is None or source is None or source.catalog is None or not entry.image or csv in workspace.bundles:
        return
    if not has_inline_content(source.catalog.packages[entry.package].bundles[csv]):
        yield _need(entry)


def _need(candidate: Candidate) -> Need:
    return Need(candidate.image, "bundle", candidate.location)
