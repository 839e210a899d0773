"""The output of `olmc graph`: Mermaid, Graphviz and SVG for people, JSON for machines (`schemas/graph.schema.json`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from olmc.compiler.output.messages import clean, json_text
from olmc.compiler.resolver.upgrade_path import EdgeKind
from olmc.k8s.lean import NamedTuple, regex
from olmc.review.graph.catalogs import MARKS, Cell, ChannelRow, NamedCatalog, channel_rows
from olmc.review.graph.svg import as_svg
from olmc.review.graph.upgrade_graph import (
    ChannelView,
    Route,
    UpgradeGraph,
    Vertex,
    Walk,
    channel_named,
    route,
    route_text,
    upgrade_graph,
    version_named,
)

FORMAT_VERSION = 1

_MERMAID_SHAPES = {
    "plain": ('("', '")'),
    "head": ('(["', '"])'),
    "skipped": ('("', '")'),
    "deprecated": ('[/"', '"/]'),
    "prohibited": ('[["', '"]]'),
    "stranded": ('{{"', '"}}'),
    "missing": ('["', '"]'),
    "elsewhere": ('["', '"]'),
}
_MERMAID_LOOKS = {
    "head": "stroke:#1a7f37,stroke-width:4px",
    "skipped": "stroke-dasharray:6 3",
    "deprecated": "stroke:#9a6700,stroke-width:2px",
    "prohibited": "stroke:#9a6700,stroke-width:2px,stroke-dasharray:8 2 2 2",
    "stranded": "stroke:#cf222e,stroke-width:3px",
    "missing": "stroke-dasharray:2 4,font-style:italic",
    "elsewhere": "stroke-dasharray:2 4",
}
_MERMAID_SHAPE_NAMES = {
    "head": "round ends",
    "skipped": "dashed",
    "deprecated": "slanted",
    "prohibited": "double sides",
    "stranded": "hexagon",
    "missing": "dotted",
    "elsewhere": "dotted",
}
_MERMAID_ARROWS: dict[EdgeKind, str] = {"replaces": "-->", "skips": "-.->", "skipRange": "==>"}
_MERMAID_PLAIN = regex(r"[^A-Za-z0-9 ._+/,:()-]")

# What Mermaid draws unless it is configured: maxEdges and maxTextSize.
_MERMAID_EDGES, _MERMAID_CHARACTERS = 500, 50_000

_DOT_LOOKS = {
    "plain": "style=rounded",
    "head": 'style=rounded, peripheries=2, color="#1a7f37"',
    "skipped": 'style="rounded,dashed"',
    "deprecated": 'style="diagonals", color="#9a6700"',
    "prohibited": 'style="diagonals,dashed", color="#9a6700"',
    "stranded": 'shape=octagon, color="#cf222e"',
    "missing": 'style=dotted, fontcolor="#59636e"',
    "elsewhere": "style=dotted",
}
_DOT_ARROWS: dict[EdgeKind, str] = {"replaces": "solid", "skips": "dashed", "skipRange": "dotted"}


class GraphOutput(NamedTuple):
    """A text for stdout, whether the upgrade in question is possible, and what else a person should know, or ""."""

    text: str
    holds: bool = True
    remark: str = ""


def draw_package(
    catalog: NamedCatalog, package: str, channels: Sequence[str], output: str, *, all_ranges: bool = False
) -> GraphOutput:
    """The graph of a package of a catalog as `output` (mermaid, dot, json, svg), of these channels or () for all.

    Raises QueryError for a channel that there is not.
    """
    graph = upgrade_graph(catalog.packages[package])
    if channels:
        graph = upgrade_graph(catalog.packages[package], [channel_named(graph, name).name for name in channels])
    if output == "json":
        return GraphOutput(as_json(graph, catalog.name, catalog.problem))
    drawn = channel_rows(graph, all_ranges=all_ranges)
    if output == "svg":
        return GraphOutput(as_svg(graph, drawn, catalog.name, catalog.problem))
    if output == "dot":
        return GraphOutput(as_dot(graph, drawn))
    text = as_mermaid(graph, drawn)
    return GraphOutput(text, remark=mermaid_remark(text, drawn))


def describe_route(
    catalog: NamedCatalog, package: str, channel: str, start: str, goal: str | None, *, as_data: bool = False
) -> GraphOutput:
    """Return how an upgrade goes in a channel ("" for the default one); the answer holds if it comes to `goal`, if
    given.

    Raises QueryError for a channel or a version that there is not.
    """
    graph = upgrade_graph(catalog.packages[package])
    view = channel_named(graph, channel)
    end = version_named(graph, goal) if goal is not None else None
    walked = route(graph, view, version_named(graph, start, absent=True), end)
    text = as_json(graph, catalog.name, catalog.problem, walked) if as_data else route_text(graph, view, walked)
    return GraphOutput(text, end is None or walked.walk.reached)


def as_mermaid(graph: UpgradeGraph, drawn: tuple[ChannelRow, ...]) -> str:
    """A Mermaid flowchart with a subgraph for each channel; what its looks mean stands in its comments."""
    lines = [*_mermaid_legend(graph, drawn), "flowchart LR"]
    used = set()
    for index, row in enumerate(drawn):
        title = f"{row.name} ({', '.join(row.remarks)})" if row.remarks else row.name
        lines += [f'  subgraph c{index}["{_mermaid(title)}"]', "    direction LR"]
        numbers = {cell.vertex.name: f"c{index}v{number}" for number, cell in enumerate(row.cells)}
        for cell in row.cells:
            opening, closing = _MERMAID_SHAPES[cell.gravest]
            marks = f"<br/>{', '.join(cell.marks)}" if cell.marks else ""
            # Shapes show it as well as colors, for readers who can't see colors.
            look = f":::{cell.gravest}" if cell.marks else ""
            used.add(cell.gravest)
            lines.append(f"    {numbers[cell.vertex.name]}{opening}{_mermaid(cell.label)}{marks}{closing}{look}")
        for arrow in row.arrows:
            lines.append(f"    {numbers[arrow.source]} {_MERMAID_ARROWS[arrow.kind]} {numbers[arrow.target]}")
        lines.append("  end")
    lines += [f"  classDef {mark} {look}" for mark, look in _MERMAID_LOOKS.items() if mark in used]
    return "\n".join(lines) + "\n"


def _mermaid_legend(graph: UpgradeGraph, drawn: tuple[ChannelRow, ...]) -> Iterator[str]:
    yield f"%% Upgrades of {clean(graph.package)}, channel by channel. Arrows point to the next upgrade of OLM:"
    yield from (f"%%   {note}" for row in drawn for note in row.notes)
    kinds = {arrow.kind for row in drawn for arrow in row.arrows}
    yield from (f"%%   {arrow:4} {kind}" for kind, arrow in _MERMAID_ARROWS.items() if kind in kinds)
    marks = {mark for row in drawn for cell in row.cells for mark in cell.marks}
    for mark, meaning in MARKS.items():
        if mark in marks:
            yield f"%% {mark} ({_MERMAID_SHAPE_NAMES[mark]}): {meaning}"


def mermaid_remark(text: str, drawn: tuple[ChannelRow, ...]) -> str:
    """Return the note on a flowchart that is larger than Mermaid's default limit, "" for any other."""
    edges = sum(len(row.arrows) for row in drawn)
    if edges <= _MERMAID_EDGES and len(text) <= _MERMAID_CHARACTERS:
        return ""
    return (
        f"{edges} edges and {len(text):,} characters are more than Mermaid draws by default ({_MERMAID_EDGES} and "
        f"{_MERMAID_CHARACTERS:,}); -o svg has no such limits, and --channel draws less"
    )


def _mermaid(text: str) -> str:
    return _MERMAID_PLAIN.sub(lambda match: f"#{ord(match[0])};", clean(text))


def as_dot(graph: UpgradeGraph, drawn: tuple[ChannelRow, ...]) -> str:
    """A Graphviz digraph with a cluster for each channel."""
    lines = [f"digraph {_dot(graph.package)} {{", "  rankdir=LR", '  node [shape=box, fontname="sans-serif"]']
    for index, row in enumerate(drawn):
        title, notes = "\n".join((row.name, *row.remarks)), "\n".join((row.name, *row.notes))
        lines += [f"  subgraph cluster_{index} {{", f"    label={_dot(title)}", f"    tooltip={_dot(notes)}"]
        lines.append('    fontname="sans-serif"')
        numbers = {cell.vertex.name: f"c{index}v{number}" for number, cell in enumerate(row.cells)}
        for cell in row.cells:
            lines.append(f"    {numbers[cell.vertex.name]} [{_dot_node(cell)}]")
        for source, target, kind, first in row.arrows:
            faint = "" if first else ', color="#8c959f"'
            lines.append(
                f'    {numbers[source]} -> {numbers[target]} [style={_DOT_ARROWS[kind]}, tooltip="{kind}"{faint}]'
            )
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_node(cell: Cell) -> str:
    text = f"{cell.label}\n{', '.join(cell.marks)}" if cell.marks else cell.label
    return f"label={_dot(text)}, tooltip={_dot(chr(10).join(cell.notes))}, {_DOT_LOOKS[cell.gravest]}"


def _dot(text: str) -> str:
    lines = (clean(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'


def as_json(graph: UpgradeGraph, catalog: str, problem: str = "", path: Route | None = None) -> str:
    """The whole graph of the package in `catalog`, all edges included, and the route if there is one.

    `problem` is OLM's text for why it can't serve the catalog.
    """
    data: dict[str, Any] = {
        "version": FORMAT_VERSION,
        "package": graph.package,
        "catalog": catalog,
        "problem": problem,
        "defaultChannel": graph.default_channel,
        "deprecation": graph.message if graph.deprecated else None,
    }
    if path is not None:
        data["path"] = _path(path)
    lists = {
        "channels": (_json(_channel(channel)) for channel in graph.channels),
        "versions": (_json(_version(vertex, graph.channels)) for vertex in graph.versions),
        "edges": _edges(graph),
    }
    head = json_text(data).removesuffix("\n}")
    return ",\n".join((head, *(_lines_of_list(key, items) for key, items in lists.items()))) + "\n}\n"


def _lines_of_list(key: str, items: Iterable[str]) -> str:
    """A list with a line an item, so that one change is one line of a diff."""
    lines = ",\n    ".join(items)
    return f'  "{key}": [\n    {lines}\n  ]' if lines else f'  "{key}": []'


def _json(value: Any) -> str:
    return json_text(value, indent=None)


def _edges(graph: UpgradeGraph) -> Iterator[str]:
    # Names are encoded once: there may be hundreds of edges to each.
    texts = {vertex.name: _json(vertex.name) for vertex in graph.versions}
    lists: dict[tuple[str, ...], str] = {}
    for source, target, kind, channels in graph.edges:
        if channels not in lists:
            lists[channels] = _json(channels)
        yield f'{{"from": {texts[source]}, "to": {texts[target]}, "kind": "{kind}", "channels": {lists[channels]}}}'


def _channel(channel: ChannelView) -> dict[str, Any]:
    return {
        "name": channel.name,
        "default": channel.is_default,
        "heads": list(channel.heads),
        "candidates": list(channel.candidates),
        "deprecation": channel.message if channel.deprecated else None,
        "problem": channel.problem,
    }


def _version(vertex: Vertex, channels: tuple[ChannelView, ...]) -> dict[str, Any]:
    return {
        "name": vertex.name,
        "version": vertex.version,
        "channels": list(vertex.channels),
        "headOf": list(vertex.heads),
        "skippedIn": list(vertex.skipped),
        "strandedIn": list(vertex.stranded),
        "deprecation": vertex.message if vertex.deprecated else None,
        "installable": not (vertex.barred or vertex.missing),
        "missing": vertex.missing,
        "next": {channel.name: channel.first[vertex.name] for channel in channels if vertex.name in channel.first},
    }


def _path(route: Route) -> dict[str, Any]:
    return {
        "from": route.walk.start.name or route.walk.start.version,
        "to": route.goal.name if route.goal is not None else None,
        "reached": route.walk.reached,
        **_walk(route.walk),
        "others": [_walk(other) for other in route.others],
    }


def _walk(walk: Walk) -> dict[str, Any]:
    hops = [{"from": hop.source, "to": hop.target, "kind": hop.kind} for hop in walk.hops]
    return {"channel": walk.channel, "hops": hops, "circles": walk.circles}
