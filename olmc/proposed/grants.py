"""Who may do what by the RBAC of a cluster: users and service accounts (R-INSTALL-7, R-OPERATOR-12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from olmc.kube.selectors import is_selector, matches
from olmc.model.coerce import mapping
from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.rbac import RBAC, account_of
from olmc.proposed.atoms import Atom, covers
from olmc.settle.permissions import EVERYTHING, Rule, role_of


class Subject(NamedTuple):
    """A user, or a service account as the user that it counts as, and the groups that come with it."""

    user: str
    groups: frozenset[str]


class Grants(NamedTuple):
    """What a subject may do: rules that count in the whole cluster, and those that count in a namespace."""

    everywhere: tuple[Rule, ...]
    local: Mapping[str, tuple[Rule, ...]]

    def allow(self, atom: Atom) -> bool:
        """Whether the request that an atom stands for is allowed."""
        rules = self.everywhere + (self.local.get(atom.namespace, ()) if atom.namespace is not None else ())
        return any(covers(rule, atom) for rule in rules)


def account(namespace: str, name: str) -> Subject:
    """A service account."""
    groups = {"system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"}
    return Subject(f"system:serviceaccount:{namespace}:{name}", frozenset(groups))


def person(user: str, groups: tuple[str, ...]) -> Subject:
    """A user with the groups named; both may be those of a service account."""
    named = account_of(user)
    if named is not None:
        found = account(*named)
        return found._replace(groups=found.groups | set(groups))
    return Subject(user, frozenset({"system:authenticated", *groups}))


def grants_of(subject: Subject, stock: Mapping[Identity, Rendered]) -> Grants:
    """What the RBAC objects among `stock` allow a subject."""
    everywhere: list[Rule] = list(EVERYTHING) if "system:masters" in subject.groups else []
    local: dict[str, list[Rule]] = {}
    for identity, found in stock.items():
        if identity.group != RBAC or not identity.kind.endswith("Binding"):
            continue
        if not any(_is_meant(each, subject, identity.namespace) for each in found.object.get("subjects") or ()):
            continue
        rules = tuple(rules_of(role_of(found.object, identity.namespace, stock), stock))
        if identity.kind == "ClusterRoleBinding":
            everywhere += rules
        else:
            local.setdefault(identity.namespace, []).extend(rules)
    return Grants(tuple(everywhere), {namespace: tuple(rules) for namespace, rules in local.items()})


def _is_meant(listed: Any, subject: Subject, namespace: str) -> bool:
    if not isinstance(listed, Mapping):
        return False
    name = str(listed.get("name") or "")
    match listed.get("kind"):
        case "User":
            return name == subject.user
        case "Group":
            return name in subject.groups
        case "ServiceAccount":
            home = listed.get("namespace") or namespace
            return subject.user == f"system:serviceaccount:{home}:{name}"
    return False


def rules_of(role: KubernetesObject, stock: Mapping[Identity, Rendered]) -> Iterator[Rule]:
    """The rules of a role; for an aggregated ClusterRole, those of the ClusterRoles that it selects, which may be
    aggregated themselves, as `view`, `edit` and `admin` are.
    """
    seen: list[KubernetesObject] = []
    waiting = [role]
    while waiting:
        each = waiting.pop(0)
        if any(each is other for other in seen):
            continue
        seen.append(each)
        selectors = mapping(each.get("aggregationRule")).get("clusterRoleSelectors")
        if selectors:
            usable = [item for item in selectors if is_selector(item)] if isinstance(selectors, list) else []
            waiting += _selected(usable, stock)
        else:
            yield from each.get("rules") or ()


def _selected(selectors: Sequence[Mapping[str, Any]], stock: Mapping[Identity, Rendered]) -> Iterator[KubernetesObject]:
    for identity, found in stock.items():
        if (identity.group, identity.kind) == (RBAC, "ClusterRole"):
            labels = found.object["metadata"].get("labels") or {}
            if any(matches(selector, labels) for selector in selectors):
                yield found.object
