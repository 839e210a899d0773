"""Label selectors: which sets of labels they match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from olmc.golang import is_label_value, is_qualified_name

KNOWN_KEYS = frozenset({"matchLabels", "matchExpressions"})


def is_empty(selector: Mapping[str, Any] | None) -> bool:
    """Whether a selector, after the API server dropped what it does not know, says nothing (R-OG-1, R-OG-2)."""
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def problem(selector: Mapping[str, Any]) -> str:
    """Kubernetes' text for a selector that can't be used, "" for one that can (R-OG-1)."""
    for key, value in sorted((selector.get("matchLabels") or {}).items()):
        wrong = _label_problem(key, [value])
        if wrong:
            return wrong
    for expression in selector.get("matchExpressions") or ():
        operator, values = expression.get("operator"), expression.get("values") or []
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            return f'"{operator}" is not a valid label selector operator'
        if operator in ("In", "NotIn") and not values:
            return "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
        if operator in ("Exists", "DoesNotExist") and values:
            return f"values: Invalid value: {values}: values set must be empty for exists and does not exist"
        wrong = _label_problem(expression.get("key") or "", values)
        if wrong:
            return wrong
    return ""


def _label_problem(key: str, values: Sequence[str]) -> str:
    """What is wrong with a requirement's key, or with one of the values that it is held against."""
    wrong = is_qualified_name(key)
    if wrong:
        return f'key: Invalid value: "{key}": {"; ".join(wrong)}'
    for index, value in enumerate(values):
        wrong = is_label_value(value)
        if wrong:
            return f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(wrong)}'
    return ""


def is_selector(value: Any) -> bool:
    """Whether a value that nobody has looked at yet is a selector that the API server takes."""
    if not isinstance(value, Mapping):
        return False
    labels, expressions = value.get("matchLabels") or {}, value.get("matchExpressions") or []
    return (
        isinstance(labels, Mapping)
        and _are_texts([*labels, *labels.values()])
        and isinstance(expressions, list)
        and all(isinstance(each, Mapping) and _is_requirement(each) for each in expressions)
        and not problem(value)
    )


def _is_requirement(value: Mapping[str, Any]) -> bool:
    values = value.get("values") or []
    return isinstance(values, list) and _are_texts([value.get("key"), *values])


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy every requirement of a selector; an empty selector matches everything."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    return all(_holds(expression, labels) for expression in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator, values = str(expression.get("key")), expression.get("operator"), expression.get("values") or []
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    return (key in labels) == (operator == "Exists")
