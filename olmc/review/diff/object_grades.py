"""The risks of objects that come, go or change, by the table of `object_risks`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from typing import Any

from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, ObjectKey, mappings, text
from olmc.review.diff.crd_kinds import ABSENT
from olmc.review.diff.deltas import Delta, ListItem, Named, Path, named_items, path_text
from olmc.review.diff.field_tests import REMOVED
from olmc.review.diff.object_risks import OBJECT_RISKS, ObjectRisk

_MOST_PLACES = 50_000


class KnownPlaces(NamedTuple):
    """The facts about the places of two objects: the rows that apply there, and the items of lists by their names."""

    rows: dict[tuple[int, Path], bool]
    lists: dict[Path, tuple[Named, Named]]


class FoundRisk(NamedTuple):
    """A place of an object that passes the test of a row, its value on the new side, and the reason."""

    path: Path
    value: Any
    why: str


class _Index(NamedTuple):
    """The rows for a kind by the last step of their paths, those whose last step is a pattern, and those for objects
    as a whole."""

    by_step: Mapping[str, tuple[ObjectRisk, ...]]
    patterns: tuple[ObjectRisk, ...]
    of_objects: tuple[ObjectRisk, ...]

    def ending_in(self, step: str | ListItem) -> tuple[ObjectRisk, ...]:
        """List the rows whose path may end with a step."""
        return (*self.by_step.get(step, ()), *self.patterns) if isinstance(step, str) else self.patterns


@lru_cache(maxsize=4_096)
def _index(group: str, kind: str) -> _Index:
    """Index the rows for a kind."""
    rows = [row for row in OBJECT_RISKS if any(_is_kind(pattern, group, kind) for pattern in row.kinds)]
    by_step: dict[str, tuple[ObjectRisk, ...]] = {}
    for row in rows:
        if row.path and "*" not in row.path[-1]:
            by_step[row.path[-1]] = (*by_step.get(row.path[-1], ()), row)
    patterns = tuple(row for row in rows if row.path and "*" in row.path[-1])
    return _Index(by_step, patterns, tuple(row for row in rows if not row.path))


def _is_kind(pattern: str, group: str, kind: str) -> bool:
    wanted, slash, wanted_kind = pattern.rpartition("/")
    return fnmatchcase(group, wanted if slash else pattern) and fnmatchcase(kind, wanted_kind if slash else "*")


def _is_named(row: ObjectRisk, known: ObjectKey) -> bool:
    return not row.names or any(fnmatchcase(f"{known.namespace}/{known.name}", name) for name in row.names)


def risks_of_added(known: ObjectKey, obj: KubernetesObject) -> tuple[FoundRisk, ...]:
    """Find the risks of an object that only the new side has."""
    return tuple(_found(known, Delta((), ABSENT, obj), is_new=True))


def risks_of_removed(known: ObjectKey) -> tuple[FoundRisk, ...]:
    """Find the risks of the removal of an object."""
    rows = _index(known.group, known.kind).of_objects
    return tuple(FoundRisk((), ABSENT, row.why) for row in rows if row.test is REMOVED and _is_named(row, known))


def risks_of_change(
    known: ObjectKey, old: KubernetesObject, new: KubernetesObject, delta: Delta, tested: KnownPlaces
) -> tuple[FoundRisk, ...]:
    """Find the risks of one difference between two objects; `tested` keeps what is known of the places above."""

    def holds(row: ObjectRisk, path: Path) -> bool:
        key = (id(row), path)
        if key not in tested.rows:
            tested.rows[key] = row.test.holds(*_both_at(old, new, path, tested.lists))
        return tested.rows[key]

    index = _index(known.group, known.kind)
    above = (delta.path[:length] for length in range(1, len(delta.path)))
    of_whole = (
        FoundRisk(delta.path, delta.new, row.why)
        for path in above
        for row in index.ending_in(path[-1])
        if _is_named(row, known) and _matches(row.path, path) and holds(row, path)
    )
    return (*of_whole, *_found(known, delta, is_new=False))


def risks_of_delta(known: ObjectKey, delta: Delta) -> tuple[FoundRisk, ...]:
    """Find the risks of a difference by itself, without what only the whole objects tell."""
    return tuple(_found(known, delta, is_new=False))


def pod_dangers(path: Path, value: Any) -> Iterator[FoundRisk]:
    """Find what in a part of a pod lets it do more than others, where all of that part is new."""
    return _found(_ANY_POD, Delta(path, ABSENT, value), is_new=True)


def is_loosened(delta: Delta) -> bool:
    """Tell whether a difference in a part of a pod lets it do more than before."""
    return next(_found(_ANY_POD, delta, is_new=False), None) is not None


_ANY_POD = ObjectKey("", "Pod", "", "")


def _found(known: ObjectKey, delta: Delta, *, is_new: bool) -> Iterator[FoundRisk]:
    index = _index(known.group, known.kind)
    for place in islice(places(delta), _MOST_PLACES):
        for row in index.ending_in(place.path[-1]) if place.path else index.of_objects:
            if (
                (row.test.of_new or not is_new)
                and _is_named(row, known)
                and _matches(row.path, place.path)
                and not (place.new is ABSENT and _goes_with_its_owner(row, delta.path, place.path))
                and row.test.holds(place.old, place.new)
            ):
                yield FoundRisk(place.path, place.new, row.why)


def _goes_with_its_owner(row: ObjectRisk, removed: Path, path: Path) -> bool:
    """Return whether a setting of a pod is removed only because its container or other owner is removed."""
    if row.path[:1] != ("**",) or len(path) == len(removed):
        return False
    return "securityContext" not in removed and removed[-1:] != ("annotations",)


def _matches(pattern: Sequence[str], path: Path) -> bool:
    if pattern[:1] == ("**",):
        pattern = pattern[1:]
        path = path[max(0, len(path) - len(pattern)) :]
    return len(pattern) == len(path) and all(map(_is_step, pattern, path))


def _is_step(pattern: str, step: str | ListItem) -> bool:
    if isinstance(step, ListItem):
        return pattern == "*"
    return pattern == step or ("*" in pattern and fnmatchcase(step, pattern))


def places(delta: Delta) -> Iterator[Delta]:
    """List a difference and everything below it that is on one side only."""
    waiting = [delta]
    while waiting:
        place = waiting.pop()
        yield place
        below: list[Delta] = []
        if place.old is ABSENT or type(place.old) is not type(place.new):
            below += (Delta((*place.path, step), ABSENT, value) for step, value in _below(place.new))
        if place.new is ABSENT:
            below += (Delta((*place.path, step), value, ABSENT) for step, value in _below(place.old))
        waiting += reversed(below)  # in the order in which the fields are written


def _below(value: Any) -> Iterator[tuple[str | ListItem, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(key), below) for key, below in value.items())
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if isinstance(item, Mapping):
                yield ListItem(text(item.get("name")) or str(item.get("containerPort") or number)), item


def _both_at(old: Any, new: Any, path: Path, lists: dict[Path, tuple[Named, Named]]) -> tuple[Any, Any]:
    """Look a path up in both objects; items of lists by the name or the number that paths have for them."""
    for depth, step in enumerate(path):
        if isinstance(step, ListItem):
            place = path[:depth]
            if place not in lists:
                field = next((name for name in reversed(place) if isinstance(name, str)), "")
                lists[place] = named_items(field, mappings(old), mappings(new))
            old, new = (named.get(step.name, ABSENT) for named in lists[place])
        else:
            old, new = (side.get(step, ABSENT) if isinstance(side, Mapping) else ABSENT for side in (old, new))
    return ABSENT if old is None else old, ABSENT if new is None else new


def explained(found: Sequence[FoundRisk], path: Path = ()) -> tuple[str, ...]:
    """Write risks as texts, each reason once; a place below `path` is named with its value."""
    reasons: dict[str, list[str]] = {}
    for risk in found:
        places = reasons.setdefault(risk.why, [])
        if risk.path != path:
            value = risk.value if isinstance(risk.value, str) else json.dumps(risk.value, default=str)
            place = path_text(risk.path)
            is_short = isinstance(risk.value, Mapping) or risk.value is ABSENT
            places.append(place if is_short else f"{place}: {value}")
    return tuple(f"{', '.join(places)}: {why}" if places else why for why, places in reasons.items())
