"""Custom resources against the structural schema of a CRD, in the words of the API server (R-CAT-723).

Patterns are not checked: they come from strangers, and Python's matcher can be kept busy for ever by one.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.model.values import mapping

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
_NUMBERS = (
    ("minimum", "exclusiveMinimum", operator.ge, "greater"),
    ("maximum", "exclusiveMaximum", operator.le, "less"),
)


def violations(schema: Mapping[str, Any], obj: Mapping[str, Any]) -> str:
    """What is wrong with an object, "" if nothing: one text as it is, several in brackets."""
    properties = mapping(schema.get("properties"))
    inner = {key: value for key, value in properties.items() if key not in ("apiVersion", "kind", "metadata")}
    body = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    found = [f"[].{text}" for text in _problems({**schema, "properties": inner}, body, "")]
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _problems(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    if value is None and schema.get("nullable") is True:
        return
    wanted = schema.get("type")
    if schema.get("x-kubernetes-int-or-string") is True:
        if isinstance(value, bool) or not isinstance(value, int | str):
            yield _invalid(path, value, "must be of type integer,string")
        return
    if isinstance(wanted, str) and not _has_type(wanted, value):
        shown = "null" if value is None else _kind(value)
        yield f'{path}: Invalid value: "{shown}": {path} in body must be of type {wanted}: "{shown}"'
        return
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        supported = ", ".join(json.dumps(choice) for choice in choices)
        yield f"{path}: Unsupported value: {json.dumps(value)}: supported values: {supported}"
    if isinstance(value, dict):
        yield from _object_problems(schema, value, path)
    elif isinstance(value, list):
        yield from _list_problems(schema, value, path)
    elif isinstance(value, str):
        yield from _size_problems(schema, value, path, ("minLength", "maxLength"), "be", "chars long")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_problems(schema, value, path)


def _has_type(wanted: str, value: Any) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(wanted, object))


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")


def _invalid(path: str, value: Any, text: str) -> str:
    return f"{path}: Invalid value: {json.dumps(value, ensure_ascii=False)}: {path} in body {text}"


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _object_problems(schema: Mapping[str, Any], value: dict[str, Any], path: str) -> Iterator[str]:
    for key in schema.get("required") or ():
        if key not in value:
            yield f"{_below(path, key)}: Required value"
    properties = mapping(schema.get("properties"))
    others = schema.get("additionalProperties")
    for key, item in sorted(value.items()):
        if isinstance(properties.get(key), Mapping):
            yield from _problems(properties[key], item, _below(path, key))
        elif key not in properties and isinstance(others, Mapping):
            yield from _problems(others, item, _below(path, key))


def _list_problems(schema: Mapping[str, Any], value: list[Any], path: str) -> Iterator[str]:
    yield from _size_problems(schema, value, path, ("minItems", "maxItems"), "have", "items")
    for index, item in enumerate(value):
        yield from _problems(mapping(schema.get("items")), item, f"{path}[{index}]")


def _size_problems(
    schema: Mapping[str, Any], value: Any, path: str, bounds: tuple[str, str], verb: str, unit: str
) -> Iterator[str]:
    least, most = (schema.get(bound) for bound in bounds)
    if isinstance(least, int) and len(value) < least:
        yield _invalid(path, value, f"should {verb} at least {least} {unit}")
    if isinstance(most, int) and len(value) > most:
        yield _invalid(path, value, f"should {verb} at most {most} {unit}")


def _number_problems(schema: Mapping[str, Any], value: float, path: str) -> Iterator[str]:
    for bound_key, exclusive_key, holds, words in _NUMBERS:
        bound = schema.get(bound_key)
        if not isinstance(bound, int | float):
            continue
        exclusive = schema.get(exclusive_key) is True
        if not holds(value, bound) or (exclusive and value == bound):
            yield _invalid(path, value, f"should be {words} than {'' if exclusive else 'or equal to '}{bound}")
