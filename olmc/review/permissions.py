"""Who may do what: the effective permissions that the RBAC among rendered objects gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from olmc.kube.selectors import is_selector, matches
from olmc.model.coerce import mapping
from olmc.model.objects import Identity, KubernetesObject, Origin, Provenance, Rendered
from olmc.model.rbac import RBAC, account_of
from olmc.review.builtin_roles import builtin_roles
from olmc.review.policy import PolicyRule, beyond, policy_rules

ACCOUNT = "ServiceAccount"

DEFAULT_NAMESPACE = "default"
"""Where kubectl puts what names no namespace."""


class Subject(NamedTuple):
    """Who has permissions: a ServiceAccount with its namespace, a User, a Group.

    The kind `ClusterRole` stands for whoever is going to be bound to an aggregated role such as `edit`.
    """

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(part for part in self if part)


class Grant(NamedTuple):
    """A rule that holds for a subject, where, and why.

    `namespace`: where it holds, "" for the whole cluster, None for wherever `subject`, a role, is bound. `role` is what
    the binding names, `source` the role that has the rule: another one if `role` is aggregated. `binding` is None for a
    subject that is a role. The provenance is that of `source`, None for what every cluster has.
    """

    subject: Subject
    namespace: str | None
    rule: PolicyRule
    role: Identity
    source: Identity
    binding: Identity | None
    source_provenance: Provenance | None


class Permissions(NamedTuple):
    """All permissions among some objects.

    `grants`: what bindings give to accounts, users and groups. `gains`: what aggregated roles, `admin`, `edit` and
    `view` among them, have beyond what Kubernetes and OLM put there. `dangling`: bindings, each with the role that it
    names and that is not there.
    """

    grants: tuple[Grant, ...]
    gains: tuple[Grant, ...]
    dangling: tuple[tuple[Identity, Identity], ...]


def permissions(objects: Iterable[Rendered]) -> Permissions:
    """The permissions that Roles, ClusterRoles and their bindings among `objects` give, sorted.

    Rules are taken as the API server applies them: URLs only from ClusterRoleBindings, aggregated roles with the rules
    of all roles that their selectors match (what they have themselves is overwritten). Roles that every cluster has
    (`cluster-admin`, `admin` …) count unless the objects have their own.
    """
    bindings, roles = [], dict(builtin_roles())
    for found in objects:
        key = found.identity
        if key.group == RBAC and key.kind in ("Role", "ClusterRole"):
            roles[key] = found
        elif key.group == RBAC and key.kind in ("RoleBinding", "ClusterRoleBinding"):
            bindings.append(found)
    sources = _Sources.of(roles)
    grants: set[Grant] = set()
    dangling: set[tuple[Identity, Identity]] = set()
    for binding in bindings:
        role = _role_of(binding, roles)
        if role in roles:
            grants.update(_granted(binding, role, sources))
        else:
            dangling.add((binding.identity, role))
    gains = {gain for role in sources.aggregated for gain in _gained(role, sources)}
    return Permissions(tuple(sorted(grants, key=_order)), tuple(sorted(gains, key=_order)), tuple(sorted(dangling)))


def _order(grant: Grant) -> tuple[Any, ...]:
    return (grant.subject, grant.namespace or "", grant.rule, grant.role, grant.source, grant.binding or ())


def groups_of(subject: Subject) -> tuple[Subject, ...]:
    """The groups that a subject is in without anybody saying so."""
    everybody = Subject("Group", "", "system:authenticated")
    if subject.kind == ACCOUNT:
        accounts = "system:serviceaccounts"
        return (Subject("Group", "", accounts), Subject("Group", "", f"{accounts}:{subject.namespace}"), everybody)
    if subject.kind == "User":
        return (Subject("Group", "", "system:unauthenticated"),) if subject.name == "system:anonymous" else (everybody,)
    return ()


def grants_of(subject: Subject, grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """The grants that count for a subject: its own, and those of the groups that it is in."""
    all_of_them = {subject, *groups_of(subject)}
    return tuple(grant for grant in grants if grant.subject in all_of_them)


def difference(ours: Iterable[Grant], theirs: Iterable[Grant]) -> tuple[Grant, ...]:
    """What `ours` allow and `theirs` do not: grants with the part of their rules that the same subject lacks there.

    Roles and bindings may have other names; a grant for the whole cluster includes every namespace.
    """
    known: dict[Subject, dict[str | None, dict[PolicyRule, None]]] = defaultdict(lambda: defaultdict(dict))
    for grant in theirs:
        known[grant.subject][grant.namespace][grant.rule] = None
    found = []
    for grant in ours:
        places = known.get(grant.subject, {})
        here, everywhere = places.get(grant.namespace, {}), places.get("", {}) if grant.namespace else {}
        if grant.rule not in here and grant.rule not in everywhere:
            found += [grant._replace(rule=part) for part in beyond(grant.rule, (*here, *everywhere))]
    return tuple(found)


def subjects(binding: KubernetesObject, namespace: str) -> Iterator[Subject]:
    """Whom a binding in a namespace ("" for a ClusterRoleBinding) is for; a ServiceAccount by its user name is one."""
    listed = binding.get("subjects")
    for each in listed if isinstance(listed, list) else ():
        if not isinstance(each, Mapping):
            continue
        kind, name = str(each.get("kind") or ""), str(each.get("name") or "")
        if kind == ACCOUNT:
            yield Subject(kind, str(each.get("namespace") or namespace), name)
        elif kind in ("User", "Group"):
            account = account_of(name) if kind == "User" else None
            yield Subject(ACCOUNT, *account) if account is not None else Subject(kind, "", name)


def namespace_of(binding: Identity) -> str:
    """Where a binding counts: "" for one of the whole cluster; one that should name a namespace counts in `default`."""
    return "" if binding.kind == "ClusterRoleBinding" else binding.namespace or DEFAULT_NAMESPACE


def _role_of(binding: Rendered, roles: Mapping[Identity, Rendered]) -> Identity:
    ref = mapping(binding.object.get("roleRef"))
    kind, name = str(ref.get("kind") or ""), str(ref.get("name") or "")
    here = Identity(RBAC, kind, binding.identity.namespace if kind == "Role" else "", name)
    there = here._replace(namespace=namespace_of(binding.identity))
    return there if kind == "Role" and here not in roles and there in roles else here


def _granted(binding: Rendered, role: Identity, sources: _Sources) -> Iterator[Grant]:
    key, namespace = binding.identity, namespace_of(binding.identity)
    for subject in subjects(binding.object, namespace):
        for source in sources.behind(role):
            for rule in sources.rules(source):
                if rule.urls and namespace:
                    continue
                provenance = _provenance(sources.roles[source])
                yield Grant(subject, namespace, rule, role, source, key, provenance)


def _gained(role: Identity, sources: _Sources) -> Iterator[Grant]:
    subject = Subject("ClusterRole", "", role.name)
    for source in sources.behind(role):
        provenance = _provenance(sources.roles[source])
        for rule in sources.rules(source) if provenance is not None else ():
            yield Grant(subject, None, rule, role, source, None, provenance)


def _provenance(found: Rendered) -> Provenance | None:
    return None if found.provenance.origin is Origin.KUBERNETES else found.provenance


class _Sources(NamedTuple):
    """The roles, those of them that are aggregated, and which ClusterRoles have a label with its value."""

    roles: Mapping[Identity, Rendered]
    aggregated: tuple[Identity, ...]
    by_label: Mapping[tuple[str, str], list[Identity]]
    known: dict[Identity, tuple[PolicyRule, ...]]

    @staticmethod
    def of(roles: Mapping[Identity, Rendered]) -> _Sources:
        by_label = defaultdict(list)
        for key, found in roles.items():
            for item in _labels(found).items() if key.kind == "ClusterRole" else ():
                by_label[item].append(key)
        aggregated = tuple(key for key, found in roles.items() if _selectors(found))
        return _Sources(roles, aggregated, by_label, {})

    def behind(self, role: Identity) -> tuple[Identity, ...]:
        """The roles whose rules a role has: itself, or all that it aggregates, over any number of steps."""
        found: dict[Identity, None] = {}
        seen, left = {role}, [role]
        while left:
            key = left.pop()
            selectors = _selectors(self.roles[key])
            if not selectors:
                found[key] = None
            for selector in selectors:
                new = [each for each in self._matching(selector) if each not in seen]
                seen.update(new)
                left.extend(new)
        return tuple(sorted(found))

    def rules(self, role: Identity) -> tuple[PolicyRule, ...]:
        """The rules that a role has itself."""
        if role not in self.known:
            listed = self.roles[role].object.get("rules")
            rules = listed if isinstance(listed, list) else ()
            self.known[role] = tuple(dict.fromkeys(part for rule in rules for part in policy_rules(rule)))
        return self.known[role]

    def _matching(self, selector: Mapping[str, Any]) -> Iterator[Identity]:
        wanted = selector.get("matchLabels") or {}
        first = next(iter(wanted.items()), None)
        candidates = self.by_label.get(first, ()) if first is not None else self.roles
        for key in candidates:
            if key.kind == "ClusterRole" and matches(selector, _labels(self.roles[key])):
                yield key


def _labels(found: Rendered) -> Mapping[str, str]:
    labels = (found.object.get("metadata") or {}).get("labels")
    return {k: v for k, v in labels.items() if isinstance(v, str)} if isinstance(labels, Mapping) else {}


def _selectors(found: Rendered) -> list[Mapping[str, Any]]:
    """The selectors of an aggregated role, without those that the API server would refuse."""
    rule = found.object.get("aggregationRule")
    listed = rule.get("clusterRoleSelectors") if isinstance(rule, Mapping) else None
    return [each for each in listed if is_selector(each)] if isinstance(listed, list) else []
