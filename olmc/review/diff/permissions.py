"""Permissions gained and lost: what somebody may do on one side and not on the other, whatever roles are called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmc.kube.rbac import merged, uncovered
from olmc.model.objects import Identity
from olmc.model.rbac import ANY, PolicyRule
from olmc.review.builtin_roles import USER_ROLES
from olmc.review.diff.access import EVERYWHERE, WHERE_BOUND, Access, Holder
from olmc.review.diff.change import Foreign, Gravity, Group, Sentence, Sign, listed, shown
from olmc.review.risks import Level, level_of, risks_of

__all__ = [
    "PermissionGained", "PermissionLost", "RoleGained", "RoleLost", "permission_changes", "qualified", "verbs_in_order",
]  # fmt: skip


@dataclass(frozen=True)
class PermissionGained:
    """What `identity`, a service account, user, group or role, may do on the new side only.

    `scope` is a namespace, "" for the whole cluster, `*` for wherever the role gets bound. `rule` is what it may do;
    `risks` are the names of its dangers as `olmc rbac` has them, `level` is that of the gravest.
    """

    identity: Identity
    scope: str
    rule: PolicyRule
    risks: tuple[str, ...]
    level: str

    group = Group.PERMISSIONS
    sign = Sign.ADDED

    @property
    def gravity(self) -> Gravity:
        return Gravity.CHANGE if self.level in (str(Level.NONE), str(Level.LOW)) else Gravity.RISK

    def sentence(self) -> Sentence:
        warning: Sentence = (f" ({self.level}: {', '.join(self.risks)})",) if self.risks else ()
        return ("may ", *_what(self.rule), *_where(self.scope), *warning)


@dataclass(frozen=True)
class PermissionLost:
    """What `identity` may do on the old side only; the fields are those of PermissionGained."""

    identity: Identity
    scope: str
    rule: PolicyRule

    group = Group.PERMISSIONS
    gravity = Gravity.CHANGE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("may no longer ", *_what(self.rule), *_where(self.scope))


@dataclass(frozen=True)
class RoleGained:
    """A role of the cluster that `identity` has on the new side only; what is in it, neither side says."""

    identity: Identity
    scope: str
    role: str

    group = Group.PERMISSIONS
    gravity = Gravity.CHANGE
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("has ", shown(self.role), *_where(self.scope))


@dataclass(frozen=True)
class RoleLost:
    """A role of the cluster that `identity` has on the old side only."""

    identity: Identity
    scope: str
    role: str

    group = Group.PERMISSIONS
    gravity = Gravity.CHANGE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("no longer has ", shown(self.role), *_where(self.scope))


def permission_changes(old: Access, new: Access) -> Iterator[PermissionGained | PermissionLost | RoleGained | RoleLost]:
    """How two sides differ in what they let whom do."""
    for holder, rule in _gained(old, new):
        risks, level = _risks(holder, rule)
        yield PermissionGained(holder.subject, holder.scope, rule, risks, str(level))
    for holder, rule in _gained(new, old):
        yield PermissionLost(holder.subject, holder.scope, rule)
    for holder in sorted(old.roles.keys() | new.roles.keys()):
        before, after = set(old.roles.get(holder, ())), set(new.roles.get(holder, ()))
        yield from (RoleGained(holder.subject, holder.scope, role) for role in sorted(after - before))
        yield from (RoleLost(holder.subject, holder.scope, role) for role in sorted(before - after))


def _gained(old: Access, new: Access) -> Iterator[tuple[Holder, PolicyRule]]:
    """What holders may do in `new` and not in `old`, in as few rules as it takes.

    What is gained in the whole cluster is not told once more for a namespace.
    """
    for holder in sorted(new.rules):
        known = [*old.granted(holder), *new.everywhere(holder)]
        left: list[PolicyRule] = []
        for rule in sorted(set(new.rules[holder]) - set(known), key=_widest_first):
            left += uncovered(rule, (*known, *left))
        yield from ((holder, rule) for rule in merged(left))


def _widest_first(rule: PolicyRule) -> tuple[int, PolicyRule]:
    return -sum(ANY in values for values in rule), rule


def _risks(holder: Holder, rule: PolicyRule) -> tuple[tuple[str, ...], Level]:
    """The risks of a rule by name; that admins may do anything with an operator's objects is how OLM wants it."""
    namespace = None if holder.scope == WHERE_BOUND else holder.scope
    names = tuple(risk.name for risk in risks_of(rule, namespace))
    is_user = holder.subject.kind == "ClusterRole" and holder.subject.name in USER_ROLES
    return tuple(name for name in names if not (is_user and name == "every verb")), level_of(rule, namespace)


_VERBS = (ANY, "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_MOST = 12


def verbs_in_order(verbs: tuple[str, ...]) -> tuple[str, ...]:
    """Verbs as people are used to read them."""
    return tuple(sorted(verbs, key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb)))


def qualified(resource: str, group: str) -> str:
    """A resource with its group, as kubectl takes it: `deployments.apps/scale`."""
    whole, slash, below = resource.partition("/")
    return f"{whole}.{group}{slash}{below}" if group else resource


def _what(rule: PolicyRule) -> Sentence:
    verbs: Sentence = ("do anything with",) if rule.verbs == (ANY,) else listed(verbs_in_order(rule.verbs))
    names: Sentence = (" named ", *_some(rule.names)) if rule.names else ()
    if rule.urls:
        return (*verbs, " the URLs ", *_some(rule.urls))
    if len(rule.groups) == 1:
        resources: Sentence = _some(tuple(qualified(each, rule.groups[0]) for each in rule.resources))
    else:
        groups = _some(tuple(group or "core" for group in rule.groups))
        resources = (*_some(rule.resources), " in the API groups ", *groups)
    return (*verbs, " ", *resources, *names)


def _some(values: tuple[str, ...]) -> Sentence:
    more = f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
    return (*listed(values[:_MOST]), more) if more else listed(values)


def _where(scope: str) -> Sentence:
    if scope == EVERYWHERE:
        return (" in the whole cluster",)
    return (" where the role is bound",) if scope == WHERE_BOUND else (" in namespace ", Foreign(scope))
