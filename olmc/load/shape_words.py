"""What breaks a JSON Schema, in the words of the schema's own descriptions instead of those of a validator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from olmc.model.suggestions import POSSIBLE, closest, did_you_mean

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


class Broken(Protocol):
    """What is used of an error of `jsonschema`."""

    message: str
    validator: Any
    validator_value: Any
    instance: Any
    schema: Any
    absolute_path: Any


Found = tuple[tuple[str | int, ...], str, bool]
"""The keys that lead to a problem, what it is, and whether it is the last key itself that is wrong."""


def in_words(error: Broken) -> Iterator[Found]:
    """The problems that an error of `jsonschema` stands for."""
    keys, value, wanted = tuple(error.absolute_path), error.instance, error.validator_value
    match error.validator:
        case "additionalProperties" if wanted is False:
            known = error.schema.get("properties", {})
            for key in value:
                if key not in known:
                    yield (*keys, key), f"there is no such field{_meant(key, known)}", True
        case "required":
            for key in wanted:
                if key not in value:
                    yield keys, f"{key} is missing", False
        case _:
            yield keys, _about_value(str(error.validator), value, wanted, error), False


def _about_value(validator: str, value: Any, wanted: Any, error: Broken) -> str:
    match validator:
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else wanted
            quotes = "; put it in quotes" if "string" in kinds and isinstance(value, int | float) else ""
            return f"{_shown(value)} is {_kind(value)}, not {' or '.join(_NAMES[kind] for kind in kinds)}{quotes}"
        case "enum":
            return f"{_shown(value)} is not one of {', '.join(map(str, wanted))}{_meant(value, wanted)}"
        case "const":
            return f"{_shown(value)} is not {wanted}"
        case "pattern" if error.schema.get("description"):
            return f"{_shown(value)} is not what belongs here: {_described(error.schema)}"
        case "minLength" | "minItems" if wanted == 1:
            return "it must not be empty"
    return str(error.message)


def _described(schema: Mapping[str, Any]) -> str:
    """The first sentence about a value, with an example."""
    sentence = re.split(r"[.;] ", str(schema["description"]))[0].rstrip(".")
    examples = schema.get("examples") or ([schema["default"]] if schema.get("default") else [])
    such = f", such as {examples[0]}" if examples else ""
    return f"{sentence[0].lower()}{sentence[1:]}{such}"


def _meant(value: object, known: Iterable[object]) -> str:
    best = closest(str(value), (each for each in known if isinstance(each, str)), POSSIBLE)
    return f"; {did_you_mean(best, inside=True)}" if best else ""


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
