"""Who has which permissions by the RBAC of a cluster, with the ClusterRoles that every cluster has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from olmc.kube.rbac import normalize
from olmc.kube.rbac_access import RoleBinding, decode_binding
from olmc.kube.rbac_forms import CONSTRAINT_ROLE, bound_by_default, rendered_forms
from olmc.kube.roles import Roles, collect_roles
from olmc.lean import NamedTuple
from olmc.model.objects import RBAC, ObjectKey, Origin, PolicyRule, Provenance, Rendered, Subject
from olmc.rbac_report.builtin_roles import builtin_roles, role_of_constraint

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


class SourceRule(NamedTuple):
    """A rule of a role, and the role that it stands in, with the provenance of that."""

    rule: PolicyRule
    source: ObjectKey
    provenance: Provenance | None


class RoleGrant(NamedTuple):
    """A role that a subject has somewhere, as in Grant, with all of its rules, sorted.

    Whoever has the same role has the very tuple of rules: of thousands of rules for thousands of subjects hardly any
    are ever looked at one by one.
    """

    subject: Subject
    namespace: str | None
    role: ObjectKey
    binding: ObjectKey | None
    rules: tuple[SourceRule, ...]

    def of(self, rule: SourceRule) -> Grant:
        """What it grants by one of its rules."""
        return Grant(self.subject, self.namespace, rule.rule, self.role, rule.source, self.binding, rule.provenance)


class Permissions(NamedTuple):
    """All permissions among some objects.

    `bound`: the roles that bindings give to accounts, users and groups. `gained`: what aggregated roles, `admin`,
    `edit` and `view` among them, have beyond what Kubernetes and OLM put there. Both are sorted. `dangling`: bindings,
    each with the role that it names and that is not there.
    """

    bound: tuple[RoleGrant, ...]
    gained: tuple[RoleGrant, ...]
    dangling: tuple[tuple[ObjectKey, ObjectKey], ...]

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What bindings give, rule by rule, which may be much."""
        return _grants(self.bound)

    @property
    def gains(self) -> tuple[Grant, ...]:
        """What aggregated roles have, rule by rule."""
        return _grants(self.gained)

    @property
    def distinct_rules(self) -> Iterator[PolicyRule]:
        """The rules of all roles, those of each once."""
        distinct = {id(role.rules): role.rules for role in (*self.bound, *self.gained)}
        return (each.rule for rules in distinct.values() for each in rules)


def _grants(roles: Iterable[RoleGrant]) -> tuple[Grant, ...]:
    return tuple(sorted({role.of(rule) for role in roles for rule in role.rules}, key=grant_order))


def permissions(objects: Iterable[Rendered]) -> Permissions:
    """The permissions that Roles, ClusterRoles and their bindings among `objects` give, sorted.

    Rules are taken as the API server applies them: URLs only from ClusterRoleBindings, aggregated roles with the rules
    of all roles that their selectors match (what they have themselves is overwritten). Roles that every cluster has
    (`cluster-admin`, `admin` …) count unless the objects have their own, and so does that of OpenShift for the use of
    each of its constraints. Own ones in place of those that Kubernetes binds to somebody are bound.
    """
    bindings: list[RoleBinding] = []
    rendered = dict(builtin_roles())
    for obj in (form for written in objects for form in rendered_forms(written)):
        key = obj.identity
        if key.group == RBAC and key.kind in ("Role", "ClusterRole"):
            rendered[key] = obj
            if key.kind == "ClusterRole" and (subjects := bound_by_default(key.name)):
                bindings.append(RoleBinding(key._replace(kind="ClusterRoleBinding"), key, subjects))
        elif key.group == RBAC and key.kind in ("RoleBinding", "ClusterRoleBinding"):
            bindings.append(decode_binding(key, obj.object, namespace_of(key)))
    for binding in bindings:
        if binding.role.name.startswith(CONSTRAINT_ROLE) and binding.role not in rendered:
            rendered[binding.role] = role_of_constraint(binding.role)
    sources = _Sources.of(rendered)
    grants: dict[tuple[Any, ...], RoleGrant] = {}
    dangling: set[tuple[ObjectKey, ObjectKey]] = set()
    for binding in bindings:
        role = _role_of(binding, rendered)
        if role in rendered:
            grants.update((_role_order(grant), grant) for grant in _granted(binding, role, sources))
        else:
            dangling.add((binding.identity, role))
    gained = sorted((gain for role in rendered for gain in _gained(role, sources)), key=_role_order)
    bound = (grant for _, grant in sorted(grants.items(), key=lambda item: item[0]))
    return Permissions(tuple(bound), tuple(gained), tuple(sorted(dangling)))


def _role_order(grant: RoleGrant) -> tuple[Any, ...]:
    return (grant.subject, grant.namespace or "", grant.role, grant.binding or ())


def grant_order(grant: Grant) -> tuple[Any, ...]:
    """A sort key of grants."""
    return (grant.subject, grant.namespace or "", grant.rule, grant.role, grant.source, grant.binding or ())


def namespace_of(binding: ObjectKey) -> str:
    """Where a binding counts: "" for one of the whole cluster; one that should name a namespace counts in `default`."""
    return "" if binding.kind == "ClusterRoleBinding" else binding.namespace or DEFAULT_NAMESPACE


def _role_of(binding: RoleBinding, roles: Mapping[ObjectKey, Rendered]) -> ObjectKey:
    """The role that a binding names; of a binding without a namespace, a Role without one or in `default`."""
    role = binding.role
    # kubectl puts what names no namespace into `default`, whichever of the two it was left out of.
    there = role._replace(namespace=namespace_of(binding.identity))
    return there if role.kind == "Role" and role not in roles and there in roles else role


class _Sources(NamedTuple):
    """The roles, and what they consist of.

    `rules` gives the rules that a role has, by itself or by aggregation: all, or those about resources; `news` those of
    an aggregated role that not every cluster has.
    """

    roles: Roles
    rules: Callable[[ObjectKey, bool], tuple[SourceRule, ...]]
    news: Callable[[ObjectKey], tuple[SourceRule, ...]]

    @staticmethod
    def of(rendered: Mapping[ObjectKey, Rendered]) -> _Sources:
        roles = collect_roles((key, role.object) for key, role in rendered.items())
        # Copies of a role have the same tuple of rules.
        normalized = cache(
            lambda known: tuple(dict.fromkeys(part for rule in distinct[known] for part in normalize(rule)))
        )
        distinct = {id(role.rules): role.rules for role in roles.by_identity.values()}

        @cache
        def behind(found: tuple[ObjectKey, ...]) -> tuple[SourceRule, ...]:
            rules = (
                SourceRule(rule, source, _provenance(rendered[source]))
                for source in found
                for rule in normalized(id(roles.by_identity[source].rules))
            )
            return tuple(sorted(rules, key=lambda each: (each.rule, each.source)))

        @cache
        def kept(found: tuple[ObjectKey, ...], what: str) -> tuple[SourceRule, ...]:
            if what == "resources":
                return tuple(each for each in behind(found) if not each.rule.urls)
            # What every cluster's `admin` may do is no news; what an operator adds to it is.
            return tuple(each for each in behind(found) if each.provenance is not None)

        def rules_of(role: ObjectKey, everywhere: bool) -> tuple[SourceRule, ...]:
            found = roles.sources(role)
            return behind(found) if everywhere else kept(found, "resources")

        return _Sources(roles, rules_of, lambda role: kept(roles.sources(role), "news"))


def _provenance(role: Rendered) -> Provenance | None:
    """Where a role comes from, None for what every cluster has."""
    return None if role.provenance.origin is Origin.KUBERNETES else role.provenance


def _granted(binding: RoleBinding, role: ObjectKey, sources: _Sources) -> Iterator[RoleGrant]:
    namespace = namespace_of(binding.identity)
    # A RoleBinding gives no URLs: they are in no namespace.
    rules = sources.rules(role, not namespace)
    for subject in binding.subjects if rules else ():
        yield RoleGrant(subject, namespace, role, binding.identity, rules)


def _gained(role: ObjectKey, sources: _Sources) -> Iterator[RoleGrant]:
    """What an aggregated role has beyond what every cluster has."""
    if sources.roles.by_identity[role].selectors:
        rules = sources.news(role)
        if rules:
            yield RoleGrant(Subject("ClusterRole", "", role.name), None, role, None, rules)
