"""Roles, ClusterRoles and their bindings (rbac.authorization.k8s.io/v1) as the API server judges them.

An object comes as Go's types keep it. Which errors there are, and in which order, follows
https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/rbac/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.golang import is_dns1123_subdomain
from olmc.kube.field_errors import FieldError, Shown
from olmc.kube.field_path import Path, present
from olmc.kube.names import path_segment_problems
from olmc.kube.object_meta import metadata_errors
from olmc.kube.selectors import selector_errors
from olmc.model.coerce import mapping, mappings, text, texts
from olmc.model.rbac import RBAC

_ROLE_KINDS = ("Role", "ClusterRole")
_SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


def role_errors(role: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a Role."""
    return [*metadata_errors(role, path_segment_problems, namespaced=True), *_rules(role, namespaced=True)]


def cluster_role_errors(role: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a ClusterRole."""
    errors = [*metadata_errors(role, path_segment_problems), *_rules(role, namespaced=False)]
    aggregation, path = present(role.get("aggregationRule")), Path("aggregationRule", ("aggregationRule",))
    if aggregation is not None:
        here, selectors = path.child("clusterRoleSelectors"), mappings(aggregation.get("clusterRoleSelectors"))
        if not selectors:
            errors.append(here.required("at least one clusterRoleSelector required if aggregationRule is non-nil"))
        for index, selector in enumerate(selectors):
            errors += selector_errors(selector, here.item(index))
    return errors


def _rules(role: Mapping[str, Any], *, namespaced: bool) -> Iterator[FieldError]:
    for index, rule in enumerate(mappings(role.get("rules"))):
        yield from _rule(rule, Path("rules", ("rules",)).item(index), namespaced=namespaced)


def _rule(rule: Mapping[str, Any], path: Path, *, namespaced: bool) -> Iterator[FieldError]:
    if not rule.get("verbs"):
        yield path.child("verbs").required("verbs must contain at least one value")
    urls, here = texts(rule.get("nonResourceURLs")), path.child("nonResourceURLs")
    if urls:
        if namespaced:
            yield here.invalid(Shown.json(urls), "namespaced rules cannot apply to non-resource URLs")
        if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield here.invalid(Shown.json(urls), detail)
        return
    if not rule.get("apiGroups"):
        yield path.child("apiGroups").required("resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield path.child("resources").required("resource rules must supply at least one resource")


def role_binding_errors(binding: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a RoleBinding."""
    return [
        *metadata_errors(binding, path_segment_problems, namespaced=True),
        *_role_ref(mapping(binding.get("roleRef")), _ROLE_KINDS),
        *_subjects(binding, namespaced=True),
    ]


def cluster_role_binding_errors(binding: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a ClusterRoleBinding."""
    return [
        *metadata_errors(binding, path_segment_problems),
        *_role_ref(mapping(binding.get("roleRef")), ("ClusterRole",)),
        *_subjects(binding, namespaced=False),
    ]


def role_ref_change(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Why the API server refuses a binding in the place of another: the role that it refers to stays (R-CAT-702)."""
    given, before = (_reference(mapping(each.get("roleRef"))) for each in (new, old))
    path = Path("roleRef", ("roleRef",))
    return [] if given == before else [path.invalid(Shown.json(given), "cannot change roleRef")]


def _reference(ref: Mapping[str, Any]) -> dict[str, str]:
    """A reference as the server holds it; the group is filled in."""
    group = text(ref.get("apiGroup")) or RBAC
    return {"APIGroup": group, "Kind": text(ref.get("kind")), "Name": text(ref.get("name"))}


def _role_ref(ref: Mapping[str, Any], kinds: tuple[str, ...]) -> Iterator[FieldError]:
    path, found = Path("roleRef", ("roleRef",)), _reference(ref)
    if found["APIGroup"] != RBAC:
        yield path.child("apiGroup").unsupported(found["APIGroup"], (RBAC,))
    if found["Kind"] not in kinds:
        yield path.child("kind").unsupported(found["Kind"], kinds)
    name, here = found["Name"], path.child("name")
    if not name:
        yield here.required()
    yield from here.all_invalid(name, path_segment_problems(name) if name else ())


def _subjects(binding: Mapping[str, Any], *, namespaced: bool) -> Iterator[FieldError]:
    for index, subject in enumerate(mappings(binding.get("subjects"))):
        yield from _subject(subject, Path("subjects", ("subjects",)).item(index), namespaced=namespaced)


def _subject(subject: Mapping[str, Any], path: Path, *, namespaced: bool) -> Iterator[FieldError]:
    kind, name, group = (text(subject.get(key)) for key in ("kind", "name", "apiGroup"))
    if not name:
        yield path.child("name").required()
    if kind not in _SUBJECT_KINDS:
        yield path.child("kind").unsupported(kind, _SUBJECT_KINDS)
    elif kind != "ServiceAccount":
        if group not in ("", RBAC):  # filled in where there is none
            yield path.child("apiGroup").unsupported(group, (RBAC,))
    else:
        yield from path.child("name").all_invalid(name, is_dns1123_subdomain(name) if name else ())
        if group:
            yield path.child("apiGroup").unsupported(group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield path.child("namespace").required()
