"""Catalogs of the workspace: versions that a channel leaves behind."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.model.catalog import Catalog
from olmc.model.diagnostic import Diagnostic
from olmc.review.graph import upgrade_graph
from olmc.review.lints.subject import Lint, Subject, at
from olmc.rules import lints as rules

_MOST = 5


def stranded_versions(subject: Subject) -> Iterator[Diagnostic]:
    """Versions of a channel from which no upgrade leads to its head, one finding a channel (R-CAT-410)."""
    distinct: dict[int, Catalog] = {id(catalog): catalog for _, catalog in sorted(subject.workspace.catalogs.items())}
    for catalog in distinct.values():
        for _, package in sorted(catalog.packages.items()):
            graph = upgrade_graph(package)
            for lane in graph.channels:
                names = [vertex.name for vertex in graph.versions if lane.name in vertex.stranded]
                if lane.problem or not names:
                    continue  # of a channel without order the resolver tells
                place = package.channels[lane.name].location
                yield rules.STRANDED_VERSIONS.finding(
                    at(place.source, *place.keys) if place is not None else None,
                    package=package.name, channel=lane.name, head=" or ".join(lane.heads), names=_shortened(names),
                )  # fmt: skip


def _shortened(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST])
    return f"{shown} and {len(names) - _MOST} more" if len(names) > _MOST else shown


LINTS: tuple[Lint, ...] = (stranded_versions,)
