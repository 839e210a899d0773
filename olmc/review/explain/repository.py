"""What there is to report about a repository as a whole: its clusters and their entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olmc.compiler.output.messages import clean
from olmc.k8s.diagnostics import join_limited

if TYPE_CHECKING:
    from olmc.compiler.load.repository import RepositoryCluster

_SHOWN = 6


def in_short(clusters: Sequence[RepositoryCluster]) -> str:
    """Return how many clusters and entries there are: `2 clusters with 9 entries`."""
    named = sum(len(cluster.names) for cluster in clusters)
    entries = len({path for cluster in clusters for path in cluster.paths})
    listed = f"{entries} entr{'ies' if entries != 1 else 'y'}"
    return f"{named} cluster{'s' * (named != 1)} with {listed}" if named else listed


def clusters_as_text(clusters: Sequence[RepositoryCluster], *, verbose: bool) -> str:
    """Return a line for each group of clusters with the same entries, and one for entries without a cluster; all
    entries if it is `verbose`."""
    most = len({path for cluster in clusters for path in cluster.paths}) if verbose else _SHOWN
    lines = [
        f"cluster{'s' * (len(cluster.names) != 1)} {', '.join(cluster.names)}: {join_limited(cluster.paths, most)}"
        for cluster in clusters
        if cluster.names
    ]
    named = {path for cluster in clusters if cluster.names for path in cluster.paths}
    alone = list(dict.fromkeys(path for c in clusters if not c.names for path in c.paths if path not in named))
    if alone:
        lines.append(f"no cluster is named for: {join_limited(alone, most)}")
    return "".join(f"{clean(line)}\n" for line in lines)
