"""Rules of webhooks as sets of requests: whether some match more than others, beside a plain definition of matching."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from olmc.k8s.api import admission_rules
from olmc.k8s.api.admission_rules import decode_admission_rule, match_more

GROUPS = ("", "apps", "*")
RESOURCES = ("pods", "pods/exec", "pods/*", "deployments/scale", "*", "*/scale", "*/*")
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
SCOPES = ("Namespaced", "Cluster", "*")

Rule = dict[str, Any]


class Request(NamedTuple):
    group: str
    resource: str
    subresource: str
    operation: str
    scope: str


# Every request that the rules above can tell apart, with names that stand in none of them.
REQUESTS = [
    Request(*values)
    for values in product(
        ("", "apps", "batch"),
        ("pods", "deployments", "jobs"),
        ("", "exec", "scale", "status"),
        OPERATIONS[:-1],
        SCOPES[:-1],
    )
]


def some(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), max_size=4)


rules = st.fixed_dictionaries(
    {"apiGroups": some(GROUPS), "resources": some(RESOURCES), "operations": some(OPERATIONS)},
    optional={"scope": st.sampled_from(SCOPES)},
)
lists = st.lists(rules, max_size=5)


def matches(rule: Rule, request: Request) -> bool:
    """As the API server does it, value by value."""

    def has(field: str, value: str) -> bool:
        return "*" in rule[field] or value in rule[field]

    def is_resource(written: str) -> bool:
        base, _, subresource = written.partition("/")
        return base in ("*", request.resource) and subresource in ("*", request.subresource)

    return (
        has("apiGroups", request.group)
        and has("operations", request.operation)
        and rule.get("scope", "*") in ("*", request.scope)
        and any(map(is_resource, rule["resources"]))
    )


def matched(them: Sequence[Rule]) -> set[Request]:
    return {request for request in REQUESTS if any(matches(rule, request) for rule in them)}


def widens(old: Sequence[Rule], new: Sequence[Rule]) -> bool:
    return match_more([*map(decode_admission_rule, new)], [*map(decode_admission_rule, old)])


def of(*resources: str, scope: str = "*") -> Rule:
    return {"apiGroups": ["*"], "resources": [*resources], "operations": ["*"], "scope": scope}


@given(lists, lists)
@example([of("*")], [of("*/*")])
@example([of("pods", scope="Namespaced")], [of("pods")])
@example([of("pods", scope="Namespaced"), of("pods", scope="Cluster")], [of("pods")])
def test_rules_match_more_if_some_request_is_new(old: list[Rule], new: list[Rule]) -> None:
    assert widens(old, new) == bool(matched(new) - matched(old))


@given(lists, lists, lists)
def test_what_is_there_besides(old: list[Rule], new: list[Rule], more: list[Rule]) -> None:
    """Where the old side has more nothing gets wider, and rules match no more than themselves in whatever order."""
    assert not widens([*old, *more], old)
    assert not widens(old, old[::-1])
    assert widens(old, [*new, *more]) >= widens(old, new)


@pytest.mark.parametrize(
    ("old", "new", "wider"),
    [
        ("*", "*/*", True),
        ("*", "pods/exec", True),
        ("*", "pods/*", True),
        ("*", "pods", False),
        ("*/*", "*", False),
        ("*/*", "pods/exec", False),
        ("pods/*", "pods/exec", False),
        ("pods/*", "pods", False),
        ("pods", "pods/*", True),
        ("*/scale", "deployments/scale", False),
        ("*/scale", "deployments", True),
        ("deployments/scale", "*/scale", True),
    ],
)
def test_resources(old: str, new: str, wider: bool) -> None:
    assert widens([of(old)], [of(new)]) == wider


def test_all_operations_are_each_of_them() -> None:
    every, written = of("pods"), {**of("pods"), "operations": ["CREATE", "UPDATE", "DELETE", "CONNECT"]}
    assert not widens([every], [written])
    assert not widens([written], [every])
    assert widens([{**written, "operations": ["CREATE", "UPDATE", "DELETE"]}], [every])


def names(letter: str, count: int) -> list[str]:
    return [f"{letter}{number}" for number in range(count)]


def crossing(count: int) -> list[Rule]:
    """Rules for each of many groups and each of many resources: every combination is matched by others."""
    rows = ({**of("*/*"), "apiGroups": [group]} for group in names("g", count))
    return [*rows, *(of(resource) for resource in names("r", count))]


@pytest.mark.parametrize(("count", "wider"), [(100, False), (2_000, True)])
def test_what_costs_too_much_to_compare_is_wider(count: int, wider: bool) -> None:
    new = {**of(*names("r", count)), "apiGroups": names("g", count)}
    assert widens(crossing(count), [new]) == wider


def test_so_is_what_has_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not widens([of("a")], [of("a")])
    monkeypatch.setattr(admission_rules, "_MOST_COMPARED", 3)
    assert widens([of("a")], [of("a")])
