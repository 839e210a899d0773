"""The permission check against its definition, request by request (R-PERM-2, R-PERM-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.model.operators import Csv
from olmc.compiler.reconcile.install_strategy import strategy_failure
from olmc.k8s.api.rbac import decode_rule, decode_rules, rule_satisfied
from olmc.k8s.objects import ObjectKey, Provenance, Rendered

Rule = Mapping[str, Any]


def allowed(granted: Sequence[Rule], wanted: Rule) -> bool:
    return rule_satisfied(decode_rules(list(granted)), decode_rule(wanted))


def rule_problem(rule: Rule) -> str:
    """What OLM says of a CSV with a rule, "" for nothing."""
    strategy = {"permissions": [{"serviceAccountName": "beacon", "rules": [rule]}]}
    spec = {"install": {"strategy": "deployment", "spec": strategy}}
    csv = Csv({"metadata": {"name": "beacon", "namespace": "harbour"}, "spec": spec}, None)
    account = {"kind": "ServiceAccount", "metadata": {"name": "beacon", "namespace": "harbour"}}
    there = Rendered(account, Provenance(None, "", ""))
    failure = strategy_failure(csv, {ObjectKey("", "ServiceAccount", "harbour", "beacon"): there})
    return failure[1] if failure else ""


FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def some(*values: str, least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=3, unique=True)


verbs = some("get", "list", "*")
resource_rules = st.fixed_dictionaries(
    {"verbs": verbs, "apiGroups": some("", "apps", "*"), "resources": some("pods", "pods/log", "*")},
    optional={"resourceNames": some("one", "two", "", least=0)},
)
url_rules = st.fixed_dictionaries({"verbs": verbs, "nonResourceURLs": some("/a", "/a/b", "/a/*", "*")})
rules = st.one_of(resource_rules, url_rules)


def grants(rule: Rule, request: tuple[str, ...]) -> bool:
    """Whether a rule grants one request: verb, group, resource, name, URL ("" for a resource)."""
    verb, group, resource, name, url = request

    def among(field: str, value: str) -> bool:
        return any(known in (value, "*") for known in rule.get(field, ()))

    if url:
        known = rule.get("nonResourceURLs", ())
        fits = any(k == url or (k.endswith("*") and url.startswith(k[:-1])) for k in known)
        return among("verbs", verb) and fits
    names = rule.get("resourceNames", [])
    return (
        among("verbs", verb)
        and among("apiGroups", group)
        and among("resources", resource)
        and (names == [] or name in names)
    )


def requests(rule: Rule) -> list[tuple[str, ...]]:
    """Every request that a rule stands for."""
    return list(product(*(rule.get(field) or [""] for field in FIELDS)))


@given(st.lists(rules, max_size=4), rules)
def test_every_request_is_granted_by_some_rule(granted: Sequence[Rule], wanted: Rule) -> None:
    expected = all(any(grants(rule, request) for rule in granted) for request in requests(wanted))
    assert allowed(granted, wanted) == expected


@given(st.lists(rules, max_size=3), rules, rules)
def test_more_grants_never_take_away(granted: Sequence[Rule], more: Rule, wanted: Rule) -> None:
    assert allowed([*granted, more], wanted) >= allowed(granted, wanted)
    assert allowed([more, *granted], wanted) == allowed([*granted, more], wanted)


@given(st.lists(rules, max_size=3), rules)
def test_a_rule_allows_itself(others: Sequence[Rule], rule: Rule) -> None:
    assert allowed([*others, rule], rule)


@given(st.lists(rules, max_size=3), rules, st.sampled_from(FIELDS))
def test_asking_for_less(granted: Sequence[Rule], wanted: Rule, field: str) -> None:
    """Whoever may do something may do each part of it."""
    if allowed(granted, wanted):
        for value in wanted.get(field, ()):
            assert allowed(granted, {**wanted, field: [value]})


@given(rules)
def test_everything_is_allowed_to_everybody(wanted: Rule) -> None:
    everything = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, {"verbs": ["*"], "nonResourceURLs": ["*"]}]
    assert allowed(everything, wanted)
    assert not allowed([], wanted)


@given(resource_rules, url_rules)
def test_sound_rules(one: Rule, other: Rule) -> None:
    """A rule needs a verb, and is about resources or URLs, not both."""
    assert rule_problem(one) == rule_problem(other) == ""
    assert rule_problem({**one, "verbs": []}) != ""
    assert rule_problem({**one, **other}) != ""
