"""The errors of the API server for CustomResourceDefinitions, in its words and order (Kubernetes 1.36).

A CRD is one of v1 as Go keeps it. Errors that depend on the rest of the cluster are not found, such as names that
another CRD has taken. Neither are those that `crd_schemas` leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.k8s.api.selectors import is_dns1035_label, is_dns1123_subdomain
from olmc.k8s.api.validation.crd_internal import (
    InternalCrd,
    Version,
    any_schema,
    internal,
    printed_versions,
    stored_versions,
)
from olmc.k8s.api.validation.crd_schemas import CrdRules, part_errors, rules_for_update
from olmc.k8s.api.validation.field import IMMUTABLE, FieldError, JsonText, Path, Struct
from olmc.k8s.api.validation.metadata import content_errors, kind_problems, metadata_errors
from olmc.k8s.api.validation.webhooks import conversion_errors
from olmc.k8s.objects import mapping, text

_APPROVAL = "api-approved.kubernetes.io"
_SPEC = Path("spec", ("spec",))
_VERSIONS, _PRESERVE = _SPEC.child("versions"), _SPEC.child("preserveUnknownFields")
_PRESERVES = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
_LONGEST_WARNING = 256
_SCOPES = ("Cluster", "Namespaced")
_NOT_APPROVED = (
    f'protected groups must have approval annotation "{_APPROVAL}"{{}}, '
    "see https://github.com/kubernetes/enhancements/pull/1111"
)
_LOST_VERSION = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in spec.versions until "
    "a storage migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions"
)


def creation_errors(given: Mapping[str, Any]) -> list[FieldError]:
    """Return the API server's errors for the creation of a CRD; none if it accepts it."""
    crd = internal(given, [])
    # It clears these itself before it looks.
    metadata = {key: value for key, value in crd.metadata.items() if key not in ("namespace", "generation")}
    wanted = f"{text(crd.names.get('plural'))}.{crd.group}"

    def name_problems(name: str) -> list[str]:
        wrong = [] if name == wanted else ['must be spec.names.plural+"."+spec.group']
        return [*is_dns1123_subdomain(name), *wrong]

    return [
        *metadata_errors({"metadata": metadata}, name_problems),
        *_spec_errors(crd, CrdRules()),
        *_stored_errors(crd),
        *_approval_errors(crd, None),
        *preserve_errors(crd.preserves_unknown),
    ]


def update_errors(given: Mapping[str, Any], before: Mapping[str, Any]) -> list[FieldError]:
    """Return the API server's errors for an update of a CRD.

    Rules that the old CRD breaks already are not enforced. An old one whose status has no conditions counts as
    established, as every CRD is after a moment.
    """
    old = internal(before, stored_versions(before))
    crd = internal(given, old.stored)
    # Most updates are right by the strictest rules, so it only matters for others which rules the old one broke.
    strict = CrdRules(any_certificate=False)
    if not (errors := _errors_of_update(crd, old, strict)):
        return []
    rules = rules_for_update(crd, old, strict)
    return errors if rules == strict else _errors_of_update(crd, old, rules)


def _errors_of_update(crd: InternalCrd, old: InternalCrd, rules: CrdRules) -> list[FieldError]:
    return [
        *content_errors(crd.metadata),
        *_spec_errors(crd, rules),
        *_immutable_errors(crd, old),
        *_stored_errors(crd),
        *_approval_errors(crd, old),
        *(() if old.preserves_unknown else preserve_errors(crd.preserves_unknown)),
    ]


def _spec_errors(crd: InternalCrd, rules: CrdRules) -> Iterator[FieldError]:
    yield from group_errors(crd.group)
    yield from scope_errors(crd.scope)
    yield from _missing_schema_errors(crd, rules)
    if crd.preserves_unknown and any_schema(crd, lambda schema: schema.get("default") is not None):
        yield _PRESERVE.invalid(True, "must be false in order to use defaults in the schema")
    yield from _version_errors(crd, rules)
    yield from name_errors(crd.names)
    has_status = crd.shared.has_status or any(version.own.has_status for version in crd.versions or ())
    yield from part_errors(crd.shared, None, has_status, rules)
    for error in conversion_errors(
        crd.conversion,
        preserves_unknown=crd.preserves_unknown,
        any_review_version=rules.any_review_version,
        any_certificate=rules.any_certificate,
    ):
        yield error._replace(value=JsonText.of(error.value)) if isinstance(error.value, list) else error


def group_errors(group: str) -> Iterator[FieldError]:
    """Yield the errors of `spec.group`."""
    path = _SPEC.child("group")
    if not group:
        yield path.required()
    elif problems := is_dns1123_subdomain(group):
        yield path.invalid(group, ",".join(problems))
    elif "." not in group:
        yield path.invalid(group, "should be a domain with at least one dot")


def scope_errors(scope: str) -> Iterator[FieldError]:
    """Yield the errors of `spec.scope`."""
    if not scope:
        yield _SPEC.child("scope").required()
    elif scope not in _SCOPES:
        yield _SPEC.child("scope").unsupported(scope, _SCOPES)


def _missing_schema_errors(crd: InternalCrd, rules: CrdRules) -> Iterator[FieldError]:
    if crd.shared.schema is not None or (crd.preserves_unknown and not rules.every_schema):
        return
    for index, version in enumerate(crd.versions or ()):
        if version.own.schema is None and (rules.every_schema or version.served):
            path = _VERSIONS.item(index).child("schema").called("openAPIV3Schema")
            detail = "schemas are required" if rules.every_schema else "because otherwise all fields are pruned"
            yield path.required(detail)


def _version_errors(crd: InternalCrd, rules: CrdRules) -> Iterator[FieldError]:
    versions = crd.versions or []
    per_version = any(version.own.subresources is not None for version in versions)
    # Kubernetes looks subresources up by the version's name, and of several the first counts; hence from behind.
    with_status = {version.name: version.own.has_status for version in reversed(versions)}
    for index, version in enumerate(versions):
        path = _VERSIONS.item(index)
        yield from path.child("name").all_invalid(version.name, _label_problem(version.name))
        yield from path.child("deprecationWarning").all_invalid(version.warning, _warning_problems(version))
        has_status = with_status[version.name] if per_version else crd.shared.has_status
        yield from part_errors(version.own, (index, version.name), has_status, rules)
    problems = []
    if len({version.name for version in versions}) < len(versions):
        problems.append("must contain unique version names")
    if sum(version.storage for version in versions) != 1:
        problems.append("must have exactly one version marked as storage version")
    for problem in problems:
        shown = printed_versions(None if crd.versions is None else [version.printed for version in versions])
        yield _VERSIONS.invalid(shown, problem)
    if versions and (name := versions[0].name):
        # The API server takes the first version for that of v1beta1's spec.
        path = Path("spec.version", _VERSIONS.item(0).child("name").keys)
        yield from path.all_invalid(name, _label_problem(name))


def _warning_problems(version: Version) -> Iterator[str]:
    warning = version.warning
    if warning is None:
        return
    if not version.deprecated:
        yield "can only be set for deprecated versions"
        return
    if len(warning.encode("utf-8", "replace")) > _LONGEST_WARNING:
        yield f"must be <= {_LONGEST_WARNING} characters long"
    if not warning:
        yield "must not be an empty string"
    odd = next((at for at, sign in enumerate(warning) if not sign.isprintable()), None)
    if odd is not None:
        at = len(warning[:odd].encode("utf-8", "replace"))
        yield f"must only contain printable UTF-8 characters; non-printable character found at index {at}"


def name_errors(given: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield the errors of `spec.names`, defaults included."""
    names = Struct(given, _SPEC.child("names"))
    fields = ("plural", "singular", "kind", "listKind")
    for field in fields:
        if not names.text(field):
            yield names.at(field).required()
    for field in fields:
        yield from names.optional_text(field, kind_problems if field in ("kind", "listKind") else _label_problem)
    yield from _list_errors(names, "shortNames")
    list_kind = names.text("listKind")
    if list_kind and names.text("kind") == list_kind:
        yield names.at("listKind").invalid(list_kind, "kind and listKind may not be the same")
    yield from _list_errors(names, "categories")


def _label_problem(name: str) -> list[str]:
    """Return the problems of a name as a DNS label, in one sentence."""
    problems = is_dns1035_label(name)
    return [",".join(problems)] if problems else []


def _list_errors(names: Struct, field: str) -> Iterator[FieldError]:
    for name, path in names.items(field):
        yield from path.all_invalid(name, _label_problem(name))


def _immutable_errors(crd: InternalCrd, old: InternalCrd) -> Iterator[FieldError]:
    scopes, groups = (crd.scope, old.scope), (crd.group, old.group)
    kinds, plurals = ((text(crd.names.get(key)), text(old.names.get(key))) for key in ("kind", "plural"))
    names = _SPEC.child("names")
    # Until the server has accepted the names, scope and kind may change; group and plural are the CRD's own name.
    lasting = [(_SPEC.child("scope"), scopes), (names.child("kind"), kinds)] if old.is_established else []
    for path, (value, before) in [*lasting, (_SPEC.child("group"), groups), (names.child("plural"), plurals)]:
        if value != before:
            yield path.invalid(value, IMMUTABLE)


def _stored_errors(crd: InternalCrd) -> Iterator[FieldError]:
    path = Path("status.storedVersions", _VERSIONS.keys)
    if not crd.stored:
        yield path.invalid(JsonText("null"), "must have at least one stored version")
        return
    for index, version in enumerate(crd.versions or ()):
        if version.storage and version.name not in crd.stored:
            yield path.keyed(index).invalid(JsonText.of(crd.stored), f"must have the storage version {version.name}")
    names = {version.name for version in crd.versions or ()}
    for index, stored in enumerate(crd.stored):
        if stored not in names:
            yield Path(f"{path.field}[{index}]", path.keys).invalid(stored, _LOST_VERSION.format(stored))


def _approval_errors(crd: InternalCrd, old: InternalCrd | None) -> Iterator[FieldError]:
    """The groups of Kubernetes' own APIs want to know where somebody has approved of the API."""
    if not f".{crd.group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    state = _approval_state(crd)
    if state in ("approved", "bypassed") or (old is not None and state == _approval_state(old)):
        return
    path = Path("metadata", ("metadata",)).child("annotations").key(_APPROVAL)
    if state == "missing":
        yield path.required(_NOT_APPROVED.format(""))
    else:
        detail = _NOT_APPROVED.format(' with either a URL or a reason starting with "unapproved"')
        yield path.invalid(_approval(crd), detail)


def _approval(crd: InternalCrd) -> str:
    return text(mapping(crd.metadata.get("annotations")).get(_APPROVAL))


def _approval_state(crd: InternalCrd) -> str:
    annotation = _approval(crd)
    scheme, separator, rest = annotation.partition("://")
    if not annotation:
        return "missing"
    if annotation.startswith("unapproved"):
        return "bypassed"
    return "approved" if scheme and separator and rest.partition("/")[0] else "invalid"


def preserve_errors(preserves_unknown: bool) -> Iterator[FieldError]:
    """Yield the errors of `spec.preserveUnknownFields`."""
    if preserves_unknown:
        yield _PRESERVE.invalid(True, _PRESERVES)
