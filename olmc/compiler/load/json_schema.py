"""Validation against the JSON Schemas of `schemas/`, and what breaks one in the words of the schema's own descriptions.

`jsonschema` takes longer to import than a bundle takes to compile, so a small check that only ever says "surely valid"
or "unsure" goes first; what it is unsure of, `jsonschema` decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from olmc.k8s.diagnostics import POSSIBLE, Location, Source, closest, did_you_mean
from olmc.k8s.lean import NamedTuple
from olmc.k8s.yaml import locate
from olmc.resources import schema

Keys = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""


class SchemaProblem(NamedTuple):
    """A problem of a value by a schema: the keys that lead to it, and the text.

    `of_key`: the last key itself is wrong, not its value. `meant` is the probable name, "" if no name is similar.
    """

    keys: Keys
    text: str
    of_key: bool = False
    meant: str = ""

    @property
    def where(self) -> str:
        """The keys with dots between them, "" for the whole value."""
        return ".".join(map(str, self.keys))

    def written(self, value: Any) -> str:
        """Return the text at this place of the whole value."""
        for key in self.keys[:-1] if self.of_key else self.keys:
            value = value[key]
        return str(self.keys[-1]) if self.of_key else str(value)

    def place(self, source: Source) -> Location:
        """Return where it is in the text that the value was read from."""
        return locate(source, self.keys, of_key=self.of_key)


_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "null": type(None),
}
_UNDERSTOOD = {
    "$schema", "$id", "$defs", "title", "description", "default", "examples", "type", "properties", "required", "items",
    "enum", "const", "additionalProperties", "minItems", "uniqueItems", "minimum", "maximum", "minLength", "pattern",
}  # fmt: skip


def without_nulls(name: str, value: Any) -> Any:
    """`value` without the nulls that the API server drops from custom resources before it looks at anything else: those
    of fields that the schema `name` lists and that can't be null. Returns the same object if there are none."""
    return _without_nulls(schema(name), value)


def _without_nulls(document: Mapping[str, Any], value: Any) -> Any:
    if not _lists_fields(document):
        return value  # what the schema leaves open may be large
    if isinstance(value, list):
        below = document.get("items", {})
        items = [_without_nulls(below, item) for item in value] if _lists_fields(below) else value
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    listed = document.get("properties", {})
    kept: dict[str, Any] = {}
    for key, item in value.items():
        if item is not None or key not in listed or _may_be_null(listed[key]):
            kept[key] = _without_nulls(listed[key], item) if key in listed else item
    return kept if len(kept) < len(value) or any(kept[key] is not value[key] for key in kept) else value


def _lists_fields(document: Mapping[str, Any]) -> bool:
    """Return whether a schema lists fields of a value, or of the items of a list."""
    return "properties" in document or "items" in document


def _may_be_null(document: Mapping[str, Any]) -> bool:
    return "null" in document.get("type", ()) or None in document.get("enum", ())


def problems(name: str, value: Any) -> list[SchemaProblem]:
    """Return where `value` breaks the schema `name` (as in `schemas/NAME.schema.json`); empty when it is valid."""
    document = schema(name)
    if surely_valid(document, value):
        return []
    distinct = dict.fromkeys(_explain(document, value))  # of several keys that are missing, each error names all
    return sorted(distinct, key=lambda problem: [str(key) for key in problem.keys])


def _explain(document: Mapping[str, Any], value: Any) -> Iterator[SchemaProblem]:
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(document).iter_errors(value):
        yield from _in_words(error)


def unlisted(document: Mapping[str, Any], value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, tuple[str, ...]]]:
    """Yield the keys of `value`, below `keys`, that a schema does not list, each with the listed keys that are absent.

    A mapping whose schema lists no keys may have any keys.
    """
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from unlisted(document.get("items", {}), item, (*keys, index))
    listed = document.get("properties", {})
    for key, item in value.items() if isinstance(value, dict) and listed else ():
        if key in listed:
            yield from unlisted(listed[key], item, (*keys, key))
        elif "additionalProperties" not in document:
            yield (*keys, key), tuple(name for name in listed if name not in value)


def surely_valid(document: Mapping[str, Any], value: Any) -> bool:
    """Return whether `value` is valid against `document`, as far as this understands it: False may also mean
    "unsure"."""
    if not document.keys() <= _UNDERSTOOD:
        return False
    if "enum" in document and not _among(document["enum"], value):
        return False
    if "const" in document and not _among([document["const"]], value):
        return False
    if "type" in document and not _has_type(document["type"], value):
        return False
    if isinstance(value, dict):
        return _surely_valid_object(document, value)
    if isinstance(value, list):
        return _surely_valid_array(document, value)
    if isinstance(value, str):
        long_enough = len(value) >= document.get("minLength", 0)
        return long_enough and ("pattern" not in document or re.search(document["pattern"], value) is not None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return bool(document.get("minimum", value) <= value <= document.get("maximum", value))
    return True


def _surely_valid_array(document: Mapping[str, Any], value: list[Any]) -> bool:
    items = document.get("items", {})
    # Of anything but texts, equal in Python and equal in JSON are two things (1 and true): jsonschema knows them.
    if document.get("uniqueItems") and (not all(isinstance(i, str) for i in value) or len(set(value)) < len(value)):
        return False
    return bool(len(value) >= document.get("minItems", 0)) and all(surely_valid(items, item) for item in value)


def _surely_valid_object(document: Mapping[str, Any], value: dict[str, Any]) -> bool:
    properties = document.get("properties", {})
    others = document.get("additionalProperties", True)
    if any(key not in value for key in document.get("required", ())):
        return False
    for key, item in value.items():
        if key in properties:
            if not surely_valid(properties[key], item):
                return False
        elif others is False or (others is not True and not surely_valid(others, item)):
            return False
    return True


def _among(choices: list[Any], value: Any) -> bool:
    # By type as well, since 1 == True in Python.
    return any(type(choice) is type(value) and choice == value for choice in choices)


def _has_type(expected: str | list[str], value: Any) -> bool:
    if isinstance(expected, list):
        return any(_has_type(alternative, value) for alternative in expected)
    if expected == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if expected == "number" and isinstance(value, bool):
        return False
    return isinstance(value, _TYPES[expected])


_NAMES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
_LONGEST = 60


class SchemaError(Protocol):
    """The used part of an error of `jsonschema`."""

    message: str
    validator: Any
    validator_value: Any
    instance: Any
    schema: Any
    absolute_path: Any


def _in_words(error: SchemaError) -> Iterator[SchemaProblem]:
    """The problems that an error of `jsonschema` stands for."""
    keys, value, expected = tuple(error.absolute_path), error.instance, error.validator_value
    match error.validator:
        case "additionalProperties" if expected is False:
            known = error.schema.get("properties", {})
            for key in value:
                if key not in known:
                    meant = _closest(key, known)
                    yield SchemaProblem((*keys, key), f"there is no such field{_suggestion(meant)}", True, meant)
        case "required":
            for key in expected:
                if key not in value:
                    yield SchemaProblem(keys, f"{key} is missing")
        case _:
            meant = _closest(value, expected) if error.validator == "enum" else ""
            yield SchemaProblem(keys, _about_value(str(error.validator), value, expected, error), meant=meant)


def _about_value(validator: str, value: Any, expected: Any, error: SchemaError) -> str:
    match validator:
        case "type":
            kinds = [expected] if isinstance(expected, str) else expected
            quotes = "; put it in quotes" if "string" in kinds and isinstance(value, int | float) else ""
            return f"{_shown(value)} is {_kind(value)}, not {' or '.join(_NAMES[kind] for kind in kinds)}{quotes}"
        case "enum":
            # Where the empty text is allowed, too, it means that nothing is given.
            choices = ", ".join(str(choice) for choice in expected if choice != "")
            return f"{_shown(value)} is not one of {choices}{_suggestion(_closest(value, expected))}"
        case "const":
            return f"{_shown(value)} is not {expected}"
        case "pattern" if error.schema.get("description"):
            return f"{_shown(value)} is not what belongs here: {_described(error.schema)}"
        case "minLength" | "minItems" if expected == 1:
            return "it must not be empty"
    return str(error.message)


def _described(schema: Mapping[str, Any]) -> str:
    """The first sentence about a value, with an example."""
    sentence = re.split(r"[.;] ", str(schema["description"]))[0].rstrip(".")
    examples = schema.get("examples") or ([schema["default"]] if schema.get("default") else [])
    such = f", such as {examples[0]}" if examples else ""
    return f"{sentence[0].lower()}{sentence[1:]}{such}"


def _closest(value: object, known: Iterable[object]) -> str:
    return closest(str(value), (name for name in known if isinstance(name, str)), POSSIBLE)


def _suggestion(meant: str) -> str:
    return f"; {did_you_mean(meant, inside=True)}" if meant else ""


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a mapping"


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
