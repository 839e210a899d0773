"""Label selectors against Kubernetes' definition, requirement by requirement (R-OG-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.api.selectors import (
    LabelIndex,
    NamedLabelIndex,
    SelectorError,
    is_empty,
    is_selector,
    matches,
    parse_label_selector,
    problem,
    requirements,
)
from olmc.k8s.api.validation.field import Path, Struct
from olmc.k8s.api.validation.metadata import selector_errors

KEYS, VALUES = ("env", "tier", "team"), ("", "prod", "test")
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
some_values = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3)
expressions: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {"key": st.sampled_from(KEYS), "operator": st.sampled_from(("In", "NotIn")), "values": some_values}
    ),
    st.fixed_dictionaries(
        {"key": st.sampled_from(KEYS), "operator": st.sampled_from(("Exists", "DoesNotExist"))},
        optional={"values": st.just([])},
    ),
)
selectors = st.fixed_dictionaries(
    {}, optional={"matchLabels": labels, "matchExpressions": st.lists(expressions, max_size=3)}
)


def satisfied(requirement: Mapping[str, Any], given_labels: Mapping[str, str]) -> bool:
    """A requirement, by the set of values that a label's value must, or must not, be in."""
    value = given_labels.get(requirement["key"])
    wanted = set(requirement.get("values", ()))
    return {
        "In": value is not None and value in wanted,
        "NotIn": value is None or value not in wanted,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }[requirement["operator"]]


def as_expressions(selector: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A selector as requirements alone: a label to match is a set of one value."""
    pairs = selector.get("matchLabels", {}).items()
    return [
        *({"key": key, "operator": "In", "values": [value]} for key, value in pairs),
        *selector.get("matchExpressions", ()),
    ]


@given(selectors, labels)
def test_all_requirements_hold(selector: Mapping[str, Any], given_labels: Mapping[str, str]) -> None:
    assert matches(selector, given_labels) == all(satisfied(r, given_labels) for r in as_expressions(selector))


@given(selectors, labels)
def test_empty_selectors_match_everything(selector: Mapping[str, Any], given_labels: Mapping[str, str]) -> None:
    assert is_empty(selector) == (not as_expressions(selector))
    assert matches(selector, given_labels) or not is_empty(selector)


@given(selectors, selectors, labels)
def test_more_requirements_match_less(
    one: Mapping[str, Any], other: Mapping[str, Any], given_labels: Mapping[str, str]
) -> None:
    both = {"matchExpressions": as_expressions(one) + as_expressions(other)}
    assert matches(both, given_labels) == (matches(one, given_labels) and matches(other, given_labels))


@given(expressions, labels)
def test_opposites(expression: Mapping[str, Any], given_labels: Mapping[str, str]) -> None:
    opposite = {"In": "NotIn", "NotIn": "In", "Exists": "DoesNotExist", "DoesNotExist": "Exists"}
    turned = {**expression, "operator": opposite[expression["operator"]]}
    one, other = ({"matchExpressions": [each]} for each in (expression, turned))
    assert matches(one, given_labels) != matches(other, given_labels)


@given(selectors, st.sampled_from(KEYS), some_values)
def test_problems(selector: Mapping[str, Any], key: str, values: list[str]) -> None:
    """Sets must have values, existence must not, and there are four operators; otherwise it selects nothing."""
    assert problem(selector) == ""
    for wrong in (
        {"key": key, "operator": "In", "values": []},
        {"key": key, "operator": "NotIn"},
        {"key": key, "operator": "Exists", "values": values},
        {"key": key, "operator": "in", "values": values},
        {"key": key, "operator": "Gt"},
        {"key": key, "operator": "Lt", "values": ["1"]},
        {"key": key},
    ):
        listed = [*selector.get("matchExpressions", ()), wrong]
        assert problem({**selector, "matchExpressions": listed}) != ""
        assert not any(matches({"matchExpressions": [wrong]}, labels) for labels in ({}, {key: "0"}))


@given(selectors)
def test_whoever_judges_a_selector_comes_to_the_same_end(selector: dict[str, Any]) -> None:
    """OLM's conversion and API validation word it differently."""
    assert is_selector(selector)
    assert list(selector_errors(Struct(selector, Path("selector")))) == []
    wrong = {**selector, "matchExpressions": [{"key": "-", "operator": "Exists"}]}
    assert not is_selector(wrong)
    assert list(selector_errors(Struct(wrong, Path("selector")))) != []


def query(expression: Mapping[str, Any]) -> str:
    """A requirement as clients write it in a query."""
    key, listed = expression["key"], ",".join(expression.get("values", ()))
    texts: dict[str, str] = {
        "In": f"{key} in ({listed})",
        "NotIn": f"{key} notin ({listed})",
        "Exists": key,
        "DoesNotExist": f"!{key}",
    }
    return texts[expression["operator"]]


@given(selectors)
def test_a_selector_in_a_query_has_the_same_requirements(selector: dict[str, Any]) -> None:
    queries = ", ".join(map(query, as_expressions({**selector, "matchLabels": {}})))
    of_expressions = {**selector, "matchLabels": {}}
    assert list(parse_label_selector(queries)) == list(requirements(of_expressions))


def test_what_a_label_can_not_be() -> None:
    """A value is named by its place among the values and its key, in objects and in queries."""
    text = 'values[1][env]: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric'
    assert problem({"matchExpressions": [{"key": "env", "operator": "In", "values": ["a", "-"]}]}).startswith(text)
    with pytest.raises(SelectorError) as error:
        list(parse_label_selector("env in (a,-)"))
    assert str(error.value).startswith(f"unable to parse requirement: {text}")
    assert problem({"matchExpressions": [{"key": "env"}]}) == '"" is not a valid label selector operator'


def test_a_label_without_a_value_is_empty() -> None:
    """As Go reads null."""
    assert matches({"matchLabels": {"env": ""}}, {"env": None})
    assert not matches({"matchLabels": {"env": ""}}, {})


@given(st.lists(labels, max_size=6), st.lists(selectors, max_size=3))
def test_an_index_of_names_selects_what_matches(
    given_labels: list[dict[str, str]], asked: list[dict[str, Any]]
) -> None:
    objects = {f"n{number}": own for number, own in enumerate(given_labels)}
    index = NamedLabelIndex(objects)
    for selector in [*asked, *asked, {"matchExpressions": [{"key": "env", "operator": "Near"}]}]:
        selected = tuple(sorted(name for name, own in objects.items() if matches(selector, own)))
        assert index.select(selector) == selected


@given(selectors, st.lists(labels, max_size=5))
def test_an_index_selects_what_matches(selector: Mapping[str, Any], several: list[dict[str, str]]) -> None:
    selected = LabelIndex.of(several).selected(selector)
    assert [bool(selected >> place & 1) for place in range(len(several))] == [matches(selector, one) for one in several]
