"""Which of its rules the API server does not hold an update of a CRD to, for the CRD breaks them already.

So CRDs that were made before a rule can still be updated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.kube.conversion_validation import REVIEW_VERSIONS, has_no_certificate
from olmc.kube.crd_internal import Crd, any_schema, whole_schemas
from olmc.kube.crd_parts import MOST_SELECTABLE, CrdRules
from olmc.kube.crd_schema_validation import TYPES, SchemaRules, map_key_errors, mergeable_set_item
from olmc.kube.field_path import Path
from olmc.kube.schema_defaults import has_unknown_fields
from olmc.kube.structural_schema import conversion_error, structural_errors
from olmc.model.coerce import mapping, text, texts

Schema = Mapping[str, Any]
_HERE = Path()
_EXTENSIONS = (
    "default",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-validations",
)
"""What only structural schemas may have."""


def rules_for_update(new: Crd, old: Crd, strict: CrdRules) -> CrdRules:
    """The rules that `new` is held to when it takes the place of `old`: the strict ones but for those that it broke."""
    webhook = mapping(old.conversion.get("webhook"))
    reviewed = texts(webhook.get("conversionReviewVersions"))
    bundle = text(mapping(webhook.get("clientConfig")).get("caBundle"))
    needs_structure = not new.preserves_unknown or any_schema(new, _is_extended)
    return strict._replace(
        schema=SchemaRules(
            structural=needs_structure or all(map(_is_structural, whole_schemas(old))),
            valid_types=not any_schema(old, _has_odd_type),
            pruned_defaults=not any(_has_odd_default(schema) for schema in whole_schemas(old)),
            atomic_sets=not any_schema(old, lambda schema: mergeable_set_item(schema) is not None),
            sound_map_keys=not any_schema(old, lambda schema: any(map_key_errors(schema, _HERE))),
        ),
        every_schema=old.shared.schema is not None or all(each.own.schema is not None for each in old.versions or ()),
        any_review_version=bool(reviewed) and set(reviewed).isdisjoint(REVIEW_VERSIONS),
        any_certificate=not old.is_established or has_no_certificate(bundle),
        many_fields=frozenset(_with_many_fields(new, old)),
    )


def _is_extended(schema: Schema) -> bool:
    return any(schema.get(key) is not None and schema[key] != [] for key in _EXTENSIONS)


def _is_structural(schema: Schema) -> bool:
    return not conversion_error(schema) and not structural_errors(schema, _HERE)


def _has_odd_type(schema: Schema) -> bool:
    kind = schema.get("type")
    return bool(kind) and kind not in TYPES


def _has_odd_default(schema: Schema) -> bool:
    """Whether a structural schema has a default with fields that it does not know."""
    return any(map(has_unknown_fields, _structures_in(schema))) and _is_structural(schema)


def _structures_in(schema: Any) -> Iterator[Schema]:
    known = mapping(schema)
    yield known
    for each in (known.get("items"), known.get("additionalProperties"), *mapping(known.get("properties")).values()):
        if isinstance(each, dict):
            yield from _structures_in(each)


def _with_many_fields(new: Crd, old: Crd) -> Iterator[str]:
    """The versions whose selectable fields are as many as they were, "" for what all share."""
    pairs = [("", new.shared, old.shared)]
    before = {version.name: version.own for version in old.versions or ()}
    pairs += [(each.name, each.own, before[each.name]) for each in new.versions or () if each.name in before]
    for name, part, was in pairs:
        if len(was.selectable) > MOST_SELECTABLE and part.selectable == was.selectable:
            yield name
