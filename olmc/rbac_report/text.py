"""Permissions as people and machines read them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from typing import Any

from olmc.explain.provenance import place_data
from olmc.kube.rbac import merge
from olmc.model.cluster import NamespacedName
from olmc.model.diagnostics import Location, join_limited
from olmc.model.objects import ANY, ObjectKey, PolicyRule, Subject
from olmc.output.text import paragraph
from olmc.output.unicode import clean
from olmc.rbac_report.builtin_roles import USER_ROLES
from olmc.rbac_report.permissions import Grant
from olmc.rbac_report.risks import Level, gravest_first, group_level, resource_level, verb_level
from olmc.rbac_report.subjects import Permission, PermissionHolder, ShownPermissions, first_permissions

FORMAT_VERSION = 1
Finder = Callable[[Grant], Location | None]
"""Gives the place in the input that a grant's rule stems from."""

_DETAILED_FROM = Level.MEDIUM
"""From this level on a permission is shown by itself, with where it comes from; others are summed up."""
_MOST, _MOST_GROUPS = 100, 20
"""How much of a list is shown: a rule of untrusted input may have thousands of values, and all of its groups stand with
each of its resources. JSON has all of them."""


def in_words(rule: PolicyRule) -> str:
    """A rule in a line: `get, list secrets, deployments.apps named a, b`; of long lists what is gravest, and more."""
    verbs = join_limited(gravest_first(rule.verbs, verb_level, _MOST), _MOST)
    if rule.urls:
        return f"{verbs} {join_limited(rule.urls, _MOST)}"
    resources = gravest_first(rule.resources, resource_level, _MOST)
    groups = gravest_first(rule.groups, group_level, _MOST_GROUPS)
    shown = [_full(resource, groups) for resource in resources[:_MOST]]
    things = join_limited([*shown, *resources[_MOST:]], _MOST)
    return f"{verbs} {things}" + (f" named {in_quotes(rule.names)}" if rule.names else "")


def in_quotes(names: Sequence[str]) -> str:
    """Names as people read them, of many how they begin; the one that nobody sees is `""`."""
    return join_limited([name or '""' for name in names], _MOST)


def _full(resource: str, groups: Sequence[str]) -> str:
    """`deployments.apps/scale`; for several groups `deployments.{apps,extensions}`."""
    if tuple(groups) == ("",):
        return resource
    base, slash, subresource = resource.partition("/")
    group = (
        groups[0] if len(groups) == 1 else f"{{{join_limited([name or 'core' for name in groups], _MOST_GROUPS, ',')}}}"
    )
    return f"{base}.{group}{slash}{subresource}"


def where(namespaces: Sequence[str | None]) -> str:
    """Where a permission holds, in words."""
    if None in namespaces:
        return "wherever it is bound"
    return "in the whole cluster" if "" in namespaces else f"in {join_limited([*filter(None, namespaces)], _MOST)}"


def as_text(
    everybody: Sequence[PermissionHolder],
    gaining: Sequence[PermissionHolder],
    find: Finder,
    waiting: Collection[NamespacedName] = (),
) -> str:
    """All holders, one after the other, and why what they may do is dangerous; the operators `waiting` would not run
    yet."""
    shown = tuple(first_permissions((*everybody, *gaining)))
    blocks = [_block(each, find, waiting) for each in shown]
    return "\n".join((*blocks, *_reasons(shown))) or "Nobody is given permissions here.\n"


def _block(shown: ShownPermissions, find: Finder, waiting: Collection[NamespacedName]) -> str:
    holder, permissions, more = shown
    lines = [f"{clean(_title(holder, waiting))}\n"]
    if not holder.roles:
        lines.append("  has no permissions\n")
    own = tuple(permission for permission in permissions if not _is_well_known(permission))
    lines += _well_known([permission for permission in permissions if _is_well_known(permission)])
    for permission in own:
        if permission.level >= _DETAILED_FROM:
            lines += _details(permission, holder.subject, find)
    for (risks, namespaces), rules in _sum_up(own).items():
        place = "" if None in namespaces else f", {where(namespaces)}"
        if risks:
            lines.append(paragraph(f"{str(Level.LOW).upper()} {risks}", "  ", "      "))
        first = "    " if risks else "  - "
        lines += [paragraph(f"{in_words(rule)}{place}", first, "      ") for rule in merge(rules)]
    if more:
        lines.append(f"  and {more} rules of its roles that are not listed here: see --subject\n")
    return "".join(lines)


def _title(holder: PermissionHolder, waiting: Collection[NamespacedName]) -> str:
    kind, namespace, name = holder.subject
    if kind == "ClusterRole":
        who = f"A user with {name} gains" if name in USER_ROLES else f"A user with ClusterRole {name} gains"
    else:
        who = f"{kind} {f'{namespace}/' if namespace else ''}{name}"
    now = ", ".join(operator.name for operator in holder.operators if operator not in waiting)
    later = ", ".join(operator.name for operator in holder.operators if operator in waiting)
    both = [*([f"{now} runs under"] if now else ()), *([f"{later} would run under"] if later else ())]
    running = f", which {' and '.join(both)}" if both else ""
    return who + running + (f": {holder.level}" if holder.level else "")


def _details(permission: Permission, subject: Subject, find: Finder) -> Iterator[str]:
    head = f"  {str(permission.level).upper()} "
    risks = ", ".join(risk.name for risk in permission.risks)
    yield paragraph(f"{head}{risks}", "", " " * len(head))
    yield paragraph(f"{in_words(permission.rule)}, {where(permission.namespaces)}", "    ", "      ")
    # Reversed, so that of several grants by one role the first one is named.
    for source, grant in {grant.source: grant for grant in reversed(permission.grants)}.items():
        place = find(grant)
        group = "" if grant.subject == subject else f", for {grant.subject}"
        yield paragraph(f"from {source}{group}" + (f" ({place})" if place else ""), "    ", "      ")


def _is_well_known(permission: Permission) -> bool:
    """Whether a permission is one that the roles of users have in every cluster."""
    return all(grant.source_provenance is None and grant.role.name in USER_ROLES for grant in permission.grants)


def _well_known(permissions: Sequence[Permission]) -> Iterator[str]:
    """A line for each role of users that somebody is bound to, in place of the many rules that everybody knows."""
    by_role: dict[tuple[str, tuple[str | None, ...]], list[Permission]] = {}
    for permission in permissions:
        for role in {grant.role.name: None for grant in permission.grants}:
            by_role.setdefault((role, permission.namespaces), []).append(permission)
    for (role, namespaces), same in by_role.items():
        head = f"  {str(max(permission.level for permission in same)).upper()} "
        risks = {risk.name: None for permission in same for risk in permission.risks}
        yield paragraph(f"{head}{', '.join(risks)}", "", " " * len(head))
        yield paragraph(f"what {role} may do in every cluster, {where(namespaces)}", "    ", "      ")


_Key = tuple[str, tuple[str | None, ...]]


def _sum_up(permissions: Sequence[Permission]) -> dict[_Key, list[PolicyRule]]:
    """The rules that are not looked at one by one, by their risks and where they hold; those without risks last."""
    by_risks: dict[_Key, list[PolicyRule]] = {}
    wide = {
        (permission.namespaces, permission.rule._replace(verbs=()))
        for permission in permissions
        if ANY in permission.rule.verbs
    }
    for permission in permissions:
        if permission.level < _DETAILED_FROM and not _goes_without_saying(permission, wide):
            risks = ", ".join(risk.name for risk in permission.risks)
            by_risks.setdefault((risks, permission.namespaces), []).append(permission.rule)

    def order(item: tuple[_Key, list[PolicyRule]]) -> tuple[bool, str, tuple[str, ...]]:
        (risks, namespaces), _ = item
        return (not risks, risks, tuple(name or "" for name in namespaces))

    return dict(sorted(by_risks.items(), key=order))


def _goes_without_saying(permission: Permission, wide: Set[tuple[tuple[str | None, ...], PolicyRule]]) -> bool:
    """Whether somebody who has every verb there has this permission; `wide` is where, and rules without verbs."""
    same = permission.rule._replace(verbs=())
    # Wider in names, or in resources as well: what such a rule has with every verb needs no line of its own.
    rules = (same, same._replace(names=()), same._replace(names=(), resources=(ANY,)))
    return ANY not in permission.rule.verbs and any(
        (place, rule) in wide for place in (permission.namespaces, ("",)) for rule in rules
    )


def _reasons(shown: Iterable[ShownPermissions]) -> Iterator[str]:
    by_name = {risk.name: risk for each in shown for permission in each.permissions for risk in permission.risks}
    if by_name:
        risks = sorted(by_name.values(), key=lambda risk: (-risk.cluster, risk.name))
        width = max(len(risk.name) for risk in risks) + 4
        lines = (paragraph(risk.why, f"  {risk.name}".ljust(width), " " * width) for risk in risks)
        yield "What the risks are\n" + "".join(lines)


def as_data(
    everybody: Sequence[PermissionHolder],
    gaining: Sequence[PermissionHolder],
    dangling: Iterable[tuple[ObjectKey, ObjectKey]],
    find: Finder,
) -> dict[str, Any]:
    """The holders in the format of `schemas/rbac.schema.json`."""
    shown = tuple(first_permissions((*everybody, *gaining)))
    reasons = {risk.name: risk.why for each in shown for permission in each.permissions for risk in permission.risks}
    return {
        "version": FORMAT_VERSION,
        "subjects": [_holder(each, find) for each in shown[: len(everybody)]],
        "userRoles": [_holder(each, find) for each in shown[len(everybody) :]],
        "dangling": [{"binding": binding._asdict(), "role": role._asdict()} for binding, role in dangling],
        "risks": dict(sorted(reasons.items())),
    }


def _holder(shown: ShownPermissions, find: Finder) -> dict[str, Any]:
    holder, permissions, more = shown
    return {
        **holder.subject._asdict(),
        "operators": [operator._asdict() for operator in holder.operators],
        "level": str(holder.level),
        "permissions": [
            {
                **rule_data(permission.rule),
                "namespaces": [] if None in permission.namespaces else list(permission.namespaces),
                "level": str(permission.level),
                "risks": [risk.name for risk in permission.risks],
                "grants": [grant_data(grant, find) for grant in permission.grants],
            }
            for permission in permissions
        ],
        **({"more": more} if more else {}),
    }


def rule_data(rule: PolicyRule) -> dict[str, list[str]]:
    """A rule with the names that a Role has for its fields."""
    keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return {key: list(values) for key, values in zip(keys, rule, strict=True)}


def grant_data(grant: Grant, find: Finder) -> dict[str, Any]:
    """How a grant comes about: to whom, where, by which role and binding, and the place of the rule in the input."""
    return {
        "subject": grant.subject._asdict(),
        "namespace": grant.namespace,
        "role": grant.role._asdict(),
        "source": grant.source._asdict(),
        "binding": grant.binding._asdict() if grant.binding is not None else None,
        "place": place_data(find(grant)),
    }
