"""What all objects have as Kubernetes judges it: metadata (R-CAT-207), labels, annotations and label selectors.

Not covered: managedFields and the deletion fields, which no manifest has. Kubernetes goes through maps in an order that
changes; here it is that of the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olmc.golang import is_dns1123_label, is_label_value, is_qualified_name
from olmc.kube.api_validation.field import NOT_NEGATIVE, FieldError, Path, Struct, typed
from olmc.kube.api_validation.names import size
from olmc.model.coerce import mapping, text

ANNOTATIONS_LIMIT = 256 * 1024

_METADATA = Path("metadata", ("metadata",))
_EXCLUSIVE_FINALIZERS = ("orphan", "foregroundDeletion")


def _any_name(name: str) -> list[str]:  # noqa: ARG001
    return []


def metadata_errors(
    obj: Mapping[str, Any], name_problems: Callable[[str], list[str]] = _any_name, *, namespaced: bool = False
) -> list[FieldError]:
    """What Kubernetes would say about `metadata` of an object of a kind that has no namespace, or has one."""
    metadata = Struct(mapping(obj.get("metadata")), _METADATA)
    errors = metadata.required_text("name", name_problems, "name or generateName is required")
    if namespaced:
        errors += metadata.required_text("namespace", is_dns1123_label)
    elif metadata.text("namespace"):
        errors.append(metadata.at("namespace").forbidden("not allowed on this type"))
    generation = metadata.get("generation")
    if isinstance(generation, int) and generation < 0:
        errors.append(metadata.at("generation").invalid(generation, NOT_NEGATIVE))
    return [*errors, *content_errors(metadata.fields)]


def content_errors(metadata: Mapping[str, Any]) -> list[FieldError]:
    """What Kubernetes would say about the parts of an object's metadata that an update may change."""
    struct = Struct(metadata, _METADATA)
    return [
        *label_errors(struct.map("labels"), struct.at("labels")),
        *annotation_errors(struct.map("annotations"), struct.at("annotations")),
        *_owner_errors(struct),
        *_finalizer_errors(struct),
    ]


def _owner_errors(metadata: Struct) -> Iterator[FieldError]:
    references = metadata.at("ownerReferences")
    for index, owner in enumerate(metadata.structs("ownerReferences")):
        # Kubernetes does not say which of the owners it means.
        version = owner.text("apiVersion")
        if not version.rpartition("/")[2]:
            yield references.called("apiVersion").keyed(index).invalid(version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.text(name):
                yield references.called(name).keyed(index).invalid("", "must not be empty")


def _finalizer_errors(metadata: Struct) -> Iterator[FieldError]:
    finalizers, path = metadata.texts("finalizers"), metadata.at("finalizers")
    for index, finalizer in enumerate(finalizers):
        yield from path.keyed(index).all_invalid(finalizer, is_qualified_name(finalizer))
    if set(_EXCLUSIVE_FINALIZERS) <= set(finalizers):
        one, other = _EXCLUSIVE_FINALIZERS
        yield path.invalid(finalizers, f"finalizer {one} and {other} cannot be both set")


def label_errors(labels: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the keys and values of labels."""
    for key in sorted(labels):
        place, value = path.keyed(key), text(labels[key])
        yield from place.all_invalid(key, is_qualified_name(key))
        yield from place.all_invalid(value, is_label_value(value))


def annotation_errors(annotations: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the keys of annotations, and with the size of all of them."""
    for key in sorted(annotations):
        yield from path.keyed(key).all_invalid(key, is_qualified_name(key.lower()))
    if sum(size(key) + size(text(value)) for key, value in annotations.items()) > ANNOTATIONS_LIMIT:
        yield path.too_long(ANNOTATIONS_LIMIT)


def selector_errors(selector: Struct) -> Iterator[FieldError]:
    """What is wrong with a label selector; an empty one is right."""
    yield from label_errors(selector.map("matchLabels"), selector.at("matchLabels"))
    for expression in selector.structs("matchExpressions"):
        yield from expression_errors(expression)


def expression_errors(expression: Struct, *, numbers: bool = False, free_values: bool = False) -> Iterator[FieldError]:
    """What is wrong with one requirement of a selector.

    `numbers`: it may compare, as one of nodes may; `free_values`: its values need not be those of labels.
    """
    operator, values, path = expression.text("operator"), expression.texts("values"), expression.at("values")
    if operator in ("In", "NotIn"):
        if not values:
            yield path.required("must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield path.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif numbers and operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield path.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield expression.at("operator").invalid(typed(operator), "not a valid selector operator")
    key = expression.text("key")
    yield from expression.at("key").all_invalid(key, is_qualified_name(key))
    for value, place in () if free_values else expression.items("values"):
        yield from place.all_invalid(value, is_label_value(value))
