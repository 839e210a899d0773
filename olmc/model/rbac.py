"""Kubernetes' RBAC: the API group of its objects, what the lists of a policy rule match, service accounts as users."""

from __future__ import annotations

from collections.abc import Sequence

RBAC = "rbac.authorization.k8s.io"
RBAC_V1 = f"{RBAC}/v1"
ANY = "*"

_ACCOUNT_USER = ["system", "serviceaccount"]


def has_value(values: Sequence[str] | None, wanted: str) -> bool:
    """Whether a list of verbs or API groups includes a value."""
    return bool(values) and (wanted in values or ANY in values)  # type: ignore[operator]


def has_resource(resources: Sequence[str] | None, wanted: str) -> bool:
    """Whether a list of resources includes one: itself, `*`, or `*/scale` for `deployments/scale`."""
    subresource = wanted.partition("/")[2]
    return has_value(resources, wanted) or (bool(subresource) and f"{ANY}/{subresource}" in (resources or ()))


def has_name(names: Sequence[str] | None, wanted: str) -> bool:
    """Whether a list of resourceNames includes a name, "" for a request without one; no list includes every name."""
    return not names or (bool(wanted) and wanted in names)


def has_url(urls: Sequence[str] | None, wanted: str) -> bool:
    """Whether a list of nonResourceURLs includes one: itself, or what it begins with before a trailing `*`."""
    return any(each == wanted or (each.endswith(ANY) and wanted.startswith(each.rstrip(ANY))) for each in urls or ())


def account_of(user: str) -> tuple[str, str] | None:
    """The namespace and name of the service account that a user is, None for a user that is none."""
    parts = user.split(":")
    return (parts[2], parts[3]) if len(parts) == 4 and parts[:2] == _ACCOUNT_USER else None
