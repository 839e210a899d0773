"""What the API server refuses in a version of a CRD, or in what all versions share.

That is the schema, subresources, printer columns and selectable fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from olmc.kube.crd_internal import Part
from olmc.kube.crd_schema_validation import SchemaRules, schema_errors
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path
from olmc.kube.schema_fields import FieldPath, follow
from olmc.kube.structural_schema import conversion_error
from olmc.model.coerce import mapping, text

MOST_SELECTABLE = 8
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES = ("string", "boolean", "integer")
_NOT_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_NOT_A_PATH = "must be a simple json path starting with ."
_NO_SCHEMA = "may only be set when `version.schema.openAPIV3Schema` is not included"
_NO_SHARED_SCHEMA = "may only be set when validations.schema is included"


class CrdRules(NamedTuple):
    """Rules that an update is not held to if the CRD has broken them before.

    `many_fields` are the versions that may have too many selectable fields, "" what all versions share.
    """

    schema: SchemaRules = SchemaRules()
    every_schema: bool = True
    any_review_version: bool = False
    any_certificate: bool = True
    many_fields: frozenset[str] = frozenset()


def part_errors(part: Part, version: tuple[int, str] | None, has_status: bool, rules: CrdRules) -> Iterator[FieldError]:
    """What is wrong with a version, given by index and name, or with what all versions share."""
    index, name = version or (0, "")
    here = Path("spec" if version is None else f"spec.versions[{index}]", ("spec", "versions", index))
    if part.schema is not None:
        place = here.called("validation" if version is None else "schema").at("schema").child("openAPIV3Schema")
        yield from schema_errors(part.schema, place, has_status=has_status, rules=rules.schema)
    scale = mapping(part.subresources).get("scale")
    if isinstance(scale, dict):
        yield from _scale_errors(scale, here.child("subresources", "scale"))
    for number, column in enumerate(part.columns):
        yield from _column_errors(column, here.child("additionalPrinterColumns").item(number))
    if part.selectable:
        yield from _selectable_errors(part, here, is_shared=version is None, many=name in rules.many_fields)


def _scale_errors(scale: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    for name, prefix in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        value, here = text(scale.get(name)), path.child(name)
        if not value:
            yield here.required()
        elif value[0] != ".":
            yield here.invalid(value, _NOT_A_PATH)
        elif not value.startswith(f"{prefix}."):
            yield here.invalid(value, f"should be a json path under {prefix}")
    value, here = text(scale.get("labelSelectorPath")), path.child("labelSelectorPath")
    if value and value[0] != ".":
        yield here.invalid(value, _NOT_A_PATH)
    elif value and not value.startswith((".spec.", ".status.")):
        yield here.invalid(value, "should be a json path under either .spec or .status")


def _column_errors(column: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    kind, shape, value = (text(column.get(name)) for name in ("type", "format", "jsonPath"))
    if not text(column.get("name")):
        yield path.child("name").required()
    one_of = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield path.child("type").required(one_of)
    elif kind not in _COLUMN_TYPES:
        yield path.child("type").invalid(kind, one_of)
    if shape and shape not in _COLUMN_FORMATS:
        yield path.child("format").invalid(shape, f"must be one of {','.join(_COLUMN_FORMATS)}")
    here = path.called("JSONPath").at("jsonPath")
    if not value:
        yield here.required()
    elif value[0] != ".":
        yield here.invalid(value, _NOT_A_PATH)


def _selectable_errors(part: Part, path: Path, *, is_shared: bool, many: bool) -> Iterator[FieldError]:
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
        here, value = fields.item(index).child("jsonPath"), text(selectable.get("jsonPath"))
        found = follow(value, schema, in_brackets=False)
        if not value:
            yield here.required()
        elif found.problem:
            yield here.invalid(value, f"is an invalid path: {found.problem}")
        else:
            yield from _target_errors(found, value, here)
            if found.steps in seen:
                yield here.duplicate(value)
            seen.add(found.steps)
    if len(seen) > MOST_SELECTABLE and not many:
        yield fields.too_many(len(seen), MOST_SELECTABLE)


def _target_errors(found: FieldPath, value: str, path: Path) -> Iterator[FieldError]:
    if found.steps[0] == "metadata":
        yield path.invalid(value, "must not point to fields in metadata")
    if found.schema.get("type") not in _SELECTABLE_TYPES:
        yield path.invalid(value, _NOT_SELECTABLE)
