"""The tables of Go structs that Kubernetes, OLM and catalogs marshal: fields in declaration order, types and flags.

A type is written as Go writes it (`*T`, `[]T`, `map[string]T`) with the full name of a struct
(`k8s.io/api/core/v1.Container`); a defined type of another kind is `v1.Protocol=string`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from olmc.k8s.lean import NamedTuple

_TABLES = ("kubernetes", "olm", "catalogs", "constraints")
PREFIXES = ("*", "[]", "map[string]")


class Field(NamedTuple):
    """A field: JSON name, type, `omit` ("", "o" omitempty, "z" omitzero), embedded struct that brings it."""

    name: str
    type: str
    omit: str
    embedded: str


@cache
def _table() -> dict[str, Any]:
    # Read when the first type is asked for, and not by importlib.resources, which takes long to import.
    folder = Path(__file__).parent / "types"
    tables = [json.loads((folder / f"{name}.json").read_bytes()) for name in _TABLES]
    return {part: {name: row for table in tables for name, row in table[part].items()} for part in ("roots", "types")}


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


def struct_name(struct: str) -> str:
    """A struct's name as Go prints it before a field: no package, and nothing for a struct without a name."""
    return printed(struct).partition(".")[2]


def element(go_type: str) -> str:
    """The element type of a pointer, slice or map type."""
    for prefix in PREFIXES:
        if go_type.startswith(prefix):
            return go_type[len(prefix) :]
    raise ValueError(f"{go_type} has no elements")


@cache
def members(struct: str) -> Mapping[str, Field]:
    """The fields of a struct by their JSON names. Raises KeyError for a type that marshals itself."""
    declared = fields(struct)
    if declared is None:
        raise KeyError(f"the type {struct} marshals itself in a way that is not known here")
    return {field.name: field for field in declared}


def field_of(struct: str, key: str, *, exact: bool = False) -> Field | None:
    """The field that a key stands for: the one of that name, or unless `exact`, one whose name is the same folded."""
    field = members(struct).get(key)
    return field if field is not None or exact else _members_by_fold(struct).get(fold(key))


def fold(key: str) -> str:
    """What is the same for keys that Go's decoder takes for one name (R-JSON-11).

    It compares by simple case folding. All names are ASCII, so beside the other case only U+017F (s) and U+212A (k)
    count for a letter; what Python's casefold does besides, such as ß for ss, is not Go's.
    """
    return key.replace("\u017f", "s").lower()


def match_keys(value: Mapping[str, Any], names: frozenset[str]) -> Mapping[str, Any]:
    """A mapping with the keys that stand for one of `names` spelt like it; of several the last in key order counts."""
    if value.keys() <= names:
        return value
    by_fold = {fold(name): name for name in names}
    return {by_fold.get(fold(key), key): value[key] for key in sorted(value)}


@cache
def _members_by_fold(struct: str) -> Mapping[str, Field]:
    # Of fields with the same folded name Go takes the one that is declared first.
    return {fold(field.name): field for field in reversed([*members(struct).values()])}
