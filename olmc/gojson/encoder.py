"""Go's encoding/json (R-JSON-1 … 6)."""

from __future__ import annotations

import json
from functools import cache
from json.encoder import encode_basestring
from typing import Any

from olmc.gojson.decoder import decode
from olmc.gojson.type_table import PREFIXES, element, fields, full_type, underlying
from olmc.lean import regex
from olmc.strconv import number_text

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
    """Whether raw JSON, and so a float, can stand somewhere in a value of the type."""
    seen: set[str] = set()
    todo = [go_type]
    while todo:
        plain = underlying(todo.pop())
        while plain.startswith(PREFIXES):
            plain = underlying(element(plain))
        if plain in _RAW:
            return True
        if "/" in plain and plain not in seen:
            seen.add(plain)
            todo += [field.type for field in fields(plain) or ()]
    return False


_RAW = frozenset(
    {
        "encoding/json.RawMessage",
        "float64",
        "interface {}",
        "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON",
        "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1",
    }
)
