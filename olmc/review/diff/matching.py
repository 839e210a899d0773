"""Which object of one side is which of the other: by identity, and where names are made of hashes, by role."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from olmc.model.cluster import Name
from olmc.model.coerce import mapping, mappings, text
from olmc.model.objects import Identity, KubernetesObject, identity
from olmc.model.operators import OLM_GROUP
from olmc.model.rbac import RBAC
from olmc.review.diff.operators import CSV, Operator, is_copy

__all__ = ["Pair", "folded_kind", "paired", "role_of_group"]

_SUFFIX = re.compile(r"[-.](admin|edit|view)(?:-[0-9A-Za-z]+)?\Z")
_WEBHOOK_NAME = "olm.webhook-description-generate-name"

_Objects = dict[Identity, KubernetesObject]
_Key = Callable[[Identity, KubernetesObject], Hashable]


class Pair(NamedTuple):
    """An object in both sides, or in one of them; `identity` is that in the new side if it is there."""

    identity: Identity
    old: KubernetesObject | None
    new: KubernetesObject | None


def folded_kind(obj: KubernetesObject) -> str:
    """What kind of noise an object is, "" if it is none: these are derived from others, and told with them."""
    if not text(obj.get("apiVersion")).startswith(f"{OLM_GROUP}/"):
        return ""
    kind = obj.get("kind")
    if kind == CSV and is_copy(obj):
        return "copied CSV"
    return text(kind) if kind in ("InstallPlan", "Operator") else ""


def paired(
    old: Sequence[KubernetesObject], new: Sequence[KubernetesObject], before: Mapping[Name, Operator],
    after: Mapping[Name, Operator],
) -> list[Pair]:  # fmt: skip
    """Every object once, sorted by identity; `before` and `after` are the operators of both sides."""
    olds, news = ({identity(obj): obj for obj in objects} for objects in (old, new))
    pairs = [Pair(key, olds.pop(key), news[key]) for key in list(olds) if key in news]
    for pair in pairs:
        del news[pair.identity]
    old_grants, new_grants = _grants(old), _grants(new)
    for old_key, new_key in (
        (_by_operator(before), _by_operator(after)),
        (_by_webhook, _by_webhook),
        (role_of_group, role_of_group),
        (_by_grant(old_grants, exactly=True), _by_grant(new_grants, exactly=True)),
        (_by_grant(old_grants), _by_grant(new_grants)),
    ):
        pairs += _matched(olds, news, old_key, new_key)
    pairs += (Pair(key, obj, None) for key, obj in olds.items())
    pairs += (Pair(key, None, obj) for key, obj in news.items())
    return sorted(pairs, key=lambda pair: pair.identity)


def _matched(olds: _Objects, news: _Objects, old_key: _Key, new_key: _Key) -> Iterator[Pair]:
    """The objects with the same key in order, taken out of what is left on both sides."""
    waiting: dict[Hashable, list[Identity]] = {}
    for known, obj in sorted(olds.items(), key=lambda item: item[0]):
        key = old_key(known, obj)
        if key is not None:
            waiting.setdefault(key, []).append(known)
    for known, obj in sorted(news.items(), key=lambda item: item[0]):
        key = new_key(known, obj)
        rivals = waiting.get(key) if key is not None else None
        if rivals:
            before = olds.pop(rivals.pop(0))
            yield Pair(known, before, news.pop(known))


def _by_operator(found: Mapping[Name, Operator]) -> _Key:
    """Objects with the very name of a CSV: the CSV itself, its OperatorCondition and the Role for that."""

    def key(known: Identity, _: KubernetesObject) -> Hashable:
        operator = found.get(Name(known.namespace, known.name))
        return (known.kind, known.namespace, operator.package) if operator is not None else None

    return key


def _by_webhook(known: Identity, obj: KubernetesObject) -> Hashable:
    labels = mapping(mapping(obj.get("metadata")).get("labels"))
    name = text(labels.get(_WEBHOOK_NAME))
    return (known.kind, text(labels.get("olm.owner.namespace")), name) if name else None


def role_of_group(known: Identity, obj: KubernetesObject) -> Hashable:
    """The OperatorGroup of an aggregating ClusterRole and for whom it is, None for anything else."""
    labels = mapping(mapping(obj.get("metadata")).get("labels"))
    suffix = _SUFFIX.search(known.name)
    if suffix is None or known.kind != "ClusterRole" or labels.get("olm.owner.kind") != "OperatorGroup":
        return None
    if "rules" in obj:
        return None
    return text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner")), suffix[1]


_NO_RULES = json.dumps(None)


class _Grants(NamedTuple):
    """The RBAC of a side: the rules of roles, and who has them, both by kind, namespace and name of the role."""

    rules: Mapping[tuple[str, str, str], str]
    whom: Mapping[tuple[str, str, str], frozenset[str]]


def _grants(objects: Iterable[KubernetesObject]) -> _Grants:
    rules: dict[tuple[str, str, str], str] = {}
    whom: dict[tuple[str, str, str], frozenset[str]] = {}
    for obj in objects:
        known = identity(obj)
        if known.group != RBAC:
            continue
        if known.kind.endswith("Binding"):
            role = _role_of(known, obj)
            whom[role] = whom.get(role, frozenset()) | _subjects(known, obj)
        else:
            rules[known.kind, known.namespace, known.name] = json.dumps(obj.get("rules"), sort_keys=True, default=str)
    return _Grants(rules, whom)


def _by_grant(grants: _Grants, *, exactly: bool = False) -> _Key:
    """What a role or a binding grants to whom; without `exactly`, only to whom. A role that grants nothing to nobody is
    like no other."""

    def key(known: Identity, obj: KubernetesObject) -> Hashable:
        if known.group != RBAC:
            return None
        is_binding = known.kind.endswith("Binding")
        role = _role_of(known, obj) if is_binding else (known.kind, known.namespace, known.name)
        whom = _subjects(known, obj) if is_binding else grants.whom.get(role, frozenset())
        if not whom and not (exactly and (is_binding or grants.rules[role] != _NO_RULES)):
            return None
        return known.kind, known.namespace, whom, grants.rules.get(role, role[2]) if exactly else ""

    return key


def _role_of(known: Identity, binding: KubernetesObject) -> tuple[str, str, str]:
    reference = mapping(binding.get("roleRef"))
    kind = text(reference.get("kind"))
    return kind, known.namespace if kind == "Role" else "", text(reference.get("name"))


def _subjects(known: Identity, binding: KubernetesObject) -> frozenset[str]:
    return frozenset(
        f"{text(each.get('kind'))} {text(each.get('namespace')) or known.namespace} {text(each.get('name'))}"
        for each in mappings(binding.get("subjects"))
    )
