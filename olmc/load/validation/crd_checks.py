"""The CRD validator: what Kubernetes checks of a CRD when it is created (R-CAT-225).

The tools hold an older release of Kubernetes than clusters do, and so say other things than the API server
(`olmc.kube.api_validation.crds`): they count characters where it counts bytes, dump memory where it prints JSON, judge
CRDs of v1beta1 by their own rules, and drop whatever they find below `openAPIV3Schema` or `status`. What is the same is
asked there: group, scope, names, conversion and preserveUnknownFields. Versions are judged here, since errors print all
of them; that a version of v1 has no schema is told although the tools drop it, for the API server does not. Not covered
are subresources, printer columns, the approval annotation of Kubernetes' own groups, and per-version fields that are
all alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from olmc.kube.api_validation.crd_internal import defaulted_names
from olmc.kube.api_validation.crds import group_errors, name_errors, preserve_errors, scope_errors
from olmc.kube.api_validation.field import FieldError, Path
from olmc.kube.api_validation.metadata import metadata_errors
from olmc.kube.api_validation.webhooks import conversion_errors
from olmc.load.validation.loading_checks import CRD_V1, CRD_V1BETA1
from olmc.load.validation.names import dns1035_label_problems, in_characters, subdomain_problems
from olmc.load.validation.result import Finding, result_text
from olmc.model.coerce import mapping, mappings, text
from olmc.model.location import Place
from olmc.model.objects import KubernetesObject, spec_of
from olmc.model.workspace import Manifest
from olmc.rules import validation as rules


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
    spec = _defaulted(spec_of(crd), is_v1=crd.get("apiVersion") == CRD_V1)
    wanted = f"{text(spec.names.get('plural'))}.{spec.group}"

    def name_problems(name: str) -> list[str]:
        wrong = [] if name == wanted else ['must be spec.names.plural+"."+spec.group']
        return [*subdomain_problems(name), *wrong]

    yield from metadata_errors(crd, name_problems)
    for error in _spec_errors(spec):
        yield error._replace(detail=in_characters(error.detail))


def _spec_errors(spec: _Spec) -> Iterator[FieldError]:
    yield from group_errors(spec.group)
    yield from scope_errors(spec.scope)
    yield from _version_errors(spec)
    yield from name_errors(spec.names)
    yield from conversion_errors(
        spec.conversion, preserves_unknown=spec.preserves_unknown, any_review_version=False, any_certificate=True
    )
    yield from preserve_errors(spec.preserves_unknown)


def _defaulted(spec: Mapping[str, Any], *, is_v1: bool) -> _Spec:
    names = defaulted_names(mapping(spec.get("names")))
    version = text(spec.get("version"))
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
        reviewed = conversion.get("conversionReviewVersions")
        if conversion.get("strategy") == "Webhook":
            reviewed = reviewed or ["v1beta1"]
        webhook = {"clientConfig": conversion.get("webhookClientConfig"), "conversionReviewVersions": reviewed}
        conversion = {"strategy": conversion.get("strategy"), "webhook": webhook}
    return _Spec(is_v1, text(spec.get("group")), scope, names, version, versions, preserves, conversion)


def _version_errors(spec: _Spec) -> Iterator[FieldError]:
    path, old_path = Path("spec.versions", ("spec", "versions")), Path("spec.version", ("spec", "version"))
    names = tuple(text(version.get("name")) for version in spec.versions)
    for index, (name, version) in enumerate(zip(names, spec.versions, strict=True)):
        place = path.item(index)
        if spec.is_v1 and not isinstance(mapping(version.get("schema")).get("openAPIV3Schema"), dict):
            yield place.child("schema").called("openAPIV3Schema").required("schemas are required")
        if problems := dns1035_label_problems(name):
            yield place.child("name").invalid(name, ",".join(problems))
    if len(set(names)) < len(names):
        yield path.invalid(names, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in spec.versions) != 1:
        yield path.invalid(names, "must have exactly one version marked as storage version")
    if spec.version and not spec.is_v1:
        if problems := dns1035_label_problems(spec.version):
            yield old_path.invalid(spec.version, ",".join(problems))
        if names and names[0] != spec.version:
            yield old_path.invalid(spec.version, "must match the first version in spec.versions")
