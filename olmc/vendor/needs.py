"""Which images a workspace needs: those of the catalogs that are seen and of the bundles that the resolution picks, and
those that Operators and Installs of v2alpha1 name or pick."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from olmc.catalogs.content import has_inline_content, served_candidates
from olmc.lean import NamedTuple
from olmc.load.v2alpha1 import read_v2alpha1
from olmc.load.vendored import catalog_image
from olmc.model.catalog import Candidate
from olmc.model.cluster import CatalogSource, Cluster
from olmc.model.diagnostics import Location, Report
from olmc.model.objects import CatalogKey, name_of
from olmc.model.options import Options
from olmc.model.served import named
from olmc.model.workspace import ImageKind, Workspace
from olmc.proposed.pipeline_hooks import settled_with_installs
from olmc.proposed.v2alpha1.approval import OperatorResult
from olmc.proposed.v2alpha1.content import content_of_image
from olmc.proposed.v2alpha1.controller import followed
from olmc.reconcile.loop import SettledCluster
from olmc.resolver.snapshot import needed_catalogs
from olmc.yaml import locate, located


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

    With v2alpha1, also what is used once every Install is approved: whoever approves one finds what it brings.
    """
    needs: dict[str, NeededImage] = {}
    for need in (
        *_catalogs(workspace, needed_catalogs(settled.cluster, options), options),
        *_templates(workspace),
        *_bundles(workspace, settled),
        *(_of_extensions(workspace, settled, options) if workspace.extensions else ()),
        *(_proposed(workspace, options) if options.v2alpha1 else ()),
    ):
        needs.setdefault(need.image, need)
    return tuple(needs.values())


def _of_extensions(workspace: Workspace, settled: SettledCluster, options: Options) -> Iterator[NeededImage]:
    """The catalogs that ClusterExtensions choose from, and the bundles that they choose or keep (R-V1-RES-1)."""
    from olmc.olmv1.extensions import UNKNOWN_IMAGE, install_extensions  # most workspaces have none

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
    """What Operators and Installs of v2alpha1 name, and what Operators pick from catalogs (R-OPERATOR-8)."""
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
    proposed = read_v2alpha1(workspace, Report())
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
