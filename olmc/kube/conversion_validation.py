"""The conversion of a CRD between its versions as the API server judges it: strategy and webhook."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.golang import is_dns1035_label
from olmc.kube.field_errors import FieldError, Shown
from olmc.kube.field_path import Path, integer
from olmc.kube.names import port_number_problems
from olmc.model.coerce import mapping, text, texts

REVIEW_VERSIONS = ("v1", "v1beta1")
_STRATEGIES = ("None", "Webhook")
_FORM = "; desired format: https://host[/path]"
_URL = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?P<rest>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?", re.DOTALL
)
_PEM = b"-----BEGIN "


def conversion_errors(
    conversion: Mapping[str, Any], *, preserves_unknown: bool, any_review_version: bool, any_certificate: bool
) -> Iterator[FieldError]:
    """What is wrong with `spec.conversion` of a CRD of v1, defaults included.

    `preserves_unknown`: whether the CRD keeps fields that it does not know; the others: what an update may leave. A
    list stays one in the error about it, for releases print lists in different ways.
    """
    here = Path("spec.conversion", ("spec", "conversion"))
    strategy = text(conversion.get("strategy"))
    if strategy != "None" and preserves_unknown:
        detail = "must be None if spec.preserveUnknownFields is true"
        yield here.child("strategy").invalid(strategy, detail)
    if not strategy:
        yield here.child("strategy").required()
    elif strategy not in _STRATEGIES:
        yield here.child("strategy").unsupported(strategy, _STRATEGIES)
    webhook = mapping(conversion.get("webhook"))
    client, versions = webhook.get("clientConfig"), texts(webhook.get("conversionReviewVersions"))
    client_here = here.called("webhookClientConfig").at("webhook", "clientConfig")
    versions_here = here.called("conversionReviewVersions").at("webhook", "conversionReviewVersions")
    if strategy == "Webhook":
        yield from _client_errors(client, client_here, any_certificate)
        yield from _review_version_errors(versions, versions_here, any_review_version)
        return
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield here.called("webhookClientConfig").forbidden(detail)
    if versions:
        yield here.called("conversionReviewVersions").forbidden(detail)


def _client_errors(client: Any, path: Path, any_certificate: bool) -> Iterator[FieldError]:
    if client is None:
        yield path.required("required when strategy is set to Webhook")
        return
    url, service = mapping(client).get("url"), mapping(client).get("service")
    if (url is None) == (service is None):
        yield path.required("exactly one of url or service is required")
    elif url is not None:
        yield from _url_errors(text(url), path.child("url"))
    else:
        yield from _service_errors(mapping(service), path.child("service"))
    bundle = text(mapping(client).get("caBundle"))
    if not any_certificate and has_no_certificate(bundle):
        detail = "unable to load root certificates: unable to parse bytes as PEM block"
        yield path.child("caBundle").invalid(Shown.json(bundle), detail)


def _url_errors(url: str, path: Path) -> Iterator[FieldError]:
    """What is wrong with the URL of a webhook; of those that Go can't read, only that they are not https."""
    found = _URL.match(url)
    parts = found.groupdict("") if found else dict.fromkeys(_URL.groupindex, "")
    scheme, rest = parts["scheme"].lower(), parts["rest"]
    authority = rest[2:].partition("/")[0] if rest.startswith("//") else ""
    user, sign, host = authority.rpartition("@")
    if scheme != "https":
        yield path.invalid(scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield path.invalid(host, f"host must be provided{_FORM}")
    if sign:
        yield path.invalid(user, "user information is not permitted in the URL")
    if parts["fragment"]:
        yield path.invalid(parts["fragment"], "fragments are not permitted in the URL")
    if parts["query"]:
        yield path.invalid(parts["query"], "query parameters are not permitted in the URL")


def _service_errors(service: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    # The API server takes one for the other: what it calls the name is the namespace.
    for asked, told in (("namespace", "name"), ("name", "namespace")):
        if not text(service.get(asked)):
            yield path.called(told).at(asked).required(f"service {told} is required")
    port = integer(service.get("port"))
    for problem in port_number_problems(port) if port is not None else ():
        yield path.child("port").invalid(port, f"port is not valid: {problem}")
    from olmc.kube.webhook_validation import url_path_errors  # few CRDs are converted, and imports take their time

    yield from url_path_errors(service.get("path"), path.child("path"))


def has_no_certificate(bundle: str) -> bool:
    """Whether there is something in a `caBundle` that surely can't be read as certificates."""
    try:
        octets = b64decode(bundle)
    except (binascii.Error, ValueError):
        return False
    return bool(octets) and _PEM not in octets


def _review_version_errors(versions: list[str], path: Path, any_version: bool) -> Iterator[FieldError]:
    if not versions:
        yield path.required()
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield path.item(index).invalid(version, "duplicate version")
        else:
            yield from path.item(index).all_invalid(version, is_dns1035_label(version))
    if not any_version and set(versions).isdisjoint(REVIEW_VERSIONS):
        yield path.invalid(versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}")
