"""Whether a CRD's schema is structural, as the API server wants it to be.

Every field has a type outside of allOf, anyOf, oneOf and not, and below these stands nothing but checks of values that
are described outside of them. A schema is what Go keeps of `openAPIV3Schema`.

Here are also the places in a schema that errors name, and the paths such as `.spec.size` or `.labels['a.b']` by which
rules in CEL and selectable fields lead to one. Not judged: `externalDocs` below allOf and the like, and in `metadata`
at the root, which releases of the API server see differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from olmc.k8s.api import formats as regexp
from olmc.k8s.api.formats import compile_error
from olmc.k8s.api.validation.field import FieldError, Path
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import mapping, mappings, text

Schema = Mapping[str, Any]
Place = Path | tuple["Place", str, str | int | None]
"""The root of a schema; or a place, the field below it, and the key or index in that field, if it has any.

A schema has thousands of places and rarely an error, so a place is a chain of steps that only an error writes out.
"""

META_FIELDS = ("apiVersion", "kind", "metadata")
"""The fields of a resource that the API server looks after itself."""

_NOT_A_FIELD = "does not refer to a valid field"
_END = "unexpected end of JSON path"
# The signs `.`, `[` and `]`, quoted texts, and what stands between them.
_TOKENS = regex(r"'(?:[^']|(?<=\\)')*'?|[.\[\]]|[^.\[\]]+")

_UNSUPPORTED = ("id", "schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_UNTYPED = {
    "root": "must not be empty at the root",
    "items": "must not be empty for specified array items",
    "fields": "must not be empty for specified object fields",
}
_EMBEDDED = "must be object if x-kubernetes-embedded-resource is true"
_INT_OR_STRING = "must be false if x-kubernetes-int-or-string is true"
_ONLY_NAMES = "must not specify anything other than name and generateName, but metadata is implicitly specified"
_BARE_PROPERTIES = (
    "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
)
_NOT_BELOW_CHECKS = (
    ("default", "undefined"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
    ("x-kubernetes-preserve-unknown-fields", "false"),
    ("x-kubernetes-embedded-resource", "false"),
    ("x-kubernetes-int-or-string", "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"),
    ("x-kubernetes-validations", "empty"),
)
_IGNORED = frozenset({"externalDocs", "example", "$schema"})
_LISTS_OF_CHECKS = ("allOf", "anyOf", "oneOf")
_CHECKS = frozenset({*_LISTS_OF_CHECKS, "not"})
_UNCONVERTED = frozenset({*_UNSUPPORTED, "$schema", *_CHECKS, "x-kubernetes-preserve-unknown-fields"})


def _path_to(place: Place) -> Path:
    """A place as messages name it, with the keys that lead to it."""
    steps: list[tuple[str, str | int | None]] = []
    while not isinstance(place, Path):
        place, name, key = place
        steps.append((name, key))
    field, keys = place.field, list(place.keys)
    for name, key in reversed(steps):
        field += f".{name}" if key is None else f".{name}[{key}]"
        keys += [name] if key is None else [name, key]
    return Path(field, tuple(keys))


def at(place: Place, name: str) -> Path:
    """A keyword of the schema in a place."""
    return _path_to((place, name, None))


class FieldPath(NamedTuple):
    """The target of a path: its steps as the API server writes them, and the schema there; or the reason why it has
    none."""

    steps: tuple[str, ...] = ()
    schema: Mapping[str, Any] = {}
    problem: str = ""


def follow(path: str, schema: Mapping[str, Any], *, in_brackets: bool = True) -> FieldPath:
    """Return where a path leads from a structural schema; `in_brackets`: whether a step may stand in brackets."""
    steps: list[str] = []
    tokens = iter(_TOKENS.findall(path))
    for token in tokens:
        if token == "[":
            if not in_brackets:
                return FieldPath(problem="array notation is not allowed")
            name, problem = _quoted_name(next(tokens, None))
        else:
            name = next(tokens, "") if token == "." else ""
            problem = f"expected [ or . but got: {token}" if token != "." else "" if name else _END
        if problem:
            return FieldPath(problem=problem)
        properties, others = mapping(schema.get("properties")), schema.get("additionalProperties")
        if properties and name in properties:
            schema, step = mapping(properties[name]), name
        elif not properties and others is not None:
            schema, step = mapping(others), f"[{name}]"
        else:
            return FieldPath(problem=_NOT_A_FIELD)
        steps.append(step)
        if token == "[" and (problem := _closing_problem(next(tokens, None))):
            return FieldPath(problem=problem)
    return FieldPath(tuple(steps), schema)


def _quoted_name(token: str | None) -> tuple[str, str]:
    """The name in brackets, and what is wrong with it."""
    if token is None:
        return "", _END
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        return "", f"expected single quoted string but got {token}"
    return token[1:-1].replace("\\'", "'").replace("\\\\", "\\"), ""


def _closing_problem(token: str | None) -> str:
    return _END if token is None else f"expected ] but got {token}" if token != "]" else ""


def unusual_fields(schema: Schema, unusual: Set[int]) -> list[tuple[str, Schema]]:
    """The fields in a schema that are among the unusual ones, by name."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return []
    return [(key, mapping(properties[key])) for key in sorted(properties) if id(properties[key]) in unusual]


def conversion_error(schema: Schema, unusual: Set[int] | None = None) -> str:
    """Return why the API server can't make a structural schema of this one, "" if it can. `unusual` is what
    `unusual_schemas` gives for it."""
    unusual = unusual_schemas(schema) if unusual is None else unusual
    if not _UNCONVERTED.isdisjoint(schema) and (problem := _own_conversion_error(schema)):
        return problem
    items, others = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, list) and items:
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    fields = (inner for _, inner in unusual_fields(schema, unusual))
    below = (items, *fields, others) if isinstance(items, dict) else (*fields, others)
    errors = (conversion_error(inner, unusual) for inner in below if isinstance(inner, dict) and id(inner) in unusual)
    return next(filter(None, errors), "")


def _own_conversion_error(schema: Schema) -> str:
    """As `conversion_error`, but for fields and items."""
    for name in _UNSUPPORTED:
        # The message names Go's field, which manifests write as `$schema`.
        value = schema.get("$schema" if name == "schema" else name)
        if value is not None if name == "additionalItems" else value:
            return f"OpenAPIV3Schema '{name}' is not supported"
    for name in ("not", *_LISTS_OF_CHECKS):
        inner = schema.get(name)
        for check in mappings(inner) if isinstance(inner, list) else (mapping(inner),):
            if check and (problem := conversion_error(check)):
                return problem
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    return ""


def structural_errors(schema: Schema, place: Place, unusual: Set[int] | None = None) -> list[FieldError]:
    """Return the reasons why a schema that can be converted is not structural; `place` is its place, and `unusual` is
    the result of `unusual_schemas` for it.

    They come in the order of their texts.
    """
    errors: list[FieldError] = []
    # A list that is filled, as this walks through some megabytes of schema and generators would slow it down.
    _check_structure(schema, place, "root", unusual_schemas(schema) if unusual is None else unusual, errors)
    errors += _missing_outside(schema, schema, place, place)
    return sorted(errors, key=str)


def _check_structure(schema: Schema, place: Place, level: str, unusual: Set[int], errors: list[FieldError]) -> None:
    kind, items, others = schema.get("type"), schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, dict):
        if id(items) in unusual:
            _check_structure(items, (place, "items", None), "items", unusual, errors)
    elif kind == "array":
        errors.append(at(place, "items").required("must be specified"))
    for key, inner in unusual_fields(schema, unusual):
        _check_structure(inner, (place, "properties", key), "fields", unusual, errors)
    if isinstance(others, dict) and id(others) in unusual:
        _check_structure(others, (place, "additionalProperties", None), "fields", unusual, errors)
    if others is not None and level == "root":
        errors.append(at(place, "additionalProperties").forbidden("must not be used at the root"))
    if not kind and not (schema.get("x-kubernetes-int-or-string") or preserves_unknown(schema) or is_embedded(schema)):
        errors.append(at(place, "type").required(_UNTYPED[level]))
    if "x-kubernetes-int-or-string" in schema:
        errors += _int_or_string_errors(schema, place)
    if "pattern" in schema or not _CHECKS.isdisjoint(schema):
        # Kubernetes' own int-or-string fields say their types in an anyOf, so this one form of it is forgiven.
        _check_values(schema, place, _is_int_or_string(schema.get("anyOf")), _starts_int_or_string(schema), errors)
    if level == "root" or is_embedded(schema):
        errors += _resource_errors(schema, place, level)


def preserves_unknown(schema: Schema) -> bool:
    """Return whether fields that a schema doesn't have are kept."""
    return schema.get("x-kubernetes-preserve-unknown-fields") is True


def is_embedded(schema: Schema) -> bool:
    """Return whether a schema is that of a whole object in a field of another one."""
    return schema.get("x-kubernetes-embedded-resource") is True


def _int_or_string_errors(schema: Schema, place: Place) -> Iterator[FieldError]:
    if schema["x-kubernetes-int-or-string"] is not True:
        return
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(name) is True:
            yield at(place, name).invalid(True, _INT_OR_STRING)


def _resource_errors(schema: Schema, place: Place, level: str) -> Iterator[FieldError]:
    """Yield the errors of the schema of a whole resource, at the root or embedded."""
    kind = text(schema.get("type"))
    if is_embedded(schema):
        if not kind:
            yield at(place, "type").required(_EMBEDDED)
        elif kind != "object":
            yield at(place, "type").invalid(kind, _EMBEDDED)
        if schema.get("additionalProperties") is not None:
            detail = "must not be used if x-kubernetes-embedded-resource is set"
            yield at(place, "additionalProperties").forbidden(detail)
        if not preserves_unknown(schema) and not schema.get("properties"):
            yield at(place, "properties").required(_BARE_PROPERTIES)
    if level == "root" and kind not in ("", "object"):
        yield at(place, "type").invalid(kind, "must be object at the root")
    properties = mapping(schema.get("properties"))
    for name, wanted in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        if name in properties and (kind := text(mapping(properties[name]).get("type"))) != wanted:
            yield at((place, "properties", name), "type").invalid(kind, f"must be {wanted}")
    if level == "root" and not _has_only_names(mapping(properties.get("metadata"))):
        yield _path_to((place, "properties", "metadata")).forbidden(_ONLY_NAMES)


def _has_only_names(metadata: Schema) -> bool:
    """Return whether the schema of `metadata` at the root speaks of name and generateName alone."""
    others = {key for key, value in metadata.items() if _is_set(key, value)} - _IGNORED - {"type", "default"}
    return not others or (others == {"properties"} and set(mapping(metadata["properties"])) <= {"name", "generateName"})


def _is_set(key: str, value: Any) -> bool:
    if value is False:
        return key == "additionalProperties"
    return bool(value) or value == 0


def _is_int_or_string(choices: Any) -> bool:
    """Return whether an anyOf is the one that says "integer or string" and nothing else."""
    if not isinstance(choices, list) or len(choices) != 2:
        return False
    wanted = ({"type": "integer"}, {"type": "string"})
    return all(_significant(mapping(choice)) == {**kind} for choice, kind in zip(choices, wanted, strict=True))


def _significant(schema: Schema) -> dict[str, Any]:
    is_closed = schema.get("additionalProperties") is False
    return {
        key: value
        for key, value in schema.items()
        if key not in _IGNORED and not (is_closed and key == "additionalProperties")
    }


def _starts_int_or_string(schema: Schema) -> bool:
    together = mappings(schema.get("allOf"))
    return bool(together) and _is_int_or_string(together[0].get("anyOf"))


def _check_values(schema: Schema, place: Place, skip_any: bool, skip_first: bool, errors: list[FieldError]) -> None:
    """The checks of a schema; `skip_any` and `skip_first` forgive the anyOf here, or in the first allOf, its types."""
    for name in _LISTS_OF_CHECKS:
        if name == "anyOf" and skip_any:
            continue
        for index, inner in enumerate(mappings(schema.get(name))):
            forgiven = skip_first and name == "allOf" and index == 0
            _check_nested(inner, (place, name, index), forgiven, errors)
    if isinstance(schema.get("not"), dict):
        _check_nested(schema["not"], (place, "not", None), False, errors)
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and (problem := regexp.compile_error(pattern)):
        detail = f"must be a valid regular expression, but isn't: {problem}"
        errors.append(at(place, "pattern").invalid(pattern, detail))


def _check_nested(schema: Schema, place: Place, skip_any: bool, errors: list[FieldError]) -> None:
    """A schema below allOf and the like, which may do nothing but check values."""
    _check_values(schema, place, skip_any, False, errors)
    if isinstance(schema.get("items"), dict):
        _check_nested(schema["items"], (place, "items", None), False, errors)
    properties = mapping(schema.get("properties"))
    for key in sorted(properties):
        _check_nested(mapping(properties[key]), (place, "properties", key), False, errors)
    if schema.get("type"):
        errors.append(at(place, "type").forbidden("must be empty to be structural"))
    others = schema.get("additionalProperties")
    if others is True or isinstance(others, dict):
        errors.append(at(place, "additionalProperties").forbidden("must be undefined to be structural"))
    for name, wanted in _NOT_BELOW_CHECKS:
        value = schema.get(name)
        if value is not None if wanted == "undefined" else value:
            errors.append(at(place, name).forbidden(f"must be {wanted} to be structural"))
    if "metadata" in properties:
        metadata = _path_to((place, "properties", "metadata"))
        errors.append(metadata.forbidden("must not be specified in a nested context"))


def _missing_outside(checks: Schema, schema: Schema, place: Place, checked: Place) -> Iterator[FieldError]:
    """The fields that stand below allOf and the like and not beside them; `checked` is the place of the checks."""
    if isinstance(checks.get("not"), dict):
        yield from _missing_below(checks["not"], schema, place, (checked, "not", None))
    for name in _LISTS_OF_CHECKS:
        for index, inner in enumerate(mappings(checks.get(name))):
            yield from _missing_below(inner, schema, place, (checked, name, index))


def _missing_below(checks: Schema, schema: Schema, place: Place, checked: Place) -> Iterator[FieldError]:
    yield from _missing_outside(checks, schema, place, checked)
    if isinstance(checks.get("items"), dict):
        below: tuple[Place, Place] = ((place, "items", None), (checked, "items", None))
        if isinstance(schema.get("items"), dict):
            yield from _missing_below(checks["items"], schema["items"], *below)
        else:
            yield _missing(*below)
    properties, known = mapping(checks.get("properties")), mapping(schema.get("properties"))
    for key in sorted(properties):
        below = ((place, "properties", key), (checked, "properties", key))
        if key in known:
            yield from _missing_below(mapping(properties[key]), mapping(known[key]), *below)
        else:
            yield _missing(*below)


def _missing(place: Place, checked: Place) -> FieldError:
    return _path_to(place).required(f"because it is defined in {_path_to(checked).field}")


_SCALARS = ("string", "integer", "boolean", "number")
_HARMLESS = frozenset(
    {"type", "description", "title", "format", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems"}
    | {"maxItems", "minProperties", "maxProperties", "required", "nullable"}
)
_PRESERVE, _TAKES_BOTH = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
_LIST_TYPE, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-map-type"
_SPECIAL = frozenset({"pattern", "anyOf", _PRESERVE, _TAKES_BOTH, _LIST_TYPE, _MAP_TYPE})
_KNOWN = _HARMLESS | _SPECIAL | {"properties", "items", "additionalProperties"}
_NESTING = frozenset({"not", "allOf", "oneOf", "definitions", "dependencies", "patternProperties", "additionalItems"})
_EITHER = [{"type": "integer"}, {"type": "string"}]


def unusual_schemas(schema: Mapping[str, Any]) -> Set[int]:
    """The identity of each schema in a schema in which, or below which, a rule may find something."""
    unusual: set[int] = set()
    _collect(schema, unusual)
    return unusual


def _collect(schema: Mapping[str, Any], unusual: set[int]) -> bool:
    """Return whether a schema is unusual, which is noted as well, and so are those in it."""
    is_known, choices = _KNOWN.issuperset(schema), schema.get("anyOf")
    if (not is_known and not _NESTING.isdisjoint(schema)) or (choices is not None and choices != _EITHER):
        _note_all(schema, unusual)
        return True
    is_unusual = not is_known
    properties, items, others = schema.get("properties"), schema.get("items"), schema.get("additionalProperties")
    if properties.__class__ is dict:
        for inner in properties.values():
            if inner.__class__ is dict:
                if _HARMLESS.issuperset(inner) and inner.get("type") in _SCALARS:
                    continue
                is_unusual |= _collect(inner, unusual)
            else:
                unusual.add(id(inner))
                is_unusual = True
    elif properties is not None:
        is_unusual = True
    for inner in (items, others):
        if inner.__class__ is dict:
            is_unusual |= _collect(inner, unusual)
        elif inner is not None:
            _note_all(inner, unusual)
            is_unusual = True
    if is_unusual or (properties and others is not None) or not _is_ordinary(schema, items):
        unusual.add(id(schema))
        return True
    return False


def _is_ordinary(schema: Mapping[str, Any], items: Any) -> bool:
    """Return whether a schema is right as far as it can be determined from its own keywords, all of which are known."""
    kind = schema.get("type")
    if kind == "array":
        if items is None:
            return False
    elif kind != "object" and kind not in _SCALARS and (kind or not (_PRESERVE in schema or _TAKES_BOTH in schema)):
        return False
    if _SPECIAL.isdisjoint(schema):
        return True
    pattern = schema.get("pattern", "")
    return (
        isinstance(pattern, str)
        and not compile_error(pattern)
        and all(schema[name] is True for name in (_PRESERVE, _TAKES_BOTH) if name in schema)
        and not (_PRESERVE in schema and _TAKES_BOTH in schema)
        and schema.get(_LIST_TYPE, "atomic") == "atomic"
        and schema.get(_MAP_TYPE, "atomic") in ("atomic", "granular")
        and (_LIST_TYPE not in schema or kind == "array")
        and (_MAP_TYPE not in schema or kind == "object")
    )


def _note_all(value: Any, unusual: set[int]) -> None:
    """Note all values inside a value that may be a schema."""
    unusual.add(id(value))
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _note_all(inner, unusual)
