"""An OpenAPI 2 document in the protocol buffers of gnostic's `openapi.v2.Document`, the form that kubectl asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
MEDIA_ASKED_FOR = (MEDIA, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")

_VARINT, _BYTES = 0, 2


class _Field(NamedTuple):
    """A field of a message: its number, the type of its value, and how many it takes.

    `form`: "one", "many" (a list), "map" (named values), or "text" for a list of texts in a message of its own.
    """

    number: int
    type: str
    form: str = "one"


_MESSAGES: dict[str, dict[str, _Field]] = {
    "Document": {
        "swagger": _Field(1, "text"),
        "info": _Field(2, "Info"),
        "paths": _Field(8, "Paths"),
        "definitions": _Field(9, "Schema", "map"),
    },
    "Info": {"title": _Field(1, "text"), "version": _Field(2, "text")},
    "PathItem": {"get": _Field(2, "Operation"), "parameters": _Field(9, "Parameter", "many")},
    "Operation": {
        "description": _Field(3, "text"),
        "operationId": _Field(5, "text"),
        "parameters": _Field(8, "Parameter", "many"),
        "responses": _Field(9, "ResponseValue", "map"),
    },
    "Response": {"description": _Field(1, "text"), "schema": _Field(2, "SchemaItem")},
    "QueryParameter": {
        "required": _Field(1, "flag"),
        "in": _Field(2, "text"),
        "name": _Field(4, "text"),
        "type": _Field(6, "text"),
    },
    "PathParameter": {
        "required": _Field(1, "flag"),
        "in": _Field(2, "text"),
        "name": _Field(4, "text"),
        "type": _Field(5, "text"),
    },
    "Schema": {
        "$ref": _Field(1, "text"),
        "description": _Field(4, "text"),
        "required": _Field(19, "text", "many"),
        "additionalProperties": _Field(21, "SchemaItem"),
        "type": _Field(22, "text", "text"),
        "items": _Field(23, "SchemaItem"),
        "properties": _Field(25, "Schema", "map"),
    },
}
_EXTENSIONS = {"Operation": 13, "Schema": 31}
# Messages that only say which of several things their value is: the field that it is in.
_WRAPPED = {"SchemaItem": (1, "Schema"), "ResponseValue": (1, "Response")}
_PARAMETER, _OTHER_THAN_BODY, _QUERY, _PATH = 1, 2, 3, 4


def encoded(document: Mapping[str, Any]) -> bytes:
    """The document as the bytes of a `openapi.v2.Document`; ValueError for what the encoding has no field for."""
    return _message("Document", document)


def _message(kind: str, value: Any) -> bytes:
    if kind == "text":
        return str(value).encode()
    if kind in _WRAPPED:
        number, inner = _WRAPPED[kind]
        return _field(number, _message(inner, value))
    if kind == "Parameter":
        return _parameter(value)
    if kind == "Paths":
        return b"".join(_field(2, _named(name, _message("PathItem", each))) for name, each in value.items())
    return b"".join(_fields(kind, value))


def _fields(kind: str, value: Mapping[str, Any]) -> Iterator[bytes]:
    for name, content in value.items():
        field = _MESSAGES[kind].get(name)
        if name.startswith("x-") and kind in _EXTENSIONS:
            yield _field(_EXTENSIONS[kind], _named(name, _field(2, json.dumps(content).encode())))
        elif field is None:
            raise ValueError(f"{kind} has no field {name}")
        elif field.type == "flag":
            yield _varint(field.number << 3 | _VARINT) + _varint(int(content))
        elif field.form == "many":
            yield b"".join(_field(field.number, _message(field.type, each)) for each in content)
        elif field.form == "map":
            named = (_field(1, _named(key, _message(field.type, each))) for key, each in content.items())
            yield _field(field.number, b"".join(named))
        elif field.form == "text":
            yield _field(field.number, _field(1, content.encode()))
        else:
            yield _field(field.number, _message(field.type, content))


def _parameter(value: Mapping[str, Any]) -> bytes:
    """A parameter of a query or a path, in the messages that say so one inside of the other."""
    in_path = value["in"] == "path"
    inner = _field(_PATH if in_path else _QUERY, _message("PathParameter" if in_path else "QueryParameter", value))
    return _field(_PARAMETER, _field(_OTHER_THAN_BODY, inner))


def _named(name: str, value: bytes) -> bytes:
    return _field(1, name.encode()) + _field(2, value)


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*made, number))
