"""Documents of a file-based catalog as OLM decodes them (R-CAT-121, R-CAT-122)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmc.catalogs.catalog_errors import CatalogError, Keys
from olmc.catalogs.properties import canonical, raw
from olmc.diagnostics.rules import catalogs as rules
from olmc.gojson import DecodeError, decode, mismatch_text
from olmc.kube.api_validation.field import aggregated
from olmc.model.catalog import ChannelEntry, Deprecation
from olmc.model.diagnostics import Place, Source
from olmc.model.objects import KubernetesObject
from olmc.strconv import quoted

SCHEMA_PREFIX = "olm."
PACKAGE, CHANNEL, BUNDLE, DEPRECATIONS = "olm.package", "olm.channel", "olm.bundle", "olm.deprecations"

ABSENT = object()
"""The value of a property that has none."""


@dataclass(frozen=True, slots=True)
class PackageBlob:
    """An `olm.package`."""

    name: str
    default_channel: str
    description: str
    icon: Mapping[str, Any]
    source: Source


@dataclass(frozen=True, slots=True)
class ChannelBlob:
    """An `olm.channel`."""

    name: str
    package: str
    entries: tuple[ChannelEntry, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class BundleBlob:
    """An `olm.bundle`; `properties` are pairs of type and value (ABSENT for none), `objects` content already read."""

    name: str
    package: str
    image: str
    properties: tuple[tuple[str, Any], ...]
    related_images: tuple[str, ...]
    source: Source
    objects: tuple[KubernetesObject, ...] = ()


@dataclass(frozen=True, slots=True)
class DeprecationsBlob:
    """An `olm.deprecations`."""

    package: str
    entries: tuple[Deprecation, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Blobs:
    """The documents of a catalog by kind, each kind in the order in which it is read."""

    packages: list[PackageBlob] = field(default_factory=list)
    channels: list[ChannelBlob] = field(default_factory=list)
    bundles: list[BundleBlob] = field(default_factory=list)
    deprecations: list[DeprecationsBlob] = field(default_factory=list)


_GO_TYPES = {
    PACKAGE: "declcfg.Package",
    CHANNEL: "declcfg.Channel",
    BUNDLE: "declcfg.Bundle",
    DEPRECATIONS: "declcfg.Deprecation",
}

_BUNDLE_TEXTS = ("schema", "name", "package", "image")
_BUNDLE_FIELDS = frozenset({*_BUNDLE_TEXTS, "properties", "relatedImages"})
_PROPERTY_FIELDS = frozenset({"type", "value"})
_IMAGE_FIELDS = frozenset({"name", "image"})


def meta_key(value: Mapping[str, Any], name: str) -> str | None:
    """The key of a document that means `name`, in any case.

    Of a document as such OLM looks for keys by full Unicode case folding; of all inside, with Go's decoder (R-CAT-121).
    """
    if name in value:
        return name
    return next((key for key in value if key.casefold() == name), None)


def schema_of(value: Any) -> str:
    """The `schema` of a document, "" when it has none."""
    key = meta_key(value, "schema") if isinstance(value, dict) else None
    schema = value[key] if key is not None else ""
    return schema if isinstance(schema, str) else ""


def add_document(value: Any, source: Source, blobs: Blobs, *, is_yaml: bool) -> list[CatalogError]:
    """Decode one document into `blobs`; what is wrong with it comes back. Unknown schemas have no effect."""
    # OLM makes JSON of YAML documents before it decodes them, which its errors show (R-CAT-121).
    meta_error = _meta_error(value, source, "error unmarshaling JSON: while decoding JSON: " if is_yaml else "")
    if meta_error is not None:
        return [meta_error]
    schema = schema_of(value)
    if schema not in _GO_TYPES:
        return []
    if schema == BUNDLE and _is_plain_bundle(value):
        _add_bundle(value, source, blobs)
        return []
    try:
        decoded = decode(_GO_TYPES[schema], value)
    except DecodeError as error:
        what = schema.removeprefix(SCHEMA_PREFIX)
        return [CatalogError(rules.BAD_BLOB, Place(source, error.path), {"what": what, "cause": error})]
    _ADDERS[schema](decoded, source, blobs)
    return []


def _is_plain_bundle(value: Mapping[str, Any]) -> bool:
    """Whether a bundle is what nearly all are: the fields that it has to have, and of their types, so that Go's decoder
    would change nothing that matters. Most of a catalog is bundles."""
    if not value.keys() <= _BUNDLE_FIELDS or not {type(value.get(name)) for name in _BUNDLE_TEXTS} <= {str}:
        return False
    for name, fields, text in (("properties", _PROPERTY_FIELDS, "type"), ("relatedImages", _IMAGE_FIELDS, "image")):
        items = value.get(name)
        if type(items) is not list:
            return False
        for item in items:
            if type(item) is not dict or not item.keys() <= fields or type(item.get(text)) is not str:
                return False
    return set(map(type, [item.get("name", "") for item in value["relatedImages"]])) <= {str}


def _meta_error(value: Any, source: Source, prefix: str) -> CatalogError | None:
    """What is wrong with a document before its schema matters (R-CAT-121)."""
    if value is None:
        return CatalogError(rules.EMPTY_DOCUMENT, Place(source), {"path": source.path})
    if not isinstance(value, dict):
        cause = mismatch_text(value, "map[string]interface {}")
        return CatalogError(rules.NOT_A_BLOB, Place(source), {"prefix": prefix, "cause": cause})
    if len({key.casefold() for key in value}) != len(value):
        cause, keys = _same_keys(value)
        return CatalogError(rules.SAME_KEYS, Place(source, keys), {"prefix": prefix, "cause": cause})
    for name in ("schema", "package", "name"):
        key = meta_key(value, name)
        if key is not None and not isinstance(value[key], str):
            values = {"prefix": prefix, "key": quoted(key), "value": raw(value[key])}
            return CatalogError(rules.NOT_TEXT, Place(source, (key,)), values)
    if not schema_of(value):
        return CatalogError(rules.NO_SCHEMA, Place(source), {"object": raw(canonical(value)) + "\n"})
    return None


def _same_keys(value: Mapping[str, Any]) -> tuple[str, Keys]:
    spellings: dict[str, list[str]] = {}
    for key in sorted(value):
        spellings.setdefault(key.casefold(), []).append(key)
    repeated = {folded: keys for folded, keys in sorted(spellings.items()) if len(keys) > 1}
    texts = [f"duplicate keys for key {quoted(folded)}: [{' '.join(keys)}]" for folded, keys in repeated.items()]
    return aggregated(texts), (next(iter(repeated.values()))[-1],)


def _add_package(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    icon = value["icon"] or {}
    blobs.packages.append(PackageBlob(value["name"], value["defaultChannel"], value["description"], icon, source))


def _add_channel(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    entries = tuple(
        ChannelEntry(
            entry["name"],
            entry["replaces"],
            tuple(entry["skips"] or ()),
            entry["skipRange"],
            Place(source, ("entries", index)),
        )
        for index, entry in enumerate(value["entries"] or ())
    )
    blobs.channels.append(ChannelBlob(value["name"], value["package"], entries, source))


def _add_bundle(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    # Null is a value, which OLM keeps; where none is written Go has nothing to decode, which is an error (R-CAT-125).
    properties = tuple((item["type"], item.get("value", ABSENT)) for item in value["properties"] or ())
    images = tuple(item["image"] for item in value["relatedImages"] or ())
    blobs.bundles.append(BundleBlob(value["name"], value["package"], value["image"], properties, images, source))


def _add_deprecations(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    entries = tuple(
        Deprecation(entry["reference"]["schema"], entry["reference"]["name"], entry["message"])
        for entry in value["entries"] or ()
    )
    blobs.deprecations.append(DeprecationsBlob(value["package"], entries, source))


_ADDERS: Mapping[str, Callable[[Mapping[str, Any], Source, Blobs], None]] = {
    PACKAGE: _add_package,
    CHANNEL: _add_channel,
    BUNDLE: _add_bundle,
    DEPRECATIONS: _add_deprecations,
}
