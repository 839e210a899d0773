"""Upgrade graphs as SVG: one file, without scripts and without anything from elsewhere.

A row is a channel, a column a version. Where that gets too wide it is broken into bands, like a line of music, so that
five versions make a page and five hundred make one as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from textwrap import wrap

from olmc.compiler.output.document import templates
from olmc.compiler.output.messages import clean
from olmc.compiler.resolver.upgrade_path import EDGE_KINDS, EdgeKind
from olmc.k8s.diagnostics import join_limited
from olmc.k8s.lean import NamedTuple
from olmc.review.graph.catalogs import MARKS, Arrow, Cell, ChannelRow, Mark
from olmc.review.graph.upgrade_graph import UpgradeGraph

# The lines between versions in a picture: straight to the neighbour, on rails to all others.
#
# A rail is one line for all that leads to the same version for the same reason. It runs above the boxes for `replaces`
# and `skips`, below them for `skipRange`, each on a track of its own where others run beside it. What leads into
# another band ends at the edge, with a tag that names where it leads.

BOX_HEIGHT = 36
_TRACK = 10  # between rails
_NEAREST = 11  # between boxes and the rail next to them
_CORNER = 7
_PORT = 7  # how far from a box's middle lines leave and arrive
_MOST = 6


class RailColumn(NamedTuple):
    """A version's place: the band, its left edge and its width; the middle is the same in all channels."""

    band: int
    x: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class RailPage(NamedTuple):
    """The columns by the names of versions, how many bands there are, and where lines enter and leave them."""

    columns: Mapping[str, RailColumn]
    bands: int
    left: float
    right: float


class RailLine(NamedTuple):
    """A line, or several to one version: the data of an SVG path that ends in the arrow's tip."""

    path: str
    kind: EdgeKind
    first: bool
    title: str


class RailTag(NamedTuple):
    """The name of the version to which a line leads that ends at the edge."""

    x: float
    y: float
    text: str


class Piece(NamedTuple):
    """The part of a line in one band.

    It comes from `sources` and, if `enters`, from the edge; it goes to `target`, or to the edge if that is None.
    `forward` is to the right, `straight` without a rail.
    """

    band: int
    sources: tuple[RailColumn, ...]
    target: RailColumn | None
    enters: bool
    forward: bool
    straight: bool
    arrow: Arrow
    label: str
    title: str


def is_below(piece: Piece) -> bool:
    """Return whether a rail runs below the boxes."""
    return piece.arrow.kind == "skipRange"


def depth(count: int) -> float:
    """The space that so many tracks take."""
    return _NEAREST + _TRACK * (count - 1) + _CORNER if count else 0


def pieces_of(row: ChannelRow, columns: Mapping[str, RailColumn]) -> Iterator[Piece]:
    """The lines of a channel between its boxes, cut into bands; those to the same version for the same reason are one.

    `columns` are the places that the boxes take.
    """
    labels = {cell.vertex.name: cell.label for cell in row.cells}
    places = {cell.vertex.name: number for number, cell in enumerate(row.cells)}
    grouped: dict[tuple[str, EdgeKind, bool, bool, bool], list[Arrow]] = {}
    for arrow in row.arrows:
        steps = places[arrow.target] - places[arrow.source]
        # Lines join only where they look alike and run the same way.
        key = (arrow.target, arrow.kind, arrow.first, steps > 0, steps == 1)
        grouped.setdefault(key, []).append(arrow)
    for (target, _, _, forward, straight), arrows in grouped.items():
        arrows.sort(key=lambda arrow: places[arrow.source])
        title = _title([labels[arrow.source] for arrow in arrows], labels[target], arrows[0])
        yield from _cut(arrows, columns, forward=forward, straight=straight, label=labels[target], title=title)


def _title(sources: Sequence[str], target: str, arrow: Arrow) -> str:
    preferred = "" if arrow.first else "; not preferred by OLM"
    return f"{join_limited(sources, _MOST)} → {target} ({arrow.kind}{preferred})"


def _cut(
    arrows: Sequence[Arrow], columns: Mapping[str, RailColumn], *, forward: bool, straight: bool, label: str, title: str
) -> Iterator[Piece]:
    target = columns[arrows[0].target]
    by_band: dict[int, list[RailColumn]] = {target.band: []}
    for arrow in arrows:
        column = columns[arrow.source]
        by_band.setdefault(column.band, []).append(column)
    for band, sources in by_band.items():
        here = band == target.band
        enters = here and len(by_band) > 1
        arrives = target if here else None
        yield Piece(band, tuple(sources), arrives, enters, forward, straight, arrows[0], label, title)


def tracks(pieces: Iterable[Piece], page: RailPage) -> list[tuple[Piece, int]]:
    """The rails with their tracks, counted from the boxes: short ones near, and no two over the same columns."""
    rails = [(*_ends(piece, page), piece) for piece in pieces]
    # Short rails near the boxes cross the fewest others.
    rails.sort(key=lambda rail: (rail[1] - rail[0], rail[0]))
    numbers = {x: number for number, x in enumerate(sorted({x for low, high, _ in rails for x in (low, high)}))}
    taken: list[int] = []
    on_tracks = []
    for low, high, piece in rails:
        # Rails that only meet at an end may share a track.
        columns = (1 << numbers[high]) - (1 << numbers[low])
        track = next((number for number, mask in enumerate(taken) if not mask & columns), len(taken))
        if track == len(taken):
            taken.append(0)
        taken[track] |= columns
        on_tracks.append((piece, track))
    return on_tracks


def _ends(piece: Piece, page: RailPage) -> tuple[float, float]:
    """From where to where a rail runs."""
    before, behind = (page.left, page.right) if piece.forward else (page.right, page.left)
    ends = [column.middle for column in piece.sources]
    ends.append(piece.target.middle if piece.target is not None else behind)
    if piece.enters:
        ends.append(before)
    return min(ends), max(ends)


def line_of(piece: Piece, page: RailPage, box_y: float, track: int = 0) -> tuple[RailLine, RailTag | None]:
    """The line of a piece whose row has its boxes at `box_y`, and the tag at its end if it leaves the band."""
    path, y = _straight(piece, page, box_y) if piece.straight else _rail(piece, page, box_y, track)
    tag = RailTag(page.right + 8, y + 3, piece.label) if piece.target is None and piece.forward else None
    return RailLine(path, piece.arrow.kind, piece.arrow.first, piece.title), tag


def _straight(piece: Piece, page: RailPage, box_y: float) -> tuple[str, float]:
    y = box_y + BOX_HEIGHT / 2
    start = piece.sources[0].x + piece.sources[0].width if piece.sources else page.left
    end = piece.target.x if piece.target is not None else page.right
    return f"M{start:.1f},{y:.1f}H{end:.1f}", y


def _rail(piece: Piece, page: RailPage, box_y: float, track: int) -> tuple[str, float]:
    outward = 1 if is_below(piece) else -1
    onward = 1 if piece.forward else -1
    edge = box_y + BOX_HEIGHT if is_below(piece) else box_y
    y = edge + outward * (_NEAREST + _TRACK * track)
    turn = y - outward * _CORNER
    before, behind = (page.left, page.right) if piece.forward else (page.right, page.left)
    stubs = []
    for column in piece.sources:
        x = column.middle + onward * _PORT
        stubs.append(f"M{x:.1f},{edge:.1f}V{turn:.1f}Q{x:.1f},{y:.1f} {x + onward * _CORNER:.1f},{y:.1f}")
    if piece.enters:
        stubs.append(f"M{before:.1f},{y:.1f}")
    # The rail goes on from what is farthest from its end; it comes last, because the arrow is at a path's last point.
    farthest = len(stubs) - 1 if piece.enters or not piece.forward else 0
    stubs.append(stubs.pop(farthest))
    if piece.target is None:
        return f"{''.join(stubs)}H{behind:.1f}", y
    x = piece.target.middle - onward * _PORT
    return f"{''.join(stubs)}H{x - onward * _CORNER:.1f}Q{x:.1f},{y:.1f} {x:.1f},{turn:.1f}V{edge:.1f}", y


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
_LINE_HEIGHT = 17.0
_CHARACTER = 6.4
_LEGEND_ROW = 24.0
_NARROW = 340.0
"""The part of a picture that a window of 420 pixels shows beside margins and frames."""
_SAMPLE, _SAMPLE_GAP = 46.0, 26.0
"""The space of a mark of the legend, and that behind its text."""
_WRAPPED, _MOST_LINES = 96, 4
_LEAST_WIDTH = 640.0  # for a remark


class _Sample(NamedTuple):
    """A line of the legend: a mark or a kind of line, the latter `faint` or not, and what it means.

    The further lines of a long text have neither.
    """

    x: float
    y: float
    text: str
    mark: Mark | None = None
    kind: EdgeKind | None = None
    faint: bool = False


def as_svg(
    graph: UpgradeGraph, drawn: Sequence[ChannelRow], catalog: str, problem: str = "", *, is_narrow: bool = False
) -> str:
    """The picture of a graph of a package in `catalog`; `problem` is OLM's text for why it can't serve the catalog.

    Where it `is_narrow` the legend stays within what the narrowest windows show, however wide the picture is.
    """
    remarks = [line for text in _remarks(graph, drawn, problem) for line in _wrapped(clean(text))]
    top = MARGIN + 22 + _LINE_HEIGHT * (1 + len(remarks)) + 8
    # The remarks come first: how much space they take decides where the picture begins.
    picture = layout(graph, drawn, top)
    width = max(picture.width, _NARROW if is_narrow else _LEAST_WIDTH)
    samples = tuple(_legend(drawn, min(width, _NARROW) if is_narrow else width, picture.height + 30))
    height = (samples[-1].y if samples else picture.height) + 26
    return (
        templates()
        .get_template("graph.svg.j2")
        .render(
            package=clean(graph.package),
            subtitle=_subtitle(graph, catalog),
            remarks=remarks,
            picture=picture,
            samples=samples,
            kinds=[kind for kind in EDGE_KINDS if any(line.kind == kind for line in picture.lines)],
            width=round(width),
            height=round(height),
            margin=MARGIN,
            box_height=BOX_HEIGHT,
            line_height=_LINE_HEIGHT,
        )
    )


def _wrapped(text: str) -> list[str]:
    return wrap(text, _WRAPPED, max_lines=_MOST_LINES, placeholder=" …")


def _subtitle(graph: UpgradeGraph, catalog: str) -> str:
    versions, channels = len(graph.versions), len(graph.channels)
    count = f"{versions} version{'s' if versions != 1 else ''} in {channels} channel{'s' if channels != 1 else ''}"
    return clean(f"catalog {catalog} · {count}")


def _remarks(graph: UpgradeGraph, drawn: Sequence[ChannelRow], problem: str) -> Iterator[str]:
    if graph.deprecated:
        yield f"The package is deprecated: {graph.message}" if graph.message else "The package is deprecated."
    if problem:
        lines = [line.strip(" │├└─") for line in problem.splitlines()]
        yield f"OLM can't serve the catalog: {' '.join(lines)}"
    for row in drawn:
        yield from row.notes


def _legend(drawn: Sequence[ChannelRow], width: float, top: float) -> Iterator[_Sample]:
    """The marks and lines that occur, side by side as far as there is space."""
    x, y = MARGIN, top
    for sample in _samples(drawn):
        space = _SAMPLE + len(sample.text) * _CHARACTER + _SAMPLE_GAP
        if x > MARGIN and x + space > width:
            x, y = MARGIN, y + _LEGEND_ROW
        first, *more = wrap(sample.text, int((width - x - _SAMPLE) / _CHARACTER))
        yield sample._replace(x=x, y=y, text=first)
        for line in more:
            y += _LINE_HEIGHT
            yield _Sample(x, y, line)
        x += width if more else space


def _samples(drawn: Sequence[ChannelRow]) -> Iterator[_Sample]:
    arrows = [arrow for row in drawn for arrow in row.arrows]
    kinds = {arrow.kind for arrow in arrows}
    yield from (_Sample(0, 0, kind, kind=kind) for kind in EDGE_KINDS if kind in kinds)
    faint = next((arrow.kind for arrow in arrows if not arrow.first), None)
    if faint is not None:
        yield _Sample(0, 0, "faint: not preferred by OLM", kind=faint, faint=True)
    marks = {mark for row in drawn for cell in row.cells for mark in cell.marks}
    yield from (_Sample(0, 0, f"{mark}: {meaning}", mark=mark) for mark, meaning in MARKS.items() if mark in marks)


class Box(NamedTuple):
    """A version in a channel; `x` and `y` are its upper left corner."""

    x: float
    y: float
    width: float
    cell: Cell
    label: str
    caption: str


class SvgRow(NamedTuple):
    """A channel in a band; `name` is its name as far as there is space for it."""

    y: float
    height: float
    name: str
    channel: ChannelRow


class Picture(NamedTuple):
    """All that is to be drawn, and how much space it takes."""

    width: float
    height: float
    rows: tuple[SvgRow, ...]
    boxes: tuple[Box, ...]
    lines: tuple[RailLine, ...]
    tags: tuple[RailTag, ...]


def layout(graph: UpgradeGraph, drawn: Sequence[ChannelRow], top: float) -> Picture:
    """The picture of a graph's channels below `top`."""
    page = _page(graph, drawn)
    rows: list[SvgRow] = []
    boxes: list[Box] = []
    lines: list[RailLine] = []
    tags: list[RailTag] = []
    y = top
    places = [{cell.vertex.name: _place(cell, page) for cell in channel.cells} for channel in drawn]
    cut = [_by_band(pieces_of(channel, columns)) for channel, columns in zip(drawn, places, strict=True)]
    for band in range(page.bands):
        for channel, columns, pieces in zip(drawn, places, cut, strict=True):
            cells = [(cell, place) for cell in channel.cells if (place := columns[cell.vertex.name]).band == band]
            if cells:
                row = _fill(channel, cells, pieces.get(band, ()), page, y)
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


def _place(cell: Cell, page: RailPage) -> RailColumn:
    """Return where a box goes: in the middle of its column."""
    # A version has one column in all channels, but not the same marks in each, so that its boxes differ in width.
    column, width = page.columns[cell.vertex.name], _width(cell)
    return RailColumn(column.band, column.x + (column.width - width) / 2, width)


def _by_band(pieces: Iterable[Piece]) -> dict[int, list[Piece]]:
    by_band: dict[int, list[Piece]] = {}
    for piece in pieces:
        by_band.setdefault(piece.band, []).append(piece)
    return by_band


def _fill(
    channel: ChannelRow, cells: Sequence[tuple[Cell, RailColumn]], pieces: Sequence[Piece], page: RailPage, y: float
) -> Picture:
    """A channel in a band, from `y` on; the picture's height is where it ends."""
    above = tracks((piece for piece in pieces if not piece.straight and not is_below(piece)), page)
    below = tracks((piece for piece in pieces if not piece.straight and is_below(piece)), page)
    over = depth(max((track + 1 for _, track in above), default=0))
    under = depth(max((track + 1 for _, track in below), default=0))
    box_y = y + _PADDING + over
    height = max(_PADDING + over + BOX_HEIGHT + under + _PADDING, _LEAST_ROW)
    drawn = [line_of(piece, page, box_y) for piece in pieces if piece.straight]
    drawn += [line_of(piece, page, box_y, track) for piece, track in (*above, *below)]
    row = SvgRow(y, height, shortened(channel.name, _WIDEST_NAME), channel)
    boxes = tuple(_box(cell, place, box_y) for cell, place in cells)
    lines = tuple(line for line, _ in drawn)
    return Picture(0, y + height, (row,), boxes, lines, tuple(tag for _, tag in drawn if tag is not None))


def _box(cell: Cell, place: RailColumn, y: float) -> Box:
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


def _page(graph: UpgradeGraph, drawn: Sequence[ChannelRow]) -> RailPage:
    """The places of all versions, in as many bands as make a page of a pleasant shape."""
    widths = dict(_widths(graph, drawn))
    names = max((len(shortened(channel.name, _WIDEST_NAME)) for channel in drawn), default=0)
    left = MARGIN + max(names * _NAME_CHARACTER, 16 * _SMALL_CHARACTER) + 16
    # Few channels with many versions make a page that is too wide, many channels one that is too high.
    bands = min(_broken(widths), key=lambda bands: _misshapen(bands, widths, drawn), default=[])
    columns: dict[str, RailColumn] = {}
    right = left
    for number, band in enumerate(bands):
        x = left + _GAP
        for name in band:
            columns[name] = RailColumn(number, x, widths[name])
            x += widths[name] + _GAP
        right = max(right, x)
    return RailPage(columns, len(bands), left, right)


_Bands = list[list[str]]


def _broken(widths: Mapping[str, float]) -> Iterator[_Bands]:
    """The columns in one band, in two, three, and so on as long as a band is not too narrow."""
    total = sum(widths.values()) + _GAP * len(widths)
    for count in range(1, min(len(widths), _MOST_BANDS) + 1):
        space = total / count
        if count > 1 and space < _LEAST_ROOM:
            return
        bands = _filled(widths, space)
        while len(bands) > count:  # columns don't add up to a band exactly
            space *= 1.03
            bands = _filled(widths, space)
        yield bands


def _filled(widths: Mapping[str, float], space: float) -> _Bands:
    bands: _Bands = []
    left = 0.0
    for name, width in widths.items():
        if not bands or width + _GAP > left:
            bands.append([])
            left = space
        bands[-1].append(name)
        left -= width + _GAP
    return bands


def _misshapen(bands: _Bands, widths: Mapping[str, float], drawn: Sequence[ChannelRow]) -> float:
    """Return how far a page with these bands is from the shape that it should have."""
    numbers = {name: number for number, band in enumerate(bands) for name in band}
    rows = sum(len({numbers[cell.vertex.name] for cell in channel.cells}) for channel in drawn)
    width = max(sum(widths[name] + _GAP for name in band) for band in bands)
    return abs(log(width / (rows * _USUAL_ROW + len(bands) * _BETWEEN_BANDS) / _ASPECT))


def _widths(graph: UpgradeGraph, drawn: Sequence[ChannelRow]) -> Iterator[tuple[str, float]]:
    """The versions in order, each with the width of its widest box."""
    widths: dict[str, float] = {}
    for channel in drawn:
        for cell in channel.cells:
            widths[cell.vertex.name] = max(widths.get(cell.vertex.name, 0), _width(cell))
    return ((vertex.name, widths[vertex.name]) for vertex in graph.versions if vertex.name in widths)
