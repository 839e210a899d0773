"""The ServiceAccounts of operators: which takes the place of which, and which belong together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from olmc.diff.operators import DiffOperator, heads
from olmc.lean import NamedTuple
from olmc.model.cluster import NamespacedName
from olmc.model.objects import ACCOUNT, ObjectKey, mapping, mappings, spec_of, text

DEFAULT_ACCOUNT = "default"
_PERMISSIONS = ("permissions", "clusterPermissions")


class Accounts(NamedTuple):
    """What the operators of both sides run as.

    `renamed`: by ServiceAccount of the new side the one whose place it takes. `before`: by one of the new side those
    that its operator had on the old side.
    """

    renamed: Mapping[ObjectKey, ObjectKey]
    before: Mapping[ObjectKey, tuple[ObjectKey, ...]]


NO_ACCOUNTS = Accounts({}, {})


def accounts(old: Mapping[NamespacedName, DiffOperator], new: Mapping[NamespacedName, DiffOperator]) -> Accounts:
    """The ServiceAccounts of the operators of both sides, by package."""
    olds, news = heads(old), heads(new)
    renamed: dict[ObjectKey, ObjectKey] = {}
    before: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
    for name in sorted(olds.keys() & news.keys()):
        was, now = _of_operator(olds[name]), _of_operator(news[name])
        for old_name, new_name in _renamed(was, now):
            renamed[_key(name.namespace, new_name)] = _key(name.namespace, old_name)
        known = tuple(_key(name.namespace, account) for account in was)
        before.update((_key(name.namespace, account), known) for account in now)
    return Accounts(renamed, before)


def _key(namespace: str, name: str) -> ObjectKey:
    return ObjectKey("", ACCOUNT, namespace, name)


def _of_operator(operator: DiffOperator) -> dict[str, frozenset[str]]:
    """What an operator asks for, by ServiceAccount: its rules as texts. Who only runs something has none."""
    strategy = mapping(mapping(operator.spec.get("install")).get("spec"))
    rules: dict[str, set[str]] = {}
    for field in _PERMISSIONS:
        for permission in mappings(strategy.get(field)):
            of_account = rules.setdefault(text(permission.get("serviceAccountName")), set())
            of_account |= {field + json.dumps(rule, sort_keys=True) for rule in mappings(permission.get("rules"))}
    for deployment in mappings(strategy.get("deployments")):
        pod = spec_of(mapping(mapping(deployment.get("spec")).get("template")))
        rules.setdefault(text(pod.get("serviceAccountName")) or DEFAULT_ACCOUNT, set())
    return {name: frozenset(of_account) for name, of_account in rules.items()}


def accounts_of(operator: DiffOperator) -> tuple[str, ...]:
    """The ServiceAccounts that a CSV asks permissions for, `default` if it asks none (R-OC-1)."""
    strategy = mapping(mapping(operator.spec.get("install")).get("spec"))
    named = (text(each.get("serviceAccountName")) for field in _PERMISSIONS for each in mappings(strategy.get(field)))
    return tuple(filter(None, named)) or (DEFAULT_ACCOUNT,)


def _renamed(old: Mapping[str, frozenset[str]], new: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    """Which account became which: those that ask for the same, and the only ones that are left.

    `default` is everybody's, so that it takes nobody's place.
    """
    gone = [name for name in old if name not in new and name != DEFAULT_ACCOUNT]
    come = [name for name in new if name not in old and name != DEFAULT_ACCOUNT]
    for name in list(gone):
        alike = [other for other in come if new[other] == old[name]]
        if len(alike) == 1:
            gone.remove(name)
            come.remove(alike[0])
            yield name, alike[0]
    if len(gone) == len(come) == 1:
        yield gone[0], come[0]
