"""Changes of the schema of one version of a CRD, and which of them break objects that were valid before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from olmc.model.coerce import mapping, mappings, text, texts
from olmc.model.objects import Identity
from olmc.review.diff.change import ABSENT, Change, Gravity
from olmc.review.diff.crds import Definition, Version
from olmc.review.diff.schema_kinds import (
    BoundChanged,
    DefaultChanged,
    EnumChanged,
    KeywordChanged,
    PatternChanged,
    PropertyAdded,
    PropertyRemoved,
    RequiredAdded,
    RequiredRemoved,
    TypeChanged,
    UnknownFieldsChanged,
    ValidationAdded,
    ValidationRemoved,
)

__all__ = ["schema_changes"]

_UPPER = ("maximum", "maxLength", "maxItems", "maxProperties")
_LOWER = ("minimum", "minLength", "minItems", "minProperties")
_FLAGS = ("exclusiveMaximum", "exclusiveMinimum", "uniqueItems")
_PATTERNS = ("pattern", "format")
_KEYWORDS = (
    "allOf", "anyOf", "oneOf", "not", "nullable", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type", "x-kubernetes-embedded-resource",
)  # fmt: skip
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_VALIDATIONS = "x-kubernetes-validations"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_INT_OR_STRING_TYPES = [{"type": "integer"}, {"type": "string"}]
_OF_NUMBERS = ("int32", "int64", "float", "double")
_ANYTHING = "anything"

# What every value of a type also is; a change to one of these takes nothing away.
_WIDER: Mapping[str, frozenset[str]] = {
    "integer": frozenset(("number", _INT_OR_STRING, _ANYTHING)),
    "string": frozenset((_INT_OR_STRING, _ANYTHING)),
}
_ONLY_ANYTHING = frozenset((_ANYTHING,))

Schema = Mapping[str, Any]


class _At(NamedTuple):
    """A place in the schema of a version, and how grave it is at most when something breaks there.

    `elsewhere` are the schemas of the same field in other versions that a conversion webhook leads to.
    """

    identity: Identity
    version: str
    path: str
    most: Gravity
    elsewhere: tuple[tuple[str, Schema], ...]

    def weight(self, gravity: Gravity) -> Gravity:
        return min(gravity, self.most)

    def below(self, step: str, schemas: tuple[tuple[str, Schema], ...]) -> _At:
        """A place one step further; breaking readers of the status, which users don't write, is a risk."""
        path = f"{self.path}{step}" if step in ("[]", "{}") or not self.path else f"{self.path}.{step}"
        most = min(self.most, Gravity.RISK) if path == "status" else self.most
        return self._replace(path=path, most=most, elsewhere=schemas)


def schema_changes(identity: Identity, old: Version, new: Version, crd: Definition) -> Iterator[Change]:
    """How the schema of a version differs from what it was; `crd` is the whole new definition.

    A version that was not served before can't break anybody. A field that is gone from one version may live on in
    another one that is served, if there is a conversion webhook.
    """
    others = (each for each in crd.served if each.name != new.name)
    elsewhere = tuple((each.name, each.schema) for each in others) if crd.conversion == "Webhook" else ()
    most = Gravity.BREAKING if old.served else Gravity.NOTE
    if old.schema and not new.schema:
        return
    keywords: dict[tuple[str, str], list[KeywordChanged]] = {}
    for change in _changes(old.schema, new.schema, _At(identity, new.name, "", most, elsewhere)):
        if isinstance(change, KeywordChanged):
            same_change = repr((change.old, change.new, change.gravity))
            keywords.setdefault((change.keyword, same_change), []).append(change)
        else:
            yield change
    for alike in keywords.values():
        yield replace(alike[0], paths=tuple(path for change in alike for path in change.paths))


def _changes(old: Schema, new: Schema, at: _At) -> Iterator[Change]:
    if old == new:
        return
    before, after = _type(old), _type(new)
    if before != after:
        narrowed = (after not in _WIDER.get(before, _ONLY_ANYTHING) and before != _ANYTHING) or before == _ANYTHING
        gravity = at.weight(Gravity.BREAKING if narrowed else Gravity.CHANGE)
        yield TypeChanged(at.identity, at.version, at.path, before, after, gravity)
        if {before, after} & {"object", "array"}:
            return
    yield from _bounds(old, new, at)
    yield from _values(old, new, at)
    yield from _rules(old, new, at)
    yield from _properties(old, new, at)
    for field, step in (("items", "[]"), ("additionalProperties", "{}")):
        yield from _inner(old.get(field), new.get(field), field, step, at)


def _type(schema: Schema) -> str:
    if schema.get(_INT_OR_STRING) is True:
        return _INT_OR_STRING
    return text(schema.get("type")) or _ANYTHING


def _bounds(old: Schema, new: Schema, at: _At) -> Iterator[BoundChanged]:
    for keyword in (*_UPPER, *_LOWER, *_FLAGS, "multipleOf"):
        before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
        if before != after and not (keyword in _FLAGS and not _number(before) and not _number(after)):
            gravity = at.weight(Gravity.BREAKING if _tightened(keyword, before, after) else Gravity.CHANGE)
            yield BoundChanged(at.identity, at.version, at.path, keyword, before, after, gravity)


def _number(value: Any) -> float:
    """A number to compare with; booleans are 0 and 1, and so is what is no number."""
    return value if isinstance(value, (int, float)) else 0


def _tightened(keyword: str, old: Any, new: Any) -> bool:
    """Whether a bound lets less through than before."""
    if new is ABSENT:
        return False
    if keyword in _FLAGS:
        return _number(new) > _number(old)
    if keyword == "multipleOf":
        return old is ABSENT or not _number(new) or bool(_number(old) % _number(new))
    if old is ABSENT:
        return not (keyword in _LOWER and keyword != "minimum" and not _number(new))
    return _number(new) < _number(old) if keyword in _UPPER else _number(new) > _number(old)


def _values(old: Schema, new: Schema, at: _At) -> Iterator[Change]:
    for keyword in _PATTERNS:
        before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
        if before != after:
            gravity = at.weight(_pattern_gravity(before, after))
            yield PatternChanged(at.identity, at.version, at.path, keyword, before, after, gravity)
    before, after = old.get("enum"), new.get("enum")
    if before != after:
        yield from _enum(before, after, at)
    before, after = old.get("default", ABSENT), new.get("default", ABSENT)
    if before != after:
        yield DefaultChanged(at.identity, at.version, at.path, before, after, at.weight(Gravity.RISK))


def _pattern_gravity(old: Any, new: Any) -> Gravity:
    """How grave another pattern or format is; the size that a number is said to have mostly fits the numbers."""
    if new is ABSENT:
        return Gravity.CHANGE
    return Gravity.RISK if old is ABSENT and new in _OF_NUMBERS else Gravity.BREAKING


def _enum(old: Any, new: Any, at: _At) -> Iterator[EnumChanged]:
    before, after = (_written(values) if isinstance(values, list) else None for values in (old, new))
    removed = tuple(each for each in before or () if each not in (after or ())) if after is not None else ()
    added = tuple(each for each in after or () if each not in (before or ()))
    if not removed and not added and (before is None) == (after is None):
        return
    tightened = bool(removed) or (before is None and after is not None)
    gravity = at.weight(Gravity.BREAKING if tightened else Gravity.CHANGE)
    yield EnumChanged(at.identity, at.version, at.path, added, removed, before is None, after is None, gravity)


def _written(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(value if isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values)


def _rules(old: Schema, new: Schema, at: _At) -> Iterator[Change]:
    before, after = (
        {text(rule.get("rule")): text(rule.get("message")) for rule in mappings(schema.get(_VALIDATIONS))}
        for schema in (old, new)
    )
    for rule, message in after.items():
        if rule not in before:
            yield ValidationAdded(at.identity, at.version, at.path, rule, message, at.weight(Gravity.BREAKING))
    for rule in before:
        if rule not in after:
            yield ValidationRemoved(at.identity, at.version, at.path, rule)
    for keyword in _KEYWORDS:
        was, now = _keyword(old, keyword), _keyword(new, keyword)
        if was != now and not (keyword == "nullable" and not _number(was) and not _number(now)):
            gravity = at.weight(_keyword_gravity(keyword, was, now))
            yield KeywordChanged(at.identity, at.version, (at.path,), keyword, was, now, gravity)
    was, now = bool(old.get(_PRESERVE)), bool(new.get(_PRESERVE))
    if was != now:
        gravity = at.weight(Gravity.BREAKING if was else Gravity.CHANGE)
        yield UnknownFieldsChanged(at.identity, at.version, at.path, now, gravity)


def _keyword(schema: Schema, keyword: str) -> Any:
    """A keyword of a schema, unless it is the spelling that Kubernetes asks for of an integer or a string."""
    value = schema.get(keyword, ABSENT)
    return ABSENT if schema.get(_INT_OR_STRING) is True and value == _INT_OR_STRING_TYPES else value


def _keyword_gravity(keyword: str, old: Any, new: Any) -> Gravity:
    """How grave another keyword is. Whether a list or a map is atomic decides on merging, not on what is valid."""
    if keyword == "x-kubernetes-map-type" or (keyword == "x-kubernetes-list-type" and new not in ("set", "map")):
        return Gravity.NOTE
    return Gravity.BREAKING if _stricter(keyword, old, new) else Gravity.CHANGE


def _stricter(keyword: str, old: Any, new: Any) -> bool:
    """Whether a keyword may refuse what it let through; of combinations that can't be said, so it is assumed."""
    if keyword == "nullable":
        return _number(new) < _number(old)
    if keyword == "anyOf" and isinstance(old, list) and isinstance(new, list):
        return any(each not in new for each in old)
    return new is not ABSENT


def _properties(old: Schema, new: Schema, at: _At) -> Iterator[Change]:
    before, after = mapping(old.get("properties")), mapping(new.get("properties"))
    required_before, required_after = texts(old.get("required")), texts(new.get("required"))
    for name in before:
        if name not in after:
            yield from _removed(name, new, at)
    for name in after:
        must = name in required_after
        if name not in before:
            may_matter = must and mapping(after[name]).get("default") is None
            gravity = at.weight(Gravity.BREAKING if may_matter else Gravity.CHANGE)
            yield PropertyAdded(at.identity, at.version, at.below(name, ()).path, must, gravity)
        elif must and name not in required_before:
            has_default = mapping(after[name]).get("default") is not None
            gravity = at.weight(Gravity.CHANGE if has_default else Gravity.BREAKING)
            yield RequiredAdded(at.identity, at.version, at.below(name, ()).path, has_default, gravity)
        elif not must and name in required_before:
            yield RequiredRemoved(at.identity, at.version, at.below(name, ()).path)
    for name in before:
        if name in after:
            schemas = tuple((version, _property(schema, name)) for version, schema in at.elsewhere)
            yield from _changes(mapping(before[name]), mapping(after[name]), at.below(name, schemas))


def _removed(name: str, new: Schema, at: _At) -> Iterator[PropertyRemoved]:
    kept_in = tuple(version for version, schema in at.elsewhere if name in mapping(schema.get("properties")))
    is_open = new.get(_PRESERVE) is True or (new.get("additionalProperties") not in (None, False))
    gravity = Gravity.RISK if kept_in or is_open else Gravity.BREAKING
    path = at.below(name, ()).path
    yield PropertyRemoved(at.identity, at.version, path, kept_in, is_open, at.below(name, ()).weight(gravity))


def _property(schema: Schema, name: str) -> Schema:
    return mapping(mapping(schema.get("properties")).get(name))


def _inner(old: Any, new: Any, field: str, step: str, at: _At) -> Iterator[Change]:
    """The schema of the items of a list, or of the values of a map (true: anything, false: nothing)."""
    if isinstance(old, dict) and isinstance(new, dict):
        schemas = tuple((version, mapping(schema.get(field))) for version, schema in at.elsewhere)
        yield from _changes(old, new, at.below(step, schemas))
    elif (before := _open(old)) != (after := _open(new)):
        gravity = at.weight(Gravity.CHANGE if after == _ANYTHING else Gravity.BREAKING)
        yield TypeChanged(at.identity, at.version, at.below(step, ()).path, before, after, gravity)


def _open(value: Any) -> str:
    if isinstance(value, dict):
        return _type(value)
    return _ANYTHING if value is True else "nothing"
