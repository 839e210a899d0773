"""Whether a JSON value fits a Go struct, and what Go says when it doesn't (R-CAT-121, R-CAT-125).

A shape is a function from a value to a Misfit, or None when it fits. Keys match in any case, unknown keys are
ignored, null fits everything: this is how encoding/json reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from olmc.golang.base64 import canonical as canonical_base64
from olmc.golang.errors import json_kind


class Misfit(NamedTuple):
    """A value that does not fit: the keys that lead to it, and Go's complaint.

    `found` is the kind of the value, `wanted` the Go type, `struct` the struct it is a field of ("" outside of any),
    `cause` a complaint that is not about types.
    """

    keys: tuple[str | int, ...]
    found: str = ""
    wanted: str = ""
    struct: str = ""
    cause: str = ""

    def __str__(self) -> str:
        if self.cause:
            return self.cause
        if not self.struct:
            return f"json: cannot unmarshal {self.found} into Go value of type {self.wanted}"
        field = f"{self.struct}." + ".".join(key for key in self.keys if isinstance(key, str))
        return f"json: cannot unmarshal {self.found} into Go struct field {field} of type {self.wanted}"


Shape = Callable[[Any], Misfit | None]


def text(value: Any) -> Misfit | None:
    """A Go string."""
    if value.__class__ is str or value is None:
        return None
    return Misfit((), json_kind(value), "string")


def flag(value: Any) -> Misfit | None:
    """A Go bool."""
    if value is None or isinstance(value, bool):
        return None
    return Misfit((), json_kind(value), "bool")


def integer(value: Any) -> Misfit | None:
    """A Go int."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0):
        return None
    found = f"number {value}" if isinstance(value, float) else json_kind(value)
    return Misfit((), found, "int")


def octets(value: Any) -> Misfit | None:
    """Go bytes: text in base 64."""
    if not isinstance(value, str):
        return None if value is None else Misfit((), json_kind(value), "[]uint8")
    try:
        canonical_base64(value)
    except ValueError as error:
        return Misfit((), cause=str(error))
    return None


def anything(value: Any) -> Misfit | None:  # noqa: ARG001
    """A raw JSON value."""
    return None


def list_of(shape: Shape, go_type: str) -> Shape:
    """A Go slice; `go_type` is its name in messages."""

    def check(value: Any) -> Misfit | None:
        if value.__class__ is not list:
            return None if value is None else Misfit((), json_kind(value), go_type)
        for index, item in enumerate(value):
            misfit = shape(item)
            if misfit is not None:
                return misfit._replace(keys=(index, *misfit.keys))
        return None

    return check


def map_of(shape: Shape, go_type: str) -> Shape:
    """A Go map with text keys; `go_type` is its name in messages."""

    def check(value: Any) -> Misfit | None:
        if value.__class__ is not dict:
            return None if value is None else Misfit((), json_kind(value), go_type)
        for key in value:
            misfit = shape(value[key])
            if misfit is not None:
                return misfit._replace(keys=(key, *misfit.keys))
        return None

    return check


def struct(go_type: str, fields: Mapping[str, Shape]) -> Shape:
    """A Go struct: `go_type` is its name in messages, `fields` the shape for each JSON name."""
    name = go_type.rpartition(".")[2]
    folded = {field.casefold(): shape for field, shape in fields.items()}

    def first(value: dict[str, Any], keys: list[str]) -> Misfit | None:
        for key in keys:
            shape = fields.get(key) or folded.get(key.casefold())
            misfit = shape(value[key]) if shape is not None else None
            if misfit is not None:
                return misfit._replace(keys=(key, *misfit.keys), struct=misfit.struct or name)
        return None

    def check(value: Any) -> Misfit | None:
        if value.__class__ is not dict:
            return None if value is None else Misfit((), json_kind(value), go_type)
        for key, item in value.items():
            shape = fields.get(key)
            if (shape or folded.get(key.casefold(), anything))(item) is not None:
                # OLM reads documents with their keys sorted, which decides what it complains about first.
                return first(value, sorted(value))
        return None

    return check


def renamed(value: Mapping[str, Any], names: frozenset[str]) -> Mapping[str, Any]:
    """A mapping with the keys that match one of `names` in any case spelt like it; the last in key order counts."""
    if value.keys() <= names:
        return value
    by_fold = {name.casefold(): name for name in names}
    return {by_fold.get(key.casefold(), key): value[key] for key in sorted(value)}
