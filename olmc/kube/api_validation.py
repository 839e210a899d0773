"""What an API server says to an object of a built-in kind that is created, or put in the place of another (R-CAT-702).

The kinds are those that a bundle may hold; CRDs have a module of their own, and so have Deployments. A kind is only
imported when there is an object of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from olmc.golang import is_dns1123_subdomain
from olmc.kube.field_errors import FieldError
from olmc.kube.object_meta import metadata_errors
from olmc.model.objects import as_text
from olmc.model.rbac import RBAC

Obj = Mapping[str, Any]


def _free(_: Obj, __: Obj) -> list[FieldError]:
    return []


class _Judge(NamedTuple):
    """The judgement of a kind: of a new object, and what is added when it takes the place of an old one."""

    creation: Callable[[Obj], list[FieldError]]
    update: Callable[[Obj, Obj], list[FieldError]] = _free


def creation_errors(obj: Obj) -> list[FieldError]:
    """Why the API server refuses to create an object, which is as Go's types keep it; [] if it takes it, or if nothing
    is known of its kind but how metadata must look."""
    return _judge(obj).creation(obj)


def update_errors(new: Obj, old: Obj) -> list[FieldError]:
    """Why it refuses to put an object in the place of another one of its kind and name."""
    judge = _judge(new)
    return [*judge.creation(new), *judge.update(new, old)]


def _judge(obj: Obj) -> _Judge:
    group, kind = as_text(obj.get("apiVersion")).rpartition("/")[0], str(obj.get("kind"))
    if group == RBAC:
        return _of_rbac(kind)
    if group == "" and kind in ("ConfigMap", "Secret", "Service"):
        return _of_core(kind)
    if (group, kind) in _POLICIES:
        return _of_policies(kind)
    return _Judge(_any)


_POLICIES = (
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    ("scheduling.k8s.io", "PriorityClass"),
)


def _any(obj: Obj) -> list[FieldError]:
    """Whatever else there is: names are DNS subdomains, and whether there is a namespace says the object."""
    metadata = obj.get("metadata")
    namespaced = isinstance(metadata, dict) and bool(metadata.get("namespace"))
    return metadata_errors(obj, is_dns1123_subdomain, namespaced=namespaced)


def _of_rbac(kind: str) -> _Judge:
    from olmc.kube import rbac_validation as rbac

    judges = {
        "Role": _Judge(rbac.role_errors),
        "ClusterRole": _Judge(rbac.cluster_role_errors),
        "RoleBinding": _Judge(rbac.role_binding_errors, rbac.role_ref_change),
        "ClusterRoleBinding": _Judge(rbac.cluster_role_binding_errors, rbac.role_ref_change),
    }
    return judges.get(kind, _Judge(_any))


def _of_core(kind: str) -> _Judge:
    if kind == "Service":
        from olmc.kube.service_validation import cluster_ip_change, service_errors

        return _Judge(service_errors, cluster_ip_change)
    from olmc.kube import config_validation as config

    if kind == "Secret":
        return _Judge(config.secret_errors, config.secret_change)
    return _Judge(config.config_map_errors, config.config_map_change)


def _of_policies(kind: str) -> _Judge:
    from olmc.kube import policy_validation as policies

    judges = {
        "NetworkPolicy": _Judge(policies.network_policy_errors),
        "PodDisruptionBudget": _Judge(policies.disruption_budget_errors),
        "PriorityClass": _Judge(policies.priority_class_errors, policies.priority_change),
    }
    return judges[kind]
