"""Permission matrices: for everybody whose permissions changed, resources by verbs, and what became of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Literal, NamedTuple

from olmc.kube.rbac import rules_allow
from olmc.model.objects import Identity
from olmc.model.rbac import PolicyRule, Request
from olmc.review.diff.access import Access, Holder
from olmc.review.diff.permissions import PermissionGained, PermissionLost, qualified, verbs_in_order

__all__ = ["Cell", "Matrix", "Row", "matrices"]

_MOST_ROWS = 200
"""A rule stands for each of its resources in each of its groups; a stranger's may stand for billions."""

Cell = Literal["kept", "gained", "lost", ""]


class Row(NamedTuple):
    """A resource (or a URL), and the objects of it that are meant ("" for all), with a cell for each verb."""

    resource: str
    name: str
    cells: tuple[Cell, ...]


class Matrix(NamedTuple):
    """Everything that `subject` may do in a scope on either side."""

    subject: Identity
    scope: str
    verbs: tuple[str, ...]
    rows: tuple[Row, ...]


def matrices(old: Access, new: Access, changes: Iterable[object]) -> Iterator[Matrix]:
    """The matrices of the holders whose permissions `changes` name, in that order; rows that changed come first."""
    named = (each for each in changes if isinstance(each, (PermissionGained, PermissionLost)))
    for holder in dict.fromkeys(Holder(each.identity, each.scope) for each in named):
        yield _matrix(holder, old, new)


def _matrix(holder: Holder, old: Access, new: Access) -> Matrix:
    rules = dict.fromkeys((*old.rules.get(holder, ()), *new.rules.get(holder, ())))
    verbs = verbs_in_order(tuple({verb for rule in rules for verb in rule.verbs}))
    sides = old.granted(holder), new.granted(holder)
    places = islice(dict.fromkeys(place for rule in rules for place in _places(rule)), _MOST_ROWS)
    rows = (_row(place, verbs, *sides) for place in places)
    return Matrix(*holder, verbs, tuple(sorted(rows, key=lambda row: (_is_unchanged(row), row))))


def _places(rule: PolicyRule) -> Iterator[Request]:
    """What a rule is about, each a request without a verb."""
    yield from (Request("", url=url) for url in rule.urls)
    for group, resource, name in islice(product(rule.groups, rule.resources, rule.names or ("",)), _MOST_ROWS):
        yield Request("", group, resource, name)


def _row(place: Request, verbs: tuple[str, ...], before: tuple[PolicyRule, ...], after: tuple[PolicyRule, ...]) -> Row:
    cells: list[Cell] = []
    for verb in verbs:
        request = place._replace(verb=verb)
        was, now = (rules_allow(rules, request) for rules in (before, after))
        cells.append("kept" if was and now else "gained" if now else "lost" if was else "")
    return Row(place.url or qualified(place.resource, place.group), place.name, tuple(cells))


def _is_unchanged(row: Row) -> bool:
    return not {"gained", "lost"} & set(row.cells)
