"""What webhooks intercept, in words, and whether they see more than before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

from olmc.diff import object_kinds as kinds
from olmc.diff.change import CHANGE, RISK, DiffChange
from olmc.diff.deltas import deltas, path_text, same
from olmc.diff.permission_kinds import qualified
from olmc.kube.admission_rules import decode_admission_rule, match_more
from olmc.kube.selectors import requirements
from olmc.model.diagnostics import Severity
from olmc.model.objects import ANY, KubernetesObject, ObjectKey, mapping, mappings, text, texts

WEBHOOK_KINDS = frozenset(("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"))

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
    yield from _match_changes(known, name, old, new, own)
    if _policy(old) != _policy(new):
        yield kinds.failure_policy_changed(known, name, _policy(old), _policy(new))
    left = [{k: v for k, v in {**_DEFAULTS, **webhook}.items() if k not in _SAID} for webhook in (old, new)]
    yield from _field_changes(known, name, left[0], left[1], CHANGE)


def _match_changes(known: ObjectKey, name: str, old: Webhook, new: Webhook, own: bool) -> Iterator[DiffChange]:
    """That other requests match, in words; where no words tell both sides apart, field by field."""
    before, after = _matching(old), _matching(new)
    if same(before, after):
        return
    widened = _is_wider(old, new)
    for in_full in (False, True):
        if _matches(old, in_full) != _matches(new, in_full):
            was, now = (intercepts(known.kind, webhook, in_full=in_full) for webhook in (old, new))
            yield kinds.webhook_changed(known, name, was, now, widened, own)
            return
    yield from _field_changes(known, name, before, after, RISK if widened and not own else CHANGE)


def _matching(webhook: Webhook) -> dict[str, Any]:
    """What decides which requests match, without what makes no difference: defaults, and what is there twice."""
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
    """What a webhook does to which requests: `mutates CREATE of pods in all namespaces, Fail`.

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
    """Whether a webhook sees requests for the operator's own APIs alone."""
    # Each API once: the operator has few, so the first that is not among them is soon there, whatever the rules list.
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
    """Whether a webhook sees requests that it did not see before, as far as its rules and selectors tell.

    Versions do not count: by default requests in others match as well (`matchPolicy: Equivalent`). With `Exact` further
    ones are a change like any other.
    """
    before, after = ([decode_admission_rule(rule) for rule in mappings(each.get("rules"))] for each in (old, new))
    return match_more(after, before) or any(_loses(old.get(field), new.get(field)) for field in _SELECTORS)


def _loses(old: Any, new: Any) -> bool:
    """Whether a selector no longer asks for something, and so lets more through."""
    before, after = (
        {each._replace(values=tuple(sorted(set(each.values)))) for each in requirements(selector)}
        for selector in (old, new)
    )
    return not before <= after
