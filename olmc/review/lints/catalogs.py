"""Catalogs of the workspace: versions that a channel leaves behind, and ranges that mean less than they seem to."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.golang.ranges import dropped_parts, range_or_none
from olmc.graph.upgrade_graph import upgrade_graph
from olmc.model.catalog import Catalog
from olmc.model.diagnostic import Diagnostic
from olmc.model.some import some
from olmc.review.lints.subject import Lint, Subject
from olmc.rules import lints as rules
from olmc.yaml import at

_MOST = 5


def stranded_versions(subject: Subject) -> Iterator[Diagnostic]:
    """Versions of a channel from which no upgrade leads to its head, one finding a channel (R-CAT-410)."""
    for catalog in _distinct(subject):
        for _, package in sorted(catalog.packages.items()):
            graph = upgrade_graph(package)
            for channel in graph.channels:
                names = [vertex.name for vertex in graph.versions if channel.name in vertex.stranded]
                if channel.problem or not names:
                    continue  # of a channel without order the resolver tells
                place = package.channels[channel.name].location
                yield rules.STRANDED_VERSIONS.finding(
                    at(place.source, *place.keys) if place is not None else None,
                    package=package.name, channel=channel.name, head=" or ".join(channel.heads),
                    names=some(names, _MOST),
                )  # fmt: skip


def half_ranges(subject: Subject) -> Iterator[Diagnostic]:
    """Ranges of which OLM drops a part (R-CAT-453)."""
    for catalog in _distinct(subject):
        for _, package in sorted(catalog.packages.items()):
            for channel in package.channels.values():
                for entry in channel.entries:
                    parts = dropped_parts(entry.skip_range)
                    if parts and range_or_none(entry.skip_range) is not None:
                        place = entry.location
                        yield rules.DROPPED_PART.finding(
                            at(place.source, *place.keys, "skipRange") if place is not None else None,
                            parts=" and ".join(map(repr, parts)), text=entry.skip_range, name=entry.name,
                        )  # fmt: skip


def _distinct(subject: Subject) -> Iterator[Catalog]:
    """The catalogs of the workspace, each once under however many names."""
    yield from {id(catalog): catalog for _, catalog in sorted(subject.workspace.catalogs.items())}.values()


LINTS: tuple[Lint, ...] = (stranded_versions, half_ranges)
