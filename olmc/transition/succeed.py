"""The workspace that OLM goes on with: what a cluster held, once a repository's manifests are applied to it."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.model.objects import ObjectKey
from olmc.model.options import Options
from olmc.model.state import ClusterState
from olmc.model.workspace import Manifest, Workspace
from olmc.olm.profiles.data import profile_of
from olmc.reconcile.initial_state import served_folder
from olmc.transition.applying import apply, pruned
from olmc.transition.deletion import delete
from olmc.transition.handover import handed_over, handovers


def successor_workspace(state: ClusterState, workspace: Workspace, options: Options) -> Workspace:
    """The workspace whose manifests are everything that the cluster holds once a GitOps tool has applied those of
    `workspace` and pruned what it no longer has, and a person has deleted what `options.delete` names.

    The tool applies first and prunes afterwards (observed-37). What moves to OLM v1 has been handed over before.
    """
    profile = profile_of(options.olm_version)
    if options.prune:  # what is not pruned goes on under OLM v0
        moved = handovers(state, workspace.manifests)
        state = handed_over(state, moved, workspace.manifests, profile) if moved else state
    applied = apply(state, workspace.manifests)
    gone = pruned(applied, workspace.manifests) if options.prune else ()
    objects = delete(applied.objects, gone, profile)
    by_hand = [key for text in options.delete for key in named(text, objects)]
    objects = delete(objects, by_hand, profile)
    # A folder whose CatalogSource has just been deleted stands for none any more; OLM v1 may still read it.
    deleted = [key for key in applied.objects.keys() - objects.keys() if key.kind == "CatalogSource"]
    closed = _served((applied.objects[key] for key in deleted), workspace) - workspace.extension_catalog_names
    if closed:
        closed -= _served((*objects.values(), *workspace.cluster_catalogs), workspace)
    catalogs = {name: catalog for name, catalog in workspace.catalogs.items() if name not in closed}
    manifests = tuple(objects.values())
    return workspace._replace(manifests=manifests, catalogs=catalogs, is_live=True, unpacked=state.unpacked)


def _served(manifests: Iterable[Manifest], workspace: Workspace) -> set[str]:
    """The catalog folders that the CatalogSources among some objects serve."""
    sources = (m.object for m in manifests if m.object["kind"] == "CatalogSource")
    return {served_folder(source, workspace.catalogs) for source in sources}


def named(text: str, objects: Iterable[ObjectKey]) -> list[ObjectKey]:
    """The objects that `KIND/NAMESPACE/NAME`, or `KIND/NAME`, means."""
    kind, _, rest = text.partition("/")
    namespace, _, name = rest.rpartition("/")
    return [key for key in objects if (key.kind, key.namespace, key.name) == (kind, namespace, name)]
