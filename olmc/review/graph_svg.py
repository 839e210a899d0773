"""Upgrade graphs as SVG: one file, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from olmc.emit.tables import clean
from olmc.resources import template_text
from olmc.review.graph import KINDS, Kind, UpgradeGraph
from olmc.review.graph_drawn import MARKS, Mark, Strip
from olmc.review.graph_layout import MARGIN, layout
from olmc.review.graph_rails import BOX_HEIGHT

__all__ = ["as_svg"]

_LINE_HEIGHT = 17.0
_CHARACTER = 6.4
_LEGEND_ROW = 24.0
_WRAPPED, _MOST_LINES = 96, 4
_LEAST_WIDTH = 640.0  # for a remark


class _Sample(NamedTuple):
    """An entry of the legend: a mark or a kind of line, the latter `faint` or not, and what it means."""

    x: float
    y: float
    text: str
    mark: Mark | None = None
    kind: Kind | None = None
    faint: bool = False


def as_svg(graph: UpgradeGraph, drawn: Sequence[Strip], catalog: str, problem: str = "") -> str:
    """The picture of a graph of a package in `catalog`; `problem` is OLM's text for why it can't serve the catalog."""
    from jinja2 import Environment, StrictUndefined  # takes long to import

    remarks = [line for text in _remarks(graph, drawn, problem) for line in _wrapped(clean(text))]
    top = MARGIN + 22 + _LINE_HEIGHT * (1 + len(remarks)) + 8
    picture = layout(graph, drawn, top)
    width = max(picture.width, _LEAST_WIDTH)
    samples = tuple(_legend(drawn, width, picture.height + 30))
    height = (samples[-1].y if samples else picture.height) + 26
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    template = environment.from_string(template_text("graph.svg.j2"))
    return template.render(
        package=clean(graph.package),
        subtitle=_subtitle(graph, catalog),
        remarks=remarks,
        picture=picture,
        samples=samples,
        kinds=[kind for kind in KINDS if any(line.kind == kind for line in picture.lines)],
        width=round(width),
        height=round(height),
        margin=MARGIN,
        box_height=BOX_HEIGHT,
        line_height=_LINE_HEIGHT,
    )


def _wrapped(text: str) -> list[str]:
    return wrap(text, _WRAPPED, max_lines=_MOST_LINES, placeholder=" …")


def _subtitle(graph: UpgradeGraph, catalog: str) -> str:
    versions, channels = len(graph.versions), len(graph.channels)
    count = f"{versions} version{'s' if versions != 1 else ''} in {channels} channel{'s' if channels != 1 else ''}"
    return clean(f"catalog {catalog} · {count}")


def _remarks(graph: UpgradeGraph, drawn: Sequence[Strip], problem: str) -> Iterator[str]:
    if graph.deprecated:
        yield f"The package is deprecated: {graph.message}" if graph.message else "The package is deprecated."
    if problem:
        lines = [line.strip(" │├└─") for line in problem.splitlines()]
        yield f"OLM can't serve the catalog: {' '.join(lines)}"
    for strip in drawn:
        yield from strip.notes


def _legend(drawn: Sequence[Strip], width: float, top: float) -> Iterator[_Sample]:
    """The marks and lines that occur, side by side as far as there is room."""
    x, y = MARGIN, top
    for sample in _samples(drawn):
        room = 46 + len(sample.text) * _CHARACTER + 26
        if x > MARGIN and x + room > width:
            x, y = MARGIN, y + _LEGEND_ROW
        yield sample._replace(x=x, y=y)
        x += room


def _samples(drawn: Sequence[Strip]) -> Iterator[_Sample]:
    arrows = [arrow for strip in drawn for arrow in strip.arrows]
    kinds = {arrow.kind for arrow in arrows}
    yield from (_Sample(0, 0, kind, kind=kind) for kind in KINDS if kind in kinds)
    faint = next((arrow.kind for arrow in arrows if not arrow.first), None)
    if faint is not None:
        yield _Sample(0, 0, "faint: not where OLM goes first", kind=faint, faint=True)
    marks = {mark for strip in drawn for cell in strip.cells for mark in cell.marks}
    yield from (_Sample(0, 0, f"{mark}: {meaning}", mark=mark) for mark, meaning in MARKS.items() if mark in marks)
