"""Which parts of a CRD's schema are so ordinary that no rule finds anything in them: nearly all are.

Every rule about schemas walks through one, and there are half a dozen; a schema of a megabyte has ten thousands of
parts. So one walk tells what the others may leave out.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from olmc.k8s.api.formats import compile_error

_SCALARS = ("string", "integer", "boolean", "number")
_HARMLESS = frozenset(
    {"type", "description", "title", "format", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems"}
    | {"maxItems", "minProperties", "maxProperties", "required", "nullable"}
)
_PRESERVE, _INT_OR_STRING = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
_LIST_TYPE, _MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-map-type"
_SPECIAL = frozenset({"pattern", "anyOf", _PRESERVE, _INT_OR_STRING, _LIST_TYPE, _MAP_TYPE})
_KNOWN = _HARMLESS | _SPECIAL | {"properties", "items", "additionalProperties"}
_NESTING = frozenset({"not", "allOf", "oneOf", "definitions", "dependencies", "patternProperties", "additionalItems"})
_EITHER = [{"type": "integer"}, {"type": "string"}]


def unusual_schemas(schema: Mapping[str, Any]) -> Set[int]:
    """The identity of each schema in a schema in which, or below which, a rule may find something."""
    unusual: set[int] = set()
    _collect(schema, unusual)
    return unusual


def _collect(schema: Mapping[str, Any], unusual: set[int]) -> bool:
    """Whether a schema is unusual, which is noted as well, and so are those in it."""
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
    """Whether a schema is right as far as it can be determined from its own keywords, all of which are known."""
    kind = schema.get("type")
    if kind == "array":
        if items is None:
            return False
    elif kind != "object" and kind not in _SCALARS and (kind or not (_PRESERVE in schema or _INT_OR_STRING in schema)):
        return False
    if _SPECIAL.isdisjoint(schema):
        return True
    pattern = schema.get("pattern", "")
    return (
        isinstance(pattern, str)
        and not compile_error(pattern)
        and all(schema[name] is True for name in (_PRESERVE, _INT_OR_STRING) if name in schema)
        and not (_PRESERVE in schema and _INT_OR_STRING in schema)
        and schema.get(_LIST_TYPE, "atomic") == "atomic"
        and schema.get(_MAP_TYPE, "atomic") in ("atomic", "granular")
        and (_LIST_TYPE not in schema or kind == "array")
        and (_MAP_TYPE not in schema or kind == "object")
    )


def _note_all(value: Any, unusual: set[int]) -> None:
    """Note whatever stands in a value that may be a schema."""
    unusual.add(id(value))
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _note_all(inner, unusual)
