"""The way that an upgrade goes: hop after hop to the first candidate in a channel's order (R-CAT-410, R-CAT-415).

Only the catalog counts. In a cluster a hop can turn out differently, where dependencies or other operators rule a
candidate out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from olmc.graph.upgrade_graph import ChannelView, UpgradeGraph, Vertex, label, version_in
from olmc.lean import NamedTuple
from olmc.model.catalog import ChannelEntry
from olmc.output.messages import QueryError, not_found
from olmc.output.unicode import clean
from olmc.resolver.upgrade_path import EdgeKind, edge_kind
from olmc.semver import tolerant_or_none

_MARGIN = "  "
_MOST = 3


class PathHop(NamedTuple):
    """One upgrade: from a CSV's name to another, for which reason, and the skipRange where that is the reason."""

    source: str
    target: str
    kind: EdgeKind
    skip_range: str = ""


class Walk(NamedTuple):
    """The hops from `start` until OLM rests, comes back to where it was (`circles`), or passes the goal (`reached`)."""

    channel: str
    start: Vertex
    hops: tuple[PathHop, ...]
    reached: bool = False
    circles: bool = False

    @property
    def stops(self) -> tuple[str, ...]:
        """The names on the way, the start and the end included."""
        return (self.start.name, *(hop.target for hop in self.hops))


class Route(NamedTuple):
    """Whether an upgrade in a channel gets from one version to another.

    `walk` is the one in that channel, `others` are those of the other channels that reach the goal if it doesn't.
    `goal` is None where the question is only where the walk leads.
    """

    walk: Walk
    goal: Vertex | None
    others: tuple[Walk, ...] = ()


def walk(graph: UpgradeGraph, channel: ChannelView, start: Vertex, goal: str = "") -> Walk:
    """The walk in a channel from `start`, which need not be one of its entries, up to `goal` if it comes by."""
    versions = graph.vertices()
    hops: list[PathHop] = []
    seen = {start.name}
    current = start
    while not goal or current.name != goal:
        entry = _next(channel, current)
        if entry is None:
            return Walk(channel.name, start, tuple(hops))
        hops.append(_hop(current, entry))
        # From a version that was there before all would go on as it did: OLM never comes to rest.
        if entry.name in seen:
            return Walk(channel.name, start, tuple(hops), circles=True)
        seen.add(entry.name)
        current = versions[entry.name]
    return Walk(channel.name, start, tuple(hops), reached=True)


def _next(channel: ChannelView, current: Vertex) -> ChannelEntry | None:
    """Where OLM goes from a version; for what the channel has, the graph knows."""
    if current.name in channel.entries:
        target = channel.first.get(current.name)
        return channel.entries[target] if target is not None else None
    # What is installed need not be in the catalog (R-CAT-410); then each entry has to be asked.
    version = tolerant_or_none(current.version)
    candidates = (channel.entries[name] for name in channel.candidates)
    return next((entry for entry in candidates if edge_kind(entry, current.name, version)), None)


def _hop(current: Vertex, entry: ChannelEntry) -> PathHop:
    kind = edge_kind(entry, current.name, tolerant_or_none(current.version)) or "replaces"
    return PathHop(current.name, entry.name, kind, entry.skip_range if kind == "skipRange" else "")


def route(graph: UpgradeGraph, channel: ChannelView, start: Vertex, goal: Vertex | None = None) -> Route:
    """Whether an upgrade from `start` gets to `goal` in a channel, and where it leads else."""
    if goal is None:
        return Route(walk(graph, channel, start), None)
    own = walk(graph, channel, start, goal.name)
    if own.reached:
        return Route(own, goal)
    walks = (walk(graph, other, start, goal.name) for other in graph.channels if other.name != channel.name)
    return Route(own, goal, tuple(other for other in walks if other.reached))


def channel_named(graph: UpgradeGraph, name: str) -> ChannelView:
    """The channel `name`, or the default channel for ""; QueryError."""
    wanted = name or graph.default_channel
    channel = next((channel for channel in graph.channels if channel.name == wanted), None)
    if channel is not None:
        return channel
    problem = f"{graph.package} has no channel {wanted}" if wanted else f"{graph.package} has no default channel"
    raise not_found(problem, wanted, (channel.name for channel in graph.channels))


def version_named(graph: UpgradeGraph, text: str, *, absent: bool = False) -> Vertex:
    """The version that `text` means: the name of a CSV, or a version; QueryError.

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
        raise QueryError(f"{text} is the version of {names}; give the name of one.")
    if fitting:
        return fitting[0]
    if absent:
        # A bare version matches by skipRange only; a name can be replaced and skipped as well.
        name = "" if text == version_in(text) else text
        unlisted = Vertex(name, version_in(text), missing=True)
        if any(_next(channel, unlisted) for channel in graph.channels):
            return unlisted
    known = filter(None, (vertex.version for vertex in graph.versions))
    raise not_found(f"{graph.package} has no version {text}", text, known, versions)


def _with_version(vertex: Vertex) -> Vertex:
    """A version that the catalog doesn't have is taken to be the one that its name ends with."""
    return vertex._replace(version=version_in(vertex.name)) if vertex.missing else vertex


def obstacle(channel: ChannelView, goal: Vertex) -> str:
    """Why no upgrade in a channel can end at `goal`, "" when one can (R-CAT-402, R-CAT-431)."""
    if channel.problem:
        return f"OLM can't order the channel: {channel.problem}"
    if goal.missing:
        return "the catalog has no bundle of that name"
    if goal.name not in channel.entries:
        return f"it is not in channel {channel.name}"
    if goal.barred:
        return "OLM never installs it (property olm.deprecated)"
    if goal.name not in channel.candidates:
        # Of an entry that is skipped OLM makes no candidate, whatever else leads to it (R-CAT-402).
        skipping = next((entry.name for entry in channel.entries.values() if goal.name in entry.skips), "another entry")
        return f"{skipping} skips it, and OLM never upgrades to what another entry skips"
    return ""


def dead_ends(channel: ChannelView, versions: Mapping[str, Vertex]) -> dict[str, list[str]]:
    """By name the entries of a channel that replace or skip it, but that OLM never upgrades to, with the reason."""
    candidates = set(channel.candidates)
    ends: dict[str, list[str]] = {}
    for entry in channel.entries.values():
        if entry.name not in candidates:
            text = f"{entry.name}: {obstacle(channel, versions[entry.name])}"
            for name in filter(None, dict.fromkeys((entry.replaces, *entry.skips))):
                ends.setdefault(name, []).append(text)
    return ends


def route_text(graph: UpgradeGraph, channel: ChannelView, route: Route) -> str:
    """The hops of a route in a channel, a line each; if they don't lead to the goal, where they lead, and why."""
    return "".join(f"{clean(line)}\n" for line in _lines(graph, channel, route))


def _lines(graph: UpgradeGraph, channel: ChannelView, route: Route) -> Iterator[str]:
    versions = graph.vertices()
    walk, goal = route.walk, route.goal
    start = label(walk.start)
    where = f"channel {channel.name}{' (default)' if channel.is_default else ''}"
    if goal is None:
        yield f"{graph.package} {start} in {where}: {_count(walk)}"
    elif walk.reached:
        yield f"{graph.package} {start} gets to {label(goal)} in {where}: {_count(walk)}"
    else:
        yield f"{graph.package} {start} does not get to {label(goal)} in {where}"
    if walk.start.missing:
        yield f"{_MARGIN}{start} is not in the catalog"
    yield from (_hop_text(hop, versions, walk.start) for hop in walk.hops)
    if channel.problem:
        yield f"OLM upgrades nothing in this channel: {channel.problem}"
    elif not walk.reached:
        yield from _end(channel, walk, versions)
        if goal is not None and (reason := obstacle(channel, goal)):
            yield f"{label(goal)}: {reason}"
    if goal is not None and not walk.reached:
        yield from _elsewhere(graph, route, versions)


def _count(walk: Walk) -> str:
    hops = len(walk.hops)
    return f"{hops} hop{'s' if hops != 1 else ''}" if hops else "no hop"


def _hop_text(hop: PathHop, versions: Mapping[str, Vertex], start: Vertex) -> str:
    reason = f'skipRange "{hop.skip_range}"' if hop.kind == "skipRange" else hop.kind
    deprecated = "; deprecated" if versions[hop.target].deprecated else ""
    return f"{_MARGIN}{label(versions.get(hop.source, start))} → {label(versions[hop.target])}  {reason}{deprecated}"


def _end(channel: ChannelView, walk: Walk, versions: Mapping[str, Vertex]) -> Iterator[str]:
    """Where a walk ends, and if that is not at the head what was meant to lead on."""
    last = walk.stops[-1]
    end = label(versions.get(last, walk.start))
    if walk.circles:
        yield f"The upgrades go round in circles: {end} was installed before"
    elif last in channel.heads:
        yield f"It comes to rest at {end}, the head of the channel"
    else:
        head = ", ".join(label(versions[name]) for name in channel.heads)
        yield f"It comes to rest at {end}, short of the head of the channel ({head})"
        yield from (
            f"{_MARGIN}no way on to {text}" for text in islice(dead_ends(channel, versions).get(last, ()), _MOST)
        )


def _elsewhere(graph: UpgradeGraph, route: Route, versions: Mapping[str, Vertex]) -> Iterator[str]:
    goal = label(route.goal) if route.goal is not None else ""
    for other in route.others:
        stops = [label(versions.get(name, other.start)) for name in other.stops]
        yield f"Channel {other.channel} gets there: {' → '.join(stops)}"
    if not route.others and len(graph.channels) > 1:
        yield f"No other channel gets to {goal} either"
