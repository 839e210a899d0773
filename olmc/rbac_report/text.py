"""Permissions as people and machines read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any

from olmc.explain.provenance import place_data
from olmc.kube.rbac import merge
from olmc.model.diagnostics import Location
from olmc.model.objects import ANY, ObjectKey, PolicyRule, Subject
from olmc.output.messages import printable
from olmc.output.text import paragraph
from olmc.rbac_report.permissions import USER_ROLES, Grant
from olmc.rbac_report.risks import Level
from olmc.rbac_report.subjects import Permission, PermissionHolder

FORMAT_VERSION = 1
Finder = Callable[[Grant], Location | None]
"""Gives the place in the input that a grant's rule stems from."""

_LOOKED_AT = Level.MEDIUM
"""From this level on a permission is shown by itself, with where it comes from; others are summed up."""


def in_words(rule: PolicyRule) -> str:
    """A rule in a line: `get, list secrets, deployments.apps named a, b`."""
    verbs = ", ".join(rule.verbs)
    if rule.urls:
        return f"{verbs} {', '.join(rule.urls)}"
    things = ", ".join(_full(resource, rule.groups) for resource in rule.resources)
    return f"{verbs} {things}" + (f" named {', '.join(rule.names)}" if rule.names else "")


def _full(resource: str, groups: Sequence[str]) -> str:
    """`deployments.apps/scale`; for several groups `deployments.{apps,extensions}`."""
    if tuple(groups) == ("",):
        return resource
    base, slash, subresource = resource.partition("/")
    group = groups[0] if len(groups) == 1 else "{" + ",".join(each or "core" for each in groups) + "}"
    return f"{base}.{group}{slash}{subresource}"


def where(namespaces: Sequence[str | None]) -> str:
    """Where a permission holds, in words."""
    if None in namespaces:
        return "wherever it is bound"
    return "in the whole cluster" if "" in namespaces else f"in {', '.join(filter(None, namespaces))}"


def as_text(everybody: Sequence[PermissionHolder], gaining: Sequence[PermissionHolder], find: Finder) -> str:
    """All holders, one after the other, and why what they may do is dangerous."""
    blocks = [_block(holder, find) for holder in (*everybody, *gaining)]
    return "\n".join((*blocks, *_reasons((*everybody, *gaining)))) or "Nobody is given permissions here.\n"


def _block(holder: PermissionHolder, find: Finder) -> str:
    lines = [f"{printable(_title(holder))}\n"]
    if not holder.permissions:
        lines.append("  has no permissions\n")
    own = tuple(each for each in holder.permissions if not _is_well_known(each))
    lines += _well_known([each for each in holder.permissions if _is_well_known(each)])
    for each in own:
        if each.level >= _LOOKED_AT:
            lines += _looked_at(each, holder.subject, find)
    for (risks, namespaces), rules in _summed_up(own).items():
        place = "" if None in namespaces else f", {where(namespaces)}"
        if risks:
            lines.append(paragraph(f"{str(Level.LOW).upper()} {risks}", "  ", "      "))
        first = "    " if risks else "  - "
        lines += [paragraph(f"{in_words(rule)}{place}", first, "      ") for rule in merge(rules)]
    return "".join(lines)


def _title(holder: PermissionHolder) -> str:
    kind, namespace, name = holder.subject
    if kind == "ClusterRole":
        who = f"A user with {name} gains" if name in USER_ROLES else f"A user with ClusterRole {name} gains"
    else:
        who = f"{kind} {f'{namespace}/' if namespace else ''}{name}"
    operators = ", ".join(operator.name for operator in holder.operators)
    running = f", which {operators} runs under" if operators else ""
    return who + running + (f": {holder.level}" if holder.level else "")


def _looked_at(each: Permission, subject: Subject, find: Finder) -> Iterator[str]:
    head = f"  {str(each.level).upper()} "
    risks = ", ".join(risk.name for risk in each.risks)
    yield paragraph(f"{head}{risks}", "", " " * len(head))
    yield paragraph(f"{in_words(each.rule)}, {where(each.namespaces)}", "    ", "      ")
    for source, grant in {grant.source: grant for grant in reversed(each.grants)}.items():
        place = find(grant)
        group = "" if grant.subject == subject else f", for {grant.subject}"
        yield paragraph(f"from {source}{group}" + (f" ({place})" if place else ""), "    ", "      ")


def _is_well_known(each: Permission) -> bool:
    """Whether a permission is one that the roles of users have in every cluster."""
    return all(grant.source_provenance is None and grant.role.name in USER_ROLES for grant in each.grants)


def _well_known(permissions: Sequence[Permission]) -> Iterator[str]:
    """A line for each role of users that somebody is bound to, in place of the many rules that everybody knows."""
    found: dict[tuple[str, tuple[str | None, ...]], list[Permission]] = {}
    for each in permissions:
        for role in {grant.role.name: None for grant in each.grants}:
            found.setdefault((role, each.namespaces), []).append(each)
    for (role, namespaces), same in found.items():
        head = f"  {str(max(each.level for each in same)).upper()} "
        risks = {risk.name: None for each in same for risk in each.risks}
        yield paragraph(f"{head}{', '.join(risks)}", "", " " * len(head))
        yield paragraph(f"what {role} may do in every cluster, {where(namespaces)}", "    ", "      ")


_Key = tuple[str, tuple[str | None, ...]]


def _summed_up(permissions: Sequence[Permission]) -> dict[_Key, list[PolicyRule]]:
    """The rules that are not looked at one by one, by their risks and where they hold; those without risks last."""
    found: dict[_Key, list[PolicyRule]] = {}
    wide = {(each.namespaces, each.rule._replace(verbs=())) for each in permissions if ANY in each.rule.verbs}
    for each in permissions:
        if each.level < _LOOKED_AT and not _goes_without_saying(each, wide):
            risks = ", ".join(risk.name for risk in each.risks)
            found.setdefault((risks, each.namespaces), []).append(each.rule)

    def order(item: tuple[_Key, list[PolicyRule]]) -> tuple[bool, str, tuple[str, ...]]:
        (risks, namespaces), _ = item
        return (not risks, risks, tuple(name or "" for name in namespaces))

    return dict(sorted(found.items(), key=order))


def _goes_without_saying(each: Permission, wide: Set[tuple[tuple[str | None, ...], PolicyRule]]) -> bool:
    """Whether somebody who has every verb there has this permission; `wide` is where, and rules without verbs."""
    same = each.rule._replace(verbs=())
    rules = (same, same._replace(names=()), same._replace(names=(), resources=(ANY,)))
    return ANY not in each.rule.verbs and any(
        (place, rule) in wide for place in (each.namespaces, ("",)) for rule in rules
    )


def _reasons(everybody: Iterable[PermissionHolder]) -> Iterator[str]:
    shown = {risk.name: risk for holder in everybody for each in holder.permissions for risk in each.risks}
    if shown:
        risks = sorted(shown.values(), key=lambda risk: (-risk.cluster, risk.name))
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
    both = (*everybody, *gaining)
    reasons = {risk.name: risk.why for holder in both for each in holder.permissions for risk in each.risks}
    return {
        "version": FORMAT_VERSION,
        "subjects": [_holder(holder, find) for holder in everybody],
        "userRoles": [_holder(holder, find) for holder in gaining],
        "dangling": [{"binding": one._asdict(), "role": other._asdict()} for one, other in dangling],
        "risks": dict(sorted(reasons.items())),
    }


def _holder(holder: PermissionHolder, find: Finder) -> dict[str, Any]:
    return {
        **holder.subject._asdict(),
        "operators": [operator._asdict() for operator in holder.operators],
        "level": str(holder.level),
        "permissions": [
            {
                **rule_data(each.rule),
                "namespaces": [] if None in each.namespaces else list(each.namespaces),
                "level": str(each.level),
                "risks": [risk.name for risk in each.risks],
                "grants": [grant_data(grant, find) for grant in each.grants],
            }
            for each in holder.permissions
        ],
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
