"""Documents of a file-based catalog as OLM decodes them (R-CAT-121, R-CAT-122)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmc.golang.errors import json_kind
from olmc.golang.numbers import quoted
from olmc.kube.api_validation.field import aggregated
from olmc.load.catalogs.properties import LIST, canonical, raw
from olmc.load.catalogs.shapes import Shape, list_of, octets, renamed, struct, text
from olmc.load.catalogs.troubles import Keys, Trouble
from olmc.model.catalog import ChannelEntry, Deprecation
from olmc.model.location import Place, Source
from olmc.model.objects import KubernetesObject
from olmc.rules import catalogs as rules

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


_META: dict[str, Shape] = {"schema": text, "name": text, "package": text}
_ENTRY: dict[str, Shape] = {"name": text, "replaces": text, "skips": list_of(text, "[]string"), "skipRange": text}
_ICON: dict[str, Shape] = {"base64data": octets, "mediatype": text}
_REFERENCE: dict[str, Shape] = {"schema": text, "name": text}
_FIELDS: Mapping[str, dict[str, Shape]] = {
    PACKAGE: {
        "schema": text,
        "name": text,
        "defaultChannel": text,
        "icon": struct("declcfg.Icon", _ICON),
        "description": text,
        "properties": LIST,
    },
    CHANNEL: {
        **_META,
        "entries": list_of(struct("declcfg.ChannelEntry", _ENTRY), "[]declcfg.ChannelEntry"),
        "properties": LIST,
    },
    BUNDLE: {
        **_META,
        "image": text,
        "properties": LIST,
        "relatedImages": list_of(
            struct("declcfg.RelatedImage", {"name": text, "image": text}), "[]declcfg.RelatedImage"
        ),
    },
    DEPRECATIONS: {
        **_META,
        "entries": list_of(
            struct(
                "declcfg.DeprecationEntry",
                {"reference": struct("declcfg.PackageScopedReference", _REFERENCE), "message": text},
            ),
            "[]declcfg.DeprecationEntry",
        ),
    },
}
_GO_TYPES = {PACKAGE: "Package", CHANNEL: "Channel", BUNDLE: "Bundle", DEPRECATIONS: "Deprecation"}
_SHAPES = {schema: struct(f"declcfg.{_GO_TYPES[schema]}", fields) for schema, fields in _FIELDS.items()}
_NAMES = {schema: frozenset(fields) for schema, fields in _FIELDS.items()}
_ENTRY_NAMES = frozenset(_ENTRY)
_PROPERTY_NAMES = frozenset({"type", "value"})
_IMAGE_NAMES = frozenset({"name", "image"})


def meta_key(value: Mapping[str, Any], name: str) -> str | None:
    """The key of a document that means `name`, in any case."""
    if name in value:
        return name
    return next((key for key in value if key.casefold() == name), None)


def schema_of(value: Any) -> str:
    """The `schema` of a document, "" when it has none."""
    key = meta_key(value, "schema") if isinstance(value, dict) else None
    schema = value[key] if key is not None else ""
    return schema if isinstance(schema, str) else ""


def add_document(value: Any, source: Source, blobs: Blobs, *, is_yaml: bool) -> list[Trouble]:
    """Decode one document into `blobs`; what is wrong with it comes back. Unknown schemas have no effect."""
    trouble = _meta_trouble(value, source, "error unmarshaling JSON: while decoding JSON: " if is_yaml else "")
    if trouble is not None:
        return [trouble]
    schema = schema_of(value)
    shape = _SHAPES.get(schema)
    if shape is None:
        return []
    misfit = shape(value)
    if misfit is not None:
        what = schema.removeprefix(SCHEMA_PREFIX)
        return [Trouble(rules.BAD_BLOB, Place(source, misfit.keys), {"what": what, "cause": misfit})]
    _ADDERS[schema](renamed(value, _NAMES[schema]), source, blobs)
    return []


def _meta_trouble(value: Any, source: Source, prefix: str) -> Trouble | None:
    """What is wrong with a document before its schema matters (R-CAT-121)."""
    if value is None:
        return Trouble(rules.EMPTY_DOCUMENT, Place(source), {"path": source.path})
    if not isinstance(value, dict):
        cause = f"json: cannot unmarshal {json_kind(value)} into Go value of type map[string]interface {{}}"
        return Trouble(rules.NOT_A_BLOB, Place(source), {"prefix": prefix, "cause": cause})
    if len({key.casefold() for key in value}) != len(value):
        cause, keys = _same_keys(value)
        return Trouble(rules.SAME_KEYS, Place(source, keys), {"prefix": prefix, "cause": cause})
    for name in ("schema", "package", "name"):
        key = meta_key(value, name)
        if key is not None and not isinstance(value[key], str):
            values = {"prefix": prefix, "key": quoted(key), "value": raw(value[key])}
            return Trouble(rules.NOT_TEXT, Place(source, (key,)), values)
    if not schema_of(value):
        return Trouble(rules.NO_SCHEMA, Place(source), {"object": raw(canonical(value)) + "\n"})
    return None


def _same_keys(value: Mapping[str, Any]) -> tuple[str, Keys]:
    spellings: dict[str, list[str]] = {}
    for key in sorted(value):
        spellings.setdefault(key.casefold(), []).append(key)
    repeated = {folded: keys for folded, keys in sorted(spellings.items()) if len(keys) > 1}
    texts = [f"duplicate keys for key {quoted(folded)}: [{' '.join(keys)}]" for folded, keys in repeated.items()]
    return aggregated(texts), (next(iter(repeated.values()))[-1],)


def _items(value: Any) -> Iterable[tuple[int, Mapping[str, Any]]]:
    return ((index, item or {}) for index, item in enumerate(value or ()))


def _add_package(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    blobs.packages.append(
        PackageBlob(
            value.get("name") or "",
            value.get("defaultChannel") or "",
            value.get("description") or "",
            renamed(value.get("icon") or {}, frozenset(_ICON)),
            source,
        )
    )


def _add_channel(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    entries = []
    for index, item in _items(value.get("entries")):
        entry = renamed(item, _ENTRY_NAMES)
        entries.append(
            ChannelEntry(
                entry.get("name") or "",
                entry.get("replaces") or "",
                tuple([skip or "" for skip in entry.get("skips") or ()]),
                entry.get("skipRange") or "",
                Place(source, ("entries", index)),
            )
        )
    blobs.channels.append(ChannelBlob(value.get("name") or "", value.get("package") or "", tuple(entries), source))


def _add_bundle(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    properties = []
    for _, item in _items(value.get("properties")):
        each = renamed(item, _PROPERTY_NAMES)
        properties.append((each.get("type") or "", each.get("value", ABSENT)))
    images = [renamed(item, _IMAGE_NAMES).get("image") or "" for _, item in _items(value.get("relatedImages"))]
    blobs.bundles.append(
        BundleBlob(
            value.get("name") or "",
            value.get("package") or "",
            value.get("image") or "",
            tuple(properties),
            tuple(images),
            source,
        )
    )


def _add_deprecations(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    entries = []
    for _, item in _items(value.get("entries")):
        entry = renamed(item, frozenset({"reference", "message"}))
        reference = renamed(entry.get("reference") or {}, frozenset(_REFERENCE))
        entries.append(
            Deprecation(reference.get("schema") or "", reference.get("name") or "", entry.get("message") or "")
        )
    blobs.deprecations.append(DeprecationsBlob(value.get("package") or "", tuple(entries), source))


_ADDERS: Mapping[str, Callable[[Mapping[str, Any], Source, Blobs], None]] = {
    PACKAGE: _add_package,
    CHANNEL: _add_channel,
    BUNDLE: _add_bundle,
    DEPRECATIONS: _add_deprecations,
}
