"""The lines between versions in a picture: straight to the neighbour, on rails to all others.

A rail is one line for all that leads to the same version for the same reason. It runs above the boxes for `replaces`
and `skips`, below them for `skipRange`, each on a track of its own where others run beside it. What leads into another
band ends at the edge, with a tag that names where it leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from olmc.graph.channel_rows import Arrow, ChannelRow
from olmc.lean import NamedTuple
from olmc.model.diagnostics import join_limited
from olmc.resolver.upgrade_path import EdgeKind

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
    """Whether a rail runs below the boxes."""
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
