"""How two values differ, place by place: lists by the keys of their items, quantities by their amounts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olmc.diff.change import ABSENT
from olmc.gojson.quantity import amount
from olmc.lean import NamedTuple, regex


class ListItem(NamedTuple):
    """A step of a path into a list: what the item is known by."""

    name: str


Path = tuple[str | ListItem, ...]


class Delta(NamedTuple):
    """A place where two values differ; `ABSENT` for a side that has nothing there."""

    path: Path
    old: Any
    new: Any


# By the field that holds a list, what its items are known by: the first of these that tells all of them apart.
_KEYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "ports": (("name",), ("containerPort", "port", "protocol")),
    "volumeMounts": (("mountPath",),),
    "volumeDevices": (("devicePath",),),
    "hostAliases": (("ip",),),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "owned": (("name", "version", "kind"),),
    "required": (("name", "version", "kind"),),
    "subjects": (("kind", "namespace", "name"),),
    "ownerReferences": (("kind", "name"),),
    "webhookdefinitions": (("generateName", "type"),),
}
_LIKELY_KEYS = (("name",), ("type",), ("key",), ("path",), ("id",), ("kind", "name"))

# Lists of which an item is one thing, whatever it is made of: a variable with a value or a source.
_WHOLE = frozenset(("env",))

# Lists of which the order means nothing to Kubernetes.
_SETS = frozenset(
    """finalizers targetNamespaces verbs apiGroups apiVersions resources resourceNames nonResourceURLs operations
    shortNames categories required accessModes admissionReviewVersions conversionReviewVersions add drop tolerations
    enum keywords namespaces matchExpressions values rules x-kubernetes-list-map-keys""".split()
)
_INSIDE_QUANTITIES = frozenset(("limits", "requests", "capacity", "hard", "overhead"))
_QUANTITIES = frozenset(("sizeLimit", "divisor", "storage"))
_PLAIN_KEY = regex(r"[A-Za-z_][A-Za-z0-9_-]*")


def deltas(old: Any, new: Any, path: Path = ()) -> Iterator[Delta]:
    """Where two values differ. What is null and what is not there are the same (as they are to the API server)."""
    if old is None:
        old = ABSENT
    if new is None:
        new = ABSENT
    if old is new:
        return  # of documents that have a part in common, it was read once
    if type(old) is type(new):
        if isinstance(old, dict):
            yield from _of_mappings(old, new, path)
            return
        if isinstance(old, list):
            yield from _of_lists(old, new, path)
            return
    if not _same_scalar(old, new, path):
        yield Delta(path, old, new)


def identical(old: Any, new: Any) -> bool:
    """Whether two values are the same to the letter, but for the order of keys."""
    return bool(old == new) and not _differ_in_type(old, new)


def same(old: Any, new: Any) -> bool:
    """Whether two values mean the same."""
    return next(deltas(old, new), None) is None


def path_text(path: Path) -> str:
    """A path as `spec.containers[manager].env[MODE].value`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, ListItem):
            parts.append(f"[{step.name}]")
        elif _PLAIN_KEY.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(parts)


def _of_mappings(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> Iterator[Delta]:
    if identical(old, new):
        return
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, ABSENT), new.get(key, ABSENT)
        if before is not after:
            yield from deltas(before, after, (*path, key))


def _of_lists(old: list[Any], new: list[Any], path: Path) -> Iterator[Delta]:
    if identical(old, new):
        return
    field = next((step for step in reversed(path) if isinstance(step, str)), "")
    # Init containers run in their order, so a new order is a change although no item is.
    if field in _SETS or field == "initContainers":
        old_left, new_left = _without_common(old, new)
        if not old_left and not new_left:
            if field == "initContainers":
                yield Delta(path, _names(old), _names(new))
            return
    # Items are compared by name where they have one: an item that is added in front changes no other.
    keys = _keys_for(field, old, new)
    if keys:
        yield from _by_keys(old, new, keys, path, whole=field in _WHOLE)
    elif not _are_mappings(old) or not _are_mappings(new):
        yield Delta(path, old, new)
    else:
        yield from _one_by_one(*_without_common(old, new), path)


def aligned(field: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The items of a list `field` of both sides, each with what it was; `ABSENT` for what only one side has."""
    keys = _keys_for(field, old, new)
    label: Callable[[Any], str] = (lambda item: _label(item, keys)) if keys else _frozen
    waiting: dict[str, list[Any]] = {}
    for item in new:
        waiting.setdefault(label(item), []).append(item)
    for item in old:
        counterparts = waiting.get(label(item))
        yield item, counterparts.pop(0) if counterparts else ABSENT
    for items in waiting.values():
        yield from ((ABSENT, item) for item in items)


def _by_keys(
    old: Sequence[Any], new: Sequence[Any], keys: tuple[str, ...], path: Path, *, whole: bool
) -> Iterator[Delta]:
    """The items of both lists by what they are known by; `whole`: an item that differs is not looked into."""
    before = {_label(item, keys): item for item in old}
    after = {_label(item, keys): item for item in new}
    for label in dict.fromkeys((*before, *after)):
        was, now, place = before.get(label, ABSENT), after.get(label, ABSENT), (*path, ListItem(label))
        if not whole:
            yield from deltas(was, now, place)
        elif not same(was, now):
            yield Delta(place, was, now)


def _one_by_one(old: Sequence[Any], new: Sequence[Any], path: Path) -> Iterator[Delta]:
    """Items that nothing identifies, and that are not the same on both sides, in order."""
    for number in range(max(len(old), len(new))):
        before = old[number] if number < len(old) else ABSENT
        after = new[number] if number < len(new) else ABSENT
        yield from deltas(before, after, (*path, ListItem(str(number))))


def _keys_for(field: str, old: Sequence[Any], new: Sequence[Any]) -> tuple[str, ...]:
    """The keys by which all items of both lists can be distinguished, () if there are none."""
    if not (_are_mappings(old) and _are_mappings(new)):
        return ()
    for keys in _KEYS.get(field, _LIKELY_KEYS):
        if all(_tells_apart(items, keys) for items in (old, new)):
            return keys
    return ()


def _tells_apart(items: Sequence[Mapping[str, Any]], keys: tuple[str, ...]) -> bool:
    labels = [_label(item, keys) for item in items]
    return all(labels) and len(set(labels)) == len(labels)


def _label(item: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    values = (item.get(key) for key in keys)
    return " ".join(str(value) for value in values if isinstance(value, (str, int)) and value != "")


def _are_mappings(items: Sequence[Any]) -> bool:
    return all(isinstance(item, dict) for item in items)


def _without_common(old: Sequence[Any], new: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """What is left of two lists without the items that both have, as often as both have them."""
    spare = [_frozen(item) for item in new]
    used = [False] * len(spare)
    places: dict[str, list[int]] = {}
    # From behind, since `pop` takes the last: of equal items the first is used first.
    for number in range(len(spare) - 1, -1, -1):
        places.setdefault(spare[number], []).append(number)
    left = []
    for item in old:
        counterparts = places.get(_frozen(item))
        if counterparts:
            used[counterparts.pop()] = True
        else:
            left.append(item)
    return left, [item for item, taken in zip(new, used, strict=True) if not taken]


def _frozen(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _names(items: Sequence[Any]) -> list[Any]:
    return [item.get("name") if isinstance(item, dict) else item for item in items]


def _differ_in_type(old: Any, new: Any) -> bool:
    """Whether what Python takes to be equal is not: to Python, 1 is true."""
    if old is new:
        return False
    if isinstance(old, dict) and isinstance(new, dict):
        return any(_differ_in_type(value, new[key]) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return any(map(_differ_in_type, old, new))
    return isinstance(old, bool) is not isinstance(new, bool)


def _same_scalar(old: Any, new: Any, path: Path) -> bool:
    if isinstance(old, bool) is not isinstance(new, bool):
        return False
    if old == new:
        return True
    # `1` and `1000m` are one amount, but only where Kubernetes reads an amount.
    fields = [step for step in path if isinstance(step, str)]
    if not fields or not (fields[-1] in _QUANTITIES or (len(fields) > 1 and fields[-2] in _INSIDE_QUANTITIES)):
        return False
    return _is_amount(old) and _is_amount(new) and _amounts_agree(old, new)


def _is_amount(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _amounts_agree(old: str | int | float, new: str | int | float) -> bool:
    try:
        return amount(old) == amount(new)
    except ValueError:
        return False
