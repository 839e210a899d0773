"""What `olmc graph` answers: a drawing of a package, or the way of an upgrade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from olmc.review.graph import upgrade_graph
from olmc.review.graph_catalogs import Shelf
from olmc.review.graph_drawn import strips
from olmc.review.graph_svg import as_svg
from olmc.review.graph_text import as_dot, as_json, as_mermaid, mermaid_remark
from olmc.review.route_text import as_text
from olmc.review.walk import lane_named, named, route

__all__ = ["Answer", "drawing", "way"]


class Answer(NamedTuple):
    """A text for stdout, whether what was asked for holds, and what else a person should know, or ""."""

    text: str
    holds: bool = True
    remark: str = ""


def drawing(shelf: Shelf, package: str, channels: Sequence[str], output: str, *, all_ranges: bool = False) -> Answer:
    """The graph of a package of a catalog as `output` (mermaid, dot, json, svg), of these channels or () for all.

    Raises AskedError for a channel that there is not.
    """
    graph = upgrade_graph(shelf.packages[package])
    if channels:
        graph = upgrade_graph(shelf.packages[package], [lane_named(graph, name).name for name in channels])
    if output == "json":
        return Answer(as_json(graph, shelf.name, shelf.problem))
    drawn = strips(graph, all_ranges=all_ranges)
    if output == "svg":
        return Answer(as_svg(graph, drawn, shelf.name, shelf.problem))
    if output == "dot":
        return Answer(as_dot(graph, drawn))
    text = as_mermaid(graph, drawn)
    return Answer(text, remark=mermaid_remark(text, drawn))


def way(shelf: Shelf, package: str, channel: str, start: str, goal: str | None, *, as_data: bool = False) -> Answer:
    """How an upgrade goes in a channel ("" for the default one); the answer holds if it comes to `goal`, if given.

    Raises AskedError for a channel or a version that there is not.
    """
    graph = upgrade_graph(shelf.packages[package])
    lane = lane_named(graph, channel)
    end = named(graph, goal) if goal is not None else None
    found = route(graph, lane, named(graph, start, absent=True), end)
    text = as_json(graph, shelf.name, shelf.problem, found) if as_data else as_text(graph, lane, found)
    return Answer(text, end is None or found.walk.reached)
