"""Permission matrices: for everybody whose permissions changed, resources by verbs, and what became of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from olmc.model.objects import Identity
from olmc.review.diff.access import Access, Holder, Permission, permissions
from olmc.review.diff.permissions import PermissionGained, PermissionLost, verbs_in_order
from olmc.settle.permissions import allowed

__all__ = ["Cell", "Matrix", "Row", "matrices"]

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
    rules = [*old.rules.get(holder, ()), *new.rules.get(holder, ())]
    asked = dict.fromkeys(each for rule in rules for each in permissions(rule))
    before, after = old.granted(holder), new.granted(holder)
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    for each in asked:
        state = _state(allowed(before, each.rule), allowed(after, each.rule))
        cells.setdefault(_place(each), {})[each.verb] = state
    verbs = verbs_in_order({each.verb for each in asked})
    rows = [Row(*place, tuple(states.get(verb, "") for verb in verbs)) for place, states in sorted(cells.items())]
    return Matrix(*holder, verbs, tuple(sorted(rows, key=_is_unchanged)))


def _place(permission: Permission) -> tuple[str, str]:
    return permission.url or permission.resource, permission.name


def _state(before: bool, after: bool) -> Cell:
    if before and after:
        return "kept"
    return "gained" if after else "lost" if before else ""


def _is_unchanged(row: Row) -> bool:
    return not {"gained", "lost"} & set(row.cells)
