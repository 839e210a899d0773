"""A CRD as the API server holds and prints it: defaults set, and what its versions share moved to the spec.

The API server's own type of a CRD is older than v1: the schema, subresources, printer columns and selectable fields
that all versions share stand in the spec, where its messages see them, and versions keep only what is theirs alone.
Errors print parts of it as the JSON of the internal Go types, with their fields' names; what is not set is printed as
Go's zero value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.api.validation.field import JsonText
from olmc.k8s.gojson import encode_plain
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import mapping, mappings, metadata_of, spec_of, status_of, text, texts

_MOVED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


class CrdPart(NamedTuple):
    """The fields of the spec for all versions, or those of one version; `schema` is None without a schema."""

    has_schema: bool
    schema: Mapping[str, Any] | None
    subresources: Mapping[str, Any] | None
    columns: list[Mapping[str, Any]]
    selectable: list[Mapping[str, Any]]

    @property
    def has_status(self) -> bool:
        return mapping(self.subresources).get("status") is not None


class Version(NamedTuple):
    """A version; `printed` is what the API server prints of it."""

    name: str
    served: bool
    storage: bool
    deprecated: bool
    warning: str | None
    own: CrdPart
    printed: Mapping[str, Any]


class InternalCrd(NamedTuple):
    """A CRD; `versions` None if it has no list of them, and `stored` the versions in its status.

    `is_established`: whether its names have been accepted; one whose status has no conditions counts as established.
    """

    metadata: Mapping[str, Any]
    group: str
    names: Mapping[str, Any]
    scope: str
    shared: CrdPart
    versions: list[Version] | None
    conversion: Mapping[str, Any]
    preserves_unknown: bool
    stored: list[str]
    is_established: bool


def internal(crd: Mapping[str, Any], stored: list[str]) -> InternalCrd:
    """A CRD of v1 as Go keeps it; `stored`: the versions that its status lists before its storage version is added."""
    spec = spec_of(crd)
    raw = mappings(spec.get("versions"))
    # Fields that no version has are common to all as well.
    common = {key for key in _MOVED if raw and all(version.get(key) == raw[0].get(key) for version in raw)}
    # Selectable fields are looked up in a schema, so they stay with the versions if the schemas do.
    if "schema" not in common:
        common.discard("selectableFields")
    shared = {key: raw[0][key] for key in common if raw[0].get(key) is not None}
    versions = [_version({key: value for key, value in version.items() if key not in common}) for version in raw]
    # The server puts the storage version into the status before it looks whether it is there.
    storage = next((version.name for version in versions if version.storage), None)
    return InternalCrd(
        metadata=metadata_of(crd),
        group=text(spec.get("group")),
        names=defaulted_names(mapping(spec.get("names"))),
        scope=text(spec.get("scope")),
        shared=_part(shared),
        versions=versions if isinstance(spec.get("versions"), list) else None,
        conversion=mapping(spec.get("conversion")) or {"strategy": "None"},
        preserves_unknown=spec.get("preserveUnknownFields") is True,
        stored=stored if storage is None or storage in stored else [*stored, storage],
        is_established=_is_established(status_of(crd)),
    )


def _is_established(status: Mapping[str, Any]) -> bool:
    conditions = mappings(status.get("conditions"))
    states = (condition.get("status") == "True" for condition in conditions if condition.get("type") == "Established")
    return next(states, not conditions)


def any_schema(crd: InternalCrd, holds: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Return whether something holds for a schema of a CRD or for one in it."""
    return any(holds(inner) for schema in whole_schemas(crd) for inner in _schemas_in(schema))


def whole_schemas(crd: InternalCrd) -> Iterator[Mapping[str, Any]]:
    """The schemas of a CRD's versions, and the one that they share."""
    for part in (crd.shared, *(version.own for version in crd.versions or ())):
        if part.schema is not None:
            yield part.schema


def _schemas_in(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and all that stand in it."""
    known = mapping(schema)
    yield known
    for key in ("items", "not", "additionalProperties", "additionalItems"):
        if isinstance(known.get(key), dict):
            yield from _schemas_in(known[key])
    for key in ("items", "allOf", "anyOf", "oneOf"):
        for inner in mappings(known.get(key)):
            yield from _schemas_in(inner)
    for key in ("properties", "patternProperties", "definitions", "dependencies"):
        for inner in mapping(known.get(key)).values():
            if isinstance(inner, dict):
                yield from _schemas_in(inner)


def _version(version: Mapping[str, Any]) -> Version:
    warning = version.get("deprecationWarning")
    return Version(
        name=text(version.get("name")),
        served=version.get("served") is True,
        storage=version.get("storage") is True,
        deprecated=version.get("deprecated") is True,
        warning=warning if isinstance(warning, str) else None,
        own=_part(version),
        printed=version,
    )


def _part(value: Mapping[str, Any]) -> CrdPart:
    schema = mapping(value.get("schema")).get("openAPIV3Schema")
    subresources = value.get("subresources")
    return CrdPart(
        has_schema=isinstance(value.get("schema"), dict),
        schema=schema if isinstance(schema, dict) else None,
        subresources=subresources if isinstance(subresources, dict) else None,
        columns=mappings(value.get("additionalPrinterColumns")),
        selectable=mappings(value.get("selectableFields")),
    )


def defaulted_names(names: Mapping[str, Any]) -> dict[str, Any]:
    """The names of a CRD, with those that the API server makes of others."""
    kind = text(names.get("kind"))
    singular, list_kind = text(names.get("singular")), text(names.get("listKind"))
    return {**names, "singular": singular or kind.lower(), "listKind": list_kind or (f"{kind}List" if kind else "")}


def stored_versions(crd: Mapping[str, Any]) -> list[str]:
    """The versions that the status of a CRD lists."""
    return texts(status_of(crd).get("storedVersions"))


_NULL = "null"
# Fields of which Go's name is more than the key with a capital letter.
_GO_NAMES = {"id": "ID", "$schema": "Schema", "$ref": "Ref", "url": "URL", "jsonPath": "JSONPath"}


def _fields(spec: str) -> dict[str, tuple[str, str]]:
    """The fields of a Go struct in their order, each with its name and its zero value, from `key=zero`."""
    fields = {}
    for key, _, zero in (field.partition("=") for field in spec.split()):
        extension = "".join(word.capitalize() for word in key.split("-")[2:])
        fields[key] = (_GO_NAMES.get(key) or (f"X{extension}" if extension else key[0].upper() + key[1:]), zero)
    return fields


# Errors at the root of a schema print all of it, in the order of the fields of Go's type.
SCHEMA_FIELDS = _fields(
    """id="" $schema="" $ref=null description="" type="" nullable=false format="" title="" default=null maximum=null
    exclusiveMaximum=false minimum=null exclusiveMinimum=false maxLength=null minLength=null pattern="" maxItems=null
    minItems=null uniqueItems=false multipleOf=null enum=null maxProperties=null minProperties=null required=null
    items=null allOf=null oneOf=null anyOf=null not=null properties=null additionalProperties=null
    patternProperties=null dependencies=null additionalItems=null definitions=null externalDocs=null example=null
    x-kubernetes-preserve-unknown-fields=null x-kubernetes-embedded-resource=false x-kubernetes-int-or-string=false
    x-kubernetes-list-map-keys=null x-kubernetes-list-type=null x-kubernetes-map-type=null
    x-kubernetes-validations=null"""
)
"""The keywords of a schema in the order of Go's fields, each with its field and that field's zero value."""

_DOCS = _fields('description="" url=""')
_RULE = _fields('rule="" message="" messageExpression="" reason=null fieldPath="" optionalOldSelf=null')
_VERSION = _fields(
    """name="" served=false storage=false deprecated=false deprecationWarning=null schema=null subresources=null
    additionalPrinterColumns=null selectableFields=null"""
)
_SUBRESOURCES = _fields("status=null scale=null")
_SCALE = _fields('specReplicasPath="" statusReplicasPath="" labelSelectorPath=null')
_COLUMN = _fields('name="" type="" format="" description="" priority=0 jsonPath=""')
_SELECTABLE = _fields('jsonPath=""')
_MAPS = ("properties", "patternProperties", "definitions")
_LISTS = ("allOf", "oneOf", "anyOf")


def printed_schema(schema: Mapping[str, Any]) -> JsonText:
    return JsonText(_schema(schema))


def printed_items(items: Any) -> JsonText:
    """The `items` of a schema."""
    return JsonText(_items(items))


def printed_rule(rule: Mapping[str, Any]) -> JsonText:
    """A rule in CEL."""
    return JsonText(_object(rule, _RULE, {}))


def printed_versions(versions: Sequence[Mapping[str, Any]] | None) -> JsonText:
    """The versions of a CRD; None is printed as null."""
    return JsonText(_NULL if versions is None else _list(_printed_version(version) for version in versions))


def _object(value: Mapping[str, Any], fields: Mapping[str, tuple[str, str]], written: Mapping[str, str]) -> str:
    """A Go struct; `written` are fields that are printed already."""
    parts = []
    for key, (name, zero) in fields.items():
        shown = written.get(key) or (_json(value[key]) if value.get(key) is not None else zero)
        parts.append(f'"{name}":{shown}')
    return "{" + ",".join(parts) + "}"


def _json(value: Any) -> str:
    return encode_plain(value).decode()


def _list(parts: Any) -> str:
    return "[" + ",".join(parts) + "]"


def _map(value: Any, shown: Any) -> str:
    return "{" + ",".join(f"{_json(key)}:{shown(value[key])}" for key in sorted(value)) + "}"


def _schema(schema: Any) -> str:
    value = mapping(schema)
    written = {key: _map(value[key], _schema) for key in _MAPS if isinstance(value.get(key), dict)}
    written |= {key: _list(map(_schema, value[key])) for key in _LISTS if isinstance(value.get(key), list)}
    if isinstance(value.get("not"), dict):
        written["not"] = _schema(value["not"])
    if "items" in value:
        written["items"] = _items(value["items"])
    for key in ("additionalProperties", "additionalItems"):
        if value.get(key) is not None:
            written[key] = _schema_or_bool(value[key])
    if isinstance(value.get("dependencies"), dict):
        written["dependencies"] = _map(value["dependencies"], _dependency)
    if isinstance(value.get("externalDocs"), dict):
        written["externalDocs"] = _object(value["externalDocs"], _DOCS, {})
    if isinstance(value.get("x-kubernetes-validations"), list):
        rules = mappings(value["x-kubernetes-validations"])
        written["x-kubernetes-validations"] = _list(_object(rule, _RULE, {}) for rule in rules)
    return _object(value, SCHEMA_FIELDS, written)


def _items(items: Any) -> str:
    schema = _schema(items) if isinstance(items, dict) else _NULL
    schemas = _list(map(_schema, items)) if isinstance(items, list) else _NULL
    return f'{{"Schema":{schema},"JSONSchemas":{schemas}}}'


def _schema_or_bool(value: Any) -> str:
    is_schema = isinstance(value, dict)
    return f'{{"Allows":{_json(is_schema or value is True)},"Schema":{_schema(value) if is_schema else _NULL}}}'


def _dependency(value: Any) -> str:
    schema = _schema(value) if isinstance(value, dict) else _NULL
    return f'{{"Schema":{schema},"Property":{_json(value) if isinstance(value, list) else _NULL}}}'


def _printed_version(version: Mapping[str, Any]) -> str:
    written = {}
    if isinstance(version.get("schema"), dict):
        inner = version["schema"].get("openAPIV3Schema")
        written["schema"] = f'{{"OpenAPIV3Schema":{_NULL if inner is None else _schema(inner)}}}'
    if isinstance(version.get("subresources"), dict):
        written["subresources"] = _subresources(version["subresources"])
    for key, fields in (("additionalPrinterColumns", _COLUMN), ("selectableFields", _SELECTABLE)):
        if isinstance(version.get(key), list):
            written[key] = _list(_object(item, fields, {}) for item in mappings(version[key]))
    return _object(version, _VERSION, written)


def _subresources(value: Mapping[str, Any]) -> str:
    scale = value.get("scale")
    return _object(value, _SUBRESOURCES, {"scale": _object(scale, _SCALE, {})} if isinstance(scale, dict) else {})
