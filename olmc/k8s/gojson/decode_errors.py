"""The error that Go reports for a value of a wrong type.

Go continues after a type error and reports the first one in the order of the JSON text, where OLM has keys sorted. An
error of a type that decodes itself (a quantity, a version …) ends the decoding at once and replaces earlier ones.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from olmc.k8s.diagnostics import DecodeFailure
from olmc.k8s.gojson.scalars import SCALARS, UNIONS, Mismatch, Scalar, json_kind, read_octets
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.strconv import quoted

Path = tuple[str | int, ...]
"""Keys and indexes that lead to a value."""

_UNMARSHAL = "json: cannot unmarshal "
_INTEGER = regex(r"u?int\d*")
_PLAIN_KINDS = {"bool": "a boolean", "string": "a text", "array": "a list", "object": "a mapping", "number": "a number"}


class DecodeError(ValueError):
    """A JSON value that Go refuses to decode into a type.

    `path` leads to the value (keys as the input spells them, indexes from 0), `message` is Go's text,
    `expected` the Go type as Go prints it ("" for a key that no field matches), `got` the JSON value's kind
    in Go's words. `is_mismatch`: it is encoding/json that refuses it, not a type that reads itself.
    """

    def __init__(
        self, path: Path, message: str, expected: str = "", got: str = "", *, is_mismatch: bool = False
    ) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.expected = expected
        self.got = got
        self.is_mismatch = is_mismatch


def decode_failure(error: BaseException | None) -> DecodeFailure | None:
    """Return the failure of encoding/json that an error, or one of its causes, describes."""
    while error is not None and not isinstance(error, DecodeError):
        error = error.__cause__
    return DecodeFailure(error.message) if error is not None and error.is_mismatch else None


def mismatch_text(value: Any, expected: str) -> str:
    """Return Go's error for a whole value that is not of the type `expected`."""
    return f"{_UNMARSHAL}{json_kind(value)} into Go value of type {expected}"


def decode_hint(error: DecodeError) -> str:
    """Return a hint with a right value for a value of a wrong type."""
    expected, got = error.expected.removeprefix("*"), _PLAIN_KINDS.get(error.got.partition(" ")[0], "something else")
    if not (error.is_mismatch and error.got):
        return "Correct the value."
    if expected.startswith("[]"):
        return f"Write a list, even for a single value: here stands {got}."
    if expected == "string":
        in_quotes = "; in quotes it is one" if got in ("a boolean", "a number") else ""
        return f"Write a text: here stands {got}{in_quotes}."
    if expected == "bool":
        return f"Write true or false, without quotes: here stands {got}."
    if _INTEGER.fullmatch(expected):
        return f"Write a whole number, without quotes: here stands {got}."
    return f"Write a mapping (lines of `key: value`): here stands {got}."


class _DecodePlace(NamedTuple):
    """The position of the decoder: path in the input, innermost struct, Go's names of the fields down to here; `exact`
    whether keys in another case are unknown."""

    path: Path = ()
    struct: str = ""
    names: tuple[str, ...] = ()
    exact: bool = False

    def below(self, step: str | int) -> _DecodePlace:
        return self._replace(path=(*self.path, step))


class _Failure(NamedTuple):
    error: DecodeError
    fatal: bool


def first_error(go_type: str, value: Any, *, strict: bool = False, exact: bool = False) -> DecodeError | None:
    """The error that Go reports for decoding `value`, None if it fits; `strict` makes unknown keys errors, and with
    `exact` keys in another case are unknown."""
    # Go goes on after a value of a wrong kind; a type that reads itself returns, and what was noted before is lost.
    first = None
    for error, fatal in _errors(go_type, value, _DecodePlace(exact=exact), strict):
        if fatal:
            return error
        first = first or error
    return first


def _errors(go_type: str, value: Any, place: _DecodePlace, strict: bool) -> Iterator[_Failure]:
    plain = underlying(go_type)
    if plain.startswith("*"):
        if value is not None:
            yield from _errors(element(plain), value, place, strict)
    elif plain in SCALARS:
        yield from _scalar(go_type, SCALARS[plain], value, place)
    elif plain in UNIONS:
        yield from _union(plain, value, place, strict)
    elif value is None:
        return
    elif plain == "[]uint8" and not isinstance(value, list):
        yield from _scalar(go_type, Scalar(read_octets, None, fatal=False), value, place)
    elif plain.startswith("[]"):
        if isinstance(value, list):
            for index, entry in enumerate(value):
                yield from _errors(element(plain), entry, place.below(index), strict)
        else:
            yield _mismatch(printed(go_type), json_kind(value), place)
    elif not isinstance(value, dict):
        yield _mismatch(printed(go_type), json_kind(value), place)
    elif plain.startswith("map[string]"):
        for key in sorted(value):
            yield from _errors(element(plain), value[key], place.below(key), strict)
    else:
        yield from _members(plain, value, place, strict)


def _members(struct: str, value: Mapping[str, Any], place: _DecodePlace, strict: bool) -> Iterator[_Failure]:
    name = struct_name(struct)
    # OLM turns YAML into JSON before it decodes, and that writes keys in order, so the first error is the lowest key's.
    for key in sorted(value):
        field = field_of(struct, key, exact=place.exact)
        below = place.below(key)
        if field is not None:
            # Go's path has the names of fields alone: as the struct has them, without indexes and the keys of maps.
            names = (*place.names, *((field.embedded,) if field.embedded else ()), field.name)
            yield from _errors(field.type, value[key], _DecodePlace(below.path, name, names, place.exact), strict)
        elif strict:
            error = DecodeError(below.path, f"json: unknown field {quoted(key)}", is_mismatch=True)
            yield _Failure(error, False)


def _union(plain: str, value: Any, place: _DecodePlace, strict: bool) -> Iterator[_Failure]:
    """The error of a type that decodes itself with a decoder of its own, whose errors lose their place for this one."""
    try:
        chosen = UNIONS[plain](value)
    except Mismatch as mismatch:
        yield _Failure(DecodeError(place.path, mismatch.text, mismatch.expected, mismatch.got), True)
        return
    inner = first_error(chosen, value, strict=strict, exact=place.exact) if chosen is not None else None
    if inner is not None:
        outer = _mismatch(inner.expected, inner.got, place).error
        text = outer.message if inner.is_mismatch and inner.got else inner.message
        path = (*place.path, *inner.path)
        yield _Failure(DecodeError(path, text, inner.expected, inner.got, is_mismatch=inner.is_mismatch), True)


def _scalar(go_type: str, scalar: Scalar, value: Any, place: _DecodePlace) -> Iterator[_Failure]:
    try:
        scalar.read(value)
    except Mismatch as mismatch:
        if mismatch.text:
            error = DecodeError(place.path, mismatch.text, mismatch.expected, mismatch.got)
            yield _Failure(error, scalar.fatal)
        else:
            expected = mismatch.expected if scalar.fatal else printed(go_type)
            yield _Failure(_mismatch(expected, mismatch.got, place).error, scalar.fatal)


def _mismatch(expected: str, got: str, place: _DecodePlace) -> _Failure:
    into = f"struct field {place.struct}.{'.'.join(place.names)}" if place.names else "value"
    message = f"{_UNMARSHAL}{got} into Go {into} of type {expected}"
    return _Failure(DecodeError(place.path, message, expected, got, is_mismatch=True), False)


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
        yield from _unknown(_chosen_type(plain, value), value, path, exact)
    elif plain.startswith("*"):
        yield from _unknown(element(plain), value, path, exact)
    elif plain.startswith("[]"):
        for index, entry in enumerate(value if isinstance(value, list) else ()):
            yield from _unknown(element(plain), entry, (*path, index), exact)
    elif isinstance(value, dict) and plain.startswith("map[string]"):
        for key, entry in value.items():
            yield from _unknown(element(plain), entry, (*path, key), exact)
    elif isinstance(value, dict) and fields(plain) is not None:
        yield from _unknown_in_struct(plain, value, path, exact)


def _chosen_type(plain: str, value: Any) -> str:
    # What fits nothing is as good as a boolean: there are no keys in it that could be unknown.
    try:
        return UNIONS[plain](value) or "bool"
    except Mismatch:
        return "bool"


def _unknown_in_struct(
    struct: str, value: Mapping[str, Any], path: Path, exact: bool
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    field_by_key = {key: field_of(struct, key, exact=exact) for key in value}
    taken = {field.name for field in field_by_key.values() if field is not None}
    for key, field in field_by_key.items():
        if field is not None:
            yield from _unknown(field.type, value[key], (*path, key), exact)
        else:
            yield (*path, key), tuple(name for name in members(struct) if name not in taken)


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
    folder = pathlib.Path(__file__).parent / "types"
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
    """Return the same text for all keys that Go's decoder takes for one name (R-JSON-11).

    It compares by simple case folding. All names are ASCII, so in addition to the other case only U+017F (s) and U+212A
    (k) equal a letter. Python's casefold changes more characters, such as ß to ss; Go does not.
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
