"""Webhooks of admission configurations (admissionregistration.k8s.io/v1) as the API server judges them.

A webhook comes as Go's types keep it, apart from its namespaceSelector and CA, which OLM writes. Which errors there
are, and in which order, follows
https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.golang import is_dns1123_subdomain
from olmc.kube.field_errors import FieldError, Shown
from olmc.kube.field_path import Path, integer
from olmc.kube.selectors import selector_errors
from olmc.model.coerce import mapping, mappings, text, texts

_FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_REINVOCATION_POLICIES = ("IfNeeded", "Never")
_SEGMENTS = 3
_LONGEST = 30


def webhook_errors(webhook: Mapping[str, Any], path: Path, *, mutating: bool) -> Iterator[FieldError]:
    """Why the API server refuses the configuration that a webhook is in; `path` is the webhook's place there."""
    yield from _name(text(webhook.get("name")), path.child("name"))
    for index, rule in enumerate(mappings(webhook.get("rules"))):
        yield from _rule(rule, path.child("rules").item(index))
    yield from _choice(webhook, "failurePolicy", _FAILURE_POLICIES, path)
    yield from _choice(webhook, "matchPolicy", _MATCH_POLICIES, path)
    if webhook.get("sideEffects") is None:
        yield path.child("sideEffects").required(f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    yield from _choice(webhook, "sideEffects", _SIDE_EFFECTS, path)
    seconds = integer(webhook.get("timeoutSeconds"))
    if seconds is not None and not 1 <= seconds <= _LONGEST:
        detail = f"the timeout value must be between 1 and {_LONGEST} seconds"
        yield path.child("timeoutSeconds").invalid(seconds, detail)
    yield from selector_errors(webhook.get("objectSelector"), path.child("objectSelector"))
    if mutating:
        yield from _choice(webhook, "reinvocationPolicy", _REINVOCATION_POLICIES, path)
    service = mapping(mapping(webhook.get("clientConfig")).get("service"))
    yield from url_path_errors(service.get("path"), path.child("clientConfig", "service", "path"))
    yield from _review_versions(texts(webhook.get("admissionReviewVersions")), path.child("admissionReviewVersions"))


def _name(name: str, path: Path) -> Iterator[FieldError]:
    if not name:
        yield path.required()
    elif problems := is_dns1123_subdomain(name):
        yield path.invalid(name, ",".join(problems))
    elif len(name.split(".")) < _SEGMENTS:
        yield path.invalid(name, "should be a domain with at least three segments separated by dots")


def _choice(webhook: Mapping[str, Any], field: str, allowed: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    value = webhook.get(field)
    if value is not None and value not in allowed:
        yield path.child(field).unsupported(text(value), allowed)


def _rule(rule: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    operations, here = texts(rule.get("operations")), path.child("operations")
    yield from _starred(operations, here, "operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield here.item(index).unsupported(operation, _OPERATIONS)
    yield from _starred(texts(rule.get("apiGroups")), path.child("apiGroups"), "API groups")
    versions, here = texts(rule.get("apiVersions")), path.child("apiVersions")
    yield from _starred(versions, here, "API versions")
    for index, version in enumerate(versions):
        if not version:
            yield here.item(index).required()
    yield from _resources(texts(rule.get("resources")), path.child("resources"))
    yield from _choice(rule, "scope", _SCOPES, path)


def _starred(values: Sequence[str], path: Path, what: str) -> Iterator[FieldError]:
    """What is wrong with a list that must hold something, and nothing else beside `*`."""
    if not values:
        yield path.required()
    elif "*" in values and len(values) > 1:
        yield path.invalid(Shown.json(list(values)), f"if '*' is present, must not specify other {what}")


def _resources(resources: Sequence[str], path: Path) -> Iterator[FieldError]:
    if not resources:
        yield path.required()
    whole_kinds: set[str] = set()
    whole_subresources: set[str] = set()
    plain = False
    for index, resource in enumerate(resources):
        here, (kind, slash, subresource) = path.item(index), resource.partition("/")
        if not resource:
            yield here.required()
        elif not slash:
            plain = resource != "*"  # the last one decides
        else:
            if kind in whole_kinds:
                yield here.invalid(resource, f"if '{kind}/*' is present, must not specify {resource}")
            if subresource in whole_subresources:
                yield here.invalid(resource, f"if '*/{subresource}' is present, must not specify {resource}")
            whole_kinds |= {kind} if subresource == "*" else set()
            whole_subresources |= {subresource} if kind == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        detail = "if '*/*' is present, must not specify other resources"
        yield path.invalid(Shown.json(list(resources)), detail)
    if "*" in resources and plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield path.invalid(Shown.json(list(resources)), detail)


def url_path_errors(value: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with the path under which a webhook's Service is asked."""
    url = text(value)
    if url in ("", "/"):
        return
    if not url.startswith("/"):
        yield path.invalid(url, "must start with a '/'")
    for index, segment in enumerate(url[1:].removesuffix("/").split("/")):
        if not segment:
            yield path.invalid(url, f"segment[{index}] may not be empty")
            continue
        yield from path.all_invalid(url, (f"segment[{index}]: {each}" for each in is_dns1123_subdomain(segment)))


def _review_versions(versions: Sequence[str], path: Path) -> Iterator[FieldError]:
    if not versions:
        yield path.required(f"must specify one of {', '.join(_REVIEW_VERSIONS)}")
    elif not set(versions) & set(_REVIEW_VERSIONS):
        detail = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        yield path.invalid(Shown.json(list(versions)), detail)
