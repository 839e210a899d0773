"""What changed in a CRD, and which of it breaks objects that were valid before.

What breaks is judged for those who have objects or write them, as the API server treats them: a version that is not
served can't be asked for, one that was stored must be read for ever, and without a conversion webhook fields that a
version doesn't have are lost when an object is written in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from olmc.diff import crd_kinds as kinds
from olmc.diff.change import ABSENT, BREAKING, CHANGE, NOTE, RISK, DiffChange
from olmc.diff.deltas import deltas, path_text, same
from olmc.model.diagnostics import Severity
from olmc.model.objects import KubernetesObject, ObjectKey, mapping, mappings, spec_of, text, texts

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


class _Version(NamedTuple):
    """A version of a CRD; `other` is what it has besides its schema."""

    name: str
    served: bool
    stored: bool
    schema: Mapping[str, Any]
    other: Mapping[str, Any]


class _Definition(NamedTuple):
    """A CRD of v1 or v1beta1 in the shape of v1."""

    scope: str
    names: Mapping[str, Any]
    versions: Mapping[str, _Version]
    conversion: str

    @property
    def stored(self) -> str:
        return next((version.name for version in self.versions.values() if version.stored), "")

    @property
    def served(self) -> list[_Version]:
        return [version for version in self.versions.values() if version.served]


def _definition(crd: KubernetesObject) -> _Definition:
    """The CRD as v1 has it; what is missing or of the wrong type is empty."""
    spec = spec_of(crd)
    common = mapping(mapping(spec.get("validation")).get("openAPIV3Schema"))
    written = mappings(spec.get("versions"))
    if not written and text(spec.get("version")):  # v1beta1 may have one version and no list of them
        written = [{"name": spec["version"], "served": True, "storage": True}]
    versions = {}
    for version in written:
        schema = mapping(mapping(version.get("schema")).get("openAPIV3Schema")) or common
        other = {key: value for key, value in version.items() if key not in ("name", "served", "storage", "schema")}
        name = text(version.get("name"))
        versions[name] = _Version(name, bool(version.get("served")), bool(version.get("storage")), schema, other)
    conversion = text(mapping(spec.get("conversion")).get("strategy")) or "None"
    return _Definition(text(spec.get("scope")) or "Namespaced", mapping(spec.get("names")), versions, conversion)


def crd_changes(identity: ObjectKey, old: KubernetesObject, new: KubernetesObject) -> Iterator[DiffChange]:
    """How a CRD and its predecessor differ, schemas included."""
    before, after = _definition(old), _definition(new)
    if before.scope != after.scope:
        yield kinds.scope_changed(identity, before.scope, after.scope)
    yield from _name_changes(identity, before, after)
    yield from _version_changes(identity, before, after)
    if before.stored and after.stored and before.stored != after.stored:
        yield kinds.stored_version_changed(identity, before.stored, after.stored, _lossless(before, after))
    if before.conversion != after.conversion:
        needed = any(not same(version.schema, after.served[0].schema) for version in after.served[1:])
        yield kinds.conversion_changed(identity, before.conversion, after.conversion, needed)
    for name, version in before.versions.items():
        if name in after.versions:
            yield from _other_changes(identity, version, after.versions[name])
            yield from _schema_changes(identity, version, after.versions[name], after)


def _name_changes(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    for field in ("kind", "listKind", "plural", "singular"):
        before, after = text(old.names.get(field)), text(new.names.get(field))
        if before and after and before != after:
            yield kinds.name_changed(identity, field, before, after)
    for field in ("shortNames", "categories"):
        for delta in deltas({field: old.names.get(field)}, {field: new.names.get(field)}):
            yield kinds.crd_field_changed(identity, path_text(("names", *delta.path)), delta.old, delta.new)


def _version_changes(identity: ObjectKey, old: _Definition, new: _Definition) -> Iterator[DiffChange]:
    for name, version in old.versions.items():
        after = new.versions.get(name)
        if after is None:
            yield kinds.version_removed(identity, name, version.served, version.stored)
        elif version.served and not after.served:
            yield kinds.version_unserved(identity, name)
        elif after.served and not version.served:
            yield kinds.version_served(identity, name)
    yield from (kinds.version_added(identity, name) for name in new.versions if name not in old.versions)


def _lossless(old: _Definition, new: _Definition) -> bool:
    """Whether objects survive the change of the stored version: converted by a webhook, or of the same shape."""
    if new.conversion == "Webhook":
        return True
    return same(old.versions[old.stored].schema, new.versions[new.stored].schema)


def _other_changes(identity: ObjectKey, old: _Version, new: _Version) -> Iterator[DiffChange]:
    for delta in deltas(dict(old.other), dict(new.other)):
        yield kinds.crd_field_changed(identity, path_text((old.name, *delta.path)), delta.old, delta.new)


class _At(NamedTuple):
    """A place in the schema of a version, and how grave it is at most when something breaks there.

    `elsewhere` are the schemas of the same field in other versions that a conversion webhook leads to.
    """

    identity: ObjectKey
    version: str
    path: str
    most: Severity
    elsewhere: tuple[tuple[str, Schema], ...]

    @property
    def where(self) -> tuple[ObjectKey, str, str]:
        """What every change here begins with."""
        return self.identity, self.version, self.path

    def weight(self, severity: Severity) -> Severity:
        return min(severity, self.most)

    def below(self, step: str, schemas: tuple[tuple[str, Schema], ...] = ()) -> _At:
        """A place one step further; breaking readers of the status, which users don't write, is a risk."""
        path = f"{self.path}{step}" if step in ("[]", "{}") or not self.path else f"{self.path}.{step}"
        most = min(self.most, RISK) if path == "status" else self.most
        return self._replace(path=path, most=most, elsewhere=schemas)


def _schema_changes(identity: ObjectKey, old: _Version, new: _Version, crd: _Definition) -> Iterator[DiffChange]:
    """How the schema of a version differs from what it was; `crd` is the whole new definition.

    A version that was not served before can't break anybody. A field that is gone from one version may live on in
    another one that is served, if there is a conversion webhook.
    """
    others = (version for version in crd.served if version.name != new.name)
    elsewhere = tuple((version.name, version.schema) for version in others) if crd.conversion == "Webhook" else ()
    most = BREAKING if old.served else NOTE
    if old.schema and not new.schema:
        return
    # A generator of CRDs that learns a new keyword writes it everywhere; one change with all places says it.
    keywords: dict[str, list[DiffChange]] = {}
    for change in _changes(old.schema, new.schema, _At(identity, new.name, "", most, elsewhere)):
        if change.kind is kinds.keyword_changed:
            key = repr([change.values[field] for field in ("keyword", "old", "new", "severity")])
            keywords.setdefault(key, []).append(change)
        else:
            yield change
    for alike in keywords.values():
        paths = tuple(path for change in alike for path in change.values["paths"])
        yield kinds.keyword_changed(identity, **{**alike[0].values, "paths": paths})


def _changes(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    if old == new:
        return
    before, after = _type(old), _type(new)
    if before != after:
        narrowed = before == _ANYTHING or after not in _WIDER.get(before, _ONLY_ANYTHING)
        yield kinds.type_changed(*at.where, before, after, at.weight(BREAKING if narrowed else CHANGE))
        # Another type leaves nothing inside to compare.
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


def _bounds(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    for keyword in (*_UPPER, *_LOWER, *_FLAGS, "multipleOf"):
        before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
        if before != after and not (keyword in _FLAGS and not _number(before) and not _number(after)):
            severity = at.weight(BREAKING if _is_tighter(keyword, before, after) else CHANGE)
            yield kinds.bound_changed(*at.where, keyword, before, after, severity)


def _number(value: Any) -> float:
    """A number to compare with; booleans are 0 and 1, and so is what is no number."""
    return value if isinstance(value, (int, float)) else 0


def _is_tighter(keyword: str, old: Any, new: Any) -> bool:
    """Whether a bound lets less through than before."""
    if new is ABSENT:
        return False
    if keyword in _FLAGS:
        return _number(new) > _number(old)
    if keyword == "multipleOf":
        # Multiples of 6 are multiples of 3, but not the other way around.
        return old is ABSENT or not _number(new) or bool(_number(old) % _number(new))
    if old is ABSENT:
        # A length of at least 0 refuses nothing; a minimum of 0 refuses negative numbers.
        return not (keyword in _LOWER and keyword != "minimum" and not _number(new))
    return _number(new) < _number(old) if keyword in _UPPER else _number(new) > _number(old)


def _values(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    for keyword in _PATTERNS:
        before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
        if before != after:
            severity = at.weight(_pattern_severity(before, after))
            yield kinds.pattern_changed(*at.where, keyword, before, after, severity)
    before, after = old.get("enum"), new.get("enum")
    if before != after:
        yield from _enum(before, after, at)
    before, after = old.get("default", ABSENT), new.get("default", ABSENT)
    if before != after:
        yield kinds.default_changed(*at.where, before, after, at.weight(RISK))


def _pattern_severity(old: Any, new: Any) -> Severity:
    """How grave another pattern or format is; the size that a number is said to have mostly fits the numbers."""
    if new is ABSENT:
        return CHANGE
    return RISK if old is ABSENT and new in _OF_NUMBERS else BREAKING


def _enum(old: Any, new: Any, at: _At) -> Iterator[DiffChange]:
    before, after = (_written(values) if isinstance(values, list) else None for values in (old, new))
    removed = tuple(value for value in before or () if value not in (after or ())) if after is not None else ()
    added = tuple(value for value in after or () if value not in (before or ()))
    if not removed and not added and (before is None) == (after is None):
        return
    tightened = bool(removed) or (before is None and after is not None)
    severity = at.weight(BREAKING if tightened else CHANGE)
    yield kinds.enum_changed(*at.where, added, removed, before is None, after is None, severity)


def _written(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(value if isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values)


def _rules(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    before, after = (
        {text(rule.get("rule")): text(rule.get("message")) for rule in mappings(schema.get(_VALIDATIONS))}
        for schema in (old, new)
    )
    # What a CEL rule refuses can't be read from its text, so a new one counts as breaking.
    for rule, message in after.items():
        if rule not in before:
            yield kinds.validation_added(*at.where, rule, message, at.weight(BREAKING))
    for rule in before:
        if rule not in after:
            yield kinds.validation_removed(*at.where, rule)
    for keyword in _KEYWORDS:
        was, now = _keyword(old, keyword), _keyword(new, keyword)
        if was != now and not (keyword == "nullable" and not _number(was) and not _number(now)):
            severity = at.weight(_keyword_severity(keyword, was, now))
            yield kinds.keyword_changed(at.identity, at.version, (at.path,), keyword, was, now, severity)
    was, now = bool(old.get(_PRESERVE)), bool(new.get(_PRESERVE))
    if was != now:
        severity = at.weight(BREAKING if was else CHANGE)
        yield kinds.unknown_fields_changed(*at.where, now, severity)


def _keyword(schema: Schema, keyword: str) -> Any:
    """A keyword of a schema, unless it is the spelling that Kubernetes asks for of an integer or a string."""
    value = schema.get(keyword, ABSENT)
    return ABSENT if schema.get(_INT_OR_STRING) is True and value == _INT_OR_STRING_TYPES else value


def _keyword_severity(keyword: str, old: Any, new: Any) -> Severity:
    """How grave another keyword is. Whether a list or a map is atomic decides on merging, not on what is valid."""
    if keyword == "x-kubernetes-map-type" or (keyword == "x-kubernetes-list-type" and new not in ("set", "map")):
        return NOTE
    return BREAKING if _is_stricter(keyword, old, new) else CHANGE


def _is_stricter(keyword: str, old: Any, new: Any) -> bool:
    """Whether a keyword may refuse what it let through; of combinations that can't be said, so it is assumed."""
    if keyword == "nullable":
        return _number(new) < _number(old)
    if keyword == "anyOf" and isinstance(old, list) and isinstance(new, list):
        return any(choice not in new for choice in old)
    return new is not ABSENT


def _properties(old: Schema, new: Schema, at: _At) -> Iterator[DiffChange]:
    before, after = mapping(old.get("properties")), mapping(new.get("properties"))
    required_before, required_after = texts(old.get("required")), texts(new.get("required"))
    for name in before:
        if name not in after:
            yield from _removed(name, new, at)
    for name in after:
        must = name in required_after
        if name not in before:
            # The server fills in a default before it looks for what is required.
            may_matter = must and mapping(after[name]).get("default") is None
            severity = at.weight(BREAKING if may_matter else CHANGE)
            yield kinds.property_added(*at.below(name).where, must, severity)
        elif must and name not in required_before:
            has_default = mapping(after[name]).get("default") is not None
            severity = at.weight(CHANGE if has_default else BREAKING)
            yield kinds.required_added(*at.below(name).where, has_default, severity)
        elif not must and name in required_before:
            yield kinds.required_removed(*at.below(name).where)
    for name in before:
        if name in after:
            schemas = tuple((version, _property(schema, name)) for version, schema in at.elsewhere)
            yield from _changes(mapping(before[name]), mapping(after[name]), at.below(name, schemas))


def _removed(name: str, new: Schema, at: _At) -> Iterator[DiffChange]:
    kept_in = tuple(version for version, schema in at.elsewhere if name in mapping(schema.get("properties")))
    # Where unknown fields are kept, what the field holds stays, but nothing checks it any more.
    is_open = new.get(_PRESERVE) is True or (new.get("additionalProperties") not in (None, False))
    severity = RISK if kept_in or is_open else BREAKING
    below = at.below(name)
    yield kinds.property_removed(*below.where, kept_in, is_open, below.weight(severity))


def _property(schema: Schema, name: str) -> Schema:
    return mapping(mapping(schema.get("properties")).get(name))


def _inner(old: Any, new: Any, field: str, step: str, at: _At) -> Iterator[DiffChange]:
    """The schema of the items of a list, or of the values of a map (true: anything, false: nothing)."""
    if isinstance(old, dict) and isinstance(new, dict):
        schemas = tuple((version, mapping(schema.get(field))) for version, schema in at.elsewhere)
        yield from _changes(old, new, at.below(step, schemas))
    elif (before := _open(old)) != (after := _open(new)):
        severity = CHANGE if after == _ANYTHING else BREAKING
        yield kinds.type_changed(*at.below(step).where, before, after, at.weight(severity))


def _open(value: Any) -> str:
    if isinstance(value, dict):
        return _type(value)
    return _ANYTHING if value is True else "nothing"
