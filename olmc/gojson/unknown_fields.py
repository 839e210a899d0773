"""Which keys of a JSON value no field of a Go struct takes: what is lost when it is decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.gojson.decode_errors import Path
from olmc.gojson.scalars import SCALARS, UNIONS, Mismatch
from olmc.gojson.type_table import element, field_of, fields, full_type, members, underlying


def unknown_keys(type_name: str, value: Any, *, exact: bool) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The paths of the keys that are lost, each with the fields that could stand there and don't.

    `type_name` is as in `decode`. Go's decoder takes a key in another case for the field (R-JSON-11); the API server,
    which prunes by schema, does not: with `exact` such keys are lost as well. What does not fit its type is not looked
    into. Raises KeyError for an unknown type.
    """
    yield from _unknown(full_type(type_name), value, (), exact)


def _unknown(go_type: str, value: Any, path: Path, exact: bool) -> Iterator[tuple[Path, tuple[str, ...]]]:
    plain = underlying(go_type)
    if plain in SCALARS:
        return
    if plain in UNIONS:
        yield from _unknown(_chosen(plain, value), value, path, exact)
    elif plain.startswith("*"):
        yield from _unknown(element(plain), value, path, exact)
    elif plain.startswith("[]"):
        for index, entry in enumerate(value if isinstance(value, list) else ()):
            yield from _unknown(element(plain), entry, (*path, index), exact)
    elif isinstance(value, dict) and plain.startswith("map[string]"):
        for key, entry in value.items():
            yield from _unknown(element(plain), entry, (*path, key), exact)
    elif isinstance(value, dict) and fields(plain) is not None:
        yield from _of_struct(plain, value, path, exact)


def _chosen(plain: str, value: Any) -> str:
    try:
        return UNIONS[plain](value) or "bool"
    except Mismatch:
        return "bool"


def _of_struct(
    struct: str, value: Mapping[str, Any], path: Path, exact: bool
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    found = {key: field_of(struct, key, exact=exact) for key in value}
    taken = {field.name for field in found.values() if field is not None}
    for key, field in found.items():
        if field is not None:
            yield from _unknown(field.type, value[key], (*path, key), exact)
        else:
            yield (*path, key), tuple(name for name in members(struct) if name not in taken)
