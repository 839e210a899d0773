"""What of an upgrade graph is drawn: each channel with its versions and their marks, and the edges worth a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

from olmc.compiler.output.messages import clean
from olmc.compiler.resolver.upgrade_path import EdgeKind
from olmc.k8s.diagnostics import join_limited
from olmc.k8s.lean import NamedTuple
from olmc.review.graph.upgrade_graph import ChannelView, UpgradeGraph, Vertex, dead_ends, label

Mark = Literal["head", "skipped", "deprecated", "prohibited", "stranded", "missing", "elsewhere"]
MARKS: dict[Mark, str] = {
    "head": "the last version of the channel, where upgrades end",
    "skipped": "skipped by another version: OLM never upgrades to it",
    "deprecated": "marked as such in the catalog",
    "prohibited": "it has the property olm.deprecated: OLM never installs it",
    "stranded": "its upgrades never lead to the head of the channel",
    "missing": "listed in the channel, but the catalog has no bundle",
    "elsewhere": "listed in the channel, but its bundle is only in other channels",
}
"""What is known of a version in a channel, and what it means."""

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
    kind: EdgeKind
    first: bool


class ChannelRow(NamedTuple):
    """A channel: its name, what is written beside it in a word and in full, its versions in order, arrows by target.

    All texts are those of a drawing: `clean`.
    """

    channel: ChannelView
    name: str
    remarks: tuple[str, ...]
    notes: tuple[str, ...]
    cells: tuple[Cell, ...]
    arrows: tuple[Arrow, ...]


def channel_rows(graph: UpgradeGraph, *, all_ranges: bool = False) -> tuple[ChannelRow, ...]:
    """The channels of a graph as they are drawn.

    Two versions are joined by one line at most: `replaces` before `skips` before `skipRange`. Of a version's skipRange
    edges there is only the one that OLM takes first, unless `all_ranges`.
    """
    arrows = _arrows(graph, all_ranges=all_ranges)
    versions = graph.vertices()
    return tuple(
        ChannelRow(
            channel,
            clean(channel.name),
            tuple(remark for remark, _ in _remarks(channel)),
            tuple(clean(note) for _, note in _remarks(channel) if note),
            tuple(_cells(channel, versions)),
            arrows[channel.name],
        )
        for channel in sorted(graph.channels, key=_rank)
    )


def _rank(channel: ChannelView) -> tuple[bool, list[tuple[int, str]]]:
    """The default channel first, then by name, with numbers in names taken as numbers."""
    # So that stable-9 comes before stable-10.
    parts = re.findall(r"([0-9]+)|([^0-9]+)", channel.name)
    return not channel.is_default, [(int(number[:18] or 0), text) for number, text in parts]


def _arrows(graph: UpgradeGraph, *, all_ranges: bool) -> dict[str, tuple[Arrow, ...]]:
    firsts = {channel.name: channel.first for channel in graph.channels}
    by_ends: dict[str, dict[tuple[str, str], Arrow]] = {name: {} for name in firsts}
    for source, target, kind, channels in graph.edges:
        for channel in channels:
            first = firsts[channel].get(source) == target
            # A range joins every version below to every one above it: hundreds of lines that hide the one that counts.
            if first or all_ranges or kind != "skipRange":
                by_ends[channel].setdefault((source, target), Arrow(source, target, kind, first))
    return {name: tuple(arrows.values()) for name, arrows in by_ends.items()}


def _remarks(channel: ChannelView) -> Iterator[tuple[str, str]]:
    if channel.is_default:
        yield "default", ""
    if channel.deprecated:
        yield "deprecated", f"{channel.name} is deprecated: {channel.message}" if channel.message else ""
    if channel.problem:
        yield "no usable order", f"OLM upgrades nothing in {channel.name}: {channel.problem}"


def _cells(channel: ChannelView, versions: Mapping[str, Vertex]) -> Iterator[Cell]:
    by_skipped: dict[str, list[str]] = {}
    for entry in channel.entries.values():
        for name in entry.skips:
            by_skipped.setdefault(name, []).append(entry.name)
    ends = dead_ends(channel, versions)
    for name in channel.members:
        vertex = versions[name]
        notes = _notes(channel, vertex, by_skipped.get(name, ()), ends.get(name, ()))
        yield Cell(vertex, label(vertex), tuple(_marks(channel, vertex)), tuple(map(clean, notes)))


def _marks(channel: ChannelView, vertex: Vertex) -> Iterator[Mark]:
    if vertex.name in channel.heads:
        yield "head"
    if vertex.missing:
        yield "missing"
    elif channel.name not in vertex.channels:
        yield "elsewhere"
    elif channel.name in vertex.skipped:
        yield "skipped"
    if vertex.barred:
        yield "prohibited"
    elif vertex.deprecated:
        yield "deprecated"
    if channel.name in vertex.stranded:
        yield "stranded"


def _notes(channel: ChannelView, vertex: Vertex, skipping: Sequence[str], ends: Iterable[str]) -> Iterator[str]:
    yield vertex.name
    if vertex.name in channel.heads:
        yield f"head of {channel.name}"
    if vertex.missing:
        yield "the catalog has no bundle of it"
    elif channel.name not in vertex.channels:
        yield f"not in {channel.name}, only in {', '.join(vertex.channels) or 'no channel drawn here'}"
    elif channel.name in vertex.skipped:
        yield f"skipped by {join_limited(skipping, _MOST)}: OLM never upgrades to it"
    if vertex.deprecated:
        yield f"deprecated: {vertex.message}" if vertex.message else "deprecated"
    if vertex.barred:
        yield "OLM never installs it (property olm.deprecated)"
    if channel.name in vertex.stranded:
        yield "stranded: its upgrades never lead to the head of the channel"
        yield from (f"no way on to {text}" for text in islice(ends, _MOST))
    if vertex.name in channel.first:
        yield f"OLM upgrades it to {channel.first[vertex.name]}"
