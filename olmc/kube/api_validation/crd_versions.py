"""What the API server refuses in a version of a CRD, or in what all versions share, and what of it updates may leave.

That is the schema, subresources, printer columns and selectable fields. An update is not held to rules that the CRD
breaks already, so that CRDs that were made before a rule can still be updated: Kubernetes calls it ratcheting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from olmc.kube.api_validation.crd_internal import CrdPart, InternalCrd, any_schema, whole_schemas
from olmc.kube.api_validation.crd_schemas import TYPES, SchemaRules, map_key_errors, mergeable_set_item, schema_errors
from olmc.kube.api_validation.field import FieldError, Path, Struct
from olmc.kube.api_validation.structural_schema import FieldPath, conversion_error, follow, structural_errors
from olmc.kube.api_validation.webhooks import REVIEW_VERSIONS, has_no_certificate
from olmc.lean import NamedTuple
from olmc.model.objects import mapping, text, texts

Schema = Mapping[str, Any]

_MOST_SELECTABLE = 8
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES = ("string", "boolean", "integer")
_NOT_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_NOT_A_PATH = "must be a simple json path starting with ."
_NO_SCHEMA = "may only be set when `version.schema.openAPIV3Schema` is not included"
_NO_SHARED_SCHEMA = "may only be set when validations.schema is included"
# What only structural schemas may have.
_EXTENSIONS = (
    "default",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-validations",
)


class CrdRules(NamedTuple):
    """Rules that an update is not held to if the CRD has broken them before.

    `many_fields` are the versions that may have too many selectable fields, "" what all versions share.
    """

    schema: SchemaRules = SchemaRules()
    every_schema: bool = True
    any_review_version: bool = False
    any_certificate: bool = True
    many_fields: frozenset[str] = frozenset()


def part_errors(
    part: CrdPart, version: tuple[int, str] | None, has_status: bool, rules: CrdRules
) -> Iterator[FieldError]:
    """What is wrong with a version, given by index and name, or with what all versions share."""
    index, name = version or (0, "")
    path = Path("spec" if version is None else f"spec.versions[{index}]", ("spec", "versions", index))
    if part.schema is not None:
        place = path.called("validation" if version is None else "schema").keyed("schema").child("openAPIV3Schema")
        yield from schema_errors(part.schema, place, has_status=has_status, rules=rules.schema)
    fields = Struct({"subresources": part.subresources, "additionalPrinterColumns": part.columns}, path)
    scale = fields.child("subresources").pointer("scale")
    if scale is not None:
        yield from _scale_errors(scale)
    for column in fields.structs("additionalPrinterColumns"):
        yield from _column_errors(column)
    if part.selectable:
        yield from _selectable_errors(part, path, is_shared=version is None, many=name in rules.many_fields)


def _scale_errors(scale: Struct) -> Iterator[FieldError]:
    for name, prefix in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        yield from scale.required_text(name, partial(_json_path_problems, roots=(prefix,)))
    yield from scale.optional_text("labelSelectorPath", partial(_json_path_problems, roots=(".spec", ".status")))


def _json_path_problems(value: str, roots: tuple[str, ...] = ()) -> list[str]:
    if value[0] != ".":
        return [_NOT_A_PATH]
    if not roots or value.startswith(tuple(f"{root}." for root in roots)):
        return []
    return [f"should be a json path under {'either ' if len(roots) > 1 else ''}{' or '.join(roots)}"]


def _column_errors(column: Struct) -> Iterator[FieldError]:
    kind, of_types = column.text("type"), f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.text("name"):
        yield column.at("name").required()
    if not kind:
        yield column.at("type").required(of_types)
    elif kind not in _COLUMN_TYPES:
        yield column.at("type").invalid(kind, of_types)
    shape = column.text("format")
    if shape and shape not in _COLUMN_FORMATS:
        yield column.at("format").invalid(shape, f"must be one of {','.join(_COLUMN_FORMATS)}")
    path, value = column.path.called("JSONPath").keyed("jsonPath"), column.text("jsonPath")
    yield from path.all_invalid(value, _json_path_problems(value)) if value else [path.required()]


def _selectable_errors(part: CrdPart, path: Path, *, is_shared: bool, many: bool) -> Iterator[FieldError]:
    fields, schema = path.child("selectableFields"), part.schema
    if schema is None:
        if not (is_shared and part.has_schema):
            yield fields.invalid("", _NO_SHARED_SCHEMA if is_shared else _NO_SCHEMA)
        return
    if problem := conversion_error(schema):
        yield path.child("schema", "openAPIV3Schema").invalid("", problem)
        return
    seen: set[tuple[str, ...]] = set()
    for index, selectable in enumerate(part.selectable):
        place, value = fields.item(index).child("jsonPath"), text(selectable.get("jsonPath"))
        target = follow(value, schema, in_brackets=False)
        if not value:
            yield place.required()
        elif target.problem:
            yield place.invalid(value, f"is an invalid path: {target.problem}")
        else:
            yield from _target_errors(target, value, place)
            if target.steps in seen:
                yield place.duplicate(value)
            seen.add(target.steps)
    if len(seen) > _MOST_SELECTABLE and not many:
        yield fields.too_many(len(seen), _MOST_SELECTABLE)


def _target_errors(target: FieldPath, value: str, path: Path) -> Iterator[FieldError]:
    if target.steps[0] == "metadata":
        yield path.invalid(value, "must not point to fields in metadata")
    if target.schema.get("type") not in _SELECTABLE_TYPES:
        yield path.invalid(value, _NOT_SELECTABLE)


def rules_for_update(new: InternalCrd, old: InternalCrd, strict: CrdRules) -> CrdRules:
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
            sound_map_keys=not any_schema(old, lambda schema: any(map_key_errors(schema, Path()))),
        ),
        every_schema=old.shared.schema is not None or all(item.own.schema is not None for item in old.versions or ()),
        any_review_version=bool(reviewed) and set(reviewed).isdisjoint(REVIEW_VERSIONS),
        any_certificate=not old.is_established or has_no_certificate(bundle),
        many_fields=frozenset(_with_many_fields(new, old)),
    )


def _is_extended(schema: Schema) -> bool:
    return any(schema.get(key) is not None and schema[key] != [] for key in _EXTENSIONS)


def _is_structural(schema: Schema) -> bool:
    return not conversion_error(schema) and not structural_errors(schema, Path())


def _has_odd_type(schema: Schema) -> bool:
    kind = schema.get("type")
    return bool(kind) and kind not in TYPES


def _has_odd_default(schema: Schema) -> bool:
    """Whether a structural schema has a default with fields that it does not know."""
    from olmc.kube.api_validation.schema_defaults import has_unknown_fields  # few updates are refused

    return any(map(has_unknown_fields, _structures_in(schema))) and _is_structural(schema)


def _structures_in(schema: Any) -> Iterator[Schema]:
    known = mapping(schema)
    yield known
    for inner in (known.get("items"), known.get("additionalProperties"), *mapping(known.get("properties")).values()):
        if isinstance(inner, dict):
            yield from _structures_in(inner)


def _with_many_fields(new: InternalCrd, old: InternalCrd) -> Iterator[str]:
    """The versions whose selectable fields are as many as they were, "" for what all share."""
    pairs = [("", new.shared, old.shared)]
    before = {version.name: version.own for version in old.versions or ()}
    pairs += [
        (version.name, version.own, before[version.name]) for version in new.versions or () if version.name in before
    ]
    for name, part, was in pairs:
        if len(was.selectable) > _MOST_SELECTABLE and part.selectable == was.selectable:
            yield name
