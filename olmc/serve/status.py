"""Errors as the API server words them: `Status` objects, and the exception that carries one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmc.model.objects import KubernetesObject
from olmc.proposed.installed.resources import GROUP, Resource

NOT_ALLOWED = "the server does not allow this method on the requested resource"

_REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    410: "Expired",
    413: "RequestEntityTooLarge",
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
    made: KubernetesObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
    }
    if code in _REASONS:
        made["reason"] = _REASONS[code]
    if details:
        made["details"] = dict(details)
    return {**made, "code": code}


def bad_request(message: str) -> StatusError:
    return StatusError(status(400, message))


def no_such_path() -> StatusError:
    return StatusError(status(404, "the server could not find the requested resource"))


def not_found(resource: Resource, name: str) -> StatusError:
    details = {"name": name, "group": GROUP, "kind": resource.plural}
    return StatusError(status(404, f'{resource.qualified} "{name}" not found', details))


def not_allowed(resource: Resource | None = None, name: str = "") -> StatusError:
    """For every write (R-INST-8)."""
    details = {"name": name, "group": GROUP, "kind": resource.plural} if resource is not None else {}
    shown = {key: value for key, value in details.items() if value}
    return StatusError(status(405, NOT_ALLOWED, shown), {"Allow": "GET"})


def not_watched(resource: Resource) -> StatusError:
    text = f'watch is not supported on resources of kind "{resource.qualified}"'
    return StatusError(status(405, text, {"group": GROUP, "kind": resource.plural}), {"Allow": "GET"})


def not_acceptable(known: tuple[str, ...]) -> StatusError:
    text = f"only the following media types are accepted: {', '.join(known)}"
    return StatusError(status(406, text))


def expired(message: str) -> StatusError:
    return StatusError(status(410, message))


def too_large_version(asked: str, current: str) -> StatusError:
    """The client has seen a later state than the server; clients try again or start anew."""
    text = f"Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StatusError(status(504, text, {"causes": [cause], "retryAfterSeconds": 1}), {"Retry-After": "1"})


def invalid(message: str) -> StatusError:
    return StatusError(status(422, message))


def too_many(message: str) -> StatusError:
    return StatusError(status(429, message, {"retryAfterSeconds": 1}), {"Retry-After": "1"})
