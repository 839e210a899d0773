"""The kinds of changes of permissions.

`identity` is a service account, user, group or role. `scope` is a namespace, "" for the whole cluster, `*` for wherever
the role gets bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from olmc.diff.change import (
    ADDED,
    CHANGE,
    CHANGED,
    REMOVED,
    RISK,
    ChangeGroup,
    DiffChange,
    Judgement,
    Message,
    UntrustedText,
    change_kind,
    listed,
    shown,
)
from olmc.model.objects import ANY, PolicyRule
from olmc.rbac_report.risks import Level, gravest_first, group_level, resource_level, verb_level

EVERYWHERE = ""
WHERE_BOUND = "*"
"""The scope of a role: wherever somebody gets bound to it."""

_MOST, _MOST_VERBS, _MOST_COMPARED = 12, 40, 10_000
_VERBS = (ANY, "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


@change_kind("PermissionGained", ChangeGroup.PERMISSIONS, ADDED)
def permission_gained(scope: str, rule: PolicyRule, risks: tuple[str, ...], level: str, moved_from: str) -> Judgement:
    """What somebody may do on the new side only.

    `risks` are the names of its dangers as `olmc rbac` has them, `level` is that of the gravest. `moved_from` is
    another ServiceAccount of the operator that could do so before, so that nothing is gained, or "".
    """
    warning: Message = (f" ({level}: {', '.join(risks)})",) if risks else ()
    moved: Message = (", as ServiceAccount ", shown(moved_from), " of the same operator could before") * bool(
        moved_from
    )
    severity = CHANGE if moved_from or level in (str(Level.NONE), str(Level.LOW)) else RISK
    return severity, ("may ", *_allowed(rule), *_where(scope), *warning, *moved)


@change_kind("AccountRenamed", ChangeGroup.PERMISSIONS, CHANGED)
def account_renamed(old: str) -> Judgement:
    """A ServiceAccount that takes the place of another one; what it may do besides is reported by itself."""
    return CHANGE, ("takes the place of ServiceAccount ", shown(old), " with its permissions")


@change_kind("PermissionLost", ChangeGroup.PERMISSIONS, REMOVED)
def permission_lost(scope: str, rule: PolicyRule) -> Judgement:
    """What somebody may do on the old side only."""
    return CHANGE, ("may no longer ", *_allowed(rule), *_where(scope))


@change_kind("PermissionsGained", ChangeGroup.PERMISSIONS, ADDED)
def permissions_gained(scope: str, count: int, level: str) -> Judgement:
    """What somebody may do on the new side only, where a comparison has so many permissions that they are counted.

    `count` is how many resources and URLs they are about, `level` that of the gravest one.
    """
    severity = CHANGE if level in (str(Level.NONE), str(Level.LOW)) else RISK
    warning = f" (the gravest: {level})" if level != str(Level.NONE) else ""
    return severity, (f"may do more with {count} resources, which are not listed here,", *_where(scope), warning)


@change_kind("PermissionsLost", ChangeGroup.PERMISSIONS, REMOVED)
def permissions_lost(scope: str, count: int) -> Judgement:
    """What somebody may do on the old side only, where a comparison has so many permissions that they are counted."""
    return CHANGE, (f"may do less with {count} resources, which are not listed here,", *_where(scope))


@change_kind("RoleGained", ChangeGroup.PERMISSIONS, ADDED)
def role_gained(scope: str, role: str) -> Judgement:
    """A role of the cluster that somebody has on the new side only; what is in it, neither side says."""
    return CHANGE, ("has ", shown(role), *_where(scope))


@change_kind("RoleLost", ChangeGroup.PERMISSIONS, REMOVED)
def role_lost(scope: str, role: str) -> Judgement:
    """A role of the cluster that somebody has on the old side only."""
    return CHANGE, ("no longer has ", shown(role), *_where(scope))


def verbs_in_order(verbs: tuple[str, ...]) -> tuple[str, ...]:
    """Verbs as people are used to read them."""
    return tuple(sorted(verbs, key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb)))


def qualified(resource: str, group: str) -> str:
    """A resource with its group, as kubectl takes it: `deployments.apps/scale`."""
    whole, slash, below = resource.partition("/")
    return f"{whole}.{group}{slash}{below}" if group else resource


def joined_message(rules: Sequence[PolicyRule], first: DiffChange, most: int | None) -> Message:
    """What is reported about several rules of one holder, of which `first` is the change of one; at most `most` of
    them."""
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[PolicyRule]] = {}
    for rule in rules:
        alike.setdefault((rule.verbs, rule.names), []).append(rule)
    pieces: list[str | UntrustedText] = ["may " if first.kind is permission_gained else "may no longer "]
    for number, ((verbs, names), same) in enumerate(alike.items()):
        if most is not None and number == most:
            pieces.append(f" and {len(alike) - most} more")
            break
        pieces += ("; " if number else "", *_verbs(verbs), " ", *_resources(same))
        pieces += (" named ", *listed(names, _MOST)) if names else ()
    return (*pieces, *_where(first.values["scope"]))


def _resources(rules: Sequence[PolicyRule]) -> Message:
    """The resources of rules, each in each of its groups."""
    product = (qualified(resource, group) for rule in rules for group in rule.groups for resource in rule.resources)
    # Rules of untrusted input stand for millions, which are no longer looked at one by one, but counted.
    resources = list(dict.fromkeys(islice(product, _MOST_COMPARED)))
    if len(resources) > _MOST:
        resources = list(dict.fromkeys((*_gravest(rules), *resources)))[: len(resources)]
    total = sum(len(rule.groups) * len(rule.resources) for rule in rules)
    return listed(resources, _MOST, max(0, total - _MOST_COMPARED))


def _gravest(rules: Sequence[PolicyRule]) -> list[str]:
    """The resources of rules that may be dangerous, the gravest first; of each rule as many as would fill a list."""
    levels = {
        qualified(resource, group): resource_level(resource)
        for rule in rules
        for resource in gravest_first(rule.resources, resource_level, _MOST)[:_MOST]
        for group in rule.groups
        if resource_level(resource) and group_level(group)
    }
    return sorted(levels, key=lambda resource: -levels[resource])


def _verbs(verbs: tuple[str, ...]) -> Message:
    if verbs == (ANY,):
        return ("do anything with",)
    return listed(gravest_first(verbs_in_order(verbs), verb_level, _MOST_VERBS), _MOST_VERBS)


def _allowed(rule: PolicyRule) -> Message:
    verbs = _verbs(rule.verbs)
    names: Message = (" named ", *listed(rule.names, _MOST)) if rule.names else ()
    if rule.urls:
        return (*verbs, " the URLs ", *listed(rule.urls, _MOST))
    resources = gravest_first(rule.resources, resource_level, _MOST)
    if len(rule.groups) == 1:
        return (*verbs, " ", *listed([qualified(resource, rule.groups[0]) for resource in resources], _MOST), *names)
    groups = [group or "core" for group in gravest_first(rule.groups, group_level, _MOST)]
    return (*verbs, " ", *listed(resources, _MOST), " in the API groups ", *listed(groups, _MOST), *names)


def _where(scope: str) -> Message:
    if scope == EVERYWHERE:
        return (" in the whole cluster",)
    return (" where the role is bound",) if scope == WHERE_BOUND else (" in namespace ", UntrustedText(scope))
