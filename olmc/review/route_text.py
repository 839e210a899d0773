"""The way of an upgrade in words: `olmc graph PACKAGE --from A --to B`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from olmc.emit.tables import clean
from olmc.review.graph import Lane, UpgradeGraph, Vertex
from olmc.review.graph_drawn import label
from olmc.review.walk import Hop, Route, Walk, dead_ends, obstacle

__all__ = ["as_text"]

_MARGIN = "  "
_MOST = 3


def as_text(graph: UpgradeGraph, lane: Lane, route: Route) -> str:
    """The hops of a route in `lane`, a line each; if they don't lead to the goal, where they lead instead and why."""
    return "".join(f"{clean(line)}\n" for line in _lines(graph, lane, route))


def _lines(graph: UpgradeGraph, lane: Lane, route: Route) -> Iterator[str]:
    versions = graph.vertices()
    walk, goal = route.walk, route.goal
    start = label(walk.start)
    where = f"channel {lane.name}{' (default)' if lane.is_default else ''}"
    if goal is None:
        yield f"{graph.package} {start} in {where}: {_count(walk)}"
    elif walk.reached:
        yield f"{graph.package} {start} gets to {label(goal)} in {where}: {_count(walk)}"
    else:
        yield f"{graph.package} {start} does not get to {label(goal)} in {where}"
    if walk.start.missing:
        yield f"{_MARGIN}{start} is not in the catalog"
    yield from (_hop(hop, versions, walk.start) for hop in walk.hops)
    if lane.problem:
        yield f"OLM upgrades nothing in this channel: {lane.problem}"
    elif not walk.reached:
        yield from _end(lane, walk, versions)
        if goal is not None and (reason := obstacle(lane, goal)):
            yield f"{label(goal)}: {reason}"
    if goal is not None and not walk.reached:
        yield from _elsewhere(graph, route, versions)


def _count(walk: Walk) -> str:
    hops = len(walk.hops)
    return f"{hops} hop{'s' if hops != 1 else ''}" if hops else "no hop"


def _hop(hop: Hop, versions: Mapping[str, Vertex], start: Vertex) -> str:
    reason = f'skipRange "{hop.skip_range}"' if hop.kind == "skipRange" else hop.kind
    deprecated = "; deprecated" if versions[hop.target].deprecated else ""
    return f"{_MARGIN}{label(versions.get(hop.source, start))} → {label(versions[hop.target])}  {reason}{deprecated}"


def _end(lane: Lane, walk: Walk, versions: Mapping[str, Vertex]) -> Iterator[str]:
    """Where a walk ends, and if that is not at the head what was meant to lead on."""
    last = walk.stops[-1]
    end = label(versions.get(last, walk.start))
    if walk.circles:
        yield f"The upgrades go round in circles: {end} was installed before"
    elif last in lane.heads:
        yield f"It comes to rest at {end}, the head of the channel"
    else:
        head = ", ".join(label(versions[name]) for name in lane.heads)
        yield f"It comes to rest at {end}, short of the head of the channel ({head})"
        yield from (f"{_MARGIN}no way on to {text}" for text in islice(dead_ends(lane, versions).get(last, ()), _MOST))


def _elsewhere(graph: UpgradeGraph, route: Route, versions: Mapping[str, Vertex]) -> Iterator[str]:
    goal = label(route.goal) if route.goal is not None else ""
    for other in route.others:
        stops = [label(versions.get(name, other.start)) for name in other.stops]
        yield f"Channel {other.channel} gets there: {' → '.join(stops)}"
    if not route.others and len(graph.channels) > 1:
        yield f"No other channel gets to {goal} either"
