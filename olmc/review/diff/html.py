"""A difference as one page of HTML: it loads nothing from other places and runs one script of its own.

The objects side by side are data in the page until a reader opens them: thousands of them cost nothing before.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import indent
from typing import Any

from olmc.compiler.output.document import page_parts, templates
from olmc.compiler.output.messages import clean
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject
from olmc.k8s.yaml import dump_one
from olmc.resources import template_text
from olmc.review.diff.compare import Difference
from olmc.review.diff.crd_kinds import (
    ABSENT,
    BREAKING,
    CHANGE,
    NOTE,
    RISK,
    SEVERITY_WORDS,
    ChangeGroup,
    DiffChange,
    UntrustedText,
)
from olmc.review.diff.deltas import aligned
from olmc.review.diff.matching import Pair
from olmc.review.diff.operators import operators
from olmc.review.diff.outputs import (
    ChangeLine,
    folded_text,
    heading,
    line_groups,
    review_sections,
    subject,
    summary,
    verdict,
)
from olmc.review.diff.permissions import Matrices, Matrix, access, matrices
from olmc.review.diff.version_kinds import operator_added, operator_upgraded
from olmc.review.diff.versions import Subscribed, subscribed
from olmc.review.diff.webhooks import EVERYWHERE, WHERE_BOUND
from olmc.review.graph.catalogs import channel_rows
from olmc.review.graph.svg import as_svg
from olmc.review.graph.upgrade_graph import upgrade_graph


class _Piece(NamedTuple):
    """A piece of a message; `quoted` if it comes from the input."""

    text: str
    quoted: bool


class _HtmlLine(NamedTuple):
    """A change as it is shown."""

    sign: str
    severity: str
    pieces: tuple[_Piece, ...]


class _ChangeEntry(NamedTuple):
    """An object with its changes."""

    name: str
    lines: tuple[_HtmlLine, ...]


class _HtmlSection(NamedTuple):
    """The breaking changes, the risks, or a group of changes."""

    name: str
    heading: str
    total: int
    entries: tuple[_ChangeEntry, ...]


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


class PageLink(NamedTuple):
    """A page beside this one: its address, its heading, and its number of items, None if it is not counted."""

    address: str
    heading: str
    total: int | None = None


class FrontSection(NamedTuple):
    """A section in front of the changes: lines, or a table with its head; a command stands below a line."""

    name: str
    heading: str
    lines: tuple[tuple[str, str], ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def as_html(
    difference: Difference,
    front: Sequence[FrontSection] = (),
    *,
    decision: str = "",
    headline: str = "",
    pages: Sequence[PageLink] = (),
) -> str:
    """Return the page, with further sections in `front`.

    Above them are the verdict (or the `decision` of a plan), the counts (or `headline`) and links to the `pages`.
    """
    permissions = _matrices(difference)
    return (
        templates()
        .get_template("diff.html.j2")
        .render(
            page_parts(template_text("diff.css").strip(), template_text("diff.js").strip()),
            old=clean(difference.old.name),
            new=clean(difference.new.name),
            subject=subject(difference),
            verdict=decision or verdict(difference),
            summary=headline or summary(difference),
            pages=pages,
            front=front,
            command="plan" if front else "diff",
            folded=folded_text(difference),
            severities=[
                (SEVERITY_WORDS[severity], difference.count(severity)) for severity in (BREAKING, RISK, CHANGE, NOTE)
            ],
            sections=list(_sections(difference)),
            upgrades=list(_upgrades(difference)),
            matrices=[_readable(matrix) for matrix in permissions.shown],
            more_matrices=permissions.more,
            objects=[_object(pair) for pair in difference.pairs],
            unchanged=difference.unchanged,
        )
    )


def _sections(difference: Difference) -> Iterator[_HtmlSection]:
    for section in review_sections(difference.changes):
        yield _HtmlSection(section.name, section.heading, len(section.changes), tuple(_entries(section.changes)))


def _entries(changes: Iterable[DiffChange]) -> Iterator[_ChangeEntry]:
    for group in line_groups(changes, None):
        yield _ChangeEntry(clean(heading(group.objects, len(group.objects))), tuple(map(_line, group.lines)))


def _line(change: ChangeLine) -> _HtmlLine:
    pieces = (
        _Piece(clean(piece.text), True) if isinstance(piece, UntrustedText) else _Piece(piece, False)
        for piece in change.message
    )
    return _HtmlLine(change.type.value, SEVERITY_WORDS[change.severity], tuple(pieces))


def _upgrades(difference: Difference) -> Iterator[_Upgrade]:
    settled = difference.new.settled
    drawn = set()
    for change in difference.in_group(ChangeGroup.VERSIONS):
        if change.kind not in (operator_added, operator_upgraded):
            continue
        namespace, package = change.identity.namespace, change.values["package"]
        subscription = subscribed(settled, namespace, package) if settled is not None else None
        picture = ""
        if subscription is not None and (key := (subscription.catalog, package, subscription.channel)) not in drawn:
            drawn.add(key)
            picture = channel_picture(subscription)
        title = clean(f"{package} in {namespace}")
        if change.kind is operator_upgraded:
            old, new, path = (change.values[field] for field in ("old", "new", "path"))
            stops = (old, *(hop.target for hop in path.hops)) if path.hops else (old, new)
            edges = tuple(hop.kind for hop in path.hops) or ("",)
            yield _Upgrade(title, tuple(map(clean, stops)), edges, path.reached, picture)
        elif picture:
            yield _Upgrade(title, (clean(change.identity.name),), (), True, picture)


def channel_picture(subscription: Subscribed) -> str:
    """The upgrade graph of a channel as a data URI, "" for a channel that there is not."""
    channel = subscription.channel or subscription.package.default_channel
    if channel not in subscription.package.channels:
        return ""
    graph = upgrade_graph(subscription.package, [channel])
    svg = as_svg(graph, channel_rows(graph), subscription.catalog, is_narrow=True)
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _matrices(difference: Difference) -> Matrices:
    sides = (difference.old, difference.new)
    old, new = (access(side.objects, operators(side.objects), side.manifests) for side in sides)
    return matrices(old, new, difference.in_group(ChangeGroup.PERMISSIONS))


def _readable(matrix: Matrix) -> dict[str, Any]:
    where = {EVERYWHERE: "in the whole cluster", WHERE_BOUND: "where the role is bound"}
    rows = [
        {
            "resource": clean(row.resource),
            "name": clean(row.name),
            "cells": list(zip(row.cells, row.levels, strict=True)),
        }
        for row in matrix.rows
    ]
    return {
        "subject": clean(str(matrix.subject)),
        "scope": where.get(matrix.scope, f"in namespace {clean(matrix.scope)}"),
        "verbs": [clean(verb) for verb in matrix.verbs],
        "more": ", ".join(
            filter(
                None,
                (
                    "the first of many resources" if matrix.has_more_rows else "",
                    f"and {matrix.more_verbs} more verbs" if matrix.more_verbs else "",
                ),
            )
        ),
        "rows": rows,
    }


def _object(pair: Pair) -> _Object:
    state = "new" if pair.old is None else "removed" if pair.new is None else "changed"
    blocks = (DiffBlock(*map(_clean_lines, block)) for block in beside(pair.old, pair.new))
    lines = [[block.old] if block.is_same else [block.old, block.new] for block in blocks]
    text = json.dumps(lines, ensure_ascii=False, separators=(",", ":"))
    return _Object(clean(str(pair.identity)), state, _inside_script(text))


def _clean_lines(text: str) -> str:
    return "\n".join(map(clean, text.split("\n")))


def _inside_script(text: str) -> str:
    """JSON in which nothing ends the element that it stands in."""
    return text.replace("<", "\\u003c")


class DiffBlock(NamedTuple):
    """Some lines: the same on both sides (`old` is `new`), or what each side has there, "" for nothing."""

    old: str
    new: str

    @property
    def is_same(self) -> bool:
        return self.old == self.new


def beside(old: KubernetesObject | None, new: KubernetesObject | None) -> list[DiffBlock]:
    """The lines of an object and its predecessor; blocks of the same kind are joined."""
    if old is None or new is None:
        text = dump_one(old if new is None else new)
        return [DiffBlock(text, "") if new is None else DiffBlock("", text)]
    return list(_join(_mappings(old, new, "")))


def _join(blocks: Iterator[DiffBlock]) -> Iterator[DiffBlock]:
    for _, alike in groupby(blocks, lambda block: block.is_same):
        olds, news = zip(*alike, strict=True)
        yield DiffBlock("".join(olds), "".join(news))


def _mappings(old: Mapping[str, Any], new: Mapping[str, Any], pad: str) -> Iterator[DiffBlock]:
    for key in dict.fromkeys((*old, *new)):
        was, now = old.get(key, ABSENT), new.get(key, ABSENT)
        if _share_parts(was, now):
            head = pad + dump_one({key: [None]}).partition("\n")[0] + "\n"
            yield DiffBlock(head, head)
            yield from _mappings(was, now, f"{pad}  ") if isinstance(was, dict) else _lists(key, was, now, pad)
        else:
            yield DiffBlock(_entry(key, was, pad), _entry(key, now, pad))


def _share_parts(old: Any, new: Any) -> bool:
    """Return whether two values are different, and made of parts of which some may be the same."""
    return bool(old) and bool(new) and type(old) is type(new) and isinstance(old, (dict, list)) and old != new


def _lists(field: str, old: Sequence[Any], new: Sequence[Any], pad: str) -> Iterator[DiffBlock]:
    for was, now in aligned(field, old, new):
        if isinstance(was, dict) and _share_parts(was, now):
            yield from _dashed(_mappings(was, now, f"{pad}  "), pad)
        else:
            yield DiffBlock(_item(was, pad), _item(now, pad))


def _dashed(blocks: Iterator[DiffBlock], pad: str) -> Iterator[DiffBlock]:
    """The blocks of an item of a list: on each side the first line begins with a dash."""
    begun = [False, False]
    for block in blocks:
        sides = list(block)
        for number, text in enumerate(sides):
            if text and not begun[number]:
                begun[number] = True
                sides[number] = f"{pad}- {text[len(pad) + 2 :]}"
        yield DiffBlock(*sides)


def _entry(key: str, value: Any, pad: str) -> str:
    return "" if value is ABSENT else indent(dump_one({key: value}), pad)


def _item(value: Any, pad: str) -> str:
    return "" if value is ABSENT else indent(dump_one([value]), pad)
