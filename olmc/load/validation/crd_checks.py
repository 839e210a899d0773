"""The CRD validator: what Kubernetes checks of a CRD when it is created (R-CAT-225).

Covered are name, group, scope, names, versions, storage version, conversion, preserveUnknownFields, and that every
version of a v1 CRD has a schema. The tools drop whatever they find below `openAPIV3Schema` or `status`, so schemas
themselves are not judged here; that a schema is missing they drop as well, but the API server does not. Not covered
either: subresources, printer columns, the approval annotation of Kubernetes' own groups, and per-version fields that
are all alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from olmc.kube.field_errors import FieldError, forbidden, invalid, required, unsupported
from olmc.kube.object_meta import metadata_errors
from olmc.load.validation.loading_checks import CRD_V1, CRD_V1BETA1
from olmc.load.validation.names import dns1035_label_problems, subdomain_problems
from olmc.load.validation.result import Finding, result_text
from olmc.model.location import Place
from olmc.model.objects import KubernetesObject
from olmc.model.values import mapping, mappings, text, texts
from olmc.model.workspace import Manifest
from olmc.rules import validation as rules

_SCOPES = ("Cluster", "Namespaced")
_STRATEGIES = ("None", "Webhook")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_PRESERVES = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
)


class _Spec(NamedTuple):
    """The spec of a CRD of any version with Kubernetes' defaults filled in."""

    is_v1: bool
    group: str
    scope: str
    names: Mapping[str, Any]
    version: str
    versions: list[Mapping[str, Any]]
    preserves_unknown: bool
    conversion: Mapping[str, Any]


def crd_findings(manifest: Manifest) -> Iterator[Finding]:
    """What is wrong with a CRD of v1 or v1beta1; other versions are none of this validator's business."""
    if manifest.object.get("apiVersion") not in (CRD_V1, CRD_V1BETA1):
        return
    for error in _errors(manifest.object):
        told = result_text(str(error), field=error.field, value=error.bare_value)
        yield Finding(rules.CRD, told, Place(manifest.source, error.keys))


def _errors(crd: KubernetesObject) -> Iterator[FieldError]:
    spec = _defaulted(mapping(crd.get("spec")), is_v1=crd.get("apiVersion") == CRD_V1)
    wanted = f"{text(spec.names.get('plural'))}.{spec.group}"

    def name_problems(name: str) -> list[str]:
        wrong = [] if name == wanted else ['must be spec.names.plural+"."+spec.group']
        return [*subdomain_problems(name), *wrong]

    yield from metadata_errors(crd, name_problems)
    yield from _group_errors(spec.group)
    yield from _scope_errors(spec.scope)
    yield from _version_errors(spec)
    yield from _name_errors(spec.names)
    yield from _conversion_errors(spec)
    if spec.preserves_unknown:
        yield invalid("spec.preserveUnknownFields", True, _PRESERVES, ("spec", "preserveUnknownFields"))


def _defaulted(spec: Mapping[str, Any], *, is_v1: bool) -> _Spec:
    names = dict(mapping(spec.get("names")))
    kind, version = text(names.get("kind")), text(spec.get("version"))
    names["singular"] = text(names.get("singular")) or kind.lower()
    names["listKind"] = text(names.get("listKind")) or (f"{kind}List" if kind else "")
    versions = mappings(spec.get("versions"))
    conversion = dict(mapping(spec.get("conversion")) or {"strategy": "None"})
    preserves = bool(spec.get("preserveUnknownFields"))
    scope = text(spec.get("scope"))
    if not is_v1:
        # What v1beta1 leaves open, v1 decides otherwise: this is why its CRDs preserve unknown fields.
        scope = scope or "Namespaced"
        preserves = spec.get("preserveUnknownFields") is not False
        if not versions and version:
            versions = [{"name": version, "served": True, "storage": True}]
        if conversion.get("strategy") == "Webhook":
            conversion["conversionReviewVersions"] = conversion.get("conversionReviewVersions") or ["v1beta1"]
    return _Spec(is_v1, text(spec.get("group")), scope, names, version, versions, preserves, conversion)


def _group_errors(group: str) -> Iterator[FieldError]:
    field, keys = "spec.group", ("spec", "group")
    if not group:
        yield required(field, keys)
    elif problems := subdomain_problems(group):
        yield invalid(field, group, ",".join(problems), keys)
    elif "." not in group:
        yield invalid(field, group, "should be a domain with at least one dot", keys)


def _scope_errors(scope: str) -> Iterator[FieldError]:
    if not scope:
        yield required("spec.scope", ("spec", "scope"))
    elif scope not in _SCOPES:
        yield unsupported("spec.scope", scope, _SCOPES, ("spec", "scope"))


def _version_errors(spec: _Spec) -> Iterator[FieldError]:
    field, keys = "spec.versions", ("spec", "versions")
    names = tuple(text(version.get("name")) for version in spec.versions)
    for index, (name, version) in enumerate(zip(names, spec.versions, strict=True)):
        if spec.is_v1 and not isinstance(mapping(version.get("schema")).get("openAPIV3Schema"), dict):
            schema = f"{field}[{index}].schema.openAPIV3Schema"
            yield required(schema, (*keys, index, "schema"), "schemas are required")
        problems = dns1035_label_problems(name)
        if problems:
            yield invalid(f"{field}[{index}].name", name, ",".join(problems), (*keys, index, "name"))
    if len(set(names)) < len(names):
        yield invalid(field, names, "must contain unique version names", keys)
    if sum(bool(version.get("storage")) for version in spec.versions) != 1:
        yield invalid(field, names, "must have exactly one version marked as storage version", keys)
    if spec.version and not spec.is_v1:
        if problems := dns1035_label_problems(spec.version):
            yield invalid("spec.version", spec.version, ",".join(problems), ("spec", "version"))
        if names and names[0] != spec.version:
            detail = "must match the first version in spec.versions"
            yield invalid("spec.version", spec.version, detail, ("spec", "version"))


def _name_errors(names: Mapping[str, Any]) -> Iterator[FieldError]:
    for field in ("plural", "singular", "kind", "listKind"):
        if not text(names.get(field)):
            yield required(f"spec.names.{field}", ("spec", "names", field))
    for field in ("plural", "singular"):
        yield from _label_error(field, text(names.get(field)))
    for field in ("kind", "listKind"):
        yield from _label_error(field, text(names.get(field)), mixed_case=True)
    for field in ("shortNames", "categories"):
        for index, name in enumerate(texts(names.get(field))):
            yield from _label_error(field, name, index=index)
    kind, list_kind = text(names.get("kind")), text(names.get("listKind"))
    if kind and kind == list_kind:
        detail = "kind and listKind may not be the same"
        yield invalid("spec.names.listKind", list_kind, detail, ("spec", "names", "listKind"))


def _label_error(field: str, name: str, *, mixed_case: bool = False, index: int | None = None) -> Iterator[FieldError]:
    problems = dns1035_label_problems(name.lower() if mixed_case else name)
    if not problems or (not name and index is None):
        return
    prefix = "may have mixed case, but should otherwise match: " if mixed_case else ""
    at, keys = ("", ()) if index is None else (f"[{index}]", (index,))
    yield invalid(f"spec.names.{field}{at}", name, prefix + ",".join(problems), ("spec", "names", field, *keys))


def _conversion_errors(spec: _Spec) -> Iterator[FieldError]:
    conversion, field, keys = spec.conversion, "spec.conversion", ("spec", "conversion")
    strategy = text(conversion.get("strategy"))
    if strategy != "None" and spec.preserves_unknown:
        detail = "must be None if spec.preserveUnknownFields is true"
        yield invalid(f"{field}.strategy", strategy, detail, (*keys, "strategy"))
    if not strategy:
        yield required(f"{field}.strategy", keys)
    elif strategy not in _STRATEGIES:
        yield unsupported(f"{field}.strategy", strategy, _STRATEGIES, (*keys, "strategy"))
    webhook = mapping(conversion.get("webhook")) if spec.is_v1 else conversion
    client = webhook.get("clientConfig" if spec.is_v1 else "webhookClientConfig")
    review = webhook.get("conversionReviewVersions")
    check: Callable[[Any, list[str]], Iterator[FieldError]] = (
        _webhook_errors if strategy == "Webhook" else _needless_errors
    )
    yield from check(client, texts(review))


def _webhook_errors(client: Any, review: list[str]) -> Iterator[FieldError]:
    field, keys = "spec.conversion.webhookClientConfig", ("spec", "conversion", "webhook", "clientConfig")
    if client is None:
        yield required(field, keys, "required when strategy is set to Webhook")
    elif (mapping(client).get("url") is None) == (mapping(client).get("service") is None):
        yield required(field, keys, "exactly one of url or service is required")
    field, keys = "spec.conversion.conversionReviewVersions", (*keys[:-1], "conversionReviewVersions")
    if not review:
        yield required(field, keys)
    elif not set(review) & set(_REVIEW_VERSIONS):
        yield invalid(field, review, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}", keys)


def _needless_errors(client: Any, review: list[str]) -> Iterator[FieldError]:
    detail, keys = "should not be set when strategy is not set to Webhook", ("spec", "conversion")
    if client is not None:
        yield forbidden("spec.conversion.webhookClientConfig", detail, keys)
    if review:
        yield forbidden("spec.conversion.conversionReviewVersions", detail, keys)
