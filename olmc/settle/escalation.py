"""What Kubernetes lets nobody give away: rights that the giver does not have (R-CAT-605).

An account that may create Roles and bindings may put into them only what it may do itself, unless it has the verbs
`escalate` and `bind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.rbac import RBAC, has_name, has_resource, has_url, has_value
from olmc.settle.permissions import Rule, allowed, role_of
from olmc.strconv import quoted

# What Kubernetes lets every account do, by the groups that it is in (`system:basic-user`, `system:discovery`, …).
_EVERYBODY: tuple[Rule, ...] = (
    {
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
    {
        "verbs": ["get"],
        "nonResourceURLs": [
            *("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/version", "/version/"),
            *("/healthz", "/livez", "/readyz", "/.well-known/openid-configuration", "/openid/v1/jwks"),
        ],
    },
)
_RESOURCES = {"Role": "roles", "ClusterRole": "clusterroles"}


def not_held(granted: Sequence[Rule], obj: KubernetesObject, stock: Mapping[Identity, Rendered]) -> str:
    """The rights that an account with the rules `granted` would give away with a new Role or binding without having
    them, as Kubernetes lists them; "" if there are none."""
    if obj["kind"] in _RESOURCES:
        rules = () if _may(granted, "escalate", obj["kind"], "") else obj.get("rules") or ()
    elif obj["kind"].endswith("Binding"):
        ref = obj.get("roleRef") or {}
        free = _may(granted, "bind", ref.get("kind") or "", ref.get("name") or "")
        rules = () if free else role_of(obj, obj["metadata"].get("namespace") or "", stock).get("rules") or ()
    else:
        return ""
    held = (*granted, *_EVERYBODY)
    missing = [right for rule in rules for right in _rights(rule) if not any(_covers(one, right) for one in held)]
    return "\n".join(sorted({_shown(rule) for rule in _compact(missing)}))


def _may(granted: Sequence[Rule], verb: str, kind: str, name: str) -> bool:
    wanted: dict[str, Any] = {"verbs": [verb], "apiGroups": [RBAC], "resources": [_RESOURCES.get(kind, "")]}
    return allowed(granted, {**wanted, "resourceNames": [name]} if name else wanted)


def _rights(rule: Rule) -> Iterator[Rule]:
    """A rule taken apart: one verb on one resource, or on one URL, at a time."""
    names = [[name] for name in rule.get("resourceNames") or ()] or [[]]
    lists = (rule.get("apiGroups") or (), rule.get("resources") or (), rule.get("verbs") or (), names)
    for group, resource, verb, some in product(*lists):
        right = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
        yield {**right, "resourceNames": some} if some else right
    for url, verb in product(rule.get("nonResourceURLs") or (), rule.get("verbs") or ()):
        yield {"verbs": [verb], "nonResourceURLs": [url]}


def _covers(rule: Rule, right: Rule) -> bool:
    """Whether a rule gives a right. Kubernetes reads `*/log` as the logs of everything, as OLM does not (R-PERM-3)."""
    if not has_value(rule.get("verbs"), right["verbs"][0]):
        return False
    if "nonResourceURLs" in right:
        return has_url(rule.get("nonResourceURLs"), right["nonResourceURLs"][0])
    return (
        has_value(rule.get("apiGroups"), right["apiGroups"][0])
        and has_resource(rule.get("resources"), right["resources"][0])
        and has_name(rule.get("resourceNames"), right.get("resourceNames", [""])[0])
    )


def _compact(rights: Iterable[Rule]) -> list[Rule]:
    """The rights on one resource, and on one name of it, together."""
    found: dict[object, dict[str, Any]] = {}
    for index, right in enumerate(rights):
        key = index if "nonResourceURLs" in right else str([right.get(key) for key in _WHAT])
        known = found.setdefault(key, {**right, "verbs": []})
        known["verbs"] += right["verbs"]
    return list(found.values())


_WHAT = ("apiGroups", "resources", "resourceNames")


def _shown(rule: Rule) -> str:
    names = {
        "apiGroups": "APIGroups",
        "resources": "Resources",
        "nonResourceURLs": "NonResourceURLs",
        "resourceNames": "ResourceNames",
        "verbs": "Verbs",
    }
    parts = ((name, rule.get(key)) for key, name in names.items())
    return "{" + ", ".join(f"{name}:{quoted_list(values)}" for name, values in parts if values) + "}"


def quoted_list(values: Iterable[str]) -> str:
    """Texts as Go's %q prints a list of them."""
    return f"[{' '.join(map(quoted, values))}]"
