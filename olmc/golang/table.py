"""The table of Go structs that Kubernetes and OLM marshal: fields in declaration order, types and flags.

A type is written as Go writes it (`*T`, `[]T`, `map[string]T`) with the full name of a struct
(`k8s.io/api/core/v1.Container`); a defined type of another kind is `v1.Protocol=string`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PREFIXES = ("*", "[]", "map[string]")


class Field(NamedTuple):
    """A field: JSON name, type, `omit` ("", "o" omitempty, "z" omitzero), embedded struct that brings it."""

    name: str
    type: str
    omit: str
    embedded: str


@cache
def _table() -> dict[str, Any]:
    # Not importlib.resources, which takes long to import.
    table: dict[str, Any] = json.loads((Path(__file__).parent / "fields.json").read_bytes())
    return table


@cache
def fields(struct: str) -> tuple[Field, ...] | None:
    """The fields of a struct by its full name, embedded ones expanded; None for a type that marshals itself.

    Raises KeyError for a name that the table does not have.
    """
    rows = _table()["types"][struct]
    if rows is None:
        return None
    return tuple(Field(row[0], row[1], row[2], row[3] if len(row) > 3 else "") for row in rows)


@cache
def full_type(name: str) -> str:
    """The type for a root's short name (`DeploymentSpec`) or a full name, maybe with `[]` before it.

    Raises KeyError for an unknown name.
    """
    for prefix in PREFIXES:
        if name.startswith(prefix):
            return prefix + full_type(name[len(prefix) :])
    table = _table()
    full: str = table["roots"].get(name, name)
    if full not in table["types"]:
        raise KeyError(f"no Go type named {name}")
    return full


def underlying(go_type: str) -> str:
    """The type that a defined type stands for (`v1.Protocol=string` → `string`); any other as it is."""
    if go_type.startswith(PREFIXES):
        return go_type
    return go_type.partition("=")[2] or go_type


def printed(go_type: str) -> str:
    """A type as Go prints it in messages: package name instead of path (`[]v1.Container`, `v1.Protocol`)."""
    for prefix in PREFIXES:
        if go_type.startswith(prefix):
            return prefix + printed(go_type[len(prefix) :])
    return go_type.partition("=")[0].rpartition("/")[2]


def element(go_type: str) -> str:
    """The element type of a pointer, slice or map type."""
    for prefix in PREFIXES:
        if go_type.startswith(prefix):
            return go_type[len(prefix) :]
    raise ValueError(f"{go_type} has no elements")
