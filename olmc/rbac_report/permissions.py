"""Who may do what: the effective permissions that the RBAC among rendered objects gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from olmc.kube.rbac import normalized
from olmc.kube.rbac_access import RoleBinding, Roles, collect_roles, decode_binding
from olmc.model.objects import ObjectKey, Origin, Provenance, Rendered
from olmc.model.rbac import RBAC, PolicyRule, Subject
from olmc.rbac_report.builtin_roles import builtin_roles

DEFAULT_NAMESPACE = "default"
"""Where kubectl puts what names no namespace."""


class Grant(NamedTuple):
    """A rule that holds for a subject, where, and why.

    `namespace`: where it holds, "" for the whole cluster, None for wherever `subject`, a role, is bound. `role` is what
    the binding names, `source` the role that has the rule: another one if `role` is aggregated. `binding` is None for a
    subject that is a role. The provenance is that of `source`, None for what every cluster has.
    """

    subject: Subject
    namespace: str | None
    rule: PolicyRule
    role: ObjectKey
    source: ObjectKey
    binding: ObjectKey | None
    source_provenance: Provenance | None


class Permissions(NamedTuple):
    """All permissions among some objects.

    `grants`: what bindings give to accounts, users and groups. `gains`: what aggregated roles, `admin`, `edit` and
    `view` among them, have beyond what Kubernetes and OLM put there. `dangling`: bindings, each with the role that it
    names and that is not there.
    """

    grants: tuple[Grant, ...]
    gains: tuple[Grant, ...]
    dangling: tuple[tuple[ObjectKey, ObjectKey], ...]


def permissions(objects: Iterable[Rendered]) -> Permissions:
    """The permissions that Roles, ClusterRoles and their bindings among `objects` give, sorted.

    Rules are taken as the API server applies them: URLs only from ClusterRoleBindings, aggregated roles with the rules
    of all roles that their selectors match (what they have themselves is overwritten). Roles that every cluster has
    (`cluster-admin`, `admin` …) count unless the objects have their own.
    """
    bindings: list[RoleBinding] = []
    rendered = dict(builtin_roles())
    for each in objects:
        key = each.identity
        if key.group == RBAC and key.kind in ("Role", "ClusterRole"):
            rendered[key] = each
        elif key.group == RBAC and key.kind in ("RoleBinding", "ClusterRoleBinding"):
            bindings.append(decode_binding(key, each.object, namespace_of(key)))
    sources = _Sources.of(rendered)
    grants: set[Grant] = set()
    dangling: set[tuple[ObjectKey, ObjectKey]] = set()
    for binding in bindings:
        role = _role_of(binding, rendered)
        if role in rendered:
            grants.update(_granted(binding, role, sources))
        else:
            dangling.add((binding.identity, role))
    gains = {gain for role in rendered for gain in _gained(role, sources)}
    return Permissions(tuple(sorted(grants, key=_order)), tuple(sorted(gains, key=_order)), tuple(sorted(dangling)))


def _order(grant: Grant) -> tuple[Any, ...]:
    return (grant.subject, grant.namespace or "", grant.rule, grant.role, grant.source, grant.binding or ())


def namespace_of(binding: ObjectKey) -> str:
    """Where a binding counts: "" for one of the whole cluster; one that should name a namespace counts in `default`."""
    return "" if binding.kind == "ClusterRoleBinding" else binding.namespace or DEFAULT_NAMESPACE


def _role_of(binding: RoleBinding, roles: Mapping[ObjectKey, Rendered]) -> ObjectKey:
    """The role that a binding names; of a binding without a namespace, a Role without one or in `default`."""
    role = binding.role
    there = role._replace(namespace=namespace_of(binding.identity))
    return there if role.kind == "Role" and role not in roles and there in roles else role


class _Sources(NamedTuple):
    """The roles, their rules, and where each of them comes from, None for what every cluster has."""

    roles: Roles
    rules: Mapping[ObjectKey, tuple[PolicyRule, ...]]
    provenances: Mapping[ObjectKey, Provenance | None]

    @staticmethod
    def of(rendered: Mapping[ObjectKey, Rendered]) -> _Sources:
        roles = collect_roles((key, each.object) for key, each in rendered.items())
        rules = {
            key: tuple(dict.fromkeys(part for rule in role.rules for part in normalized(rule)))
            for key, role in roles.by_identity.items()
        }
        provenances = {
            key: None if each.provenance.origin is Origin.KUBERNETES else each.provenance
            for key, each in rendered.items()
        }
        return _Sources(roles, rules, provenances)

    def behind(self, role: ObjectKey) -> Iterator[tuple[ObjectKey, PolicyRule, Provenance | None]]:
        """The rules that a role has, by itself or by aggregation, each with the role that it is in."""
        for source in self.roles.sources(role):
            yield from ((source, rule, self.provenances[source]) for rule in self.rules[source])


def _granted(binding: RoleBinding, role: ObjectKey, sources: _Sources) -> Iterator[Grant]:
    namespace = namespace_of(binding.identity)
    for subject in binding.subjects:
        for source, rule, provenance in sources.behind(role):
            if not (rule.urls and namespace):
                yield Grant(subject, namespace, rule, role, source, binding.identity, provenance)


def _gained(role: ObjectKey, sources: _Sources) -> Iterator[Grant]:
    """What an aggregated role has beyond what every cluster has."""
    if sources.roles.by_identity[role].selectors:
        for source, rule, provenance in sources.behind(role):
            if provenance is not None:
                yield Grant(Subject("ClusterRole", "", role.name), None, rule, role, source, None, provenance)
