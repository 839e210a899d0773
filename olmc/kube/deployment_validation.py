"""Deployments (apps/v1) as the API server of Kubernetes 1.36 judges them, in its own words and order.

A Deployment comes as Go's types keep it; what the server fills in before it looks counts as filled in. Which errors
there are, and in which order, follows ValidateDeployment in
https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/apps/validation/validation.go and the functions that it
calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.golang import is_dns1123_subdomain
from olmc.kube.field_errors import FieldError, Shown
from olmc.kube.field_path import Path, integer, present, typed
from olmc.kube.names import percent_problems
from olmc.kube.object_meta import metadata_errors
from olmc.kube.pod_validation import template_errors
from olmc.kube.selectors import is_empty, matches, selector_errors
from olmc.model.coerce import mapping, text, texts

_SPEC = Path("spec", ("spec",))
_DEFAULT_DEADLINE = 600
_DEFAULT_SHARE = "25%"
_STANDARD_FINALIZERS = ("foregroundDeletion", "kubernetes", "orphan")


def creation_errors(deployment: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to create a Deployment: none if it takes it."""
    return [*_metadata_errors(deployment), *_spec_errors(mapping(deployment.get("spec")))]


def update_errors(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses to put a Deployment in the place of one with the same name: none if it takes it.

    Beside all that a new one must obey, the selector stays as it is.
    """
    selector = mapping(new.get("spec")).get("selector")
    errors = creation_errors(new)
    if _comparable(selector) != _comparable(mapping(old.get("spec")).get("selector")):
        errors.append(_SPEC.child("selector").invalid(Shown.json(selector), "field is immutable"))
    return errors


def _comparable(selector: Any) -> Any:
    """A selector without the difference between what is empty and what is missing, which Kubernetes doesn't see."""
    given = present(selector)
    if given is None:
        return None
    return {field: value for field, value in given.items() if value}


def _metadata_errors(deployment: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from metadata_errors(deployment, is_dns1123_subdomain, namespaced=True)
    for index, finalizer in enumerate(texts(mapping(deployment.get("metadata")).get("finalizers"))):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            here = Path("metadata", ("metadata",)).child("finalizers").item(index)
            yield here.invalid(finalizer, "name is neither a standard finalizer name nor is it fully qualified")


def _spec_errors(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from _SPEC.child("replicas").negative(spec.get("replicas"))
    yield from _selected_errors(spec)
    yield from _strategy_errors(mapping(spec.get("strategy")), _SPEC.child("strategy"))
    for field in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        yield from _SPEC.child(field).negative(spec.get(field))
    deadline = integer(spec.get("progressDeadlineSeconds"))
    seconds = _DEFAULT_DEADLINE if deadline is None else deadline
    if seconds <= (integer(spec.get("minReadySeconds")) or 0):
        yield _SPEC.child("progressDeadlineSeconds").invalid(seconds, "must be greater than minReadySeconds")


def _selected_errors(spec: Mapping[str, Any]) -> Iterator[FieldError]:
    """The selector, and the pod template, which it must match."""
    here, selector = _SPEC.child("selector"), present(spec.get("selector"))
    errors = list(selector_errors(selector, here))
    if selector is None:
        yield here.required()
    yield from errors
    selects_all = selector is not None and is_empty(selector)
    if selects_all:
        yield here.invalid(Shown.json(selector), "empty selector is invalid for deployment")
    if errors:
        yield here.invalid(Shown.json(selector), "invalid label selector")
        return
    template, where = mapping(spec.get("template")), _SPEC.child("template")
    labels = mapping(template.get("metadata")).get("labels") or None
    if not selects_all and (selector is None or not matches(selector, mapping(labels))):
        detail = "`selector` does not match template `labels`"
        yield where.child("metadata", "labels").invalid(Shown.json(labels), detail)
    yield from template_errors(template, where)
    yield from _pod_errors(mapping(template.get("spec")), where.child("spec"))


def _pod_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What pods may be, but not those of a Deployment."""
    policy = text(pod.get("restartPolicy"))
    if policy not in ("", "Always"):
        yield path.child("restartPolicy").unsupported(typed(policy), ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        detail = "activeDeadlineSeconds in ReplicaSet is not Supported"
        yield path.child("activeDeadlineSeconds").forbidden(detail)


def _strategy_errors(strategy: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    kind, rolling = text(strategy.get("type")), present(strategy.get("rollingUpdate"))
    here = path.child("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            yield here.forbidden("may not be specified when strategy `type` is 'Recreate'")
    elif kind in ("", "RollingUpdate"):
        yield from _rolling_errors(mapping(rolling), here)
    else:
        update = rolling and {name: rolling.get(field, 0) for field, name in _ROLLING.items()}
        shown = Shown.json({"Type": kind, "RollingUpdate": update if rolling is not None else None})
        yield path.unsupported(shown, ("Recreate", "RollingUpdate"))


_ROLLING = {"maxUnavailable": "MaxUnavailable", "maxSurge": "MaxSurge"}


def _rolling_errors(rolling: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    given = {field: rolling.get(field) for field in _ROLLING}
    values = {field: _DEFAULT_SHARE if value is None else value for field, value in given.items()}
    for field, value in values.items():
        if isinstance(value, str):
            yield from path.child(field).all_invalid(typed(value), percent_problems(value))
        else:
            yield from path.child(field).negative(value)
    here, most = path.child("maxUnavailable"), values["maxUnavailable"]
    if all(_share(value) == 0 for value in values.values()):
        yield here.invalid(typed(most), "may not be 0 when `maxSurge` is 0")
    if isinstance(most, str) and not percent_problems(most) and _share(most) > 100:
        yield here.invalid(typed(most), "must not be greater than 100%")


def _share(value: Any) -> int:
    """The number in a count or percentage, 0 where there is none."""
    number = re.fullmatch("([+-]?[0-9]{1,18})%?", value) if isinstance(value, str) else None
    return int(number.group(1)) if number is not None else integer(value) or 0
