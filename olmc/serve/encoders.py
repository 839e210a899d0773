"""Objects, tables, metadata and Status in the form that a client accepts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from olmc.lean import NamedTuple
from olmc.model.objects import KubernetesObject
from olmc.proposed.installed.resources import Listed, Resource, as_list
from olmc.yaml import dump_one

NOT_ALLOWED = "the server does not allow this method on the requested resource"

_REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class StatusError(Exception):
    """A request that fails; `status` is what the client gets, `headers` go with it."""

    def __init__(self, status: KubernetesObject, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status["message"])
        self.status = status
        self.code = int(status["code"])
        self.headers = dict(headers or {})


def status(code: int, message: str, details: Mapping[str, Any] | None = None) -> KubernetesObject:
    """The Status of a failure; the reason is that of the HTTP code."""
    obj: KubernetesObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
    }
    if code in _REASONS:
        obj["reason"] = _REASONS[code]
    if details:
        obj["details"] = dict(details)
    return {**obj, "code": code}


def bad_request(message: str) -> StatusError:
    return StatusError(status(400, message))


def no_such_path() -> StatusError:
    return StatusError(status(404, "the server could not find the requested resource"))


def not_found(resource: Resource, name: str) -> StatusError:
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return StatusError(status(404, f'{resource.qualified} "{name}" not found', details))


def not_allowed(resource: Resource | None = None, name: str = "") -> StatusError:
    """For every write (R-INST-8)."""
    details = {"name": name, "group": resource.group, "kind": resource.plural} if resource is not None else {}
    shown = {key: value for key, value in details.items() if value}
    return StatusError(status(405, NOT_ALLOWED, shown), {"Allow": "GET"})


def not_watched(resource: Resource) -> StatusError:
    text = f'watch is not supported on resources of kind "{resource.qualified}"'
    return StatusError(status(405, text, {"group": resource.group, "kind": resource.plural}), {"Allow": "GET"})


def not_acceptable(known: tuple[str, ...]) -> StatusError:
    text = f"only the following media types are accepted: {', '.join(known)}"
    return StatusError(status(406, text))


def expired(message: str) -> StatusError:
    return StatusError(status(410, message))


def too_large_version(requested: str, current: str) -> StatusError:
    """The client has seen a later state than the server; clients try again or start anew."""
    text = f"Too large resource version: {requested}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusError(status(504, text, {"causes": [cause], "retryAfterSeconds": 1}), {"Retry-After": "1"})


def invalid(message: str) -> StatusError:
    return StatusError(status(422, message))


def too_many(message: str) -> StatusError:
    return StatusError(status(429, message, {"retryAfterSeconds": 1}), {"Retry-After": "1"})


Shape = Literal["object", "table", "metadata"]
JSON, YAML = "application/json", "application/yaml"
META = "meta.k8s.io"
META_VERSIONS = ("v1", "v1beta1")

_SHAPES: dict[str, Shape] = {
    "": "object",
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata",
}
_PLAIN = frozenset({"*/*", "application/*", JSON})


class Accepted(NamedTuple):
    """The form that is sent: `version` is that of meta.k8s.io."""

    shape: Shape = "object"
    version: str = "v1"
    media: str = JSON


class _Clause(NamedTuple):
    media: str
    parameters: dict[str, str]
    quality: float


def negotiate(header: str) -> Accepted:
    """The best form that an Accept header names; StatusError (406) when there is none."""
    for clause in _clauses(header or "*/*"):
        form = _form(clause)
        if form is not None:
            return form
    raise not_acceptable((JSON, YAML))


def accepts(header: str, media: str, **parameters: str) -> bool:
    """Whether the header names a media type with these parameters, and nothing that is served before it."""
    for clause in _clauses(header):
        if clause.media == media and all(clause.parameters.get(key) == value for key, value in parameters.items()):
            return True
        if clause.media in _PLAIN and "as" not in clause.parameters:
            return False
    return False


def _form(clause: _Clause) -> Accepted | None:
    media = JSON if clause.media in _PLAIN else clause.media
    shape = _SHAPES.get(clause.parameters.get("as", ""))
    if media not in (JSON, YAML) or shape is None:
        return None
    if shape == "object":
        return Accepted(media=media)
    version = clause.parameters.get("v", "")
    if clause.parameters.get("g") != META or version not in META_VERSIONS:
        return None
    return Accepted(shape, version, media)


def _clauses(header: str) -> list[_Clause]:
    """The clauses of an Accept header, best first; those with a quality of 0 are left out."""
    clauses = []
    for text in header.split(","):
        media, *rest = (part.strip() for part in text.split(";"))
        parameters = {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in rest)}
        clauses.append(_Clause(media.lower(), parameters, _quality(parameters.get("q", "1"))))
    # `sorted` is stable: of clauses with one quality the first stays first.
    return sorted((clause for clause in clauses if clause.quality > 0), key=lambda clause: -clause.quality)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


_INCLUDED = ("", "Metadata", "Object", "None")


class Form(NamedTuple):
    """How objects of a resource are sent: `included` is what rows of a table hold of their object."""

    resource: Resource
    accepted: Accepted
    included: str = "Metadata"


class ListPage(NamedTuple):
    """A part of a list: the version of the list, where it goes on ("" for nowhere), and how many come then."""

    items: Sequence[Listed]
    version: str
    token: str = ""
    remaining: int = 0


def form_of(resource: Resource, accepted: Accepted, included: str) -> Form:
    """The form for the parameter `includeObject` of a query; StatusError (400) for a value that is none."""
    if included not in _INCLUDED:
        raise bad_request(f'unrecognized includeObject value: "{included[:80]}"')
    return Form(resource, accepted, included or "Metadata")


def whole_list(form: Form, page: ListPage) -> KubernetesObject:
    """A list in its form."""
    more: dict[str, Any] = {"continue": page.token, "remainingItemCount": page.remaining} if page.token else {}
    metadata = {"resourceVersion": page.version, **more}
    if form.accepted.shape == "table":
        return _table(form, page.items, metadata, with_columns=True)
    if form.accepted.shape == "metadata":
        items = [_metadata(form, item.object) for item in page.items]
        kind = "PartialObjectMetadataList"
        return {"kind": kind, "apiVersion": f"{META}/{form.accepted.version}", "metadata": metadata, "items": items}
    return {**as_list(form.resource, (item.object for item in page.items), page.version), "metadata": metadata}


def whole_item(form: Form, item: Listed, *, with_columns: bool = True) -> KubernetesObject:
    """An object in its form; events of a watch name the columns of a table only once."""
    if form.accepted.shape == "table":
        version = {"resourceVersion": item.object["metadata"].get("resourceVersion", "")}
        return _table(form, [item], version, with_columns=with_columns)
    if form.accepted.shape == "metadata":
        return _metadata(form, item.object)
    return item.object


def bookmark(form: Form, obj: KubernetesObject) -> KubernetesObject:
    """The object of a bookmark in its form: a table without rows, or nothing but the metadata."""
    if form.accepted.shape == "table":
        return _table(form, [], obj["metadata"], with_columns=False)
    return _metadata(form, obj) if form.accepted.shape == "metadata" else obj


def _metadata(form: Form, obj: KubernetesObject) -> KubernetesObject:
    version = f"{META}/{form.accepted.version}"
    return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": obj["metadata"]}


def _table(form: Form, items: Sequence[Listed], metadata: KubernetesObject, *, with_columns: bool) -> KubernetesObject:
    columns = [
        {
            "name": column.name,
            "type": "string",
            "format": "name" if index == 0 else "",
            "description": column.description,
            "priority": column.priority,
        }
        for index, column in enumerate(form.resource.columns)
    ]
    return {
        "kind": "Table",
        "apiVersion": f"{META}/{form.accepted.version}",
        "metadata": metadata,
        "columnDefinitions": columns if with_columns else [],
        "rows": [{"cells": list(item.cells), **_included(form, item)} for item in items],
    }


def _included(form: Form, item: Listed) -> dict[str, Any]:
    if form.included == "None":
        return {}
    return {"object": item.object if form.included == "Object" else _metadata(form, item.object)}


def encode(obj: Any, media: str, *, pretty: bool = False) -> bytes:
    """An object as the bytes of a response."""
    if media == YAML:
        return dump_one(obj).encode(errors="replace")
    separators = None if pretty else (",", ":")
    text = json.dumps(obj, ensure_ascii=False, indent=2 if pretty else None, separators=separators) + "\n"
    return text.encode(errors="replace")  # half a surrogate pair, which YAML can hold, is no character
