"""Return the JSON value that remains after Go decodes it into a struct and encodes it again (R-JSON-2, 3, 5 … 11).

A type is compiled once into a closure. The closures only detect a value of a wrong type; decode_errors.py finds Go's
error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from json.encoder import encode_basestring
from typing import Any

from olmc.k8s.gojson.decode_errors import (
    PREFIXES,
    DecodeError,
    Field,
    element,
    field_of,
    fields,
    first_error,
    full_type,
    members,
    underlying,
)
from olmc.k8s.gojson.scalars import SCALARS, UNIONS, Mismatch, json_kind, read_octets
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.strconv import number_text

Read = Callable[[Any], Any]

_DROP = object()
"""The result of a field's reader for a value that Go leaves out."""

_RAW = ("encoding/json.RawMessage", "interface {}")
_DROPPABLE = frozenset({"string", "bool", "int", "int32", "int64", *_RAW})
_NILLABLE = ("*", "[]", "map[")


def decode(type_name: str, value: Any, *, strict: bool = False, exact: bool = False) -> Any:
    """Return a JSON value as Go's decoder followed by its encoder keeps it (R-JSON-5 … 11).

    `type_name` is a root of the field table (`ClusterServiceVersion`, `PolicyRule` …), a full Go name, or one of them
    after `[]`. Unknown keys are dropped, keys match case-insensitively if no exact one exists, and values that
    omitempty leaves out are absent. Nil slices, maps and pointers that are written are None, quantities are canonical.
    Structs come out as dicts in field order, maps in key order. The input is not changed. With `exact` a key in another
    case is unknown: the API server decodes like this, and OLM does where it uses the API server's decoder.

    Raises DecodeError with the error that Go reports; with `strict` also for a key that no field matches. Raises
    KeyError for an unknown type.
    """
    go_type = full_type(type_name)
    if strict:
        error = first_error(go_type, value, strict=True, exact=exact)
        if error is not None:
            raise error
    try:
        return reader(go_type, exact)(value)
    except Mismatch:
        error = first_error(go_type, value, exact=exact)
        if error is None:
            raise
    raise error from None


def decode_error(type_name: str, value: Any) -> DecodeError | None:
    """The error that `decode` raises for a value, None for one that fits."""
    try:
        decode(type_name, value)
    except DecodeError as error:
        return error
    return None


@cache
def reader(go_type: str, exact: bool = False) -> Read:
    """The compiled reader of a type: JSON value to what Go writes; raises Mismatch."""
    plain = underlying(go_type)
    if plain in SCALARS:
        return SCALARS[plain].read
    if plain in UNIONS:
        return _union(plain, exact)
    if plain.startswith("*"):
        return _pointer(reader(element(plain), exact))
    if plain == "[]uint8":
        return read_octets
    if plain.startswith("[]"):
        return _strings if underlying(element(plain)) == "string" else _slice(reader(element(plain), exact))
    if plain.startswith("map[string]"):
        return _string_map if underlying(element(plain)) == "string" else _map(reader(element(plain), exact))
    return _struct(plain, exact)


@cache
def _blank(go_type: str) -> Callable[[], Any]:
    """A function that makes what Go writes for an unset value of the type."""
    plain = underlying(go_type)
    if plain in SCALARS:
        zero = SCALARS[plain].zero
        return lambda: zero
    if plain.startswith(_NILLABLE):
        return lambda: None
    # omitempty keeps a struct. So an unset one is written, with its own fields that have no omitempty (R-JSON-5).
    read = reader(plain)
    return lambda: read({})


def _union(plain: str, exact: bool) -> Read:
    choose = UNIONS[plain]

    def read_union(value: Any) -> Any:
        chosen = choose(value)
        return None if chosen is None else reader(chosen, exact)(value)

    return read_union


def _pointer(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _slice(read: Read) -> Read:
    def read_slice(value: Any) -> list[Any] | None:
        if isinstance(value, list):
            return [read(entry) for entry in value]
        if value is None:
            return None
        raise Mismatch("slice", json_kind(value))

    return read_slice


def _strings(value: Any) -> list[str] | None:
    # Nearly every list of texts holds texts, and to see that all at once is faster than to read each.
    if value.__class__ is list and set(map(type, value)) <= {str}:
        return list(value)
    read: Callable[[Any], list[str] | None] = _slice(SCALARS["string"].read)
    return read(value)


def _map(read: Read) -> Read:
    def read_map(value: Any) -> dict[str, Any] | None:
        if isinstance(value, dict):
            return {key: read(value[key]) for key in sorted(value)}
        if value is None:
            return None
        raise Mismatch("map", json_kind(value))

    return read_map


def _string_map(value: Any) -> dict[str, str] | None:
    if value.__class__ is dict and set(map(type, value.values())) <= {str}:
        return dict(sorted(value.items()))
    read: Callable[[Any], dict[str, str] | None] = _map(SCALARS["string"].read)
    return read(value)


class _StructPlan(NamedTuple):
    """The reader of a struct: for each field its place, its name, the class whose non-empty values stay as they are,
    and its reader; and the values of the fields that Go never leaves out."""

    fields: dict[str, tuple[int, str, type | None, Read]]
    always: tuple[tuple[int, str, Callable[[], Any]], ...]


@cache
def _plan(name: str, exact: bool) -> _StructPlan:
    ranked = tuple(enumerate(members(name).values()))
    by_name = {f.name: (rank, f.name, _unchanged_class(f.type), _field_reader(f, exact)) for rank, f in ranked}
    return _StructPlan(by_name, tuple((rank, f.name, _blank(f.type)) for rank, f in ranked if _is_always_written(f)))


def _struct(name: str, exact: bool) -> Read:
    # The plan is made when the first value of the type turns up: most types of a CSV hardly ever do.
    def read_struct(value: Any) -> dict[str, Any]:
        plan, always = _plan(name, exact)
        if value.__class__ is not dict:
            if not isinstance(value, dict) and value is not None:
                raise Mismatch("struct", json_kind(value))
            value = dict(value or {})
        results: list[tuple[int, str, Any]] = []
        for key, raw in value.items():
            entry = plan.get(key)
            # Unknown, or a field in another case, which hardly ever occurs: only then all keys are looked at.
            if entry is None:
                if exact:
                    continue
                return read_struct(_match_fields(value, name))
            rank, field, kept, read = entry
            if raw.__class__ is kept and raw:
                results.append((rank, field, raw))
                continue
            result = read(raw)
            if result is not _DROP:
                results.append((rank, field, result))
        for rank, field, blank in always:
            if field not in value:
                results.append((rank, field, blank()))
        results.sort()  # by the rank alone, which no two fields share
        return {field: result for _, field, result in results}

    return read_struct


def _unchanged_class(go_type: str) -> type | None:
    return {"string": str, "bool": bool}.get(underlying(go_type.removeprefix("*")))


def _is_always_written(field: Field) -> bool:
    """Return whether Go writes the field also when it is unset: omitempty never drops a struct (R-JSON-5)."""
    plain = underlying(field.type)
    kept = plain not in _DROPPABLE and not plain.startswith(_NILLABLE)
    return field.omit == "" or (field.omit == "o" and kept)


def _field_reader(field: Field, exact: bool) -> Read:
    read = reader(field.type, exact)
    plain = underlying(field.type)
    if _is_always_written(field) or plain in _RAW:
        # A raw message that is there holds at least four bytes: null.
        return read
    if plain.startswith("*"):
        return lambda value: _DROP if value is None else read(value)
    if field.omit == "z":
        return lambda value: _DROP if (result := read(value)) is None else result
    return lambda value: read(value) or _DROP


def _match_fields(value: Mapping[str, Any], struct: str) -> dict[str, Any]:
    """The entries that some field takes, under its name; of several for one the last in key order counts.

    Go decodes the others as well, so raises Mismatch for one that does not fit.
    """
    matched: dict[str, Any] = {}
    for key in sorted(value):
        field = field_of(struct, key)
        if field is None:
            continue
        earlier = matched.get(field.name)
        if earlier is None:
            matched[field.name] = value[key]
        else:
            # For its error: Go has decoded the earlier value by the time the later one comes.
            reader(field.type)(earlier)
            matched[field.name] = _overlay(earlier, value[key], field.type)
    return matched


def _overlay(earlier: Any, later: Any, go_type: str) -> Any:
    """A value decoded into the same field after another: objects merge unless
    they are kept as they are, null clears only what can be nil."""
    if underlying(go_type) in _RAW:
        return later
    if isinstance(earlier, dict) and isinstance(later, dict):
        both = set(earlier) & set(later)
        merged = {key: _overlay(earlier[key], later[key], "*") for key in both}
        return {**earlier, **later, **merged}
    if later is None and not underlying(go_type).startswith(_NILLABLE):
        return earlier
    return later


def unmarshal(text: str | bytes, *, exact: bool = False) -> Any:
    """The value of a JSON text; ValueError for a text that is none, which one nested too deep to be read counts as.

    With `exact` numbers are the texts that stand there, as json.RawMessage keeps them: 4.10 is not 4.1.
    """
    kept = str if exact else None
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=kept, parse_int=kept)
    except RecursionError:
        raise ValueError("exceeded max depth") from None


def _no_number(name: str) -> Any:
    """NaN and the infinities, which Python reads and JSON has not."""
    raise ValueError(f"invalid character {name[:1]!r} looking for beginning of value")


# Go's encoding/json (R-JSON-1 … 6).

# Go writes JSON that may stand in a page: neither tags nor line ends of JavaScript are left in it (R-JSON-4).
_HTML = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))
_SURROGATE = regex("[\ud800-\udfff]")
_OCTET = regex("[\udc80-\udcff]")


def encode(type_name: str, value: Any) -> bytes:
    """Go's JSON of a value as the type, without a line end (R-JSON-1 … 10).

    The value need not be decoded before. Raises what `decode` raises.
    """
    decoded = decode(type_name, value)
    if _holds_raw(full_type(type_name)) and _has_float(decoded):
        return _escape("".join(_pieces(decoded, False)))
    return encode_decoded(decoded)


def encode_decoded(value: Any) -> bytes:
    """Go's JSON of what `decode` gave, which holds no floats: keys stay in their order."""
    return _escape(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def encode_plain(value: Any) -> bytes:
    """Go's JSON of an untyped value: compact, keys sorted by their bytes, escapes and floats as Go has them.

    Raises ValueError for infinities and NaN.
    """
    if _has_float(value):
        return _escape("".join(_pieces(value, True)))
    return _escape(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True))


def _escape(text: str) -> bytes:
    # These characters can stand nowhere but inside of strings.
    for char, escape in _HTML:
        if char in text:
            text = text.replace(char, escape)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # Go escapes what stands for an invalid byte, but has half a pair replaced before it gets to write it.
        return _SURROGATE.sub("\ufffd", _OCTET.sub(r"\\ufffd", text)).encode("utf-8")


def _has_float(value: Any) -> bool:
    entries = value.values() if value.__class__ is dict else value if value.__class__ is list else ()
    kinds = set(map(type, entries))
    if float in kinds or value.__class__ is float:
        return True
    return (dict in kinds or list in kinds) and any(map(_has_float, entries))


def _pieces(value: Any, in_key_order: bool) -> list[str]:
    if isinstance(value, dict):
        keys = sorted(value) if in_key_order else value
        inner = [encode_basestring(key) + ":" + "".join(_pieces(value[key], in_key_order)) for key in keys]
        return ["{", ",".join(inner), "}"]
    if isinstance(value, list):
        return ["[", ",".join("".join(_pieces(entry, in_key_order)) for entry in value), "]"]
    if isinstance(value, str):
        return [encode_basestring(value)]
    if value is None or isinstance(value, bool):
        return [json.dumps(value)]
    return [number_text(value)]


@cache
def _holds_raw(go_type: str) -> bool:
    """Return whether raw JSON, and so a float, can stand somewhere in a value of the type."""
    seen: set[str] = set()
    todo = [go_type]
    while todo:
        plain = underlying(todo.pop())
        while plain.startswith(PREFIXES):
            plain = underlying(element(plain))
        if plain in _RAW_TEXT:
            return True
        if "/" in plain and plain not in seen:
            seen.add(plain)
            todo += [field.type for field in fields(plain) or ()]
    return False


_RAW_TEXT = frozenset(
    {
        "encoding/json.RawMessage",
        "float64",
        "interface {}",
        "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON",
        "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1",
    }
)
