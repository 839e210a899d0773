"""The workspace that OLM goes on with: what a cluster held, once a repository's manifests are applied to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from olmc.model.objects import ObjectKey
from olmc.model.options import Profile
from olmc.model.state import ClusterState
from olmc.model.workspace import Workspace
from olmc.transition.applying import apply, pruned
from olmc.transition.deletion import delete


def successor_workspace(
    state: ClusterState, workspace: Workspace, profile: Profile, deletions: Sequence[str] = ()
) -> Workspace:
    """The workspace whose manifests are everything that there is in the cluster after the tool is done."""
    applied = apply(state, workspace.manifests)
    gone = pruned(applied, workspace.manifests)
    objects = delete(applied.objects, gone, profile)
    by_hand = [key for text in deletions for key in _named(text, objects)]
    objects = delete(objects, by_hand, profile)
    return workspace._replace(manifests=tuple(objects.values()), is_live=True)


def _named(text: str, objects: Iterable[ObjectKey]) -> list[ObjectKey]:
    """The objects that `KIND/NAMESPACE/NAME`, or `KIND/NAME`, means."""
    kind, _, rest = text.partition("/")
    namespace, _, name = rest.rpartition("/")
    return [key for key in objects if (key.kind, key.namespace, key.name) == (kind, namespace, name)]
