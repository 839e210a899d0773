"""Labels, annotations and label selectors as Kubernetes judges them wherever they stand.

Kubernetes goes through maps in an order that changes; here it is that of the keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.golang import is_label_value, is_qualified_name
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, present, typed
from olmc.kube.object_meta import ANNOTATIONS_LIMIT
from olmc.model.values import mapping, mappings, text, texts

_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")


def label_errors(labels: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the keys and values of labels."""
    for key in sorted(labels):
        yield from path.at(key).all_invalid(key, is_qualified_name(key))
        value = text(labels[key])
        yield from path.at(key).all_invalid(value, is_label_value(value))


def annotation_errors(annotations: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the keys of annotations, and with the size of all of them."""
    for key in sorted(annotations):
        yield from path.at(key).all_invalid(key, is_qualified_name(key.lower()))
    parts = (part for key, value in annotations.items() for part in (key, text(value)))
    if sum(len(part.encode("utf-8", "surrogatepass")) for part in parts) > ANNOTATIONS_LIMIT:
        yield path.too_long(ANNOTATIONS_LIMIT)


def selector_errors(selector: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with a label selector; one that is missing is right."""
    yield from label_errors(mapping(mapping(selector).get("matchLabels")), path.child("matchLabels"))
    for index, expression in enumerate(mappings(mapping(selector).get("matchExpressions"))):
        yield from expression_errors(expression, path.child("matchExpressions").item(index))


def expression_errors(
    expression: Mapping[str, Any], path: Path, *, numbers: bool = False, free_values: bool = False
) -> Iterator[FieldError]:
    """What is wrong with one requirement of a selector.

    `numbers`: it may compare, as one of nodes may; `free_values`: its values need not be those of labels.
    """
    operator, values = text(expression.get("operator")), texts(expression.get("values"))
    if operator in _WITH_VALUES:
        if not values:
            yield path.child("values").required("must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _WITHOUT_VALUES:
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield path.child("values").forbidden(detail)
    elif numbers and operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield path.child("values").required("must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield path.child("operator").invalid(typed(operator), "not a valid selector operator")
    key = text(expression.get("key"))
    yield from path.child("key").all_invalid(key, is_qualified_name(key))
    for index, value in enumerate(() if free_values else values):
        yield from path.child("values").item(index).all_invalid(value, is_label_value(value))


def selects(selector: Any, labels: Mapping[str, Any]) -> bool:
    """Whether a selector without errors matches labels; one that is missing matches nothing."""
    if present(selector) is None:
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
