"""Which bundles of a workspace nobody installs, so that what they hold reaches a cluster only by other tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmc.load.manifests import is_applied
from olmc.model.catalog import Catalog
from olmc.model.coerce import text
from olmc.model.left_out import Reason
from olmc.model.objects import spec_of
from olmc.model.workspace import Unused, Workspace
from olmc.settle.rest import Settled

_V2ALPHA1 = "operators.coreos.com/v2alpha1"


def uninstalled(workspace: Workspace, settled: Settled) -> Iterator[Unused]:
    """The objects of bundles that no catalog lists and that are not installed.

    Bundles may make up a catalog by themselves (D8): of a package that is installed, or that a Subscription is for, its
    other bundles are for upgrades. A workspace without manifests installs nothing and is a store of bundles; in one
    with Operators or Installs of v2alpha1 any bundle may be meant, which they name by image.
    """
    if not workspace.manifests or any(each.object["apiVersion"] == _V2ALPHA1 for each in workspace.manifests):
        return
    cluster = settled.cluster
    arrived = {csv for plan in cluster.plans for csv in plan.csvs} | {each.name for each in cluster.retired}
    arrived |= {each.name for each in (*settled.beginning.csvs, *cluster.csvs)}
    written, implied = (_listed(each) for each in _catalogs(workspace))
    wanted = {bundle.package for name, bundle in workspace.bundles.items() if name in arrived}
    wanted |= {
        text(spec_of(manifest.object).get("name"))
        for manifest in workspace.manifests
        if manifest.object["kind"] == "Subscription"
    }
    for name, bundle in workspace.bundles.items():
        is_upgrade = name in implied and bundle.package in wanted
        if name not in arrived and name not in written and not is_upgrade:
            objects = (file.manifest for file in bundle.files if is_applied(file.manifest.object))
            yield from (Unused(each, Reason.UNINSTALLED) for each in objects)


def _catalogs(workspace: Workspace) -> tuple[list[Catalog], list[Catalog]]:
    """The catalogs that somebody wrote, and those that are made of bundles alone, which have no files."""
    found: tuple[list[Catalog], list[Catalog]] = ([], [])
    for key, catalog in workspace.catalogs.items():
        found[not catalog.files and "/" not in key].append(catalog)
    return found


def _listed(catalogs: Iterable[Catalog]) -> set[str]:
    packages = [package for catalog in catalogs for package in catalog.packages.values()]
    entries = (entry for package in packages for channel in package.channels.values() for entry in channel.entries)
    return {entry.name for entry in entries} | {name for package in packages for name in package.bundles}
