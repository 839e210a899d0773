"""Values and defaults of a CRD's OpenAPI schema, judged as the API server does and in its words (R-CAT-723).

As there, every check of a value reports by itself. Of a choice olmc reports the branch with the most checks that held.
Rules in CEL are in `cel_rules`. The API server has no order of fields; olmc sorts them by name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from olmc.k8s.api import formats as regexp
from olmc.k8s.api.formats import conforms, supports
from olmc.k8s.api.validation.field import FieldError, JsonText, Path, aggregated
from olmc.k8s.api.validation.metadata import kind_problems, metadata_errors, path_segment_problems
from olmc.k8s.api.validation.structural_schema import (
    META_FIELDS,
    Place,
    at,
    is_embedded,
    preserves_unknown,
    unusual_fields,
)
from olmc.k8s.gojson import DecodeError, decode, encode_plain
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import mapping, text
from olmc.k8s.strconv import number_text, quoted

_NUMBER_BOUNDS = (
    ("minimum", "exclusiveMinimum", operator.ge, operator.gt, "greater"),
    ("maximum", "exclusiveMaximum", operator.le, operator.lt, "less"),
)
_NEARLY = 1e-9
"""The largest distance of a quotient from an integer, as a part of it, to count as one."""


class _ValuePlace(NamedTuple):
    """The place of a value: the whole value, the path below it, and whether formats count that the API server does not
    know."""

    whole: Path
    path: str = ""
    any_format: bool = False

    def below(self, step: str) -> _ValuePlace:
        return self._replace(path=self.path + step)

    @property
    def full(self) -> Path:
        return self.whole.called(self.path.removeprefix(".")) if self.path else self.whole


class _ValueResult(NamedTuple):
    """The errors of a value, and the number of successful checks of it and of its fields."""

    problems: tuple[FieldError, ...] = ()
    held: int = 0


_Check = Callable[[Mapping[str, Any], Any, _ValuePlace], _ValueResult]


def violations(schema: Mapping[str, Any], obj: Mapping[str, Any]) -> str:
    """Return the problem of an object, "" if nothing: one text as it is, several in brackets."""
    problems = _validate(schema, obj, _ValuePlace(Path("[]"))).problems
    return aggregated(problems) if problems else ""


def value_errors(schema: Mapping[str, Any], obj: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors of an object, one error each, by the places of its fields."""
    return list(_validate(schema, obj, _ValuePlace(Path())).problems)


def default_errors(schema: Mapping[str, Any], value: Any, path: Path) -> list[FieldError]:
    """Return the errors of a schema's own default, which stands at `path`.

    Here, unlike in a custom resource, texts may have any format: the API server keeps those that it doesn't know.
    """
    return list(_validate(schema, value, _ValuePlace(path, any_format=True)).problems)


def _validate(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> _ValueResult:
    # Null has a type, and may be among the choices; no other check concerns it.
    if value is None:
        return _combine([_type(schema, value, at), _enumeration(schema, value, at)])
    checks = _checks_of(schema, value, at)
    return _combine([check(schema, value, at) for check in checks], len(checks) + 1)


def _checks_of(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> list[_Check]:
    """The checks that concern a value, in the order of the API server."""
    checks: list[_Check] = [_type] if _types(schema, at) or _format(schema, at) else []
    checks.append(_combinations)
    if isinstance(value, str):
        checks += [_text, _format_of_text] if _is_checked(_format(schema, at)) else [_text]
    elif isinstance(value, list):
        checks.append(_items)
    elif _is_number(value):
        checks.append(_number)
    checks.append(_enumeration)
    if isinstance(value, dict):
        checks.append(_properties)
    return checks


def _combine(parts: Iterable[_ValueResult], held: int = 0) -> _ValueResult:
    known = tuple(parts)
    problems = dict.fromkeys(problem for part in known for problem in part.problems)
    return _ValueResult(tuple(problems), held + sum(part.held for part in known))


def _invalid(at: _ValuePlace, value: Any, text: str) -> _ValueResult:
    shown = value if isinstance(value, str) else JsonText(_shown(value))
    return _ValueResult((at.full.invalid(shown, f"{at.path} in body {text}"),))


def _too_many(at: _ValuePlace, number: int, most: int) -> _ValueResult:
    detail = f"must have at most {most} item{'' if most == 1 else 's'}"
    return _ValueResult((at.full.too_many(number, most)._replace(detail=detail),))


def _composite(at: _ValuePlace, text: str) -> FieldError:
    """A problem of several schemas together, which has no place but the whole's."""
    return at.whole.invalid("", f"{quoted(at.path)} must {text}")


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else encode_plain(value).decode()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")


def _types(schema: Mapping[str, Any], at: _ValuePlace) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string") is True and not at.any_format:
        return ("integer", "string")
    wanted = schema.get("type")
    return (wanted,) if isinstance(wanted, str) and wanted else ()


def _format(schema: Mapping[str, Any], at: _ValuePlace) -> str:
    name = schema.get("format")
    return name if isinstance(name, str) and (at.any_format or _is_checked(name)) else ""


def _is_checked(name: str) -> bool:
    """Return whether texts of a format are checked."""
    if not name:
        return False

    return supports(name)


def _length(schema: Mapping[str, Any], bound: str) -> int | None:
    value = schema.get(bound)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _type(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> _ValueResult:
    types, name, kind = _types(schema, at), _format(schema, at), _kind(value)
    held = _ValueResult(held=1)
    if value is None:
        return held if not types or schema.get("nullable") is True else _of_type(at, ",".join(types), kind)
    is_whole = isinstance(value, float) and value.is_integer() and "integer" in types
    if kind in types or is_whole or (kind == "integer" and "number" in types):
        return held
    if name and kind in ("string", "array"):
        return held if not {"integer", "number"} & {*types} else _of_type(at, ",".join(types), kind)
    # Where a schema has a format, go-openapi compares that with the value's and says nothing of the type.
    own_format = {"integer": "int64", "number": "float64"}.get(kind, "")
    if name and name != own_format:
        return _of_type(at, name, own_format)
    return _of_type(at, ",".join(types), kind)


def _of_type(at: _ValuePlace, wanted: str, kind: str) -> _ValueResult:
    return _invalid(at, kind, f"must be of type {wanted}: {quoted(kind)}")


def _text(schema: Mapping[str, Any], value: str, at: _ValuePlace) -> _ValueResult:
    most, least, pattern = _length(schema, "maxLength"), _length(schema, "minLength"), schema.get("pattern")
    # The message speaks of bytes, but go-openapi counts characters; and of a text it reports one problem.
    if most is not None and len(value) > most:
        detail = f"may not be more than {most} byte{'' if most == 1 else 's'}"
        return _ValueResult((at.full.too_long(most)._replace(detail=detail),))
    if least is not None and len(value) < least:
        return _invalid(at, value, f"should be at least {least} chars long")
    if isinstance(pattern, str) and pattern and not regexp.search(pattern, value):
        return _invalid(at, value, f"should match '{pattern}'")
    return _ValueResult()


def _format_of_text(schema: Mapping[str, Any], value: str, at: _ValuePlace) -> _ValueResult:
    name = _format(schema, at)
    if conforms(name, value):
        return _ValueResult()
    return _invalid(at, value, f"must be of type {name}: {quoted(value)}")


def _number(schema: Mapping[str, Any], value: float, at: _ValuePlace) -> _ValueResult:
    return _combine([_ValueResult(held=1), *_number_problems(schema, value, at)])


def _number_problems(schema: Mapping[str, Any], value: float, at: _ValuePlace) -> Iterator[_ValueResult]:
    factor = schema.get("multipleOf", 0)
    if _is_number(factor) and not _is_multiple(value, _alike(value, factor)):
        yield _invalid(at, value, f"should be a multiple of {number_text(_alike(value, factor))}")
    for bound_key, exclusive_key, may_equal, must_differ, words in _NUMBER_BOUNDS:
        if _is_number(schema.get(bound_key)):
            bound, exclusive = _alike(value, schema[bound_key]), schema.get(exclusive_key) is True
            if not (must_differ if exclusive else may_equal)(value, bound):
                or_equal = "" if exclusive else "or equal to "
                yield _invalid(at, value, f"should be {words} than {or_equal}{number_text(bound)}")


def _alike(value: float, bound: float) -> float:
    """A bound as what the value is: for integers Go cuts off its fraction."""
    return int(bound) if isinstance(value, int) else float(bound)


def _is_multiple(value: float, factor: float) -> bool:
    if not factor:
        return True
    if isinstance(value, int):
        return value % int(factor) == 0
    quotient = 1 / factor * value if factor < 1 else value / factor
    rest = abs(quotient - int(quotient))
    return rest == 0 or rest / (abs(quotient) + abs(int(quotient))) < _NEARLY


def _items(schema: Mapping[str, Any], value: Sequence[Any], at: _ValuePlace) -> _ValueResult:
    parts = [_ValueResult(held=1)]
    if isinstance(schema.get("items"), Mapping):
        parts += [_validate(schema["items"], item, at.below(f"[{index}]")) for index, item in enumerate(value)]
    least, most = _length(schema, "minItems"), _length(schema, "maxItems")
    if least is not None and len(value) < least:
        parts.append(_invalid(at, len(value), f"should have at least {least} items"))
    if most is not None and len(value) > most:
        parts.append(_too_many(at, len(value), most))
    return _combine(parts)


def _enumeration(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> _ValueResult:
    choices = schema.get("enum")
    # True equals 1 in Python, but not in JSON.
    if (
        not isinstance(choices, list)
        or not choices
        or any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices)
    ):
        return _ValueResult()
    supported = [choice if isinstance(choice, str) else encode_plain(choice).decode() for choice in choices]
    shown = "null" if value is None else value if isinstance(value, str) else JsonText(_shown(value))
    return _ValueResult((at.full.unsupported(shown, supported),))


def _properties(schema: Mapping[str, Any], value: Mapping[str, Any], at: _ValuePlace) -> _ValueResult:
    least, most = _length(schema, "minProperties"), _length(schema, "maxProperties")
    if least is not None and len(value) < least:
        return _invalid(at, len(value), f"should have at least {least} properties")
    if most is not None and len(value) > most:
        return _too_many(at, len(value), most)
    properties, others = mapping(schema.get("properties")), schema.get("additionalProperties")
    parts = []
    for key, item in sorted(value.items()):
        if key in properties:
            parts.append(_validate(mapping(properties[key]), item, at.below(f".{key}" if at.path else key)))
        elif isinstance(others, Mapping):
            # Unlike declared ones, additional properties have a dot in front even at the root.
            parts.append(_validate(others, item, at.below(f".{key}")))
        elif others is False:
            detail = f"{at.path}.{key} in body is a forbidden property"
            parts.append(_ValueResult((at.full.invalid(key, detail),)))
    for key in schema.get("required") or ():
        if key not in value:
            parts.append(_ValueResult((at.below(f".{key}").full.required(),)))
    return _combine(parts)


def _combinations(schema: Mapping[str, Any], value: Any, at: _ValuePlace) -> _ValueResult:
    def judge(key: str) -> list[_ValueResult]:
        inner = schema.get(key)
        return [_validate(mapping(branch), value, at) for branch in inner] if isinstance(inner, list) else []

    parts = [_ValueResult(held=1)]
    parts += _any_of(judge("anyOf"), at)
    parts += _one_of(judge("oneOf"), at)
    parts += _all_of(judge("allOf"), at)
    if isinstance(schema.get("not"), Mapping) and not _validate(schema["not"], value, at).problems:
        parts.append(_ValueResult((_composite(at, "not validate the schema (not)"),)))
    return _combine(parts)


def _any_of(results: Sequence[_ValueResult], at: _ValuePlace) -> Iterator[_ValueResult]:
    # As in Go's library, the branch that held most explains best why none does.
    fitting = next((result for result in results if not result.problems), None)
    if fitting is not None:
        yield fitting
    elif results:
        yield _ValueResult((_composite(at, "validate at least one schema (anyOf)"),))
        yield max(results, key=lambda result: result.held)


def _one_of(results: Sequence[_ValueResult], at: _ValuePlace) -> Iterator[_ValueResult]:
    fitting = [result for result in results if not result.problems]
    if len(fitting) == 1:
        yield fitting[0]
    elif results:
        number = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
        yield _ValueResult((_composite(at, f"validate one and only one schema (oneOf). {number}"),))
        if not fitting:
            yield max(results, key=lambda result: result.held)


def _all_of(results: Sequence[_ValueResult], at: _ValuePlace) -> Iterator[_ValueResult]:
    yield from results
    failed = sum(bool(result.problems) for result in results)
    if failed:
        none = ". None validated" if failed == len(results) else ""
        yield _ValueResult((_composite(at, f"validate all the schemas (allOf){none}"),))


Schema = Mapping[str, Any]

_PLAIN_FIELD = frozenset({"type", "default", "description", "title"})
_PLAIN_TYPES: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer"}
_OBJECT_META = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"
_STANDS_FOR_ALL = {"apiVersion": "validation/v1", "kind": "Validation"}


def schema_default_errors(schema: Schema, place: Place, unusual: Set[int], *, pruned: bool = True) -> list[FieldError]:
    """Return the errors of the defaults of a structural schema that stands at `place`.

    `unusual` is what `unusual_schemas` gives for it: no other has a default.
    `pruned`: whether fields that the schema does not know are an error.
    """
    errors: list[FieldError] = []
    # What holds for an embedded resource holds for the one around it, so the root is marked as one.
    root = {**schema, "x-kubernetes-embedded-resource": True}
    # A list that is filled, for the walk through a schema is long.
    _check(root, place, _Resource(root, (), False), unusual, pruned, errors)
    return errors


class _Resource(NamedTuple):
    """The resource that a schema is a part of, where in it, and whether that is in apiVersion, kind or metadata."""

    root: Schema
    path: tuple[str | int, ...]
    in_meta: bool

    def below(self, step: str | int, is_meta: bool = False) -> _Resource:
        return _Resource(self.root, (*self.path, step), self.in_meta or is_meta)


def _check(
    schema: Schema, place: Place, resource: _Resource, unusual: Set[int], pruned: bool, errors: list[FieldError]
) -> None:
    """The defaults of a schema and of those in it."""
    is_resource = is_embedded(schema)
    if is_resource:
        resource = _Resource(schema, (), False)
    if schema.get("default") is not None:
        in_meta = resource.in_meta
        errors += _meta_errors(schema, place, resource) if in_meta else _errors(schema, place, pruned)
    # Defaults below additionalProperties are not looked at.
    items = schema.get("items")
    if isinstance(items, dict) and id(items) in unusual:
        _check(items, (place, "items", None), resource.below(0), unusual, pruned, errors)
    for key, inner in unusual_fields(schema, unusual):
        below = resource.below(key, is_resource and key in META_FIELDS)
        _check(inner, (place, "properties", key), below, unusual, pruned, errors)


def has_unknown_fields(schema: Schema) -> bool:
    """Return whether a schema's own default has fields that it does not know."""
    return schema.get("default") is not None and _is_pruned(schema["default"], schema)


def _errors(schema: Schema, place: Place, pruned: bool) -> Iterator[FieldError]:
    value = schema["default"]
    if schema.keys() <= _PLAIN_FIELD and _PLAIN_TYPES.get(type(value)) == schema.get("type"):
        return  # most defaults are a word or a number, of which only the type is looked at
    here = at(place, "default")
    if pruned and has_unknown_fields(schema):
        yield here.invalid(_shown_default(value), "must not have unknown fields")
    wrong = list(_resource_errors(value, schema, here))
    yield from wrong or default_errors(schema, value, here)


def _meta_errors(schema: Schema, place: Place, resource: _Resource) -> Iterator[FieldError]:
    """Yield the errors of a default that is a part of a resource's apiVersion, kind or metadata."""
    value, here = schema["default"], at(place, "default")
    # Whether metadata is sound shows only in a resource, so one is built around the default.
    whole = value
    for step in reversed(resource.path):
        whole = [whole] if step == 0 else {step: whole}
    wrong = list(_resource_errors({**mapping(whole), **_STANDS_FOR_ALL}, resource.root, Path()))
    if wrong:
        yield here.invalid(_shown_default(value), f"must result in valid metadata: {aggregated(wrong)}")
    else:
        yield from default_errors(schema, value, here)


def _shown_default(value: Any) -> Any:
    return value if isinstance(value, str | bool | int) else JsonText(encode_plain(value).decode())


def stored_object(obj: Mapping[str, Any], schema: Any) -> Mapping[str, Any]:
    """An object without the fields that the API server drops when it is written, since its schema does not have
    them; the metadata of the object stays."""
    kept = _kept({key: value for key, value in obj.items() if key not in META_FIELDS}, schema)
    return {key: kept.get(key, value) for key, value in obj.items() if key in META_FIELDS or key in kept}


def _kept(value: Any, schema: Any, keeps_unknown: bool = False) -> Any:
    """A value without the fields that `_is_pruned` finds."""
    known = mapping(schema)
    keeps_unknown = keeps_unknown or preserves_unknown(known)
    if isinstance(value, list):
        return [_kept(item, known.get("items"), keeps_unknown) for item in value]
    if not isinstance(value, dict):
        return value
    properties, others = mapping(known.get("properties")), known.get("additionalProperties")
    kept = {}
    for key, item in value.items():
        if is_embedded(known) and key in META_FIELDS:
            kept[key] = item
        elif key in properties or others is not None:
            kept[key] = _kept(item, properties.get(key, others))
        elif keeps_unknown:
            kept[key] = item
    return kept


def _is_pruned(value: Any, schema: Any, keeps_unknown: bool = False) -> bool:
    """Return whether the API server would take a field out of a value, which `keeps_unknown` ones for what it stands
    in."""
    known = mapping(schema)
    keeps_unknown = keeps_unknown or preserves_unknown(known)
    if isinstance(value, list):
        items = known.get("items")
        is_looked_at = isinstance(items, dict) or not keeps_unknown
        return is_looked_at and any(_is_pruned(item, items, keeps_unknown) for item in value)
    if not isinstance(value, dict):
        return False
    properties, others = mapping(known.get("properties")), known.get("additionalProperties")
    for key, item in value.items():
        if is_embedded(known) and key in META_FIELDS:
            continue
        if key in properties or others is not None:
            if _is_pruned(item, properties.get(key, others)):
                return True
        elif not keeps_unknown:
            return True
    return False


def _resource_errors(value: Any, schema: Any, here: Path) -> Iterator[FieldError]:
    """Yield the errors of the apiVersions, kinds and metadata of embedded resources in a value.

    A value of another type is one error, and the only one that the API server reports.
    """
    misfit = next(_misfits(value, schema, here), None)
    if misfit is not None:
        yield misfit
    else:
        yield from _resources(value, schema, here)


def _below(value: Any, schema: Any, here: Path) -> Iterator[tuple[Any, Any, Path]]:
    """The values in a value, with their schemas and places."""
    known = mapping(schema)
    properties, others = mapping(known.get("properties")), known.get("additionalProperties")
    if isinstance(value, dict):
        for key in sorted(value):
            if key in properties:
                yield value[key], properties[key], here.child(key)
            elif isinstance(others, dict):
                yield value[key], others, here.key(key)
    elif isinstance(value, list) and isinstance(known.get("items"), dict):
        for index, item in enumerate(value):
            yield item, known["items"], here.item(index)


def _misfits(value: Any, schema: Any, here: Path) -> Iterator[FieldError]:
    if isinstance(value, dict) and is_embedded(mapping(schema)):
        for name in ("apiVersion", "kind"):
            if name in value and not isinstance(value[name], str):
                yield here.child(name).invalid(_shown_default(value[name]), "must be a string")
        if "metadata" in value:
            try:
                decode(_OBJECT_META, value["metadata"], exact=True)
            except DecodeError as error:
                yield here.child("metadata").invalid(_shown_default(value["metadata"]), str(error))
    for inner in _below(value, schema, here):
        yield from _misfits(*inner)


def _resources(value: Any, schema: Any, here: Path) -> Iterator[FieldError]:
    if isinstance(value, dict) and is_embedded(mapping(schema)):
        yield from _type_errors(value, here)
        yield from _metadata_errors(value, here)
    for inner in _below(value, schema, here):
        yield from _resources(*inner)


def _type_errors(value: Mapping[str, Any], here: Path) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        path, written = here.child(name), text(value.get(name))
        if not written:
            yield path.required()
        elif name == "apiVersion" and written.count("/") > 1:
            yield path.invalid(written, f"unexpected GroupVersion string: {written}")
        elif name == "kind":
            yield from path.all_invalid(written, kind_problems(written))


def _metadata_errors(value: Mapping[str, Any], here: Path) -> Iterator[FieldError]:
    if "metadata" not in value:
        return
    # Every object needs a name, but a default need not give it one.
    metadata = {"name": "fakename"} | {key: field for key, field in mapping(value["metadata"]).items() if field}
    namespaced = bool(metadata.get("namespace"))
    for error in metadata_errors({"metadata": metadata}, path_segment_problems, namespaced=namespaced):
        field = here.child(error.field).field
        yield error._replace(field=field, keys=(*here.keys, *error.keys))
