"""What a label selector selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmc.model.values import mapping, mappings, text, texts


def selects(selector: Any, labels: Mapping[str, Any]) -> bool:
    """Whether a selector without errors matches labels; one that is missing matches nothing."""
    if not isinstance(selector, dict):
        return False
    if any(text(labels.get(key)) != value for key, value in mapping(selector.get("matchLabels")).items()):
        return False
    if not set(mapping(selector.get("matchLabels"))) <= set(labels):
        return False
    return all(_fits(expression, labels) for expression in mappings(selector.get("matchExpressions")))


def _fits(expression: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, operator = text(expression.get("key")), text(expression.get("operator"))
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    is_listed = key in labels and text(labels[key]) in texts(expression.get("values"))
    return is_listed if operator == "In" else not is_listed
