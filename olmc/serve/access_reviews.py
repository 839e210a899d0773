"""What `kubectl auth can-i` asks: whoever reaches the server may read everything, and nobody may do anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.model.objects import mapping
from olmc.proposed.installed.resources import Resource
from olmc.serve.discovery import PATHS, SERVED
from olmc.serve.encoders import StatusError, bad_request, status

API_VERSION = "authorization.k8s.io/v1"
ACCESS, RULES = "SelfSubjectAccessReview", "SelfSubjectRulesReview"
REVIEWS = {f"/apis/{API_VERSION}/{kind.lower()}s": kind for kind in (ACCESS, RULES)}
"""Where each kind of review is posted to."""

_PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_REASON = "olmc serve can only be read"

# The fields of the messages by their numbers: a text, or a message of its own.
_RESOURCE: dict[int, Any] = {
    1: "namespace",
    2: "verb",
    3: "group",
    4: "version",
    5: "resource",
    6: "subresource",
    7: "name",
}
_SPECS: dict[str, dict[int, Any]] = {
    ACCESS: {1: ("resourceAttributes", _RESOURCE), 2: ("nonResourceAttributes", {1: "path", 2: "verb"})},
    RULES: {1: "namespace"},
}


def review(kind: str, media: str, body: bytes) -> dict[str, Any]:
    """The review of a kind that was posted, with its answer; StatusError (400, 415) for what can't be read."""
    spec = _spec(kind, media.partition(";")[0].strip(), body)
    answer = _access(spec) if kind == ACCESS else _rules()
    return {"kind": kind, "apiVersion": API_VERSION, "metadata": {}, "spec": spec, "status": answer}


def _access(spec: Mapping[str, Any]) -> dict[str, Any]:
    asked = mapping(spec.get("resourceAttributes"))
    path = mapping(spec.get("nonResourceAttributes"))
    if asked:
        part = f"/{asked['subresource']}" if asked.get("subresource") else ""
        wanted = (asked.get("group"), f"{asked.get('resource')}{part}")
        allowed = any(
            (resource.group, name) == wanted and asked.get("verb") in verbs
            for resource in SERVED
            for name, verbs in _readable(resource)
        )
    else:
        allowed = path.get("verb") == "get" and path.get("path") in PATHS
    return {"allowed": True} if allowed else {"allowed": False, "reason": _REASON}


def _readable(resource: Resource) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield resource.plural, resource.verbs
    yield from ((f"{resource.plural}/{part}", ("get",)) for part in resource.parts)


def _rules() -> dict[str, Any]:
    """Everything that can be read, in the form in which `kubectl auth can-i --list` shows it."""
    rules = [
        {"verbs": list(verbs), "apiGroups": [resource.group], "resources": [name]}
        for resource in SERVED
        for name, verbs in _readable(resource)
    ]
    paths = {"verbs": ["get"], "nonResourceURLs": list(PATHS)}
    return {"resourceRules": rules, "nonResourceRules": [paths], "incomplete": False}


def _spec(kind: str, media: str, body: bytes) -> dict[str, Any]:
    if media == _PROTOBUF:
        try:
            return _of_protobuf(kind, body)
        except (ValueError, IndexError) as error:
            raise bad_request("the body of the request is no message in protocol buffers") from error
    if media not in ("", "application/json"):
        raise StatusError(status(415, f"the body of the request was in an unknown format: {media[:80]}"))
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise bad_request("the body of the request is no JSON") from error
    return dict(mapping(mapping(given).get("spec")))


def _of_protobuf(kind: str, body: bytes) -> dict[str, Any]:
    """The spec of a review in the envelope that Kubernetes puts around messages; ValueError, IndexError for none."""
    if not body.startswith(_MAGIC):
        raise ValueError
    raw = next((value for number, value in _fields(body[len(_MAGIC) :]) if number == 2), b"")
    spec = next((value for number, value in _fields(raw) if number == 2), b"")
    return _decoded(spec, _SPECS[kind])


def _decoded(data: bytes, known: Mapping[int, Any]) -> dict[str, Any]:
    decoded: dict[str, Any] = {}
    for number, value in _fields(data):
        field = known.get(number)
        if isinstance(field, tuple):
            decoded[field[0]] = _decoded(value, field[1])
        elif field is not None and value:
            decoded[field] = value.decode()
    return decoded


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that hold bytes, with their numbers; numbers as values are left out."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        size, after = _varint(data, place)
        if key & 7 == 0:
            place = after
            continue
        if key & 7 != 2 or after + size > len(data):
            raise ValueError
        yield key >> 3, data[after : after + size]
        place = after + size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """The number at a place, and where it ends."""
    value, shift = 0, 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
        if shift > 63:
            raise ValueError
