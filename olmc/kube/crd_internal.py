"""A CRD as the API server holds it when it judges it: defaults set, what its versions share moved to the spec.

The API server's own type of a CRD is older than v1: the schema, subresources, printer columns and selectable fields
that all versions share stand in the spec, where its messages see them, and versions keep only what is theirs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from olmc.model.coerce import mapping, mappings, text, texts

_MOVED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


class Part(NamedTuple):
    """What stands in the spec for all versions, or in one version; `schema` None if there is none."""

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
    own: Part
    printed: Mapping[str, Any]


class Crd(NamedTuple):
    """A CRD; `versions` None if it has no list of them, and `stored` the versions in its status.

    `is_established`: whether its names have been accepted; one whose status has no conditions counts as established.
    """

    metadata: Mapping[str, Any]
    group: str
    names: Mapping[str, Any]
    scope: str
    shared: Part
    versions: list[Version] | None
    conversion: Mapping[str, Any]
    preserves_unknown: bool
    stored: list[str]
    is_established: bool


def internal(crd: Mapping[str, Any], stored: list[str]) -> Crd:
    """A CRD of v1 as Go keeps it; `stored`: the versions that its status lists before its storage version is added."""
    spec = mapping(crd.get("spec"))
    raw = mappings(spec.get("versions"))
    common = {key for key in _MOVED if raw and all(version.get(key) == raw[0].get(key) for version in raw)}
    if "schema" not in common:
        common.discard("selectableFields")
    shared = {key: raw[0][key] for key in common if raw[0].get(key) is not None}
    versions = [_version({key: value for key, value in version.items() if key not in common}) for version in raw]
    storage = next((version.name for version in versions if version.storage), None)
    return Crd(
        metadata=mapping(crd.get("metadata")),
        group=text(spec.get("group")),
        names=defaulted_names(mapping(spec.get("names"))),
        scope=text(spec.get("scope")),
        shared=_part(shared),
        versions=versions if isinstance(spec.get("versions"), list) else None,
        conversion=mapping(spec.get("conversion")) or {"strategy": "None"},
        preserves_unknown=spec.get("preserveUnknownFields") is True,
        stored=stored if storage is None or storage in stored else [*stored, storage],
        is_established=_is_established(mapping(crd.get("status"))),
    )


def _is_established(status: Mapping[str, Any]) -> bool:
    conditions = mappings(status.get("conditions"))
    found = (each.get("status") == "True" for each in conditions if each.get("type") == "Established")
    return next(found, not conditions)


def any_schema(crd: Crd, holds: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Whether something holds for a schema of a CRD or for one in it."""
    return any(holds(inner) for schema in whole_schemas(crd) for inner in _schemas_in(schema))


def whole_schemas(crd: Crd) -> Iterator[Mapping[str, Any]]:
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
        for each in mappings(known.get(key)):
            yield from _schemas_in(each)
    for key in ("properties", "patternProperties", "definitions", "dependencies"):
        for each in mapping(known.get(key)).values():
            if isinstance(each, dict):
                yield from _schemas_in(each)


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


def _part(value: Mapping[str, Any]) -> Part:
    schema = mapping(value.get("schema")).get("openAPIV3Schema")
    subresources = value.get("subresources")
    return Part(
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
    return texts(mapping(crd.get("status")).get("storedVersions"))
