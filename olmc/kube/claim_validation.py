"""The PersistentVolumeClaim that a pod's ephemeral volume is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.gojson.quantity import thousandths
from olmc.golang import is_dns1123_subdomain
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, typed
from olmc.kube.object_meta import annotation_errors, label_errors
from olmc.kube.selectors import selector_errors
from olmc.model.coerce import mapping, text, texts

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")


def claim_template_errors(template: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the claim's labels, annotations, access modes, size and class."""
    metadata, here = mapping(template.get("metadata")), path.child("metadata")
    yield from annotation_errors(mapping(metadata.get("annotations")), here.child("annotations"))
    yield from label_errors(mapping(metadata.get("labels")), here.child("labels"))
    for field in metadata:
        if field not in ("annotations", "labels") and metadata[field]:
            yield here.child(field).forbidden("cannot be set")
    yield from _spec_errors(mapping(template.get("spec")), path.child("spec"))


def _spec_errors(spec: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    modes, here = texts(spec.get("accessModes")), path.child("accessModes")
    if not modes:
        yield here.required("at least 1 access mode is required")
    yield from selector_errors(spec.get("selector"), path.child("selector"))
    for index, mode in enumerate(modes):
        if mode not in _ACCESS_MODES:
            yield here.at(index).unsupported(typed(mode), _ACCESS_MODES)
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        yield here.forbidden("may not use ReadWriteOncePod with other access modes")
    yield from _size_errors(spec, path.child("resources"))
    storage_class = text(spec.get("storageClassName"))
    if storage_class:
        yield from path.child("storageClassName").all_invalid(storage_class, is_dns1123_subdomain(storage_class))
    mode = text(spec.get("volumeMode"))
    if mode and mode not in _VOLUME_MODES:
        yield path.child("volumeMode").unsupported(typed(mode), _VOLUME_MODES)


def _size_errors(spec: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    requests = mapping(mapping(spec.get("resources")).get("requests"))
    here, size = path.key("storage"), text(requests.get("storage"))
    if "storage" not in requests:
        yield here.required()
        return
    try:
        is_positive = thousandths(size) > 0
    except ValueError:
        return
    if not is_positive:
        yield here.invalid(size, "must be greater than zero")
