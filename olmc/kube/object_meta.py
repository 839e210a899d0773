"""The metadata of an object as Kubernetes judges it when it is created (R-CAT-207).

Not covered: managedFields and the deletion fields, which no manifest has. Kubernetes goes through maps in an order that
changes; here it is that of the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olmc.golang import is_dns1123_label, is_label_value, is_qualified_name
from olmc.kube.field_errors import FieldError, forbidden, invalid, required
from olmc.kube.field_path import Path
from olmc.model.coerce import mapping, mappings, text, texts
from olmc.model.gvk import gvk_of

ANNOTATIONS_LIMIT = 256 * 1024

_METADATA = Path().child("metadata")
_EXCLUSIVE_FINALIZERS = ("orphan", "foregroundDeletion")


def _any_name(name: str) -> list[str]:  # noqa: ARG001
    return []


def metadata_errors(
    obj: Mapping[str, Any], name_problems: Callable[[str], list[str]] = _any_name, *, namespaced: bool = False
) -> list[FieldError]:
    """What Kubernetes would say about `metadata` of an object of a kind that has no namespace, or has one."""
    metadata = mapping(obj.get("metadata"))
    return [
        *_name_errors(text(metadata.get("name")), name_problems),
        *(_namespace_errors(text(metadata.get("namespace"))) if namespaced else _no_namespace_errors(metadata)),
        *_generation_errors(metadata),
        *content_errors(metadata),
    ]


def content_errors(metadata: Mapping[str, Any]) -> list[FieldError]:
    """What Kubernetes would say about the parts of an object's metadata that an update may change."""
    return [
        *label_errors(mapping(metadata.get("labels")), _METADATA.child("labels")),
        *annotation_errors(mapping(metadata.get("annotations")), _METADATA.child("annotations")),
        *_owner_errors(metadata),
        *_finalizer_errors(texts(metadata.get("finalizers"))),
    ]


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


def _name_errors(name: str, name_problems: Callable[[str], list[str]]) -> Iterator[FieldError]:
    keys = ("metadata", "name")
    if not name:
        yield required("metadata.name", keys, "name or generateName is required")
        return
    for problem in name_problems(name):
        yield invalid("metadata.name", name, problem, keys)


def _no_namespace_errors(metadata: Mapping[str, Any]) -> Iterator[FieldError]:
    if text(metadata.get("namespace")):
        yield forbidden("metadata.namespace", "not allowed on this type", ("metadata", "namespace"))


def _namespace_errors(namespace: str) -> Iterator[FieldError]:
    keys = ("metadata", "namespace")
    if not namespace:
        yield required("metadata.namespace", keys)
        return
    for problem in is_dns1123_label(namespace):
        yield invalid("metadata.namespace", namespace, problem, keys)


def _generation_errors(metadata: Mapping[str, Any]) -> Iterator[FieldError]:
    generation = metadata.get("generation")
    if isinstance(generation, int) and generation < 0:
        detail = "must be greater than or equal to 0"
        yield invalid("metadata.generation", generation, detail, ("metadata", "generation"))


def _owner_errors(metadata: Mapping[str, Any]) -> Iterator[FieldError]:
    field = "metadata.ownerReferences"
    for index, owner in enumerate(mappings(metadata.get("ownerReferences"))):
        keys = ("metadata", "ownerReferences", index)
        if not gvk_of(owner).version:
            yield invalid(f"{field}.apiVersion", text(owner.get("apiVersion")), "version must not be empty", keys)
        for name in ("kind", "name", "uid"):
            if not text(owner.get(name)):
                yield invalid(f"{field}.{name}", "", "must not be empty", keys)


def _finalizer_errors(finalizers: list[str]) -> Iterator[FieldError]:
    field = "metadata.finalizers"
    for index, finalizer in enumerate(finalizers):
        for problem in is_qualified_name(finalizer):
            yield invalid(field, finalizer, problem, ("metadata", "finalizers", index))
    if set(_EXCLUSIVE_FINALIZERS) <= set(finalizers):
        one, other = _EXCLUSIVE_FINALIZERS
        detail = f"finalizer {one} and {other} cannot be both set"
        yield invalid(field, finalizers, detail, ("metadata", "finalizers"))
