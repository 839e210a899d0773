"""Parts of a CRD as the API server prints them in errors: the JSON of its internal Go types, with their fields' names.

What is given is what Go keeps of a CRD of v1; what is not set is printed as Go's zero value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmc.gojson import encode_plain
from olmc.kube.field_errors import Shown
from olmc.model.coerce import mapping, mappings

_NULL, _EMPTY, _FALSE, _ZERO = "null", '""', "false", "0"
SCHEMA_FIELDS = {
    "id": ("ID", _EMPTY),
    "$schema": ("Schema", _EMPTY),
    "$ref": ("Ref", _NULL),
    "description": ("Description", _EMPTY),
    "type": ("Type", _EMPTY),
    "nullable": ("Nullable", _FALSE),
    "format": ("Format", _EMPTY),
    "title": ("Title", _EMPTY),
    "default": ("Default", _NULL),
    "maximum": ("Maximum", _NULL),
    "exclusiveMaximum": ("ExclusiveMaximum", _FALSE),
    "minimum": ("Minimum", _NULL),
    "exclusiveMinimum": ("ExclusiveMinimum", _FALSE),
    "maxLength": ("MaxLength", _NULL),
    "minLength": ("MinLength", _NULL),
    "pattern": ("Pattern", _EMPTY),
    "maxItems": ("MaxItems", _NULL),
    "minItems": ("MinItems", _NULL),
    "uniqueItems": ("UniqueItems", _FALSE),
    "multipleOf": ("MultipleOf", _NULL),
    "enum": ("Enum", _NULL),
    "maxProperties": ("MaxProperties", _NULL),
    "minProperties": ("MinProperties", _NULL),
    "required": ("Required", _NULL),
    "items": ("Items", _NULL),
    "allOf": ("AllOf", _NULL),
    "oneOf": ("OneOf", _NULL),
    "anyOf": ("AnyOf", _NULL),
    "not": ("Not", _NULL),
    "properties": ("Properties", _NULL),
    "additionalProperties": ("AdditionalProperties", _NULL),
    "patternProperties": ("PatternProperties", _NULL),
    "dependencies": ("Dependencies", _NULL),
    "additionalItems": ("AdditionalItems", _NULL),
    "definitions": ("Definitions", _NULL),
    "externalDocs": ("ExternalDocs", _NULL),
    "example": ("Example", _NULL),
    "x-kubernetes-preserve-unknown-fields": ("XPreserveUnknownFields", _NULL),
    "x-kubernetes-embedded-resource": ("XEmbeddedResource", _FALSE),
    "x-kubernetes-int-or-string": ("XIntOrString", _FALSE),
    "x-kubernetes-list-map-keys": ("XListMapKeys", _NULL),
    "x-kubernetes-list-type": ("XListType", _NULL),
    "x-kubernetes-map-type": ("XMapType", _NULL),
    "x-kubernetes-validations": ("XValidations", _NULL),
}
"""The keywords of a schema in the order of Go's fields, each with its field and that field's zero value."""

_DOCS = {"description": ("Description", _EMPTY), "url": ("URL", _EMPTY)}
_RULE = {
    "rule": ("Rule", _EMPTY),
    "message": ("Message", _EMPTY),
    "messageExpression": ("MessageExpression", _EMPTY),
    "reason": ("Reason", _NULL),
    "fieldPath": ("FieldPath", _EMPTY),
    "optionalOldSelf": ("OptionalOldSelf", _NULL),
}
_VERSION = {
    "name": ("Name", _EMPTY),
    "served": ("Served", _FALSE),
    "storage": ("Storage", _FALSE),
    "deprecated": ("Deprecated", _FALSE),
    "deprecationWarning": ("DeprecationWarning", _NULL),
    "schema": ("Schema", _NULL),
    "subresources": ("Subresources", _NULL),
    "additionalPrinterColumns": ("AdditionalPrinterColumns", _NULL),
    "selectableFields": ("SelectableFields", _NULL),
}
_SUBRESOURCES = {"status": ("Status", _NULL), "scale": ("Scale", _NULL)}
_SCALE = {
    "specReplicasPath": ("SpecReplicasPath", _EMPTY),
    "statusReplicasPath": ("StatusReplicasPath", _EMPTY),
    "labelSelectorPath": ("LabelSelectorPath", _NULL),
}
_COLUMN = {
    "name": ("Name", _EMPTY),
    "type": ("Type", _EMPTY),
    "format": ("Format", _EMPTY),
    "description": ("Description", _EMPTY),
    "priority": ("Priority", _ZERO),
    "jsonPath": ("JSONPath", _EMPTY),
}
_SELECTABLE = {"jsonPath": ("JSONPath", _EMPTY)}
_MAPS = ("properties", "patternProperties", "definitions")
_LISTS = ("allOf", "oneOf", "anyOf")


def printed_schema(schema: Mapping[str, Any]) -> Shown:
    return Shown(_schema(schema))


def printed_items(items: Any) -> Shown:
    """The `items` of a schema."""
    return Shown(_items(items))


def printed_rule(rule: Mapping[str, Any]) -> Shown:
    """A rule in CEL."""
    return Shown(_object(rule, _RULE, {}))


def printed_versions(versions: Sequence[Mapping[str, Any]] | None) -> Shown:
    """The versions of a CRD; None is printed as null."""
    return Shown(_NULL if versions is None else _list(_version(each) for each in versions))


def _object(value: Mapping[str, Any], fields: Mapping[str, tuple[str, str]], written: Mapping[str, str]) -> str:
    """A Go struct; `written` are fields that are printed already."""
    parts = []
    for key, (name, zero) in fields.items():
        shown = written.get(key) or (_json(value[key]) if value.get(key) is not None else zero)
        parts.append(f'"{name}":{shown}')
    return "{" + ",".join(parts) + "}"


def _json(value: Any) -> str:
    return encode_plain(value).decode()


def _list(parts: Any) -> str:
    return "[" + ",".join(parts) + "]"


def _map(value: Any, shown: Any) -> str:
    return "{" + ",".join(f"{_json(key)}:{shown(value[key])}" for key in sorted(value)) + "}"


def _schema(schema: Any) -> str:
    value = mapping(schema)
    written = {key: _map(value[key], _schema) for key in _MAPS if isinstance(value.get(key), dict)}
    written |= {key: _list(map(_schema, value[key])) for key in _LISTS if isinstance(value.get(key), list)}
    if isinstance(value.get("not"), dict):
        written["not"] = _schema(value["not"])
    if "items" in value:
        written["items"] = _items(value["items"])
    for key in ("additionalProperties", "additionalItems"):
        if value.get(key) is not None:
            written[key] = _schema_or_bool(value[key])
    if isinstance(value.get("dependencies"), dict):
        written["dependencies"] = _map(value["dependencies"], _dependency)
    if isinstance(value.get("externalDocs"), dict):
        written["externalDocs"] = _object(value["externalDocs"], _DOCS, {})
    if isinstance(value.get("x-kubernetes-validations"), list):
        rules = mappings(value["x-kubernetes-validations"])
        written["x-kubernetes-validations"] = _list(_object(rule, _RULE, {}) for rule in rules)
    return _object(value, SCHEMA_FIELDS, written)


def _items(items: Any) -> str:
    one = _schema(items) if isinstance(items, dict) else _NULL
    several = _list(map(_schema, items)) if isinstance(items, list) else _NULL
    return f'{{"Schema":{one},"JSONSchemas":{several}}}'


def _schema_or_bool(value: Any) -> str:
    is_schema = isinstance(value, dict)
    return f'{{"Allows":{_json(is_schema or value is True)},"Schema":{_schema(value) if is_schema else _NULL}}}'


def _dependency(value: Any) -> str:
    schema = _schema(value) if isinstance(value, dict) else _NULL
    return f'{{"Schema":{schema},"Property":{_json(value) if isinstance(value, list) else _NULL}}}'


def _version(version: Mapping[str, Any]) -> str:
    written = {}
    if isinstance(version.get("schema"), dict):
        inner = version["schema"].get("openAPIV3Schema")
        written["schema"] = f'{{"OpenAPIV3Schema":{_NULL if inner is None else _schema(inner)}}}'
    if isinstance(version.get("subresources"), dict):
        written["subresources"] = _subresources(version["subresources"])
    for key, fields in (("additionalPrinterColumns", _COLUMN), ("selectableFields", _SELECTABLE)):
        if isinstance(version.get(key), list):
            written[key] = _list(_object(each, fields, {}) for each in mappings(version[key]))
    return _object(version, _VERSION, written)


def _subresources(value: Mapping[str, Any]) -> str:
    scale = value.get("scale")
    return _object(value, _SUBRESOURCES, {"scale": _object(scale, _SCALE, {})} if isinstance(scale, dict) else {})
