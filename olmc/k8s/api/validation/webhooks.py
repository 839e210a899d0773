"""Webhooks as the API server judges them: those of admission configurations (admissionregistration.k8s.io/v1), and
those that convert between the versions of a CRD.

Which errors there are, and in which order, follows the packages validation of
https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/admissionregistration and of apiextensions.k8s.io.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.api.selectors import is_dns1035_label, is_dns1123_subdomain
from olmc.k8s.api.validation.field import FieldError, JsonText, Path, Struct
from olmc.k8s.api.validation.metadata import port_number_problems, selector_errors
from olmc.k8s.lean import module, regex
from olmc.k8s.objects import text

binascii = module("binascii")  # for certificates alone

REVIEW_VERSIONS = ("v1", "v1beta1")

_FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_REINVOCATION_POLICIES = ("IfNeeded", "Never")
_SEGMENTS = 3
_LONGEST = 30

_STRATEGIES = ("None", "Webhook")
_FORM = "; desired format: https://host[/path]"
_URL = regex(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?P<rest>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?", re.DOTALL
)
_PEM = b"-----BEGIN "


def webhook_errors(given: Mapping[str, Any], path: Path, *, mutating: bool) -> Iterator[FieldError]:
    """Yield why the API server refuses the configuration that a webhook is in; `path` is the webhook's place there.

    The webhook comes as Go's types keep it, apart from its namespaceSelector and CA, which OLM writes.
    """
    webhook = Struct(given, path)
    yield from webhook.required_text("name", _name_problems)
    for rule in webhook.structs("rules"):
        yield from _rule_errors(rule)
    yield from _choice_errors(webhook, "failurePolicy", _FAILURE_POLICIES)
    yield from _choice_errors(webhook, "matchPolicy", _MATCH_POLICIES)
    if not webhook.has("sideEffects"):
        yield webhook.at("sideEffects").required(f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    yield from _choice_errors(webhook, "sideEffects", _SIDE_EFFECTS)
    detail = f"the timeout value must be between 1 and {_LONGEST} seconds"
    yield from webhook.out_of_range("timeoutSeconds", 1, _LONGEST, detail)
    yield from selector_errors(webhook.child("objectSelector"))
    if mutating:
        yield from _choice_errors(webhook, "reinvocationPolicy", _REINVOCATION_POLICIES)
    yield from _port_errors(webhook.child("clientConfig", "service"))
    yield from _url_path_errors(webhook.child("clientConfig", "service"))
    versions, place = webhook.texts("admissionReviewVersions"), webhook.at("admissionReviewVersions")
    if not versions:
        yield place.required(f"must specify one of {', '.join(REVIEW_VERSIONS)}")
    elif set(versions).isdisjoint(REVIEW_VERSIONS):
        yield place.invalid(JsonText.of(versions), f"must include at least one of {', '.join(REVIEW_VERSIONS)}")


def _name_problems(name: str) -> list[str]:
    if problems := is_dns1123_subdomain(name):
        return [",".join(problems)]
    is_short = len(name.split(".")) < _SEGMENTS
    return ["should be a domain with at least three segments separated by dots"] if is_short else []


def _choice_errors(owner: Struct, field: str, allowed: tuple[str, ...]) -> Iterator[FieldError]:
    value = owner.get(field)
    if value is not None and value not in allowed:
        yield owner.at(field).unsupported(text(value), allowed)


def _rule_errors(rule: Struct) -> Iterator[FieldError]:
    yield from _star_errors(rule, "operations", "operations")
    for operation, path in rule.items("operations"):
        if operation not in _OPERATIONS:
            yield path.unsupported(operation, _OPERATIONS)
    yield from _star_errors(rule, "apiGroups", "API groups")
    yield from _star_errors(rule, "apiVersions", "API versions")
    yield from (path.required() for version, path in rule.items("apiVersions") if not version)
    yield from _resource_errors(rule.items("resources"), rule.at("resources"))
    yield from _choice_errors(rule, "scope", _SCOPES)


def _star_errors(rule: Struct, field: str, what: str) -> Iterator[FieldError]:
    """Yield the errors of a list that must hold something, and nothing else beside `*`."""
    values = rule.texts(field)
    if not values:
        yield rule.at(field).required()
    elif "*" in values and len(values) > 1:
        yield rule.at(field).invalid(JsonText.of(values), f"if '*' is present, must not specify other {what}")


def _resource_errors(resources: Sequence[tuple[str, Path]], path: Path) -> Iterator[FieldError]:
    if not resources:
        yield path.required()
    whole_kinds: set[str] = set()
    whole_subresources: set[str] = set()
    is_last_plain = False
    # Kubernetes holds each resource against the wildcards before it only, and keeps of plain ones the last.
    for resource, place in resources:
        kind, slash, subresource = resource.partition("/")
        if not resource:
            yield place.required()
        elif not slash:
            is_last_plain = resource != "*"
        else:
            if kind in whole_kinds:
                yield place.invalid(resource, f"if '{kind}/*' is present, must not specify {resource}")
            if subresource in whole_subresources:
                yield place.invalid(resource, f"if '*/{subresource}' is present, must not specify {resource}")
            whole_kinds |= {kind} if subresource == "*" else set()
            whole_subresources |= {subresource} if kind == "*" else set()
    names = [resource for resource, _ in resources]
    if len(names) > 1 and "*/*" in names:
        yield path.invalid(JsonText.of(names), "if '*/*' is present, must not specify other resources")
    if "*" in names and is_last_plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield path.invalid(JsonText.of(names), detail)


def _url_path_errors(service: Struct) -> Iterator[FieldError]:
    """Yield the errors of the path under which a webhook's Service is asked."""
    url, path = service.text("path"), service.at("path")
    if url in ("", "/"):
        return
    if not url.startswith("/"):
        yield path.invalid(url, "must start with a '/'")
    for index, segment in enumerate(url[1:].removesuffix("/").split("/")):
        problems = [f": {problem}" for problem in is_dns1123_subdomain(segment)] if segment else [" may not be empty"]
        yield from path.all_invalid(url, (f"segment[{index}]{problem}" for problem in problems))


def conversion_errors(
    given: Mapping[str, Any], *, preserves_unknown: bool, any_review_version: bool, any_certificate: bool
) -> Iterator[FieldError]:
    """Yield the errors of `spec.conversion` of a CRD of v1, defaults included.

    `preserves_unknown`: whether the CRD keeps fields that it does not know; the others: what an update may leave. A
    list stays one in the error about it, for releases print lists in different ways.
    """
    conversion = Struct(given, Path("spec.conversion", ("spec", "conversion")))
    strategy, path, place = conversion.text("strategy"), conversion.path, conversion.at("strategy")
    if strategy != "None" and preserves_unknown:
        yield place.invalid(strategy, "must be None if spec.preserveUnknownFields is true")
    if not strategy:
        yield place.required()
    elif strategy not in _STRATEGIES:
        yield place.unsupported(strategy, _STRATEGIES)
    webhook, client_name, versions_name = conversion.child("webhook"), "webhookClientConfig", "conversionReviewVersions"
    client, versions = webhook.child("clientConfig"), webhook.texts("conversionReviewVersions")
    if strategy == "Webhook":
        # Kubernetes names the fields as they stood in v1beta1.
        place = path.called(client_name).keyed("webhook", "clientConfig")
        if webhook.has("clientConfig"):
            yield from _client_errors(client._replace(path=place), any_certificate)
        else:
            yield place.required("required when strategy is set to Webhook")
        place = path.called(versions_name).keyed("webhook", "conversionReviewVersions")
        yield from _review_version_errors(versions, place, any_review_version)
        return
    detail = "should not be set when strategy is not set to Webhook"
    if webhook.has("clientConfig"):
        yield path.called(client_name).forbidden(detail)
    if versions:
        yield path.called(versions_name).forbidden(detail)


def _client_errors(client: Struct, any_certificate: bool) -> Iterator[FieldError]:
    if client.has("url") == client.has("service"):
        yield client.path.required("exactly one of url or service is required")
    elif client.has("url"):
        yield from _url_errors(client.text("url"), client.at("url"))
    else:
        yield from _service_errors(client.child("service"))
    bundle = client.text("caBundle")
    if not any_certificate and has_no_certificate(bundle):
        detail = "unable to load root certificates: unable to parse bytes as PEM block"
        yield client.at("caBundle").invalid(JsonText.of(bundle), detail)


def _url_errors(url: str, path: Path) -> Iterator[FieldError]:
    """Yield the errors of the URL of a webhook; of those that Go can't read, only that they are not https."""
    match = _URL.match(url)
    parts = match.groupdict("") if match else dict.fromkeys(_URL.groupindex, "")
    scheme, rest = parts["scheme"].lower(), parts["rest"]
    authority = rest[2:].partition("/")[0] if rest.startswith("//") else ""
    user, sign, host = authority.rpartition("@")
    if scheme != "https":
        yield path.invalid(scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield path.invalid(host, f"host must be provided{_FORM}")
    if sign:
        yield path.invalid(user, "user information is not permitted in the URL")
    for part, what in (("fragment", "fragments"), ("query", "query parameters")):
        if parts[part]:
            yield path.invalid(parts[part], f"{what} are not permitted in the URL")


def _service_errors(service: Struct) -> Iterator[FieldError]:
    # The API server takes one for the other: what it calls the name is the namespace.
    for field, called in (("namespace", "name"), ("name", "namespace")):
        if not service.text(field):
            yield service.path.called(called).keyed(field).required(f"service {called} is required")
    yield from _port_errors(service)
    yield from _url_path_errors(service)


def _port_errors(service: Struct) -> Iterator[FieldError]:
    port = service.integer("port")
    problems = port_number_problems(port) if port is not None else ()
    yield from service.at("port").all_invalid(port, (f"port is not valid: {problem}" for problem in problems))


def has_no_certificate(bundle: str) -> bool:
    """Return whether there is something in a `caBundle` that surely can't be read as certificates."""
    try:
        octets = binascii.a2b_base64(bundle)
    except (binascii.Error, ValueError):
        return False
    return bool(octets) and _PEM not in octets


def _review_version_errors(versions: list[str], path: Path, any_version: bool) -> Iterator[FieldError]:
    if not versions:
        yield path.required()
        return
    for index, version in enumerate(versions):
        problems = ["duplicate version"] if version in versions[:index] else is_dns1035_label(version)
        yield from path.item(index).all_invalid(version, problems)
    if not any_version and set(versions).isdisjoint(REVIEW_VERSIONS):
        yield path.invalid(versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")
