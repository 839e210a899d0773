"""RBAC policy rules: what they allow, and what one allows that others do not.

A rule is a box: each of its verbs, on each of its resources, in each of its API groups, under each of its names. So two
rules are compared side by side, never by writing out every combination, of which a stranger's rule may have billions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from olmc.model.rbac import ANY, has_name, has_resource, has_url, has_value


class PolicyRule(NamedTuple):
    """A rule about resources or about URLs, never both; every list sorted, each value once.

    `names` () means any name; `resources` has subresources as `pods/log`.
    """

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Request(NamedTuple):
    """What somebody wants to do: `resource` as `pods/log`, `name` "" for none, or `url` for what is no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""


def policy_rules(rule: Any) -> tuple[PolicyRule, ...]:
    """The parts of a rule as a Role has it; () for one that allows nothing, whatever is wrong with it."""
    if not isinstance(rule, Mapping):
        return ()
    verbs = _values(rule.get("verbs"))
    groups, resources = _values(rule.get("apiGroups")), _values(rule.get("resources"))
    urls = _values(rule.get("nonResourceURLs"))
    found = []
    if verbs and groups and resources:
        found.append(PolicyRule(verbs, groups, resources, _texts(rule.get("resourceNames"))))
    if verbs and urls:
        found.append(PolicyRule(verbs, urls=urls))
    return tuple(found)


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(sorted({each for each in values if isinstance(each, str)})) if isinstance(values, list) else ()


def _values(values: Any) -> tuple[str, ...]:
    """Sorted texts; what `*` includes is left out."""
    texts = _texts(values)
    return (ANY,) if ANY in texts else texts


def allows(rule: PolicyRule, request: Request) -> bool:
    """Whether the API server grants a request because of a rule.

    A request without a name is granted by rules without names only; `*` as a verb, group or resource is a request for
    all of them.
    """
    if request.url:
        return has_value(rule.verbs, request.verb) and has_url(rule.urls, request.url)
    return (
        has_value(rule.verbs, request.verb)
        and has_value(rule.groups, request.group)
        and has_resource(rule.resources, request.resource)
        and has_name(rule.names, request.name)
    )


_Matcher = Callable[[tuple[str, ...], str], bool]
_MATCHERS: tuple[tuple[str, _Matcher], ...] = (
    ("verbs", has_value),
    ("groups", has_value),
    ("resources", has_resource),
    ("names", has_name),
    ("urls", has_url),
)


def beyond(rule: PolicyRule, others: Iterable[PolicyRule]) -> tuple[PolicyRule, ...]:
    """The part of a rule that none of the others allows, as rules that do not overlap; () when they cover it."""
    left: tuple[PolicyRule, ...] = (rule,)
    for other in others:
        left = tuple(part for each in left for part in _without(each, other))
        if not left:
            break
    return merged(left)


def covers(rules: Iterable[PolicyRule], rule: PolicyRule) -> bool:
    """Whether the rules together allow everything that a rule allows."""
    return not beyond(rule, rules)


def _without(rule: PolicyRule, other: PolicyRule) -> tuple[PolicyRule, ...]:
    """A rule less another: field by field, what the other lacks there; what it has goes on to the next field."""
    if bool(rule.urls) != bool(other.urls):
        return (rule,)
    parts, rest = [], rule
    for field, matches in _MATCHERS:
        known: tuple[str, ...] = getattr(other, field)
        values: tuple[str, ...] = getattr(rest, field) or ("",)
        shared = tuple(value for value in values if not _concerns(rest, field) or matches(known, value))
        if not shared:
            return (rule,)
        if len(shared) < len(values):
            parts.append(rest._replace(**{field: tuple(value for value in values if value not in shared)}))
            rest = rest._replace(**{field: shared})
    return tuple(parts)


def _concerns(rule: PolicyRule, field: str) -> bool:
    """Whether a field counts: a rule about URLs has verbs and URLs, any other has no URLs."""
    return field == "verbs" or (field == "urls") == bool(rule.urls)


def merged(rules: Iterable[PolicyRule]) -> tuple[PolicyRule, ...]:
    """Rules that allow the same, sorted; those that differ in one field only have become one."""
    found = tuple(dict.fromkeys(rules))
    while True:
        before = len(found)
        for field in PolicyRule._fields:
            found = _joined(found, field)
        if len(found) == before:
            return tuple(sorted(found))


def _joined(rules: Iterable[PolicyRule], field: str) -> tuple[PolicyRule, ...]:
    """Rules that differ in this field only as one; that no names are given means any name."""
    by_rest: dict[PolicyRule, list[tuple[str, ...]]] = {}
    for rule in rules:
        by_rest.setdefault(rule._replace(**{field: ()}), []).append(getattr(rule, field))
    found = []
    for rest, lists in by_rest.items():
        values = [] if field == "names" and () in lists else [value for each in lists for value in each]
        found.append(rest._replace(**{field: _texts(values) if field == "names" else _values(values)}))
    return tuple(found)
