"""The way that an upgrade goes: hop after hop to the first candidate in a channel's order (R-CAT-410, R-CAT-415).

Only the catalog is asked. In a cluster a hop can turn out differently, where dependencies or other operators rule a
candidate out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from olmc.explain.query_errors import AskedError, not_found
from olmc.model.catalog import ChannelEntry
from olmc.review.graph import Kind, Lane, UpgradeGraph, Vertex, version_in
from olmc.semver import Version, range_or_none, tolerant_or_none

__all__ = ["Hop", "Route", "Walk", "dead_ends", "lane_named", "named", "obstacle", "route", "walk"]


class Hop(NamedTuple):
    """One upgrade: from a CSV's name to another, for which reason, and the skipRange where that is the reason."""

    source: str
    target: str
    kind: Kind
    skip_range: str = ""


class Walk(NamedTuple):
    """The hops from `start` until OLM rests, comes back to where it was (`circles`), or passes the goal (`reached`)."""

    channel: str
    start: Vertex
    hops: tuple[Hop, ...]
    reached: bool = False
    circles: bool = False

    @property
    def stops(self) -> tuple[str, ...]:
        """The names on the way, the start and the end included."""
        return (self.start.name, *(hop.target for hop in self.hops))


class Route(NamedTuple):
    """Whether an upgrade in a channel gets from one version to another.

    `walk` is the one in that channel, `others` are those of the other channels that reach the goal if it doesn't.
    `goal` is None when nothing was asked but where the walk leads.
    """

    walk: Walk
    goal: Vertex | None
    others: tuple[Walk, ...] = ()


def walk(graph: UpgradeGraph, lane: Lane, start: Vertex, goal: str = "") -> Walk:
    """The walk in a channel from `start`, which need not be one of its entries, up to `goal` if it comes by."""
    versions = graph.vertices()
    hops: list[Hop] = []
    seen = {start.name}
    current = start
    while not goal or current.name != goal:
        entry = _next(lane, current)
        if entry is None:
            return Walk(lane.name, start, tuple(hops))
        hops.append(_hop(current, entry))
        if entry.name in seen:
            return Walk(lane.name, start, tuple(hops), circles=True)
        seen.add(entry.name)
        current = versions[entry.name]
    return Walk(lane.name, start, tuple(hops), reached=True)


def _next(lane: Lane, current: Vertex) -> ChannelEntry | None:
    """Where OLM goes from a version; for what the channel has, the graph knows."""
    if current.name in lane.entries:
        target = lane.first.get(current.name)
        return lane.entries[target] if target is not None else None
    version = tolerant_or_none(current.version)
    candidates = (lane.entries[name] for name in lane.candidates)
    return next((entry for entry in candidates if _kind(entry, current.name, version)), None)


def _hop(current: Vertex, entry: ChannelEntry) -> Hop:
    kind = _kind(entry, current.name, tolerant_or_none(current.version)) or "replaces"
    return Hop(current.name, entry.name, kind, entry.skip_range if kind == "skipRange" else "")


def _kind(entry: ChannelEntry, name: str, version: Version | None) -> Kind | None:
    """Why an entry is an upgrade of the version with this name, None when it is none (R-CAT-410)."""
    if name and entry.replaces == name:
        return "replaces"
    if name and name in entry.skips:
        return "skips"
    skip_range = range_or_none(entry.skip_range)
    return "skipRange" if skip_range is not None and version is not None and skip_range.contains(version) else None


def route(graph: UpgradeGraph, lane: Lane, start: Vertex, goal: Vertex | None = None) -> Route:
    """Whether an upgrade from `start` gets to `goal` in a channel, and where it leads else."""
    if goal is None:
        return Route(walk(graph, lane, start), None)
    mine = walk(graph, lane, start, goal.name)
    if mine.reached:
        return Route(mine, goal)
    walks = (walk(graph, other, start, goal.name) for other in graph.channels if other.name != lane.name)
    return Route(mine, goal, tuple(each for each in walks if each.reached))


def lane_named(graph: UpgradeGraph, name: str) -> Lane:
    """The channel `name`, or the default channel for ""; AskedError."""
    wanted = name or graph.default_channel
    found = next((lane for lane in graph.channels if lane.name == wanted), None)
    if found is not None:
        return found
    problem = f"{graph.package} has no channel {wanted}" if wanted else f"{graph.package} has no default channel"
    raise not_found(problem, wanted, (lane.name for lane in graph.channels))


def named(graph: UpgradeGraph, text: str, *, absent: bool = False) -> Vertex:
    """The version that `text` means: the name of a CSV, or a version; AskedError.

    With `absent` it may also be one that the catalog doesn't have, if its version is in the skipRange of some entry
    (R-CAT-410: what is installed need not be in the catalog).
    """
    versions = graph.vertices()
    if text in versions:
        return _with_version(versions[text])
    fitting = [vertex for vertex in graph.versions if text in (vertex.version, f"v{vertex.version}")]
    if not fitting and absent:
        fitting = [_with_version(v) for v in graph.versions if v.missing and version_in(v.name) == version_in(text)]
    if len(fitting) > 1:
        names = " and ".join(vertex.name for vertex in fitting)
        raise AskedError(f"{text} is the version of {names}; give the name of one.")
    if fitting:
        return fitting[0]
    if absent:
        name = "" if text == version_in(text) else text
        stranger = Vertex(name, version_in(text), missing=True)
        if any(_next(lane, stranger) for lane in graph.channels):
            return stranger
    known = filter(None, (vertex.version for vertex in graph.versions))
    raise not_found(f"{graph.package} has no version {text}", text, known, versions)


def _with_version(vertex: Vertex) -> Vertex:
    """A version that the catalog doesn't have is taken to be the one that its name ends with."""
    return vertex._replace(version=version_in(vertex.name)) if vertex.missing else vertex


def obstacle(lane: Lane, goal: Vertex) -> str:
    """Why no upgrade in a channel can end at `goal`, "" when one can (R-CAT-402, R-CAT-431)."""
    if lane.problem:
        return f"OLM can't order the channel: {lane.problem}"
    if goal.missing:
        return "the catalog has no bundle of that name"
    if goal.name not in lane.entries:
        return f"it is not in channel {lane.name}"
    if goal.barred:
        return "OLM never installs it (property olm.deprecated)"
    if goal.name not in lane.candidates:
        skipping = next((entry.name for entry in lane.entries.values() if goal.name in entry.skips), "another entry")
        return f"{skipping} skips it, and OLM never upgrades to what another entry skips"
    return ""


def dead_ends(lane: Lane, versions: Mapping[str, Vertex]) -> dict[str, list[str]]:
    """By name the entries of a channel that replace or skip it, but that OLM never upgrades to, with the reason."""
    candidates = set(lane.candidates)
    found: dict[str, list[str]] = {}
    for entry in lane.entries.values():
        if entry.name not in candidates:
            text = f"{entry.name}: {obstacle(lane, versions[entry.name])}"
            for name in filter(None, dict.fromkeys((entry.replaces, *entry.skips))):
                found.setdefault(name, []).append(text)
    return found
