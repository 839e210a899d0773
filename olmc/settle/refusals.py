"""What the API server refuses of a bundle's objects, in the words of OLM's steps (R-CAT-702, R-CAT-712 … R-CAT-716)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.golang import is_dns1123_subdomain, is_label_value, is_qualified_name
from olmc.model.objects import KubernetesObject
from olmc.model.rbac import RBAC

# How OLM's steps begin their errors; of some kinds it says the same for creating and updating.
_DOING = {
    "Secret": "error updating secret: {name}",
    "ConfigMap": "error updating configmap: {name}",
    "Service": "error updating service: {name}",
    "ServiceAccount": "error creating service account: {name}",
    "Role": "error creating role {name}",
    "RoleBinding": "error creating rolebinding {name}",
    "ClusterRole": "error creating clusterrole {name}",
    "ClusterRoleBinding": "error creating clusterrolebinding {name}",
}
_OTHER = "error creating unstructured object {name}"
_IMMUTABLE = {
    "RoleBinding": ("roleRef",),
    "ClusterRoleBinding": ("roleRef",),
    "Secret": ("type",),
    "PriorityClass": ("value",),
}


def refusal(obj: KubernetesObject, existing: KubernetesObject | None) -> str:
    """The text of the step's failure when the API server refuses to create `obj`, or to put it in the place of what
    exists; "" when it does not."""
    name = obj["metadata"].get("name") or ""
    doing = _DOING.get(obj["kind"], _OTHER).format(name=name)
    if existing is not None and _changes_immutable(obj, existing):
        return f"{doing.replace('creating', 'updating')}: field is immutable"
    problem = metadata_problem(obj) or next(_spec_problems(obj), "")
    return f'{doing}: {_full_kind(obj)} "{name}" is invalid: {problem}' if problem else ""


def _full_kind(obj: KubernetesObject) -> str:
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    return f"{obj['kind']}.{group}" if group else str(obj["kind"])


def _changes_immutable(obj: KubernetesObject, existing: KubernetesObject) -> bool:
    """R-CAT-702."""
    if any(obj.get(field) != existing.get(field) for field in _IMMUTABLE.get(obj["kind"], ())):
        return not (obj["kind"] == "Secret" and {obj.get("type") or "Opaque"} == {existing.get("type") or "Opaque"})
    frozen = obj["kind"] in ("ConfigMap", "Secret") and existing.get("immutable") is True
    return frozen and any(obj.get(field) != existing.get(field) for field in ("data", "binaryData"))


def metadata_problem(obj: KubernetesObject) -> str:
    """What is wrong with an object's name, labels or annotations, "" if nothing."""
    metadata = obj["metadata"]
    name = metadata.get("name") or ""
    if obj.get("apiVersion", "").startswith(RBAC):
        wrong = ["may not contain '/'"] if "/" in name else ["may not contain '%'"] if "%" in name else []
    else:
        wrong = is_dns1123_subdomain(name)
    if wrong:
        return f'metadata.name: Invalid value: "{name}": {wrong[0]}'
    for key, value in (metadata.get("labels") or {}).items():
        problem = next(iter(is_qualified_name(key)), "")
        if problem:
            return f'metadata.labels: Invalid value: "{key}": {problem}'
        problem = next(iter(is_label_value(value)), "")
        if problem:
            return f'metadata.labels: Invalid value: "{value}": {problem}'
    return ""


def _spec_problems(obj: KubernetesObject) -> Iterator[str]:
    spec: Mapping[str, Any] = obj.get("spec") or {}
    if obj["kind"] == "Service":
        portless = spec.get("clusterIP") == "None" or spec.get("type") == "ExternalName"
        if not spec.get("ports") and not portless:
            yield "spec.ports: Required value"
    if obj["kind"] in ("Role", "ClusterRole"):
        for index, rule in enumerate(obj.get("rules") or ()):
            yield from _rule_problems(rule, f"rules[{index}]", namespaced=obj["kind"] == "Role")


def _rule_problems(rule: Mapping[str, Any], path: str, *, namespaced: bool) -> Iterator[str]:
    if not rule.get("verbs"):
        yield f"{path}.verbs: Required value: verbs must contain at least one value"
    if rule.get("nonResourceURLs"):
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            yield f"{path}.nonResourceURLs: Invalid value: {_shown(rule)}: {text}"
        elif any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            yield f"{path}.nonResourceURLs: Invalid value: {_shown(rule)}: {text}"
        return
    if not rule.get("apiGroups"):
        yield f"{path}.apiGroups: Required value: resource rules must supply at least one api group"
    if not rule.get("resources"):
        yield f"{path}.resources: Required value: resource rules must supply at least one resource"


def _shown(rule: Mapping[str, Any]) -> str:
    return "[" + ",".join(f'"{url}"' for url in rule.get("nonResourceURLs") or ()) + "]"
