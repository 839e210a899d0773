"""What webhooks intercept, in words, and whether they see more than before."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from typing import Any

from olmc.diff import object_kinds as kinds
from olmc.diff.change import CHANGE, DiffChange
from olmc.diff.deltas import deltas, path_text, same
from olmc.diff.permission_kinds import qualified
from olmc.model.objects import ANY, KubernetesObject, ObjectKey, mapping, mappings, text, texts

WEBHOOK_KINDS = frozenset(("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"))

_FAIL = "Fail"
_SELECTORS = ("namespaceSelector", "objectSelector")
_OF_GROUP = "olm.operatorgroup.uid/"
_SAID = frozenset(("rules", "failurePolicy", *_SELECTORS))
_DEFAULTS = {"matchPolicy": "Equivalent", "timeoutSeconds": 10, "reinvocationPolicy": "Never"}
_MOST = 4
# How many requests of a rule are looked at one by one: one of untrusted input may stand for millions.
_MOST_COMPARED = 10_000

Webhook = Mapping[str, Any]


def webhook_changes(
    known: ObjectKey, old: KubernetesObject | None, new: KubernetesObject | None, owned: frozenset[str]
) -> Iterator[DiffChange]:
    """How two webhook configurations differ; `owned` are the APIs, as `plural.group`, of the operator itself."""
    before, after = _webhooks(old), _webhooks(new)
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if now is None:
            assert was is not None
            yield kinds.webhook_removed(known, name, intercepts(known.kind, was))
        elif was is None:
            yield kinds.webhook_added(known, name, intercepts(known.kind, now), _policy(now) == _FAIL, _own(now, owned))
        else:
            yield from _changes(known, name, was, now, _own(now, owned))
    if old is not None and new is not None:
        left = [{key: value for key, value in obj.items() if key != "webhooks"} for obj in (old, new)]
        for delta in deltas(left[0], left[1]):
            yield kinds.field_changed(known, path_text(delta.path), delta.old, delta.new, CHANGE)


def _webhooks(configuration: KubernetesObject | None) -> dict[str, Webhook]:
    return {text(webhook.get("name")): webhook for webhook in mappings((configuration or {}).get("webhooks"))}


def _changes(known: ObjectKey, name: str, old: Webhook, new: Webhook, own: bool) -> Iterator[DiffChange]:
    widened = _is_wider(old, new)
    was, now = intercepts(known.kind, old), intercepts(known.kind, new)
    if widened or any(not same(old.get(field), new.get(field)) for field in ("rules", *_SELECTORS)):
        if was == now:  # then they differ in what is worth a word only here
            was, now = (intercepts(known.kind, webhook, in_full=True) for webhook in (old, new))
        if was != now:
            yield kinds.webhook_changed(known, name, was, now, widened, own)
    if _policy(old) != _policy(new):
        yield kinds.failure_policy_changed(known, name, _policy(old), _policy(new))
    left = [{k: v for k, v in {**_DEFAULTS, **webhook}.items() if k not in _SAID} for webhook in (old, new)]
    for delta in deltas(left[0], left[1], ("webhooks",)):
        path = f"webhooks[{name}]{path_text(delta.path).removeprefix('webhooks')}"
        yield kinds.field_changed(known, path, delta.old, delta.new, CHANGE)


def _policy(webhook: Webhook) -> str:
    return text(webhook.get("failurePolicy")) or _FAIL


def intercepts(kind: str, webhook: Webhook, *, in_full: bool = False) -> str:
    """What a webhook does to which requests: `mutates CREATE of pods in all namespaces, Fail`.

    `in_full`: with all resources, and their versions.
    """
    verb = "mutates" if kind.startswith("Mutating") else "validates"
    requests = (
        " and ".join(dict.fromkeys(_requests(rule, in_full) for rule in mappings(webhook.get("rules")))) or "nothing"
    )
    scopes = {text(rule.get("scope")) for rule in mappings(webhook.get("rules"))}
    where = "" if scopes == {"Cluster"} else f" {_where(mapping(webhook.get('namespaceSelector')))}"
    labels = mapping(webhook.get("objectSelector"))
    objects = f", of objects with {_selector(labels)}" if _selector(labels) else ""
    return f"{verb} {requests}{where}{objects}, {_policy(webhook)}"


def _requests(rule: Mapping[str, Any], in_full: bool) -> str:
    operations, groups = texts(rule.get("operations")), texts(rule.get("apiGroups"))
    resources = texts(rule.get("resources"))
    if ANY in operations:
        operations = ["every request"]
    count = len(groups) * len(resources)
    most = count if in_full else _MOST
    named = ", ".join("every version" if each == ANY else each for each in texts(rule.get("apiVersions")))
    versions = f" in {named}" if in_full else ""
    if ANY in groups and (ANY in resources or "*/*" in resources):
        named = "everything"
    elif ANY in groups:
        named = f"{_some(resources, most, len(resources))} of every API group"
    elif most > _MOST_COMPARED:
        named = f"{', '.join(resources)}, each of API groups {', '.join(groups)}"
    else:
        names = [qualified(resource, group) for group, resource in islice(product(groups, resources), most)]
        named = _some(names, most, count)
    return f"{', '.join(operations)} of {named}{versions}"


def _some(names: list[str], most: int, total: int) -> str:
    more = f" and {total - most} more" if total > most else ""
    return ", ".join(names[:most]) + more


def _where(selector: Mapping[str, Any]) -> str:
    if any(label.startswith(_OF_GROUP) for label in _keys(selector)):
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
    """Whether a webhook sees requests for the operator's own APIs alone."""
    asked = (
        qualified(resource.partition("/")[0], group)
        for rule in mappings(webhook.get("rules"))
        for group, resource in product(texts(rule.get("apiGroups")), texts(rule.get("resources")))
    )
    first = next(asked, None)
    return first in owned and all(resource in owned for resource in asked)


def _is_wider(old: Webhook, new: Webhook) -> bool:
    """Whether a webhook sees requests that it did not see before, as far as its rules and selectors tell."""
    covered = [_parts(rule) for rule in mappings(old.get("rules"))]
    return any(_sees_more(_parts(rule), covered) for rule in mappings(new.get("rules"))) or any(
        _loses(mapping(old.get(field)), mapping(new.get(field))) for field in _SELECTORS
    )


def _sees_more(parts: Sequence[Collection[str]], covered: Sequence[Sequence[Collection[str]]]) -> bool:
    """Whether a rule stands for a request that no other one stands for; it is taken to where it stands for too many to
    be told."""
    if any(all(map(_has_all, known, parts)) for known in covered):
        return False
    if prod(map(len, parts)) > _MOST_COMPARED:
        return True
    return any(not any(all(map(_has, known, request)) for known in covered) for request in product(*parts))


def _has_all(values: Collection[str], wanted: Collection[str]) -> bool:
    known = frozenset(values)
    return all(_has(known, value) for value in wanted)


def _parts(rule: Mapping[str, Any]) -> tuple[list[str], ...]:
    fields = ("operations", "apiGroups", "resources")
    return (*(texts(rule.get(field)) for field in fields), [text(rule.get("scope")) or ANY])


def _has(values: Collection[str], value: str) -> bool:
    return value in values or ANY in values or ("*/*" in values and value != ANY)


def _loses(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a selector no longer asks for something, and so lets more through."""
    labels = mapping(new.get("matchLabels"))
    if any(labels.get(key) != value for key, value in mapping(old.get("matchLabels")).items()):
        return True
    expressions = mappings(new.get("matchExpressions"))
    return any(expression not in expressions for expression in mappings(old.get("matchExpressions")))
