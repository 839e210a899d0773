"""Compare the requests that webhooks intercept, and find those that see more than before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from olmc.k8s.api.admission_rules import decode_admission_rule, match_more
from olmc.k8s.api.rbac import CONSTRAINT_ROLE
from olmc.k8s.api.selectors import requirements
from olmc.k8s.diagnostics import Severity
from olmc.k8s.objects import ANY, KubernetesObject, ObjectKey, PolicyRule, mapping, mappings, spec_of, text, texts
from olmc.review.diff import object_kinds as kinds
from olmc.review.diff.crd_kinds import (
    ABSENT,
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
from olmc.review.diff.deltas import Delta, deltas, path_text, same
from olmc.review.rbac.risks import CONSTRAINT_POWERS, Level, gravest_first, group_level, resource_level, verb_level

# The kinds of changes of permissions.
#
# `identity` is a service account, user, group or role. `scope` is a namespace, "" for the whole cluster, `*` for
# wherever the role gets bound.

EVERYWHERE = ""
WHERE_BOUND = "*"
"""The scope of a role: wherever somebody gets bound to it."""

_CONSTRAINTS = "securitycontextconstraints"
_MOST_RULES, _MOST_VERBS, _MOST_COMPARED = 12, 40, 10_000
_VERBS = (ANY, "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


@change_kind("PermissionGained", ChangeGroup.PERMISSIONS, ADDED)
def permission_gained(scope: str, rule: PolicyRule, risks: tuple[str, ...], level: str, moved_from: str) -> Judgement:
    """A permission of a subject that only the new side has.

    `risks` are the names of its dangers as `olmc rbac` has them, `level` is that of the most severe. `moved_from` is
    another ServiceAccount of the operator that had it before, so that there is no gain, or "".
    """
    warning: Message = (f" ({level}: {', '.join(risks)})",) if risks else ()
    moved: Message = (", as ServiceAccount ", shown(moved_from), " of the same operator could before") * bool(
        moved_from
    )
    severity = CHANGE if moved_from or level in (str(Level.NONE), str(Level.LOW)) else RISK
    return severity, ("may ", *_allowed(rule), *_rule_place(scope), *warning, *_powers(rule), *moved)


@change_kind("AccountRenamed", ChangeGroup.PERMISSIONS, CHANGED)
def account_renamed(old: str) -> Judgement:
    """A ServiceAccount that replaces another one; its other permissions are reported by themselves."""
    return CHANGE, ("takes the place of ServiceAccount ", shown(old), " with its permissions")


@change_kind("PermissionLost", ChangeGroup.PERMISSIONS, REMOVED)
def permission_lost(scope: str, rule: PolicyRule) -> Judgement:
    """A permission of a subject that only the old side has."""
    return CHANGE, ("may no longer ", *_allowed(rule), *_rule_place(scope), *_powers(rule))


@change_kind("PermissionsGained", ChangeGroup.PERMISSIONS, ADDED)
def permissions_gained(scope: str, count: int, level: str) -> Judgement:
    """The permissions of a subject that only the new side has, where there are so many that they are counted.

    `count` is the number of their resources and URLs, `level` that of the most severe one.
    """
    severity = CHANGE if level in (str(Level.NONE), str(Level.LOW)) else RISK
    warning = f" (the gravest: {level})" if level != str(Level.NONE) else ""
    return severity, (f"may do more with {count} resources, which are not listed here,", *_rule_place(scope), warning)


@change_kind("PermissionsLost", ChangeGroup.PERMISSIONS, REMOVED)
def permissions_lost(scope: str, count: int) -> Judgement:
    """The permissions of a subject that only the old side has, where there are so many that they are counted."""
    return CHANGE, (f"may do less with {count} resources, which are not listed here,", *_rule_place(scope))


@change_kind("RoleGained", ChangeGroup.PERMISSIONS, ADDED)
def role_gained(scope: str, role: str) -> Judgement:
    """A role of the cluster that somebody has on the new side only; what is in it, neither side says."""
    return CHANGE, ("has ", shown(role), *_rule_place(scope))


@change_kind("RoleLost", ChangeGroup.PERMISSIONS, REMOVED)
def role_lost(scope: str, role: str) -> Judgement:
    """A role of the cluster that somebody has on the old side only."""
    return CHANGE, ("no longer has ", shown(role), *_rule_place(scope))


def _powers(rule: PolicyRule) -> Message:
    """Return the rights of pods by OpenShift's constraints that a rule allows to use, each with its role."""
    if _CONSTRAINTS not in rule.resources or not {"use", ANY} & set(rule.verbs):
        return ()
    pieces: list[str | UntrustedText] = []
    for name in rule.names[:_MOST_RULES]:
        powers = CONSTRAINT_POWERS.get(name, "do what this constraint allows")
        pieces += ("; ", shown(f"{CONSTRAINT_ROLE}{name}"), f" lets pods {powers}")
    return tuple(pieces)


def verbs_in_order(verbs: tuple[str, ...]) -> tuple[str, ...]:
    """Verbs as people are used to read them."""
    return tuple(sorted(verbs, key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb)))


def qualified(resource: str, group: str) -> str:
    """A resource with its group, as kubectl takes it: `deployments.apps/scale`."""
    whole, slash, below = resource.partition("/")
    return f"{whole}.{group}{slash}{below}" if group else resource


def joined_message(rules: Sequence[PolicyRule], first: DiffChange, most: int | None) -> Message:
    """Return the report on several rules of one holder, of which `first` is the change of one; at most `most` of
    them."""
    alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[PolicyRule]] = {}
    for rule in rules:
        alike.setdefault((rule.verbs, rule.names), []).append(rule)
    pieces: list[str | UntrustedText] = ["may " if first.kind is permission_gained else "may no longer "]
    for number, ((verbs, names), alike_rules) in enumerate(alike.items()):
        if most is not None and number == most:
            pieces.append(f" and {len(alike) - most} more")
            break
        pieces += ("; " if number else "", *_verbs(verbs), " ", *_rule_resources(alike_rules))
        pieces += (" named ", *listed(names, _MOST_RULES)) if names else ()
    return (*pieces, *_rule_place(first.values["scope"]))


def _rule_resources(rules: Sequence[PolicyRule]) -> Message:
    """The resources of rules, each in each of its groups."""
    product = (qualified(resource, group) for rule in rules for group in rule.groups for resource in rule.resources)
    # Rules of untrusted input stand for millions, which are no longer looked at one by one, but counted.
    resources = list(dict.fromkeys(islice(product, _MOST_COMPARED)))
    if len(resources) > _MOST_RULES:
        resources = list(dict.fromkeys((*_gravest(rules), *resources)))[: len(resources)]
    total = sum(len(rule.groups) * len(rule.resources) for rule in rules)
    return listed(resources, _MOST_RULES, max(0, total - _MOST_COMPARED))


def _gravest(rules: Sequence[PolicyRule]) -> list[str]:
    """The resources of rules that may be dangerous, the gravest first; of each rule as many as would fill a list."""
    levels = {
        qualified(resource, group): resource_level(resource)
        for rule in rules
        for resource in gravest_first(rule.resources, resource_level, _MOST_RULES)[:_MOST_RULES]
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
    names: Message = (" named ", *listed(rule.names, _MOST_RULES)) if rule.names else ()
    if rule.urls:
        return (*verbs, " the URLs ", *listed(rule.urls, _MOST_RULES))
    resources = gravest_first(rule.resources, resource_level, _MOST_RULES)
    if len(rule.groups) == 1:
        return (
            *verbs,
            " ",
            *listed([qualified(resource, rule.groups[0]) for resource in resources], _MOST_RULES),
            *names,
        )
    groups = [group or "core" for group in gravest_first(rule.groups, group_level, _MOST_RULES)]
    return (*verbs, " ", *listed(resources, _MOST_RULES), " in the API groups ", *listed(groups, _MOST_RULES), *names)


def _rule_place(scope: str) -> Message:
    if scope == EVERYWHERE:
        return (" in the whole cluster",)
    return (" where the role is bound",) if scope == WHERE_BOUND else (" in namespace ", UntrustedText(scope))


WEBHOOK_KINDS = frozenset(("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"))

_ADMISSION = "admissionregistration.k8s.io"
_KINDS = {
    "MutatingAdmissionWebhook": "MutatingWebhookConfiguration",
    "ValidatingAdmissionWebhook": "ValidatingWebhookConfiguration",
}
_FAIL = "Fail"
_SELECTORS = ("namespaceSelector", "objectSelector")
_OF_GROUP = "olm.operatorgroup.uid/"
_SAID = frozenset(("rules", "failurePolicy", *_SELECTORS))
_DEFAULTS = {"matchPolicy": "Equivalent", "timeoutSeconds": 10, "reinvocationPolicy": "Never"}
_MOST = 4
# How many requests of a rule are named one by one: one of untrusted input may stand for millions.
_MOST_NAMED = 10_000

Webhook = Mapping[str, Any]


def webhook_changes(
    known: ObjectKey, old: KubernetesObject | None, new: KubernetesObject | None, owned: frozenset[str]
) -> Iterator[DiffChange]:
    """Yield how two webhook configurations differ; `owned` are the APIs, as `plural.group`, of the operator itself."""
    before, after = _webhooks(old), _webhooks(new)
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if now is None:
            assert was is not None
            yield kinds.webhook_removed(known, name, intercepts(known.kind, was), _protects(known, was, owned))
        elif was is None:
            yield kinds.webhook_added(known, name, intercepts(known.kind, now), _policy(now) == _FAIL, _own(now, owned))
        else:
            yield from _changes(known, name, was, now, owned)
    if old is not None and new is not None:
        left = [{key: value for key, value in obj.items() if key != "webhooks"} for obj in (old, new)]
        for delta in deltas(left[0], left[1]):
            yield kinds.field_changed(known, path_text(delta.path), delta.old, delta.new, CHANGE)


def _webhooks(configuration: KubernetesObject | None) -> dict[str, Webhook]:
    return {text(webhook.get("name")): webhook for webhook in mappings((configuration or {}).get("webhooks"))}


def _changes(
    known: ObjectKey, name: str, old: Webhook, new: Webhook, owned: frozenset[str]
) -> Iterator[DiffChange]:  # fmt: skip
    own, protects = _own(new, owned), _protects(known, old, owned)
    yield from _match_changes(known, name, old, new, own, protects and _is_wider(new, old))
    if _policy(old) != _policy(new):
        yield kinds.failure_policy_changed(known, name, _policy(old), _policy(new), protects)
    left = [{k: v for k, v in {**_DEFAULTS, **webhook}.items() if k not in _SAID} for webhook in (old, new)]
    for delta in deltas(left[0], left[1], ("webhooks",)):
        path = f"webhooks[{name}]{path_text(delta.path).removeprefix('webhooks')}"
        why = _weakness(delta, own, protects, mutates=known.kind.startswith("Mutating"))
        if why:
            yield kinds.risky_field_changed(known, path, delta.old, delta.new, (why,))
        else:
            yield kinds.field_changed(known, path, delta.old, delta.new, CHANGE)


def _protects(known: ObjectKey, webhook: Webhook, owned: frozenset[str]) -> bool:
    """Tell whether a webhook checks objects that are not the operator's own."""
    return known.kind.startswith("Validating") and not _own(webhook, owned)


def _weakness(delta: Delta, own: bool, protects: bool, *, mutates: bool) -> str:
    """Name the reason why another field of a webhook is a risk, "" for none.

    A webhook for the operator's own API may get another service with a new version; a URL leads out of the cluster.
    """
    match delta.path[1:]:
        case ("clientConfig", "url", *_) if delta.new is not ABSENT:
            return "requests go somewhere else"
        case ("clientConfig",) if isinstance(delta.new, dict) and delta.new.get("url"):
            return "requests go somewhere else"
        case ("clientConfig", "service", *_) if not own and delta.new is not ABSENT:
            return "requests go somewhere else"
        case ("clientConfig", "caBundle") if not own and delta.old is not ABSENT:
            return "somebody else may answer in its place"
        case ("matchConditions", *_) if (protects and _is_condition(delta.new)) or (
            mutates and not own and _is_condition(delta.old)
        ):
            return "other requests pass than before"
        case ("matchPolicy",) if protects and delta.new == "Exact":
            return "requests in other versions are not checked any more"
    return ""


def _is_condition(value: Any) -> bool:
    return value not in (ABSENT, None, [])


def _match_changes(
    known: ObjectKey, name: str, old: Webhook, new: Webhook, own: bool, unchecked: bool
) -> Iterator[DiffChange]:
    """Report that other requests match, in words; where no words tell both sides apart, field by field."""
    before, after = _matching(old), _matching(new)
    if same(before, after):
        return
    widened = _is_wider(old, new)
    # A list that is cut would hide a part of the difference.
    is_cut = before["rules"] != after["rules"] and any(map(_is_cut, (*mappings(before["rules"]), *after["rules"])))
    for in_full in (True,) if is_cut else (False, True):
        if _matches(old, in_full) != _matches(new, in_full):
            was, now = (intercepts(known.kind, webhook, in_full=in_full) for webhook in (old, new))
            more = _more_operations(old, new) if widened else ()
            yield kinds.webhook_changed(known, name, was, now, widened, own, unchecked, more)
            return
    yield from _field_changes(known, name, before, after, RISK if (widened and not own) or unchecked else CHANGE)


def _matching(webhook: Webhook) -> dict[str, Any]:
    """Return the fields that decide which requests match, without defaults and duplicates."""
    rules = [
        {field: _distinct(value) for field, value in {**rule, "scope": rule.get("scope") or ANY}.items()}
        for rule in mappings(webhook.get("rules"))
    ]
    selectors = {
        field: {key: value for key, value in mapping(webhook.get(field)).items() if value} for field in _SELECTORS
    }
    return {"rules": _distinct(rules), **selectors}


def _distinct(value: Any) -> Any:
    """The items of a list, each once."""
    if not isinstance(value, list):
        return value
    return list({json.dumps(item, sort_keys=True, default=str): item for item in value}.values())


def _field_changes(known: ObjectKey, name: str, old: Webhook, new: Webhook, severity: Severity) -> Iterator[DiffChange]:
    for delta in deltas(old, new, ("webhooks",)):
        path = f"webhooks[{name}]{path_text(delta.path).removeprefix('webhooks')}"
        yield kinds.field_changed(known, path, delta.old, delta.new, severity)


def _policy(webhook: Webhook) -> str:
    return text(webhook.get("failurePolicy")) or _FAIL


def intercepts(kind: str, webhook: Webhook, *, in_full: bool = False) -> str:
    """Describe the effect of a webhook and its requests: `mutates CREATE of pods in all namespaces, Fail`.

    `in_full`: with all resources as they are written, their versions and scopes, and whole selectors.
    """
    verb = "mutates" if kind.startswith("Mutating") else "validates"
    return f"{verb} {_matches(webhook, in_full)}, {_policy(webhook)}"


def _matches(webhook: Webhook, in_full: bool) -> str:
    rules = mappings(webhook.get("rules"))
    requests = " and ".join(dict.fromkeys(_requests(rule, in_full) for rule in rules)) or "nothing"
    is_of_cluster = {text(rule.get("scope")) for rule in rules} == {"Cluster"} and not in_full
    where = "" if is_of_cluster else f" {_where(mapping(webhook.get('namespaceSelector')), in_full)}"
    labels = _selector(mapping(webhook.get("objectSelector")))
    objects = f", of objects with {labels}" if labels else ""
    return f"{requests}{where}{objects}"


def _requests(rule: Mapping[str, Any], in_full: bool) -> str:
    operations = texts(rule.get("operations"))
    shown = "every request" if ANY in operations else ", ".join(operations)
    named = _resources(texts(rule.get("apiGroups")), texts(rule.get("resources")), in_full)
    return f"{shown} of {named}{_versions_and_scope(rule) if in_full else ''}"


def _resources(groups: list[str], resources: list[str], in_full: bool) -> str:
    count = len(groups) * len(resources)
    most = count if in_full else _MOST
    if ANY in groups and "*/*" in resources and not in_full:
        return "everything"
    if ANY in groups and resources == [ANY]:
        return "every resource"  # but no subresource
    if ANY in groups:
        return f"{_some(resources, most, len(resources))} of every API group"
    if most > _MOST_NAMED:
        return f"{', '.join(resources)}, each of API groups {', '.join(groups)}"
    names = [qualified(resource, group) for group, resource in islice(product(groups, resources), most)]
    return _some(names, most, count)


def _is_cut(rule: Mapping[str, Any]) -> bool:
    """Return whether `_resources` names only some of the resources of a rule."""
    return len(texts(rule.get("apiGroups"))) * len(texts(rule.get("resources"))) > _MOST


def _versions_and_scope(rule: Mapping[str, Any]) -> str:
    versions = ", ".join("every version" if each == ANY else each for each in texts(rule.get("apiVersions")))
    scope = text(rule.get("scope")) or ANY
    return f" in {versions}" + (f" with scope {scope}" if scope != ANY else "")


def _some(names: list[str], most: int, total: int) -> str:
    more = f" and {total - most} more" if total > most else ""
    return ", ".join(names[:most]) + more


def _where(selector: Mapping[str, Any], in_full: bool) -> str:
    if not in_full and any(label.startswith(_OF_GROUP) for label in _keys(selector)):
        return "in the namespaces of its OperatorGroup"
    shown = _selector(selector)
    return f"in namespaces with {shown}" if shown else "in all namespaces"


def _keys(selector: Mapping[str, Any]) -> list[str]:
    expressions = (text(each.get("key")) for each in mappings(selector.get("matchExpressions")))
    return [*mapping(selector.get("matchLabels")), *expressions]


def _selector(selector: Mapping[str, Any]) -> str:
    left = {key: value for key, value in selector.items() if value}
    return json.dumps(left, sort_keys=True, ensure_ascii=False) if left else ""


def _own(webhook: Webhook, owned: frozenset[str]) -> bool:
    """Return whether a webhook sees requests for the operator's own APIs alone."""
    # Each API once: the operator has few APIs, so the search finds the first other one soon, also in long rules.
    asked = (
        qualified(resource, group)
        for rule in mappings(webhook.get("rules"))
        for group, resource in product(
            dict.fromkeys(texts(rule.get("apiGroups"))),
            dict.fromkeys(resource.partition("/")[0] for resource in texts(rule.get("resources"))),
        )
    )
    first = next(asked, None)
    return first in owned and all(resource in owned for resource in asked)


def _is_wider(old: Webhook, new: Webhook) -> bool:
    """Return whether a webhook sees requests that it did not see before, as far as its rules and selectors tell.

    Versions do not count: by default requests in others match as well (`matchPolicy: Equivalent`). With `Exact` further
    ones are a change like any other.
    """
    before, after = ([decode_admission_rule(rule) for rule in mappings(each.get("rules"))] for each in (old, new))
    return match_more(after, before) or any(_loses(old.get(field), new.get(field)) for field in _SELECTORS)


def _more_operations(old: Webhook, new: Webhook) -> tuple[str, ...]:
    """The operations that a webhook did not see of resources of which it saw others."""
    before, after = ([decode_admission_rule(rule) for rule in mappings(each.get("rules"))] for each in (old, new))
    more: dict[str, None] = {}
    for rule in after:
        alike = [known for known in before if _meet(known.groups, rule.groups) and _meet(known.bases, rule.bases)]
        seen = {operation for known in alike for operation, _ in known.actions}
        more |= dict.fromkeys(operation for operation, _ in rule.actions if alike and operation not in seen)
    return tuple(more)


def _meet(some: Sequence[str], others: Sequence[str]) -> bool:
    return ANY in some or ANY in others or not set(some).isdisjoint(others)


def definition_changes(
    old: KubernetesObject, new: KubernetesObject, owned: frozenset[str], configured: frozenset[tuple[str, str]]
) -> Iterator[DiffChange]:  # fmt: skip
    """Yield the differences between the webhooks of two CSVs, of which one is not installed.

    Those in `configured`, by kind and name, have configurations on both sides, which are compared themselves.
    """
    before, after = _definitions(old), _definitions(new)
    for kind, name in dict.fromkeys((*before, *after)):
        if (kind, name) in configured:
            continue
        was, now = ({"webhooks": [each[kind, name]]} if (kind, name) in each else None for each in (before, after))
        yield from webhook_changes(ObjectKey(_ADMISSION, kind, "", name), was, now, owned)


def _definitions(csv: KubernetesObject) -> dict[tuple[str, str], Webhook]:
    """The admission webhooks that a CSV asks for, by the kind and the name of their configurations."""
    found: dict[tuple[str, str], Webhook] = {}
    for each in mappings(spec_of(csv).get("webhookdefinitions")):
        kind, name = _KINDS.get(text(each.get("type"))), text(each.get("generateName"))
        if kind is not None:
            found[kind, name] = {"name": name, **{k: v for k, v in each.items() if k not in ("generateName", "type")}}
    return found


def conversion_changes(known: ObjectKey, old: KubernetesObject, new: KubernetesObject) -> Iterator[DiffChange]:
    """The CRDs that the conversion webhooks of a CSV come to serve, and those that they leave."""
    before, after = _converting(old), _converting(new)
    everywhere = [{crd for crds in each.values() for crd in crds} for each in (before, after)]
    for name in dict.fromkeys((*before, *after)):
        come = tuple(crd for crd in after.get(name, ()) if crd not in everywhere[0])
        removed = tuple(crd for crd in before.get(name, ()) if crd not in everywhere[1])
        if come:
            yield kinds.conversion_served(known, name, come)
        if removed:
            yield kinds.conversion_ended(known, name, removed)


def _converting(csv: KubernetesObject) -> dict[str, tuple[str, ...]]:
    """The CRDs of the conversion webhooks of a CSV by their names."""
    definitions = (each for each in mappings(spec_of(csv).get("webhookdefinitions")))
    return {
        text(each.get("generateName")): tuple(sorted(set(texts(each.get("conversionCRDs")))))
        for each in definitions
        if each.get("type") == "ConversionWebhook"
    }


def _loses(old: Any, new: Any) -> bool:
    """Return whether a selector no longer asks for something, and so lets more through."""
    before, after = (
        {each._replace(values=tuple(sorted(set(each.values)))) for each in requirements(selector)}
        for selector in (old, new)
    )
    return not before <= after
