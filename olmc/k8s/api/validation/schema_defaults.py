"""The defaults in a CRD's structural schema, which the API server judges as if somebody had written them.

A default must hold no field that would be pruned, the apiVersions, kinds and metadata of resources in it must be sound,
and it must fit its own schema. Not judged: rules in CEL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from olmc.k8s.api.validation.field import FieldError, JsonText, Path, aggregated
from olmc.k8s.api.validation.metadata import kind_problems, metadata_errors, path_segment_problems
from olmc.k8s.api.validation.schema_values import default_errors
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

Schema = Mapping[str, Any]

_PLAIN_FIELD = frozenset({"type", "default", "description", "title"})
_PLAIN_TYPES: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer"}
_OBJECT_META = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta"
_STANDS_FOR_ALL = {"apiVersion": "validation/v1", "kind": "Validation"}


def schema_default_errors(schema: Schema, place: Place, unusual: Set[int], *, pruned: bool = True) -> list[FieldError]:
    """What is wrong with the defaults of a structural schema that stands at `place`.

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
    """Whether a schema's own default has fields that it does not know."""
    return schema.get("default") is not None and _is_pruned(schema["default"], schema)


def _errors(schema: Schema, place: Place, pruned: bool) -> Iterator[FieldError]:
    value = schema["default"]
    if schema.keys() <= _PLAIN_FIELD and _PLAIN_TYPES.get(type(value)) == schema.get("type"):
        return  # most defaults are a word or a number, of which only the type is looked at
    here = at(place, "default")
    if pruned and has_unknown_fields(schema):
        yield here.invalid(_shown(value), "must not have unknown fields")
    wrong = list(_resource_errors(value, schema, here))
    yield from wrong or default_errors(schema, value, here)


def _meta_errors(schema: Schema, place: Place, resource: _Resource) -> Iterator[FieldError]:
    """What is wrong with a default that is a part of a resource's apiVersion, kind or metadata."""
    value, here = schema["default"], at(place, "default")
    # Whether metadata is sound shows only in a resource, so one is built around the default.
    whole = value
    for step in reversed(resource.path):
        whole = [whole] if step == 0 else {step: whole}
    wrong = list(_resource_errors({**mapping(whole), **_STANDS_FOR_ALL}, resource.root, Path()))
    if wrong:
        yield here.invalid(_shown(value), f"must result in valid metadata: {aggregated(wrong)}")
    else:
        yield from default_errors(schema, value, here)


def _shown(value: Any) -> Any:
    return value if isinstance(value, str | bool | int) else JsonText(encode_plain(value).decode())


def _is_pruned(value: Any, schema: Any, keeps_unknown: bool = False) -> bool:
    """Whether the API server would take a field out of a value, which `keeps_unknown` ones for what it stands in."""
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
    """What is wrong with the apiVersions, kinds and metadata of embedded resources in a value.

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
                yield here.child(name).invalid(_shown(value[name]), "must be a string")
        if "metadata" in value:
            try:
                decode(_OBJECT_META, value["metadata"], exact=True)
            except DecodeError as error:
                yield here.child("metadata").invalid(_shown(value["metadata"]), str(error))
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
