"""CustomResourceDefinitions in the style of v1beta1, brought to v1 field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.olm.facts import moves_to_v1
from olmc.k8s.diagnostics import Source
from olmc.k8s.objects import mapping, mappings, text
from olmc.k8s.yaml.edit import value_of
from olmc.review.diagnose.diagnosis import Edit, FieldEdit, MovedField, RemedyCandidate, Structure

_V1 = "apiextensions.k8s.io/v1"
_KEEPS = "x-kubernetes-preserve-unknown-fields"
_ANYTHING = {"type": "object", _KEEPS: True}
_MOVES = (("validation", "schema"), ("subresources", "subresources"),
          ("additionalPrinterColumns", "additionalPrinterColumns"))  # fmt: skip


def to_v1(sources: Sequence[Source]) -> Iterator[RemedyCandidate]:
    """The candidate that writes CRDs as v1 wants them: each field moves to the versions, with its comments."""
    edits = [edit for source in sources for edit in _edits(source, value_of(source))]
    paths = ", ".join(dict.fromkeys(source.path for source in sources))
    if edits:
        yield RemedyCandidate(f"Move the fields of v1beta1 to their place in {_V1} in {paths}", tuple(edits))


def _edits(source: Source, crd: Mapping[str, Any]) -> Iterator[Edit]:
    if crd.get("apiVersion") != _V1:
        yield FieldEdit(source, ("apiVersion",), _V1)
    elif not moves_to_v1(crd) and mapping(crd.get("spec")).get("preserveUnknownFields") is not True:
        return
    spec = mapping(crd.get("spec"))
    versions: Sequence[Mapping[str, Any]] = mappings(spec.get("versions"))
    if not versions:
        versions = ({"name": text(spec.get("version")) or "v1", "served": True, "storage": True},)
        yield FieldEdit(source, ("spec", "versions"), Structure.of(list(versions)))
    for old, new in _MOVES:
        if old in spec and not any(new in version for version in versions):
            yield MovedField(source, ("spec", old), ("spec", "versions"), new)
    for number, version in enumerate(versions):
        keys = ("spec", "versions", number, "schema", "openAPIV3Schema")
        if "schema" not in version and "validation" not in spec:
            yield FieldEdit(source, keys, Structure.of(_ANYTHING))
        elif spec.get("preserveUnknownFields") is True:
            yield FieldEdit(source, (*keys, _KEEPS), value=True)
    yield from (FieldEdit(source, ("spec", field), None) for field in ("preserveUnknownFields", "version")
                if field in spec)  # fmt: skip
    yield from _of_conversion(source, mapping(spec.get("conversion")))


def _of_conversion(source: Source, conversion: Mapping[str, Any]) -> Iterator[Edit]:
    moved = {new: conversion[old] for old, new in (("webhookClientConfig", "clientConfig"),
             ("conversionReviewVersions", "conversionReviewVersions")) if old in conversion}  # fmt: skip
    if moved:
        whole = {"strategy": conversion.get("strategy", "Webhook"), "webhook": moved}
        yield FieldEdit(source, ("spec", "conversion"), Structure.of(whole))
