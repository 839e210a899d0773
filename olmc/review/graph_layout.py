"""Where everything goes in a picture of an upgrade graph.

A row is a channel, a column a version. Where that gets too wide it is broken into bands, like a line of music, so that
five versions make a page and five hundred make one as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from olmc.review.graph import UpgradeGraph
from olmc.review.graph_drawn import Cell, Strip
from olmc.review.graph_rails import (
    BOX_HEIGHT,
    Column,
    Line,
    Page,
    Piece,
    Tag,
    depth,
    is_below,
    line_of,
    pieces_of,
    tracks,
)

__all__ = ["MARGIN", "Box", "Picture", "Row", "layout", "shortened"]

MARGIN = 16.0
_GAP = 26.0  # between columns
_PADDING = 8.0  # inside of a row
_BETWEEN_ROWS = 4.0
_BETWEEN_BANDS = 20.0
_LEAST_ROW = 46.0  # for the name of the channel and a remark
_LABEL_CHARACTER, _SMALL_CHARACTER, _NAME_CHARACTER = 7.3, 5.7, 7.6
_WIDEST_LABEL, _WIDEST_NAME = 28, 24
_ASPECT = 1.6  # of a page
_USUAL_ROW = 65.0
_LEAST_ROOM = 600.0
_MOST_BANDS = 60


class Box(NamedTuple):
    """A version in a channel; `x` and `y` are its upper left corner."""

    x: float
    y: float
    width: float
    cell: Cell
    label: str
    caption: str


class Row(NamedTuple):
    """A channel in a band; `name` is its name as far as there is room for it."""

    y: float
    height: float
    name: str
    strip: Strip


class Picture(NamedTuple):
    """All that is to be drawn, and how much room it takes."""

    width: float
    height: float
    rows: tuple[Row, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    tags: tuple[Tag, ...]


def layout(graph: UpgradeGraph, drawn: Sequence[Strip], top: float) -> Picture:
    """The picture of a graph's channels below `top`."""
    page = _page(graph, drawn)
    rows: list[Row] = []
    boxes: list[Box] = []
    lines: list[Line] = []
    tags: list[Tag] = []
    y = top
    places = [{cell.vertex.name: _place(cell, page) for cell in strip.cells} for strip in drawn]
    cut = [_by_band(pieces_of(strip, columns)) for strip, columns in zip(drawn, places, strict=True)]
    for band in range(page.bands):
        for strip, columns, pieces in zip(drawn, places, cut, strict=True):
            cells = [(cell, place) for cell in strip.cells if (place := columns[cell.vertex.name]).band == band]
            if cells:
                row = _fill(strip, cells, pieces.get(band, ()), page, y)
                rows += row.rows
                boxes += row.boxes
                lines += row.lines
                tags += row.tags
                y = row.height + _BETWEEN_ROWS
        y += _BETWEEN_BANDS
    widest = max((len(tag.text) for tag in tags), default=0)
    width = page.right + (widest * _SMALL_CHARACTER + 12 if tags else 0) + MARGIN
    bottom = y - _BETWEEN_BANDS - _BETWEEN_ROWS if rows else top
    return Picture(width, bottom, tuple(rows), tuple(boxes), tuple(lines), tuple(tags))


def _place(cell: Cell, page: Page) -> Column:
    """Where a box goes: in the middle of its column."""
    column, width = page.columns[cell.vertex.name], _width(cell)
    return Column(column.band, column.x + (column.width - width) / 2, width)


def _by_band(pieces: Iterable[Piece]) -> dict[int, list[Piece]]:
    found: dict[int, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(piece.band, []).append(piece)
    return found


def _fill(strip: Strip, cells: Sequence[tuple[Cell, Column]], pieces: Sequence[Piece], page: Page, y: float) -> Picture:
    """A channel in a band, from `y` on; the picture's height is where it ends."""
    above = tracks((piece for piece in pieces if not piece.straight and not is_below(piece)), page)
    below = tracks((piece for piece in pieces if not piece.straight and is_below(piece)), page)
    over = depth(max((track + 1 for _, track in above), default=0))
    under = depth(max((track + 1 for _, track in below), default=0))
    box_y = y + _PADDING + over
    height = max(_PADDING + over + BOX_HEIGHT + under + _PADDING, _LEAST_ROW)
    drawn = [line_of(piece, page, box_y) for piece in pieces if piece.straight]
    drawn += [line_of(piece, page, box_y, track) for piece, track in (*above, *below)]
    row = Row(y, height, shortened(strip.name, _WIDEST_NAME), strip)
    boxes = tuple(_box(cell, place, box_y) for cell, place in cells)
    lines = tuple(line for line, _ in drawn)
    return Picture(0, y + height, (row,), boxes, lines, tuple(tag for _, tag in drawn if tag is not None))


def _box(cell: Cell, place: Column, y: float) -> Box:
    return Box(place.x, y, place.width, cell, shortened(cell.label, _WIDEST_LABEL), _caption(cell))


def _width(cell: Cell) -> float:
    label = len(shortened(cell.label, _WIDEST_LABEL)) * _LABEL_CHARACTER
    return max(label, len(_caption(cell)) * _SMALL_CHARACTER, 30) + 18


def _caption(cell: Cell) -> str:
    return " · ".join(cell.marks)


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters, with its end, which tells versions apart."""
    if len(text) <= most:
        return text
    kept = most // 2
    return f"{text[: most - kept - 1]}…{text[-kept:]}"


def _page(graph: UpgradeGraph, drawn: Sequence[Strip]) -> Page:
    """The places of all versions, in as many bands as make a page of a pleasant shape."""
    widths = dict(_widths(graph, drawn))
    names = max((len(shortened(strip.name, _WIDEST_NAME)) for strip in drawn), default=0)
    left = MARGIN + max(names * _NAME_CHARACTER, 16 * _SMALL_CHARACTER) + 16
    bands = min(_broken(widths), key=lambda each: _misshapen(each, widths, drawn), default=[])
    columns: dict[str, Column] = {}
    right = left
    for number, band in enumerate(bands):
        x = left + _GAP
        for name in band:
            columns[name] = Column(number, x, widths[name])
            x += widths[name] + _GAP
        right = max(right, x)
    return Page(columns, len(bands), left, right)


_Bands = list[list[str]]


def _broken(widths: Mapping[str, float]) -> Iterator[_Bands]:
    """The columns in one band, in two, three, and so on as long as a band is not too narrow."""
    total = sum(widths.values()) + _GAP * len(widths)
    for count in range(1, min(len(widths), _MOST_BANDS) + 1):
        room = total / count
        if count > 1 and room < _LEAST_ROOM:
            return
        found = _filled(widths, room)
        while len(found) > count:  # columns don't add up to a band exactly
            room *= 1.03
            found = _filled(widths, room)
        yield found


def _filled(widths: Mapping[str, float], room: float) -> _Bands:
    bands: _Bands = []
    left = 0.0
    for name, width in widths.items():
        if not bands or width + _GAP > left:
            bands.append([])
            left = room
        bands[-1].append(name)
        left -= width + _GAP
    return bands


def _misshapen(bands: _Bands, widths: Mapping[str, float], drawn: Sequence[Strip]) -> float:
    """How far a page with these bands is from the shape that it should have."""
    numbers = {name: number for number, band in enumerate(bands) for name in band}
    rows = sum(len({numbers[cell.vertex.name] for cell in strip.cells}) for strip in drawn)
    width = max(sum(widths[name] + _GAP for name in band) for band in bands)
    return abs(log(width / (rows * _USUAL_ROW + len(bands) * _BETWEEN_BANDS) / _ASPECT))


def _widths(graph: UpgradeGraph, drawn: Sequence[Strip]) -> Iterator[tuple[str, float]]:
    """The versions in order, each with the width of its widest box."""
    found: dict[str, float] = {}
    for strip in drawn:
        for cell in strip.cells:
            found[cell.vertex.name] = max(found.get(cell.vertex.name, 0), _width(cell))
    return ((vertex.name, found[vertex.name]) for vertex in graph.versions if vertex.name in found)
