"""Reading property values as Go's encoding/json does: tolerant of the case of keys, strict about types."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["DecodeError", "kind", "lookup", "text_fields"]


class DecodeError(ValueError):
    """A value that Go refuses to decode; its message is the one of encoding/json."""


def kind(value: object) -> str:
    """What encoding/json calls the kind of a JSON value in its errors."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case Mapping():
            return "object"
        case list() | tuple():
            return "array"
        case _:
            return "number"


def lookup(value: Mapping[str, object], name: str) -> object:
    """The value of the key `name`, or of one that differs only in case; None when there is none."""
    if name in value:
        return value[name]
    folded = name.lower()
    return next((each for key, each in value.items() if key.lower() == folded), None)


def text_fields(value: object, *names: str) -> tuple[str, ...]:
    """The strings under `names` of an object, "" for those absent or null.

    Raises DecodeError, worded for an anonymous Go struct of these fields, when `value` or a field has another
    type.
    """
    if value is None:
        return ("",) * len(names)
    # A plain dict is what nearly all are, and asking for the abstract class takes longer than the rest.
    if not isinstance(value, dict) and not isinstance(value, Mapping):
        members = "; ".join(f'{name[:1].upper()}{name[1:]} string "json:\\"{name}\\""' for name in names)
        raise DecodeError(f"json: cannot unmarshal {kind(value)} into Go value of type struct {{ {members} }}")
    return tuple(_text(lookup(value, name), name) for name in names)


def _text(value: object, name: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DecodeError(f"json: cannot unmarshal {kind(value)} into Go struct field .{name} of type string")
    return value
