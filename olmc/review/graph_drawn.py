"""What of an upgrade graph is drawn: each channel with its versions and their marks, and the edges worth a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from olmc.emit.tables import clean
from olmc.model.suggestions import join_limited
from olmc.review.graph import Kind, Lane, UpgradeGraph, Vertex, version_in
from olmc.review.walk import dead_ends

__all__ = ["MARKS", "Arrow", "Cell", "Mark", "Strip", "label", "strips"]

Mark = Literal["head", "skipped", "deprecated", "prohibited", "stranded", "missing", "elsewhere"]
MARKS: dict[Mark, str] = {
    "head": "where the upgrades of the channel are to end",
    "skipped": "another version skips it: OLM never upgrades to it",
    "deprecated": "the catalog says so",
    "prohibited": "it has the property olm.deprecated: OLM never installs it",
    "stranded": "its upgrades never lead to the head of the channel",
    "missing": "the channel names it, but the catalog has no bundle of it",
    "elsewhere": "the channel names it, but only another one has it",
}
"""What can be said of a version in a channel, and what it means."""

_MOST = 3
_GRAVEST: tuple[Mark, ...] = ("missing", "elsewhere", "stranded", "prohibited", "deprecated", "head", "skipped")


class Cell(NamedTuple):
    """A version in a channel: its label, its marks, and all there is to know of it, line by line."""

    vertex: Vertex
    label: str
    marks: tuple[Mark, ...]
    notes: tuple[str, ...]

    @property
    def gravest(self) -> Mark | Literal["plain"]:
        """The mark that decides on the look."""
        return next((mark for mark in _GRAVEST if mark in self.marks), "plain")


class Arrow(NamedTuple):
    """A line from a version to one that upgrades it; `first` if that is where OLM goes from there."""

    source: str
    target: str
    kind: Kind
    first: bool


class Strip(NamedTuple):
    """A channel: its name, what is written beside it in a word and in full, its versions in order, arrows by target.

    All texts are those of a drawing: `clean`.
    """

    lane: Lane
    name: str
    remarks: tuple[str, ...]
    notes: tuple[str, ...]
    cells: tuple[Cell, ...]
    arrows: tuple[Arrow, ...]


def strips(graph: UpgradeGraph, *, all_ranges: bool = False) -> tuple[Strip, ...]:
    """The channels of a graph as they are drawn.

    Two versions are joined by one line at most: `replaces` before `skips` before `skipRange`. Of a version's skipRange
    edges there is only the one that OLM takes first, unless `all_ranges`.
    """
    arrows = _arrows(graph, all_ranges=all_ranges)
    versions = graph.vertices()
    return tuple(
        Strip(
            lane,
            clean(lane.name),
            tuple(remark for remark, _ in _remarks(lane)),
            tuple(clean(note) for _, note in _remarks(lane) if note),
            tuple(_cells(lane, versions)),
            arrows[lane.name],
        )
        for lane in sorted(graph.channels, key=_rank)
    )


def _rank(lane: Lane) -> tuple[bool, list[tuple[int, str]]]:
    """The default channel first, then by name, with numbers in names taken as numbers."""
    parts = re.findall(r"([0-9]+)|([^0-9]+)", lane.name)
    return not lane.is_default, [(int(number[:18] or 0), text) for number, text in parts]


def _arrows(graph: UpgradeGraph, *, all_ranges: bool) -> dict[str, tuple[Arrow, ...]]:
    firsts = {lane.name: lane.first for lane in graph.channels}
    found: dict[str, dict[tuple[str, str], Arrow]] = {name: {} for name in firsts}
    for source, target, kind, channels in graph.edges:
        for channel in channels:
            first = firsts[channel].get(source) == target
            if first or all_ranges or kind != "skipRange":
                found[channel].setdefault((source, target), Arrow(source, target, kind, first))
    return {name: tuple(arrows.values()) for name, arrows in found.items()}


def _remarks(lane: Lane) -> Iterator[tuple[str, str]]:
    if lane.is_default:
        yield "default", ""
    if lane.deprecated:
        yield "deprecated", f"{lane.name} is deprecated: {lane.message}" if lane.message else ""
    if lane.problem:
        yield "no usable order", f"OLM upgrades nothing in {lane.name}: {lane.problem}"


def _cells(lane: Lane, versions: Mapping[str, Vertex]) -> Iterator[Cell]:
    by_skipped: dict[str, list[str]] = {}
    for entry in lane.entries.values():
        for name in entry.skips:
            by_skipped.setdefault(name, []).append(entry.name)
    ends = dead_ends(lane, versions)
    for name in lane.members:
        vertex = versions[name]
        notes = _notes(lane, vertex, by_skipped.get(name, ()), ends.get(name, ()))
        yield Cell(vertex, label(vertex), tuple(_marks(lane, vertex)), tuple(map(clean, notes)))


def label(vertex: Vertex) -> str:
    """What a version is called in a drawing: the version, else the one in its name, else the name."""
    return clean(vertex.version or version_in(vertex.name) or vertex.name)


def _marks(lane: Lane, vertex: Vertex) -> Iterator[Mark]:
    if vertex.name in lane.heads:
        yield "head"
    if vertex.missing:
        yield "missing"
    elif lane.name not in vertex.channels:
        yield "elsewhere"
    elif lane.name in vertex.skipped:
        yield "skipped"
    if vertex.barred:
        yield "prohibited"
    elif vertex.deprecated:
        yield "deprecated"
    if lane.name in vertex.stranded:
        yield "stranded"


def _notes(lane: Lane, vertex: Vertex, skipping: Sequence[str], ends: Iterable[str]) -> Iterator[str]:
    yield vertex.name
    if vertex.name in lane.heads:
        yield f"head of {lane.name}"
    if vertex.missing:
        yield "the catalog has no bundle of it"
    elif lane.name not in vertex.channels:
        yield f"not in {lane.name}, only in {', '.join(vertex.channels) or 'no channel drawn here'}"
    elif lane.name in vertex.skipped:
        yield f"skipped by {join_limited(skipping, _MOST)}: OLM never upgrades to it"
    if vertex.deprecated:
        yield f"deprecated: {vertex.message}" if vertex.message else "deprecated"
    if vertex.barred:
        yield "OLM never installs it (property olm.deprecated)"
    if lane.name in vertex.stranded:
        yield "stranded: its upgrades never lead to the head of the channel"
        yield from (f"no way on to {text}" for text in islice(ends, _MOST))
    if vertex.name in lane.first:
        yield f"OLM upgrades it to {lane.first[vertex.name]}"
