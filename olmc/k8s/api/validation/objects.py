"""The API server's errors for the creation and the update of an object of a built-in kind (R-CAT-702).

The kinds are those that a bundle may contain; CRDs and Deployments have modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from olmc.k8s.api.selectors import is_dns1123_subdomain
from olmc.k8s.api.validation import metadata as core
from olmc.k8s.api.validation import policies
from olmc.k8s.api.validation.field import FieldError
from olmc.k8s.api.validation.metadata import metadata_errors
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import RBAC, metadata_of

Obj = Mapping[str, Any]


def _may_change(_: Obj, __: Obj) -> list[FieldError]:
    return []


class _Rules(NamedTuple):
    """The rules of a kind: those for a new object, and what is added when it takes the place of an old one."""

    creation: Callable[[Obj], list[FieldError]]
    update: Callable[[Obj, Obj], list[FieldError]] = _may_change


def creation_errors(obj: Obj) -> list[FieldError]:
    """Return why the API server refuses to create an object, which is as Go's types keep it; [] if it takes it, or if
    nothing is known of its kind but how metadata must look."""
    return _rules_for(obj).creation(obj)


def update_errors(new: Obj, old: Obj) -> list[FieldError]:
    """Return why it refuses to put an object in the place of another one of its kind and name."""
    rules = _rules_for(new)
    return [*rules.creation(new), *rules.update(new, old)]


def _rules_for(obj: Obj) -> _Rules:
    group, kind = str(obj.get("apiVersion") or "").rpartition("/")[0], str(obj.get("kind"))
    return _rules_of_group(group).get(kind, _Rules(_any_kind_errors))


def _any_kind_errors(obj: Obj) -> list[FieldError]:
    """Validate an object of any other kind: its names are DNS subdomains, and the object decides whether it has a
    namespace."""
    # Which kinds have a namespace is not known here; one that has none where it needs one is refused elsewhere.
    namespaced = bool(metadata_of(obj).get("namespace"))
    return metadata_errors(obj, is_dns1123_subdomain, namespaced=namespaced)


def _rules_of_group(group: str) -> Mapping[str, _Rules]:
    """The rules by kind; those of a group are imported when there is an object of it, for most bundles have few."""
    if group == "":
        return {
            "ConfigMap": _Rules(core.config_map_errors, core.config_map_change),
            "Secret": _Rules(core.secret_errors, core.secret_change),
            "Service": _Rules(core.service_errors, core.cluster_ip_change),
        }
    if group in (RBAC, "networking.k8s.io", "policy", "scheduling.k8s.io"):
        rules = {
            RBAC: {
                "Role": _Rules(policies.role_errors),
                "ClusterRole": _Rules(policies.cluster_role_errors),
                "RoleBinding": _Rules(policies.role_binding_errors, policies.role_ref_change),
                "ClusterRoleBinding": _Rules(policies.cluster_role_binding_errors, policies.role_ref_change),
            },
            "networking.k8s.io": {"NetworkPolicy": _Rules(policies.network_policy_errors)},
            "policy": {"PodDisruptionBudget": _Rules(policies.disruption_budget_errors)},
            "scheduling.k8s.io": {"PriorityClass": _Rules(policies.priority_class_errors, policies.priority_change)},
        }
        return rules[group]
    return {}
