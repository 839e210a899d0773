"""Kinds and names that somebody has misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olmc.kube.builtin_kinds import builtin_kinds
from olmc.load.config import CONFIG_FILE
from olmc.load.files import read_text
from olmc.model.cluster import Cluster
from olmc.model.diagnostic import Report
from olmc.model.location import Source
from olmc.model.objects import spec_of
from olmc.model.suggestions import closest, did_you_mean
from olmc.rules import load as rules
from olmc.yaml import locate

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
        meant = closest(kind, known.values(), _ALIKE, parts=False) if kind.lower() not in known else ""
        if meant:
            yield kind, meant


def unknown_approvals(approve: Iterable[str], clusters: Iterable[Cluster]) -> Iterator[tuple[str, str]]:
    """Those of `approve`, each `namespace/csv`, that no InstallPlan is for, with the name that is like it, or ""."""
    known = [f"{plan.namespace}/{csv}" for cluster in clusters for plan in cluster.plans for csv in plan.csvs]
    for name in approve:
        if name != "all" and name not in known:
            yield name, closest(name, known, _ALIKE)


def report_config(
    root: Path, config: Mapping[str, Any], given: frozenset[str], cluster: Cluster, report: Report
) -> None:
    """Report the kinds and the approvals in a workspace's olmc.yaml, whose `spec` is `config`, that mean nothing there.

    What the command line has set in their place, the names of options in `given`, is left alone.
    """
    lists = {name: config.get(name) or () for name in ("include", "exclude", "approve") if name not in given}
    if not any(lists.values()):
        return
    source = Source(CONFIG_FILE, read_text(root, CONFIG_FILE, Report()) or "")
    for name in ("include", "exclude"):
        for kind, meant in misspelt_kinds(lists.get(name, ()), [cluster]):
            place = locate(source, ("spec", name, lists[name].index(kind)))
            report.add(rules.MISSPELT_KIND.finding(place, name=name, kind=kind, meant=meant))
    for plan, meant in unknown_approvals(lists.get("approve", ()), [cluster]):
        place = locate(source, ("spec", "approve", lists["approve"].index(plan)))
        hint = did_you_mean(meant) or "Plans are named by namespace and CSV; olmc resolve lists them."
        report.add(rules.NO_SUCH_PLAN.finding(place, plan=plan, hint=hint))


def _kinds_of(clusters: Iterable[Cluster]) -> Iterator[str]:
    """The kinds of a cluster's objects, and those that its CRDs define."""
    for cluster in clusters:
        for identity, rendered in cluster.stock.items():
            yield identity.kind
            if identity.kind == "CustomResourceDefinition":
                names = spec_of(rendered.object).get("names") or {}
                yield str(names.get("kind") or identity.kind)
