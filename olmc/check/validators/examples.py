"""The examples of custom resources that a CSV carries in an annotation (R-CAT-211), and where Go stops reading them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from olmc.check.validators.findings import Finding, about, result_text
from olmc.diagnostics.rules import validation as rules
from olmc.gojson import encode_plain, mismatch_text, unmarshal
from olmc.model.diagnostics import Place
from olmc.model.objects import GVK, gvk_of, text
from olmc.model.operators import Csv

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING_PART = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS = re.compile(rb"[0-9]*")
_HEX = b"0123456789abcdefABCDEF"
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_CLOSING = {ord("{"): ord("}"), ord("["): ord("]")}
_END = b"\x00"
"""Behind the last byte, so that no function has to ask for the end: it can stand nowhere in JSON."""
_KEYS = ("alm-examples", "olm.examples")


class _OffenceError(Exception):
    """The index of the first byte that can't be there."""


def invalid_offset(text: bytes) -> int | None:
    """How many bytes Go has read when it finds that `text` is no JSON value; None if it is one."""
    data = text + _END
    try:
        end = _after_space(data, _value(data))
        if end < len(text):
            raise _OffenceError(end)
    except _OffenceError as offence:
        return min(int(offence.args[0]) + 1, len(text))
    return None


def _value(data: bytes) -> int:
    """The index behind the value; without recursion, since the depth is untrusted input."""
    at = 0
    closing: list[int] = []
    while True:
        at = _after_space(data, at)
        if data[at] in _CLOSING:
            end = _CLOSING[data[at]]
            inside = _after_space(data, at + 1)
            if data[inside] != end:
                closing.append(end)
                at = _item_start(data, inside, end)
                continue
            at = inside + 1
        else:
            at = _scalar(data, at)
        at = _after_space(data, at)
        while closing and data[at] == closing[-1]:
            closing.pop()
            at = _after_space(data, at + 1)
        if not closing:
            return at
        if data[at] != ord(","):
            raise _OffenceError(at)
        at = _item_start(data, _after_space(data, at + 1), closing[-1])


def _after_space(data: bytes, at: int) -> int:
    match = _SPACE.match(data, at)
    assert match is not None
    return match.end()


def _item_start(data: bytes, at: int, closing: int) -> int:
    """Where the value of an item begins: in an object, behind its key."""
    if closing != ord("}"):
        return at
    if data[at] != ord('"'):
        raise _OffenceError(at)
    at = _after_space(data, _string(data, at))
    if data[at] != ord(":"):
        raise _OffenceError(at)
    return at + 1


def _scalar(data: bytes, at: int) -> int:
    first = data[at]
    if first == ord('"'):
        return _string(data, at)
    if first in _LITERALS:
        for index, byte in enumerate(_LITERALS[first]):
            if data[at + index] != byte:
                raise _OffenceError(at + index)
        return at + len(_LITERALS[first])
    if first in b"-0123456789":
        return _number(data, at)
    raise _OffenceError(at)


def _string(data: bytes, at: int) -> int:
    at += 1
    while True:
        match = _STRING_PART.match(data, at)
        assert match is not None
        at = match.end()
        if data[at] == ord('"'):
            return at + 1
        if data[at] != ord("\\"):
            raise _OffenceError(at)
        at = _escape(data, at + 1)


def _escape(data: bytes, at: int) -> int:
    if data[at] == ord("u"):
        for index in range(at + 1, at + 5):
            if data[index] not in _HEX:
                raise _OffenceError(index)
        return at + 5
    if data[at] not in b'"\\/bfnrt':
        raise _OffenceError(at)
    return at + 1


def _number(data: bytes, at: int) -> int:
    at += data[at] == ord("-")
    at = at + 1 if data[at] == ord("0") else _digits(data, at)
    if data[at] == ord("."):
        at = _digits(data, at + 1)
    if data[at] in b"eE":
        at += 2 if data[at + 1] in b"+-" else 1
        at = _digits(data, at)
    return at


def _digits(data: bytes, at: int) -> int:
    match = _DIGITS.match(data, at)
    assert match is not None
    if match.end() == at:
        raise _OffenceError(at)
    return match.end()


def example_findings(csv: Csv) -> Iterator[Finding]:
    """What is wrong with the examples of a CSV, and which of its APIs have none."""
    key = next((name for name in _KEYS if name in csv.annotations), "")
    if not csv.annotations or not key:
        missing = "example annotations not found" if csv.annotations else "annotations not found"
        yield Finding(rules.EXAMPLES_ADVICE, about(csv.name, missing), csv.place("metadata", "annotations"))
        return
    place = csv.place("metadata", "annotations", key)
    if all(name in csv.annotations for name in _KEYS):
        message = "both `alm-examples` and `olm.examples` are present. Checking only `alm-examples`"
        yield Finding(rules.EXAMPLES_ADVICE, about(csv.name, message), place, of_key=True)
    problem, examples = _decoded(csv.annotations[key])
    if problem:
        yield Finding(rules.EXAMPLES, problem, place)
        return
    yield from _nameless(csv)
    provided = _provided(csv)
    for api in sorted(set(examples) - provided.keys()):
        yield Finding(rules.EXAMPLES, result_text("example must have a provided API", value=str(api)), place)
    for api in sorted(provided.keys() - set(examples)):
        message = result_text("provided API should have an example annotation", value=str(api))
        yield Finding(rules.EXAMPLES_ADVICE, message, provided[api])


def _decoded(written: str) -> tuple[str, list[GVK]]:
    """The text of what keeps the examples from being read ("" for nothing), and the APIs that they are of."""
    data = written.encode("utf-8", "surrogatepass")
    offset = invalid_offset(data) if data else None
    if offset is not None:
        read = data[:offset].decode("utf-8", "replace")
        cause = f"invalid character at {offset}\n {read}<--(see the invalid character)"
        return result_text("invalid example", value=cause), []
    try:
        items = unmarshal(written) if written else None
        cause = _misfit(items)
    except ValueError as error:
        items, cause = None, str(error)
    if cause:
        return result_text("error decoding example CustomResource", value=cause), []
    return "", [_api(item) for item in items or ()]


def _misfit(items: Any) -> str:
    """Why a JSON value is no list of objects, in the manner of Kubernetes' decoder."""
    if items is None:
        return ""
    if not isinstance(items, list):
        return mismatch_text(items, "[]unstructured.Unstructured")
    for item in items:
        if not isinstance(item, dict):
            return mismatch_text(item, "map[string]interface {}")
        if not text(item.get("kind")):
            return f"Object 'Kind' is missing in '{encode_plain(item).decode()}'"
    return ""


def _api(item: dict[str, Any]) -> GVK:
    api = gvk_of(item)
    # Go's parser of apiVersions gives up at a second slash, and the tools don't ask why.
    return GVK("", "", "") if "/" in api.group else api


def _nameless(csv: Csv) -> Iterator[Finding]:
    for index, item in enumerate(csv.owned_crds):
        if "." not in item.name:
            message = result_text(f"couldn't parse plural.group from crd name: {item.name}")
            place = csv.place("spec", "customresourcedefinitions", "owned", index, "name")
            yield Finding(rules.EXAMPLES, message, place)


def _provided(csv: Csv) -> dict[GVK, Place]:
    """The APIs that a CSV owns, each with where it says so."""
    places: dict[GVK, Place] = {}
    for index, item in enumerate(csv.owned_crds):
        if "." in item.name:
            places.setdefault(GVK(*item.api), csv.place("spec", "customresourcedefinitions", "owned", index))
    for index, service in enumerate(csv.owned_apiservices):
        places.setdefault(GVK(*service.api), csv.place("spec", "apiservicedefinitions", "owned", index))
    return places
