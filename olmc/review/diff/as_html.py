"""A difference as one page of HTML: it needs nothing from elsewhere, runs one script of its own, and asks nobody.

The objects side by side are data in the page until somebody opens them: thousands of them cost nothing before.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from olmc.emit.names import clean
from olmc.resources import template_text
from olmc.review.diff.access import EVERYWHERE, WHERE_BOUND, access
from olmc.review.diff.as_text import by_object, folded_text, summary
from olmc.review.diff.beside import Block, beside
from olmc.review.diff.change import Change, Foreign, Gravity, Group
from olmc.review.diff.compare import Difference
from olmc.review.diff.matching import Pair
from olmc.review.diff.matrix import Matrix, matrices
from olmc.review.diff.operators import operators
from olmc.review.diff.routes import Subscribed, subscribed
from olmc.review.diff.versions import OperatorAdded, OperatorUpgraded

__all__ = ["as_html"]


class _Piece(NamedTuple):
    """A piece of a sentence; `quoted` if it comes from the input."""

    text: str
    quoted: bool


class _Line(NamedTuple):
    """A change as it is shown."""

    kind: str
    sign: str
    gravity: str
    pieces: tuple[_Piece, ...]


class _Entry(NamedTuple):
    """An object with its changes."""

    name: str
    lines: tuple[_Line, ...]


class _Section(NamedTuple):
    """A group of changes."""

    name: str
    heading: str
    total: int
    entries: tuple[_Entry, ...]


class _Upgrade(NamedTuple):
    """The way of an upgrade, with a picture of its package's graph as a data URI where there is a catalog."""

    title: str
    stops: tuple[str, ...]
    kinds: tuple[str, ...]
    reached: bool | None
    picture: str


class _Object(NamedTuple):
    """An object that differs: its name, whether it is new or gone, and its lines as JSON."""

    name: str
    state: str
    lines: str


def as_html(difference: Difference) -> str:
    """The page."""
    from jinja2 import Environment, StrictUndefined  # takes long to import
    from markupsafe import Markup

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    style, script = template_text("diff.css").strip(), template_text("diff.js").strip()
    return environment.from_string(template_text("diff.html.j2")).render(
        old=clean(difference.old.name),
        new=clean(difference.new.name),
        summary=summary(difference),
        folded=folded_text(difference),
        gravities=[(str(each), difference.count(each)) for each in sorted(Gravity, reverse=True)],
        sections=list(_sections(difference)),
        upgrades=list(_upgrades(difference)),
        matrices=[_readable(each) for each in _matrices(difference)],
        objects=[_object(pair, Markup) for pair in difference.pairs],
        unchanged=difference.unchanged,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _hash(text: str) -> str:
    """What a content security policy lets through: this text and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _sections(difference: Difference) -> Iterator[_Section]:
    for group in Group:
        changes = difference.in_group(group)
        if changes:
            yield _Section(group.value, group.heading, len(changes), tuple(_entries(changes)))


def _entries(changes: Iterable[Change]) -> Iterator[_Entry]:
    for identity, mine in by_object(changes).items():
        yield _Entry(clean(str(identity)), tuple(map(_line, mine)))


def _line(change: Change) -> _Line:
    pieces = (
        _Piece(clean(piece.text), True) if isinstance(piece, Foreign) else _Piece(piece, False)
        for piece in change.sentence()
    )
    return _Line(type(change).__name__, change.sign.value, str(change.gravity), tuple(pieces))


def _upgrades(difference: Difference) -> Iterator[_Upgrade]:
    settled = difference.new.settled
    drawn = set()
    for change in difference.in_group(Group.VERSIONS):
        if not isinstance(change, (OperatorUpgraded, OperatorAdded)):
            continue
        found = subscribed(settled, change.identity.namespace, change.package) if settled is not None else None
        picture = ""
        if found is not None and (found.catalog, found.package.name, found.channel) not in drawn:
            drawn.add((found.catalog, found.package.name, found.channel))
            picture = _picture(found)
        title = clean(f"{change.package} in {change.identity.namespace}")
        if isinstance(change, OperatorUpgraded):
            hops = change.path.hops
            stops = (change.old, *(hop.target for hop in hops)) if hops else (change.old, change.new)
            kinds = tuple(hop.kind for hop in hops) or ("",)
            yield _Upgrade(title, tuple(map(clean, stops)), kinds, change.path.reached, picture)
        elif picture:
            yield _Upgrade(title, (clean(change.identity.name),), (), True, picture)


def _picture(found: Subscribed) -> str:
    """The upgrade graph of a channel as a data URI, "" for a channel that there is not."""
    from olmc.graph.channel_view import channel_rows
    from olmc.graph.svg import as_svg
    from olmc.graph.upgrade_graph import upgrade_graph

    channel = found.channel or found.package.default_channel
    if channel not in found.package.channels:
        return ""
    graph = upgrade_graph(found.package, [channel])
    svg = as_svg(graph, channel_rows(graph), found.catalog)
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _matrices(difference: Difference) -> Iterator[Matrix]:
    sides = (difference.old.objects, difference.new.objects)
    old, new = (access(objects, operators(objects)) for objects in sides)
    return matrices(old, new, difference.in_group(Group.PERMISSIONS))


def _readable(matrix: Matrix) -> dict[str, Any]:
    where = {EVERYWHERE: "in the whole cluster", WHERE_BOUND: "where the role is bound"}
    rows = [{"resource": clean(row.resource), "name": clean(row.name), "cells": row.cells} for row in matrix.rows]
    return {
        "subject": clean(str(matrix.subject)),
        "scope": where.get(matrix.scope, f"in namespace {clean(matrix.scope)}"),
        "verbs": [clean(verb) for verb in matrix.verbs],
        "rows": rows,
    }


def _object(pair: Pair, markup: type[str]) -> _Object:
    state = "new" if pair.old is None else "removed" if pair.new is None else "changed"
    blocks = (Block(*map(_clean_lines, block)) for block in beside(pair.old, pair.new))
    lines = [[block.old] if block.is_same else [block.old, block.new] for block in blocks]
    text = json.dumps(lines, ensure_ascii=False, separators=(",", ":"))
    return _Object(clean(str(pair.identity)), state, markup(_inside_script(text)))


def _clean_lines(text: str) -> str:
    return "\n".join(map(clean, text.split("\n")))


def _inside_script(text: str) -> str:
    """JSON in which nothing ends the element that it stands in."""
    return text.replace("<", "\\u003c")
