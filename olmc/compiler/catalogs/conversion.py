"""Blobs become packages, with the checks that OLM makes on the way (R-CAT-124).

OLM stops at the first error. All of them are found here, in OLM's order, so that the first one is OLM's; what only
follows from an error already found is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmc.compiler.catalogs import properties as props
from olmc.compiler.catalogs.properties import CatalogError, Keys, canonical, pull_spec_problem, raw
from olmc.compiler.model.catalog import CatalogBundle, Channel, ChannelEntry, Deprecation, Package, Property
from olmc.compiler.rules.findings import catalogs as rules
from olmc.k8s.api.selectors import is_dns1123_label
from olmc.k8s.api.validation.field import aggregated
from olmc.k8s.diagnostics import Place, Rule, Source
from olmc.k8s.gojson import DecodeError, decode, mismatch_text
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, mapping, text
from olmc.k8s.semver import parse_release, parse_strict
from olmc.k8s.strconv import quoted

# Documents of a file-based catalog as OLM decodes them (R-CAT-121, R-CAT-122).

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


def package_of_document(value: Mapping[str, Any]) -> str:
    """The package that a document is of, "" for none."""
    key = meta_key(value, "name" if schema_of(value) == PACKAGE else "package")
    name = value[key] if key is not None else ""
    return name if isinstance(name, str) else ""


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
        _add_bundle_blob(value, source, blobs)
        return []
    try:
        decoded = decode(_GO_TYPES[schema], value)
    except DecodeError as error:
        what = schema.removeprefix(SCHEMA_PREFIX)
        cause = str(error)
        is_unquoted = cause.endswith("of type string") and ("number into" in cause or "bool into" in cause)
        quotes = ": put it in quotes, which make a text of a number or a boolean" if is_unquoted else ""
        values = {"what": what, "cause": error, "quotes": quotes}
        return [CatalogError(rules.BAD_BLOB, Place(source, error.path), values)]
    _ADDERS[schema](decoded, source, blobs)
    return []


def _is_plain_bundle(value: Mapping[str, Any]) -> bool:
    """Return whether a bundle is what nearly all are: the fields that it has to have, and of their types, so that Go's
    decoder would change nothing that matters. Most of a catalog is bundles."""
    if not value.keys() <= _BUNDLE_FIELDS or not {type(value.get(name)) for name in _BUNDLE_TEXTS} <= {str}:
        return False
    for name, fields, required in (("properties", _PROPERTY_FIELDS, "type"), ("relatedImages", _IMAGE_FIELDS, "image")):
        items = value.get(name)
        if type(items) is not list:
            return False
        for item in items:
            if type(item) is not dict or not item.keys() <= fields or type(item.get(required)) is not str:
                return False
    return set(map(type, [item.get("name", "") for item in value["relatedImages"]])) <= {str}


def _meta_error(value: Any, source: Source, prefix: str) -> CatalogError | None:
    """Return the errors of a document before its schema matters (R-CAT-121)."""
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


def _add_channel_blob(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
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


def _add_bundle_blob(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    # Null is a value, which OLM keeps; where none is written Go has nothing to decode, which is an error (R-CAT-125).
    properties = tuple((item["type"], item.get("value", ABSENT)) for item in value["properties"] or ())
    images = tuple(item["image"] for item in value["relatedImages"] or ())
    blobs.bundles.append(BundleBlob(value["name"], value["package"], value["image"], properties, images, source))


def _add_deprecation_blob(value: Mapping[str, Any], source: Source, blobs: Blobs) -> None:
    entries = tuple(
        Deprecation(entry["reference"]["schema"], entry["reference"]["name"], entry["message"])
        for entry in value["entries"] or ()
    )
    blobs.deprecations.append(DeprecationsBlob(value["package"], entries, source))


_ADDERS: Mapping[str, Callable[[Mapping[str, Any], Source, Blobs], None]] = {
    PACKAGE: _add_package,
    CHANNEL: _add_channel_blob,
    BUNDLE: _add_bundle_blob,
    DEPRECATIONS: _add_deprecation_blob,
}


@dataclass(slots=True)
class _Draft:
    """A package while its parts are put together."""

    blob: PackageBlob
    channels: dict[str, Channel] = field(default_factory=dict)
    bundles: dict[str, CatalogBundle] = field(default_factory=dict)
    deprecations: DeprecationsBlob | None = None
    entries: set[str] = field(default_factory=set)


class _ReadProperties(NamedTuple):
    """The results of properties, by their type and the identity of their value, as many values are in several bundles.
    It also has the valid items of lists in content, as versions of an operator differ in little."""

    made: dict[tuple[str, int], tuple[dict[str, Any] | DecodeError, Property]]
    sound: props.SoundItems


def unchecked_packages(blobs: Blobs) -> dict[str, Package]:
    """The packages as the documents have them, for a server that compares nothing (R-V1-RES-3).

    Of documents with the same schema, package and name the last one counts.
    """
    defaults = {package.name: package.default_channel for package in blobs.packages}
    channels: dict[str, dict[str, Channel]] = {}
    for channel in blobs.channels:
        channels.setdefault(channel.package, {})[channel.name] = Channel(channel.name, channel.package, channel.entries)
    bundles: dict[str, dict[str, CatalogBundle]] = {}
    for bundle in blobs.bundles:
        bundles.setdefault(bundle.package, {})[bundle.name] = _unchecked_bundle(bundle)
    deprecations: dict[str, tuple[Deprecation, ...]] = {blob.package: blob.entries for blob in blobs.deprecations}
    return {
        name: Package(
            name, defaults.get(name, ""), channels.get(name, {}), bundles.get(name, {}), deprecations.get(name, ())
        )
        for name in {**defaults, **channels, **bundles, **deprecations}
    }


def _unchecked_bundle(blob: BundleBlob) -> CatalogBundle:
    properties = tuple(Property(kind, None if value is ABSENT else value) for kind, value in blob.properties)
    package = next((prop.value for prop in properties if prop.type == "olm.package"), None)
    version = text(mapping(package).get("version"))
    return CatalogBundle(blob.name, blob.package, blob.image, version, properties, blob.objects, blob.related_images)


def packages_of(blobs: Blobs) -> tuple[dict[str, Package], list[CatalogError]]:
    """The packages that the blobs describe, and what OLM refuses about them, in the order in which it looks."""
    drafts: dict[str, _Draft] = {}
    errors = list(_add_packages(blobs, drafts))
    for channel in blobs.channels:
        errors += _add_channel(channel, drafts)
    known = _ReadProperties({}, set())
    images: dict[str, str] = {}
    for bundle in blobs.bundles:
        errors += _add_bundle(bundle, drafts, known, images)
    for name, draft in sorted(drafts.items()):
        errors += _missing_bundles(name, draft)
    for index, deprecations in enumerate(blobs.deprecations):
        errors += _add_deprecations(index, deprecations, drafts)
    return {name: _package(draft) for name, draft in drafts.items()}, errors


def _error(rule: Rule, source: Source, *keys: str | int, **values: object) -> CatalogError:
    return CatalogError(rule, Place(source, keys), values)


def _add_packages(blobs: Blobs, drafts: dict[str, _Draft]) -> Iterator[CatalogError]:
    for blob in blobs.packages:
        if not blob.name:
            yield _error(rules.PACKAGE_WITHOUT_NAME, blob.source)
            continue
        if blob.name in drafts:
            yield _error(rules.SAME_PACKAGE, blob.source, "name", package=quoted(blob.name))
            continue
        # Keep also a package with an invalid name. Otherwise each of its channels and bundles would report an unknown
        # package.
        drafts[blob.name] = _Draft(blob)
        problems = is_dns1123_label(blob.name)
        if problems:
            cause = " ".join(problems)
            yield _error(rules.BAD_PACKAGE_NAME, blob.source, "name", package=quoted(blob.name), cause=cause)


def _add_channel(blob: ChannelBlob, drafts: Mapping[str, _Draft]) -> Iterator[CatalogError]:
    draft = drafts.get(blob.package)
    names = {"package": quoted(blob.package), "channel": quoted(blob.name)}
    if draft is None:
        yield _error(rules.CHANNEL_OF_UNKNOWN_PACKAGE, blob.source, "package", **names)
        return
    if not blob.name:
        yield _error(rules.CHANNEL_WITHOUT_NAME, blob.source, **names)
        return
    if blob.name in draft.channels:
        yield _error(rules.SAME_CHANNEL, blob.source, "name", **names)
        return
    seen: set[str] = set()
    for index, entry in enumerate(blob.entries):
        if entry.name in seen:
            yield _error(rules.SAME_ENTRY, blob.source, "entries", index, **names, entry=quoted(entry.name))
        seen.add(entry.name)
    draft.entries |= seen
    draft.channels[blob.name] = Channel(blob.name, blob.package, blob.entries, Place(blob.source))


def _add_bundle(
    blob: BundleBlob, drafts: Mapping[str, _Draft], known: _ReadProperties, images: dict[str, str]
) -> Iterator[CatalogError]:
    if not blob.package:
        yield _error(rules.BUNDLE_WITHOUT_PACKAGE, blob.source, **_names(blob))
        return
    draft = drafts.get(blob.package)
    if draft is None:
        yield _error(rules.BUNDLE_OF_UNKNOWN_PACKAGE, blob.source, "package", **_names(blob))
        return
    if blob.name in draft.bundles:
        yield _error(rules.SAME_BUNDLE, blob.source, "name", **_names(blob))
        return
    packages: list[tuple[int, str, str, str]] = []
    yield from _property_errors(blob, packages, known)
    yield from _image_errors(blob, images)
    version = packages[0][2] if packages else ""
    if packages:
        yield from _version_errors(blob, *packages[0])
    if blob.name not in draft.entries:
        yield _error(rules.BUNDLE_IN_NO_CHANNEL, blob.source, "name", **_names(blob))
    draft.bundles[blob.name] = CatalogBundle(
        blob.name,
        blob.package,
        blob.image,
        version,
        tuple([_read_property(*each, known)[1] for each in blob.properties if each[1] is not ABSENT]),
        blob.objects,
        blob.related_images,
        Place(blob.source),
    )


def _names(blob: BundleBlob) -> dict[str, object]:
    return {"package": quoted(blob.package), "bundle": quoted(blob.name)}


def _property(kind: str, value: object) -> Property:
    # The content of a bundle is never shown again as JSON, so the order of its keys says nothing.
    return Property(kind, value if kind in props.CONTENT else props.canonical(value))


def _read_property(kind: str, value: object, known: _ReadProperties) -> tuple[dict[str, Any] | DecodeError, Property]:
    """The fields of a property, or why it has none, and what is kept of it."""
    key = kind, id(value)
    if key not in known.made:
        fields: dict[str, Any] | DecodeError = {}
        try:
            if kind == props.CSV_METADATA:  # its fields are not needed here
                props.check_metadata(value, known.sound)
            else:
                fields = props.decode_value(kind, value)
        except DecodeError as error:
            fields = error
        known.made[key] = fields, _property(kind, value)
    return known.made[key]


def _property_errors(
    blob: BundleBlob, packages: list[tuple[int, str, str, str]], known: _ReadProperties
) -> Iterator[CatalogError]:
    """Check the properties; the fields of each `olm.package` and its index are put into `packages`."""
    apis: set[tuple[str, ...]] = set()
    for index, (kind, value) in enumerate(blob.properties):
        keys: Keys = ("properties", index)
        if value is ABSENT:
            cause = props.parse_problem(index, kind, "unexpected end of JSON input")
            yield _error(rules.BAD_PROPERTY, blob.source, *keys, **_names(blob), cause=cause)
            continue
        fields, _ = _read_property(kind, value, known)
        if isinstance(fields, DecodeError):
            keys, cause = (*keys, "value", *fields.path), props.parse_problem(index, kind, fields)
            yield _error(rules.BAD_PROPERTY, blob.source, *keys, **_names(blob), cause=cause)
            continue
        if kind == props.GVK_PROPERTY:
            api = (fields["group"], fields["version"], fields["kind"])
            if api in apis:
                text = "{}/{}, Kind={}".format(*api)
                yield _error(rules.SAME_GVK, blob.source, "properties", index, **_names(blob), api=text)
            apis.add(api)
        elif kind == props.PACKAGE:
            packages.append((index, fields["packageName"], fields["version"], fields["release"]))
    if len(packages) != 1:
        index = packages[1][0] if packages else 0
        keys = ("properties", index) if packages else ()
        yield _error(rules.PACKAGE_PROPERTIES, blob.source, *keys, **_names(blob), count=len(packages))
    elif packages[0][1] != blob.package:
        keys = ("properties", packages[0][0], "value")
        yield _error(rules.OTHER_PACKAGE, blob.source, *keys, **_names(blob), other=quoted(packages[0][1]))


def _image_errors(blob: BundleBlob, known: dict[str, str]) -> Iterator[CatalogError]:
    """Check the images; `known` is what is wrong with those of other bundles, and becomes that of these as well."""
    # An empty image is not refused here: the bundle may have its content inline (R-CAT-126).
    for index, image in enumerate((blob.image, *blob.related_images), start=-1):
        if image not in known:
            known[image] = pull_spec_problem(image) if image else ""
        problem = known[image]
        if problem:
            where = "image" if index < 0 else f"relatedImages[{index}].image"
            keys: Keys = ("image",) if index < 0 else ("relatedImages", index, "image")
            values = {**_names(blob), "where": where, "image": quoted(image), "cause": problem}
            yield _error(rules.BAD_PULL_SPEC, blob.source, *keys, **values)


def _version_errors(blob: BundleBlob, index: int, _: str, version: str, release: str) -> Iterator[CatalogError]:
    keys: Keys = ("properties", index, "value")
    try:
        parse_strict(version)
    except ValueError as error:
        values = {**_names(blob), "version": quoted(version), "cause": error}
        yield _error(rules.BAD_VERSION, blob.source, *keys, "version", **values)
    try:
        parse_release(release)
    except ValueError as error:
        values = {**_names(blob), "release": quoted(release), "cause": error}
        yield _error(rules.BAD_RELEASE, blob.source, *keys, "release", **values)


def _missing_bundles(name: str, draft: _Draft) -> Iterator[CatalogError]:
    """Entries of any channel without a bundle (D6)."""
    # OLM looks at the channel that it read last. Entries of the others become bundles without an image, which does not
    # point to the missing blob.
    missing = sorted(draft.entries - draft.bundles.keys())
    if missing:
        entries = (entry for channel in draft.channels.values() for entry in channel.entries)
        place = next(entry.location for entry in entries if entry.name == missing[0])
        values = {"package": quoted(name), "entries": " ".join(missing)}
        yield CatalogError(rules.ENTRIES_WITHOUT_BUNDLE, place, values)


def _add_deprecations(index: int, blob: DeprecationsBlob, drafts: Mapping[str, _Draft]) -> Iterator[CatalogError]:
    if not blob.package:
        yield _error(rules.DEPRECATION_WITHOUT_PACKAGE, blob.source, index=index)
        return
    package = quoted(blob.package)
    draft = drafts.get(blob.package)
    if draft is None:
        yield _error(rules.DEPRECATION_OF_UNKNOWN_PACKAGE, blob.source, "package", package=package)
        return
    if draft.deprecations is not None:
        yield _error(rules.SECOND_DEPRECATIONS, blob.source, package=package)
        return
    draft.deprecations = blob
    seen: set[tuple[str, str]] = set()
    for number, entry in enumerate(blob.entries):
        values = {"package": package, "index": number, "name": quoted(entry.name), "reference": _reference(entry)}
        rule = _deprecation_rule(entry, draft, seen)
        if rule is not None:
            yield _error(rule, blob.source, "entries", number, **values)
        seen.add((entry.schema, entry.name))


def _deprecation_rule(entry: Deprecation, draft: _Draft, seen: set[tuple[str, str]]) -> Rule | None:
    """The rule that an entry of `olm.deprecations` breaks."""
    if not entry.schema:
        return rules.DEPRECATION_WITHOUT_SCHEMA
    if (entry.schema, entry.name) in seen:
        return rules.SAME_DEPRECATION
    match entry.schema:
        case "olm.bundle":
            return None if entry.name in draft.bundles else rules.DEPRECATED_BUNDLE_UNKNOWN
        case "olm.channel":
            known = draft.channels.keys() | {draft.blob.default_channel}
            return None if entry.name in known else rules.DEPRECATED_CHANNEL_UNKNOWN
        case "olm.package":
            return rules.DEPRECATED_PACKAGE_NAMED if entry.name else None
        case _:
            return rules.DEPRECATED_SCHEMA_UNKNOWN


def _reference(entry: Deprecation) -> str:
    return f"declcfg.PackageScopedReference{{Schema:{quoted(entry.schema)}, Name:{quoted(entry.name)}}}"


def _package(draft: _Draft) -> Package:
    blob = draft.blob
    channels = dict(draft.channels)
    if blob.default_channel and blob.default_channel not in channels:
        # OLM adds it here, and refuses it as an empty channel when it checks the whole catalog (R-CAT-124).
        place = Place(blob.source, ("defaultChannel",))
        channels[blob.default_channel] = Channel(blob.default_channel, blob.name, (), place)
    return Package(
        blob.name,
        blob.default_channel,
        channels,
        draft.bundles,
        draft.deprecations.entries if draft.deprecations else (),
        blob.description,
        blob.icon,
        Place(blob.source),
    )
