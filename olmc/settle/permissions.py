"""The permission check: what a service account may do, by the RBAC that exists (R-PERM-1 … R-PERM-5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.rbac import RBAC, account_of, has_name, has_url, has_value

Rule = Mapping[str, Any]

EVERYTHING: tuple[Rule, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)


class Access(NamedTuple):
    """The RBAC of a cluster, ready to be asked: bindings by the service account (namespace, name) they apply to.

    `cluster` holds the rules granted everywhere, `local` those granted in a namespace.
    """

    cluster: Mapping[tuple[str, str], tuple[Rule, ...]]
    local: Mapping[tuple[str, str, str], tuple[Rule, ...]]

    def rules(self, account_namespace: str, account: str, namespace: str) -> tuple[Rule, ...]:
        """The rules that count for a service account in `namespace` ("": those granted in the whole cluster)."""
        everywhere = self.cluster.get((account_namespace, account), ())
        if not namespace:
            return everywhere
        return everywhere + self.local.get((account_namespace, account, namespace), ())


def access(stock: Mapping[Identity, Rendered]) -> Access:
    """The access that the RBAC objects among `stock` grant to service accounts (R-PERM-2)."""
    cluster: dict[tuple[str, str], list[Rule]] = {}
    local: dict[tuple[str, str, str], list[Rule]] = {}
    for identity, rendered in stock.items():
        if identity.group != RBAC or not identity.kind.endswith("Binding"):
            continue
        obj = rendered.object
        rules = role_of(obj, identity.namespace, stock).get("rules") or ()
        for namespace, name in _accounts(obj, identity.namespace):
            if identity.kind == "ClusterRoleBinding":
                cluster.setdefault((namespace, name), []).extend(rules)
            else:
                local.setdefault((namespace, name, identity.namespace), []).extend(rules)
    return Access(
        {key: tuple(rules) for key, rules in cluster.items()}, {key: tuple(rules) for key, rules in local.items()}
    )


def role_of(binding: KubernetesObject, namespace: str, stock: Mapping[Identity, Rendered]) -> KubernetesObject:
    """The role that a binding in a namespace refers to, {} if it is not there; `cluster-admin` always is (R-PERM-5)."""
    ref = binding.get("roleRef") or {}
    kind, name = ref.get("kind") or "", ref.get("name") or ""
    found = stock.get(Identity(RBAC, kind, namespace if kind == "Role" else "", name))
    if found is not None:
        return found.object
    return {"rules": EVERYTHING} if (kind, name) == ("ClusterRole", "cluster-admin") else {}


def _accounts(binding: KubernetesObject, namespace: str) -> Iterable[tuple[str, str]]:
    for subject in binding.get("subjects") or ():
        if not isinstance(subject, Mapping):
            continue
        if subject.get("kind") == "ServiceAccount":
            yield subject.get("namespace") or namespace, subject.get("name") or ""
        elif subject.get("kind") == "User":
            account = account_of(str(subject.get("name")))
            if account is not None:
                yield account


def rule_problem(rule: Rule) -> str:
    """Why OLM refuses a rule altogether ("" when it doesn't): the texts of R-CSV-15b."""
    if not rule.get("verbs"):
        return "policy rule must have at least one verb"
    if rule.get("nonResourceURLs") and any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
        return "rule cannot apply to both regular resources and non-resource URLs"
    return ""


def allowed(granted: Sequence[Rule], wanted: Rule) -> bool:
    """Whether every request that `wanted` stands for is allowed by some granted rule (R-PERM-2, R-PERM-3).

    Of each list only matters which rules match a value; so the product is taken of those sets, each once.
    """
    urls = wanted.get("nonResourceURLs") or ()
    sets = {frozenset(range(len(granted)))}
    dimensions = (("verbs", has_value), ("nonResourceURLs", has_url)) if urls else _RESOURCE_DIMENSIONS
    for key, matches in dimensions:
        values = dict.fromkeys(wanted.get(key) or [""])
        matching = {frozenset(i for i, rule in enumerate(granted) if matches(rule.get(key), value)) for value in values}
        sets = {one & other for one in sets for other in matching}
        if frozenset() in sets:
            return False
    return True


# OLM takes `pods/log` for a resource like any other, so `*/log` does not include it (R-PERM-3).
_RESOURCE_DIMENSIONS = (
    ("verbs", has_value),
    ("apiGroups", has_value),
    ("resources", has_value),
    ("resourceNames", has_name),
)
