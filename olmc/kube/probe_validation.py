"""Probes and lifecycle hooks of containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, integer, present, typed
from olmc.kube.names import header_problems, port_errors
from olmc.model.coerce import mapping, mappings, text

DEFAULT_GRACE = 30

_OF_PROBES = ("exec", "httpGet", "tcpSocket", "grpc")
_OF_HOOKS = ("exec", "httpGet", "tcpSocket", "sleep")
_SECONDS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_ONCE = ("livenessProbe", "startupProbe")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def lifecycle_errors(lifecycle: Any, grace: int, path: Path) -> Iterator[FieldError]:
    """What is wrong with a container's hooks; `grace` are the seconds that the pod has to end."""
    for name in ("postStart", "preStop"):
        hook = present(mapping(lifecycle).get(name))
        if hook is not None:
            yield from _handler_errors(hook, _OF_HOOKS, grace, path.child(name))


def probes_errors(container: Mapping[str, Any], grace: int, path: Path) -> Iterator[FieldError]:
    """What is wrong with the three probes of a container."""
    for name in PROBES:
        probe = present(container.get(name))
        if probe is not None:
            yield from _probe_errors(probe, name, grace, path.child(name))


def _probe_errors(probe: Mapping[str, Any], name: str, grace: int, path: Path) -> Iterator[FieldError]:
    yield from _handler_errors(probe, _OF_PROBES, grace, path)
    for field in _SECONDS:
        yield from path.child(field).negative(probe.get(field))
    seconds = integer(probe.get("terminationGracePeriodSeconds"))
    ending = path.child("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        yield ending.invalid(seconds, "must be greater than 0")
    threshold = integer(probe.get("successThreshold")) or 1
    if name in _ONCE and threshold != 1:
        yield path.child("successThreshold").invalid(threshold, "must be 1")
    if name not in _ONCE and seconds is not None:
        yield ending.invalid(seconds, "must not be set for readinessProbes")


def _handler_errors(handler: Mapping[str, Any], kinds: tuple[str, ...], grace: int, path: Path) -> Iterator[FieldError]:
    """A probe or hook does one thing, which is the first that it names."""
    first = ""
    for kind in kinds:
        action = present(handler.get(kind))
        if action is None:
            continue
        if first:
            yield path.child(kind).forbidden("may not specify more than 1 handler type")
            continue
        first = kind
        yield from _action_errors(kind, action, grace, path.child(kind))
    if not first:
        yield path.required("must specify a handler type")


def _action_errors(kind: str, action: Mapping[str, Any], grace: int, path: Path) -> Iterator[FieldError]:
    if kind == "exec" and not action.get("command"):
        yield path.child("command").required()
    if kind == "httpGet":
        yield from port_errors(action.get("port"), path.child("port"))
        scheme = text(action.get("scheme"))
        if scheme not in ("", "HTTP", "HTTPS"):
            yield path.child("scheme").unsupported(typed(scheme), ("HTTP", "HTTPS"))
        for index, header in enumerate(mappings(action.get("httpHeaders"))):
            name = text(header.get("name"))
            yield from path.child("httpHeaders").at(index, "name").all_invalid(name, header_problems(name))
    if kind in ("tcpSocket", "grpc"):
        yield from port_errors(action.get("port"), path.child("port"))
    seconds = integer(action.get("seconds")) or 0
    if kind == "sleep" and not 0 <= seconds <= grace:
        yield path.invalid(seconds, f"must be non-negative and less than terminationGracePeriodSeconds ({grace})")
