"""Paths such as `.spec.size` or `.labels['a.b']` to a field of a schema, as rules in CEL and selectable fields have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from olmc.model.coerce import mapping

_NOT_A_FIELD = "does not refer to a valid field"
_END = "unexpected end of JSON path"


class FieldPath(NamedTuple):
    """Where a path leads: its steps as the API server spells them, and the schema there; or why it leads nowhere."""

    steps: tuple[str, ...] = ()
    schema: Mapping[str, Any] = {}
    problem: str = ""


def follow(path: str, schema: Mapping[str, Any], *, in_brackets: bool = True) -> FieldPath:
    """Where a path leads from a structural schema; `in_brackets`: whether a step may stand in brackets."""
    steps: list[str] = []
    tokens = _tokens(path)
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


def _tokens(path: str) -> Iterator[str]:
    """The signs `.`, `[` and `]`, quoted texts, and what stands between them."""
    at = 0
    while at < len(path):
        end = at + 1
        if path[at] == "'":
            while end < len(path) and not (path[end] == "'" and path[end - 1] != "\\"):
                end += 1
            end += 1
        elif path[at] not in ".[]":
            while end < len(path) and path[end] not in ".[]":
                end += 1
        yield path[at:end]
        at = end
