"""Kinds and names that somebody has misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from olmc.model.cluster import Cluster
from olmc.settle.builtin import builtin_kinds

_ALIKE = 0.75
# What no cluster serves yet (docs/install-api.md).
_PROPOSED = ("Install",)


def misspelt_kinds(kinds: Iterable[str], clusters: Iterable[Cluster]) -> Iterator[tuple[str, str]]:
    """Those of `kinds`, whatever their case, that nothing can be of, each with the kind that was probably meant.

    A kind that is like no other may be one that just is not here, and is left out.
    """
    served = (kind for _, kind in builtin_kinds())
    known = {kind.lower(): kind for kind in (*served, *_PROPOSED, *_kinds_of(clusters))}
    for kind in kinds:
        close = get_close_matches(kind.lower(), known, n=1, cutoff=_ALIKE) if kind.lower() not in known else []
        if close:
            yield kind, known[close[0]]


def unknown_approvals(approve: Iterable[str], clusters: Iterable[Cluster]) -> Iterator[tuple[str, str]]:
    """Those of `approve`, each `namespace/csv`, that no InstallPlan is for, with the name that is like it, or ""."""
    known = [f"{plan.namespace}/{csv}" for cluster in clusters for plan in cluster.plans for csv in plan.csvs]
    for name in approve:
        if name != "all" and name not in known:
            yield name, next(iter(get_close_matches(name, known, n=1, cutoff=_ALIKE)), "")


def _kinds_of(clusters: Iterable[Cluster]) -> Iterator[str]:
    """The kinds of a cluster's objects, and those that its CRDs define."""
    for cluster in clusters:
        for identity, rendered in cluster.stock.items():
            yield identity.kind
            if identity.kind == "CustomResourceDefinition":
                names = (rendered.object.get("spec") or {}).get("names") or {}
                yield str(names.get("kind") or identity.kind)
