"""The errors of the API server for the OpenAPI schema of a CRD (apiextensions.k8s.io, Kubernetes 1.36).

The order is: the structure of a schema, its defaults, then its keywords; expressions in CEL as far as `cel_rules` goes.
Whether defaults satisfy CEL rules is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import partial
from typing import Any

from olmc.k8s.api.validation.crd_internal import (
    SCHEMA_FIELDS,
    CrdPart,
    InternalCrd,
    any_schema,
    printed_items,
    printed_schema,
    whole_schemas,
)
from olmc.k8s.api.validation.field import FieldError, JsonText, Path, Struct
from olmc.k8s.api.validation.structural_schema import (
    META_FIELDS,
    FieldPath,
    Place,
    at,
    conversion_error,
    follow,
    is_embedded,
    structural_errors,
    unusual_fields,
    unusual_schemas,
)
from olmc.k8s.api.validation.webhooks import REVIEW_VERSIONS, has_no_certificate
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import CelAccount
from olmc.k8s.objects import mapping, mappings, text, texts
from olmc.k8s.strconv import SPACES

Schema = Mapping[str, Any]

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_UNIQUE = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
_SET_ITEM = "must be atomic as item of a list with x-kubernetes-list-type=set"
_NO_KEY = "this property is in x-kubernetes-list-map-keys, so it"
_KEYS_OF_MAP = "must be map if x-kubernetes-list-map-keys is non-empty"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_ROOT_OF_STATUS = "at the root of the schema if the status subresource is enabled"
_AT_ROOT = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
"""The allowed fields at the root of a schema whose status is a subresource, in Go's names."""


_NESTING = frozenset({"not", "allOf", "oneOf", "anyOf", "definitions", "dependencies"})
_RARE = frozenset({*_UNSUPPORTED, "uniqueItems", "x-kubernetes-embedded-resource"})
_EXTENSIONS = frozenset(
    f"x-kubernetes-{name}"
    for name in ("preserve-unknown-fields", "map-type", "list-type", "list-map-keys", "validations")
)


class SchemaRules(NamedTuple):
    """Rules that came later than the first CRDs: an update is not held to one that the CRD has broken before."""

    structural: bool = True
    valid_types: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    sound_map_keys: bool = True


class _Context(NamedTuple):
    """The context of a schema: a resource's apiVersion, kind or metadata, and the reason why it may have no default."""

    meta: bool = False
    no_default: str = ""


class _Judgement(NamedTuple):
    """By which rules a schema is judged, which in it are unusual, whether its expressions are judged, and the errors so
    far: those of expressions come last."""

    rules: SchemaRules
    unusual: Set[int]
    expressions: bool
    errors: list[FieldError]
    expression_errors: list[FieldError]
    cel: CelAccount


def schema_errors(schema: Schema, root: Path, *, has_status: bool, rules: SchemaRules) -> list[FieldError]:
    """Return the API server's errors for an `openAPIV3Schema` at `root`.

    `has_status`: whether the status is a subresource of the version.
    """
    errors = list(_root_errors(schema, root)) if has_status else []
    if schema.get("nullable") is True:
        errors.append(at(root, "nullable").forbidden("nullable cannot be true at the root"))
    unusual = unusual_schemas(schema)
    unconverted = conversion_error(schema, unusual) if rules.structural else ""
    is_judged = rules.structural and not unconverted
    structure: list[FieldError] = []
    if is_judged:
        structure = structural_errors(schema, root, unusual) or _default_errors(schema, root, unusual, rules)
    errors += structure
    judgement = _Judgement(rules, unusual, is_judged and not structure, errors, [], CelAccount())
    _check(schema, root, _Context(), judgement)
    errors += judgement.expression_errors
    # The API server reports that a schema can't be converted only where no other error explains it.
    if unconverted and not errors:
        errors.append(root.invalid("", unconverted))
    return errors


def _default_errors(schema: Schema, root: Path, unusual: Set[int], rules: SchemaRules) -> list[FieldError]:
    if not _has_defaults(schema, unusual):
        return []
    from olmc.k8s.api.validation import schema_values  # few schemas have defaults, and imports take their time

    return schema_values.schema_default_errors(schema, root, unusual, pruned=rules.pruned_defaults)


def _has_defaults(schema: Schema, unusual: Set[int]) -> bool:
    """Return whether there is a default somewhere in a structural schema where the API server looks at it."""
    if schema.get("default") is not None:
        return True
    items, properties = schema.get("items"), schema.get("properties")
    inner = [*properties.values(), items] if isinstance(properties, dict) else [items]
    return any(_has_defaults(below, unusual) for below in inner if id(below) in unusual and isinstance(below, dict))


def _root_errors(schema: Schema, root: Path) -> Iterator[FieldError]:
    # Go looks at the fields in their order and stops at the first that is wrong.
    for key, (name, _) in SCHEMA_FIELDS.items():
        value = schema.get(key)
        if name == "Type" and value not in (None, "", "object"):
            detail = f'only "object" is allowed as the type {_ROOT_OF_STATUS}'
            yield at(root, "type").invalid(text(value), detail)
            return
        if name not in _AT_ROOT and _is_set(key, value):
            detail = f"only [{' '.join(_AT_ROOT)}] fields are allowed {_ROOT_OF_STATUS}"
            yield root.invalid(printed_schema(schema), detail)
            return


def _is_set(key: str, value: Any) -> bool:
    """Return whether a keyword's value is another than Go's zero value."""
    if key == "default" or (value is False and key in ("additionalProperties", "additionalItems")):
        return value is not None
    return bool(value) or (value == 0 and value is not False)


def _check(schema: Schema, place: Place, context: _Context, judgement: _Judgement) -> None:
    """A schema and those in it, keyword by keyword, in the order of the API server."""
    kind, properties, items = schema.get("type"), schema.get("properties"), schema.get("items")
    before = len(judgement.errors)
    # Nearly all schemas of a CRD have none of the keywords that can be wrong, so these are looked for together.
    is_odd = (kind and kind not in TYPES) or isinstance(items, list)
    if is_odd or "default" in schema or not _RARE.isdisjoint(schema):
        judgement.errors.extend(_keyword_errors(schema, place, context, judgement.rules))
    others = schema.get("additionalProperties")
    if others is not None:
        if properties and others is not True:
            detail = "additionalProperties and properties are mutual exclusive"
            judgement.errors.append(at(place, "additionalProperties").forbidden(detail))
        if isinstance(others, dict) and id(others) in judgement.unusual:
            reason = "inside additionalProperties applying to object metadata" if context.meta else context.no_default
            _check(others, (place, "additionalProperties", None), context._replace(no_default=reason), judgement)
    if properties:
        is_root = isinstance(place, Path)
        is_resource = is_root or is_embedded(schema)
        for key, inner in unusual_fields(schema, judgement.unusual):
            below = context
            if is_resource and key in META_FIELDS:
                below = _Context(True, f"in top-level {key}" if is_root else context.no_default)
            _check(inner, (place, "properties", key), below, judgement)
    if not _NESTING.isdisjoint(schema):
        for nested, below_it in _nested(schema, place):
            _check(nested, below_it, context, judgement)
    for index, item in enumerate(mappings(items)):
        _check(item, (place, "items", index), context, judgement)
    if isinstance(items, dict) and id(items) in judgement.unusual:
        _check(items, (place, "items", None), context, judgement)
    if not _EXTENSIONS.isdisjoint(schema):
        judgement.errors.extend(_extension_errors(schema, place, judgement.rules))
        judgement.errors.extend(_list_errors(schema, place))
        judgement.errors.extend(map_key_errors(schema, place) if judgement.rules.sound_map_keys else ())
        judgement.errors.extend(_rule_errors(schema, place))
    # Expressions are compiled where nothing else is wrong, here or below.
    if "x-kubernetes-validations" in schema and judgement.expressions and len(judgement.errors) == before:
        from olmc.k8s.api.validation import cel_rules  # few schemas have rules, and imports take their time

        is_root = isinstance(place, Path)
        judgement.expression_errors.extend(
            cel_rules.expression_errors(schema, place, judgement.cel, is_resource=is_root)
        )


def _nested(schema: Schema, place: Place) -> Iterator[tuple[Schema, Place]]:
    """The schemas in a schema that are not those of fields or items, with their places."""
    if isinstance(schema.get("not"), dict):
        yield schema["not"], (place, "not", None)
    for name in ("allOf", "oneOf", "anyOf"):
        for index, inner in enumerate(mappings(schema.get(name))):
            yield inner, (place, name, index)
    for name in ("definitions", "dependencies"):
        for key, inner in sorted(mapping(schema.get(name)).items()):
            if isinstance(inner, dict):
                yield inner, (place, name, key)


def _keyword_errors(schema: Schema, place: Place, context: _Context, rules: SchemaRules) -> Iterator[FieldError]:
    kind = text(schema.get("type"))
    if rules.valid_types and kind and kind not in TYPES:
        yield at(place, "type").unsupported(kind, TYPES)
    if schema.get("default") is not None and context.no_default:
        yield at(place, "default").forbidden(f"must not be set {context.no_default}")
    for name in _UNSUPPORTED:
        value = schema.get(name)
        if value is not None if name in ("additionalItems", "dependencies", "$ref") else value:
            yield at(place, name).forbidden(f"{name} is not supported")
    if kind == "null":
        yield at(place, "type").forbidden("type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield at(place, "items").forbidden("items must be a schema object and not an array")
    if context.meta and is_embedded(schema):
        yield at(place, "x-kubernetes-embedded-resource").forbidden("must not be used inside of resource meta")
    if schema.get("uniqueItems") is True:
        yield at(place, "uniqueItems").forbidden(_UNIQUE)


def _extension_errors(schema: Schema, place: Place, rules: SchemaRules) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield at(place, "x-kubernetes-preserve-unknown-fields").invalid(False, "must be true or undefined")
    map_type = schema.get("x-kubernetes-map-type")
    if isinstance(map_type, str):
        yield from _type_errors(schema, place, "object", "x-kubernetes-map-type")
        if map_type not in ("atomic", "granular"):
            yield at(place, "x-kubernetes-map-type").unsupported(map_type, ("atomic", "granular"))
    list_type = schema.get("x-kubernetes-list-type")
    if not isinstance(list_type, str):
        return
    if schema.get("type") != "array":
        yield from _type_errors(schema, place, "array", "x-kubernetes-list-type")
    elif rules.atomic_sets and (mergeable := mergeable_set_item(schema)):
        keyword, printed = mergeable
        yield at((place, "items", None), keyword).invalid(printed, _SET_ITEM)
    if list_type not in ("atomic", "set", "map"):
        yield at(place, "x-kubernetes-list-type").unsupported(list_type, ("atomic", "set", "map"))


def _type_errors(schema: Schema, place: Place, wanted: str, extension: str) -> Iterator[FieldError]:
    kind, detail = text(schema.get("type")), f"must be {wanted} if {extension} is specified"
    if not kind:
        yield at(place, "type").required(detail)
    elif kind != wanted:
        yield at(place, "type").invalid(kind, detail)


def mergeable_set_item(schema: Schema) -> tuple[str, str] | None:
    """The keyword of the items of a set that lets them be merged, and what the API server prints of it."""
    items = schema.get("items")
    if schema.get("x-kubernetes-list-type") != "set" or not isinstance(items, dict):
        return None
    kind, list_type = items.get("type"), items.get("x-kubernetes-list-type")
    if kind == "array" and list_type not in (None, "atomic"):
        return "x-kubernetes-list-type", text(list_type)
    if kind == "object" and items.get("x-kubernetes-map-type") != "atomic":
        # The API server prints the type of list where it means that of map.
        return "x-kubernetes-map-type", "null" if list_type is None else text(list_type)
    return None


def _list_errors(schema: Schema, place: Place) -> Iterator[FieldError]:
    keys, list_type = texts(schema.get("x-kubernetes-list-map-keys")), schema.get("x-kubernetes-list-type")
    if keys and list_type is None:
        yield at(place, "x-kubernetes-list-type").required(_KEYS_OF_MAP)
    elif keys and list_type != "map":
        yield at(place, "x-kubernetes-list-type").invalid(text(list_type), _KEYS_OF_MAP)
    if list_type != "map":
        return
    items = schema.get("items")
    if not keys:
        yield at(place, "x-kubernetes-list-map-keys").required("must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield at(place, "items").required("must have a schema if x-kubernetes-list-type is map")
    elif not isinstance(items, dict):
        detail = "must only have a single schema if x-kubernetes-list-type is map"
        yield at(place, "items").invalid(printed_items(items), detail)
    elif items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield at((place, "items", None), "type").invalid(text(items.get("type")), detail)
    else:
        yield from _key_errors(keys, mapping(items.get("properties")), place)


def _key_errors(keys: list[str], properties: Mapping[str, Any], place: Place) -> Iterator[FieldError]:
    shown = JsonText.of(keys)
    for index, key in enumerate(keys):
        if key not in properties:
            detail = "entries must all be names of item properties"
            yield at(place, "x-kubernetes-list-map-keys").invalid(shown, detail)
        elif mapping(properties[key]).get("type") in ("array", "object"):
            # The API server prints the type of the items.
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield at(((place, "items", None), "properties", key), "type").invalid("object", detail)
        if key in keys[:index]:
            yield at(place, "x-kubernetes-list-map-keys").invalid(shown, "must not contain duplicate entries")


def map_key_errors(schema: Schema, place: Place) -> Iterator[FieldError]:
    """The items, or keys of items, of a set or map that may be missing or null."""
    list_type, items = schema.get("x-kubernetes-list-type"), schema.get("items")
    if list_type not in ("set", "map") or not isinstance(items, dict):
        return
    below: Place = (place, "items", None)
    if items.get("nullable") is True:
        yield at(below, "nullable").forbidden(f"cannot be nullable when x-kubernetes-list-type is {list_type}")
    if list_type != "map":
        return
    properties, wanted = mapping(items.get("properties")), texts(items.get("required"))
    for key in texts(schema.get("x-kubernetes-list-map-keys")):
        inner = mapping(properties.get(key))
        if key in properties and key not in wanted and inner.get("default") is None:
            detail = f"{_NO_KEY} must have a default or be a required property"
            yield at((below, "properties", key), "default").required(detail)
        if inner.get("nullable") is True:
            yield at((below, "properties", key), "nullable").forbidden(f"{_NO_KEY} cannot be nullable")


def _rule_errors(schema: Schema, place: Place) -> Iterator[FieldError]:
    for index, rule in enumerate(mappings(schema.get("x-kubernetes-validations"))):
        here: Place = (place, "x-kubernetes-validations", index)
        yield from _message_errors(rule, here)
        if text(rule.get("messageExpression")) and not _trimmed(rule, "messageExpression"):
            yield at(here, "messageExpression").required("messageExpression must be non-empty if specified")
        reason = rule.get("reason")
        if isinstance(reason, str) and reason not in _REASONS:
            yield at(here, "reason").unsupported(reason, _REASONS)
        path = text(rule.get("fieldPath"))
        if path and not _trimmed(rule, "fieldPath"):
            yield at(here, "fieldPath").invalid(path, "must be non-empty if specified")
        if _has_line_breaks(path):
            yield at(here, "fieldPath").invalid(path, "must not contain line breaks")
        if path and follow(path, schema).problem and not conversion_error(schema):
            yield at(here, "fieldPath").invalid(path, "must be a valid path")


def _message_errors(rule: Mapping[str, Any], here: Place) -> Iterator[FieldError]:
    expression, message = _trimmed(rule, "rule"), text(rule.get("message"))
    if not expression:
        yield at(here, "rule").required("rule is not specified")
    elif message and not _trimmed(rule, "message"):
        yield at(here, "message").invalid(message, "must be non-empty if specified")
    elif _has_line_breaks(_trimmed(rule, "message")):
        yield at(here, "message").invalid(message, "must not contain line breaks")
    elif _has_line_breaks(expression) and not message:
        yield at(here, "message").required("message must be specified if rule contains line breaks")


def _trimmed(rule: Mapping[str, Any], name: str) -> str:
    return text(rule.get(name)).strip(SPACES)


def _has_line_breaks(value: str) -> bool:
    return "\n" in value or "\r" in value


# What the API server refuses in a version of a CRD, or in what all versions share, and what of it updates may leave.
#
# That is the schema, subresources, printer columns and selectable fields. An update is not held to rules that the CRD
# breaks already, so that CRDs that were made before a rule can still be updated: Kubernetes calls it ratcheting.

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
# Fields that only structural schemas may have.
_EXTENSIONS_CRD_VERSIONS = (
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
    """Yield the errors of a version, given by index and name, or with what all versions share."""
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
    return any(schema.get(key) is not None and schema[key] != [] for key in _EXTENSIONS_CRD_VERSIONS)


def _is_structural(schema: Schema) -> bool:
    return not conversion_error(schema) and not structural_errors(schema, Path())


def _has_odd_type(schema: Schema) -> bool:
    kind = schema.get("type")
    return bool(kind) and kind not in TYPES


def _has_odd_default(schema: Schema) -> bool:
    """Return whether a structural schema has a default with fields that it does not know."""
    from olmc.k8s.api.validation.schema_values import has_unknown_fields  # few updates are refused

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
