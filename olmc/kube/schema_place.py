"""Places in a CRD's schema, and which of them need not be looked at.

A schema has thousands of places and hardly ever an error, so a place is a chain of steps that only an error spells out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmc.kube.field_path import Path

Place = Path | tuple["Place", str, str | int | None]
"""Where the schema begins; or a place, the field below it, and the key or index in that field, if it has any."""


META_FIELDS = ("apiVersion", "kind", "metadata")
"""The fields of a resource that the API server looks after itself."""

_SCALARS = ("string", "integer", "boolean", "number")
_HARMLESS = frozenset(
    {"type", "description", "title", "format", "enum", "minimum", "maximum", "minLength", "maxLength"}
)


def is_plain(schema: Mapping[str, Any]) -> bool:
    """Whether a schema is that of a field without structure, in which no rule finds anything: most of them are."""
    return _HARMLESS.issuperset(schema) and schema.get("type") in _SCALARS


def path_to(place: Place) -> Path:
    """A place as messages name it, with the keys that lead to it."""
    steps: list[tuple[str, str | int | None]] = []
    while not isinstance(place, Path):
        place, name, key = place
        steps.append((name, key))
    field, keys = place.field, list(place.keys)
    for name, key in reversed(steps):
        field += f".{name}" if key is None else f".{name}[{key}]"
        keys += [name] if key is None else [name, key]
    return Path(field, tuple(keys))


def at(place: Place, name: str) -> Path:
    """A keyword of the schema in a place."""
    return path_to((place, name, None))
