"""A catalog that was read before, as data: what it says of its packages, without the content of their bundles.

The stored form is a line of JSON about the whole catalog, then a line for each package, which is read when somebody
asks for the package. Places are a file and a document in it; what bundles carry along is the place where it stands.
Only what OLM would serve as it is, or not at all, is stored: no templates and nothing that is made of other files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.catalogs.properties import CONTENT, index_of, rows_of
from olmc.compiler.model.catalog import (
    Catalog,
    CatalogBundle,
    CatalogIndex,
    Channel,
    ChannelEntry,
    Deprecation,
    Package,
    Property,
)
from olmc.k8s.diagnostics import DecodeFailure, Diagnostic, Location, Place, RuleTag, Severity, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import GVK

TextOf = Callable[[str], str]
"""The text of a file of the catalog."""

SourceOf = Callable[[int, int], Source]
"""A document of a file, both by their numbers."""


class StoredCatalog(NamedTuple):
    """A catalog, and what was found when it was read."""

    catalog: Catalog
    found: tuple[Diagnostic, ...]


class NotStorableError(ValueError):
    """A catalog that has no stored form."""


# olmc reads the catalog again if the stored form has changed.
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


class StoredPackages(Mapping[str, Package]):
    """Packages by name, each read from its line when it is asked for."""

    def __init__(
        self, names: Mapping[str, bytes], read: Callable[[bytes], Package], again: Callable[[], Catalog]
    ) -> None:
        self._lines = names
        self._read = read
        self._again = again
        self._known: dict[str, Package] = {}

    def __getitem__(self, name: str) -> Package:
        if name not in self._known:
            line = self._lines[name]
            try:
                self._known[name] = self._read(line)
            except _MALFORMED:
                self._known.update(self._again().packages)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, name: object) -> bool:
        return name in self._lines


def stored_form(stored: StoredCatalog) -> bytes:
    """The bytes of a catalog. Raises NotStorableError for one that has more to it than there is a form for."""
    catalog = stored.catalog
    # A catalog with a fault is read again each time: OLM v1 serves parts of it, for which there is no form.
    if not catalog.self_contained or catalog.unused or catalog.documents or catalog.unread or catalog.spoilt:
        raise NotStorableError
    files = {path: number for number, path in enumerate(catalog.files)}
    index = catalog.entry_index
    try:
        head = {
            "files": catalog.files,
            "found": [_finding_form(each) for each in stored.found],
            "problem": catalog.problem,
            "place": _place_form(catalog.location, files) if catalog.location is not None else None,
            "packages": list(catalog.packages),
            "index": [list(part.items()) for part in index] if index is not None else None,
        }
        forms = (_package_form(package, files) for package in catalog.packages.values())
        return "\n".join(map(json.dumps, (head, *forms))).encode("ascii")
    except (KeyError, TypeError, RecursionError) as error:  # a place in no file, a value that JSON has not
        raise NotStorableError from error


def with_index(catalog: Catalog) -> Catalog:
    """A catalog with the index of its entries."""
    return catalog if catalog.problem else catalog._replace(entry_index=index_of(rows_of(catalog.packages)))


def stored_catalog(data: bytes, text_of: TextOf, again: Callable[[], Catalog]) -> StoredCatalog | None:
    """The catalog of a stored form, None for bytes that are none; `again` reads the catalog from its files."""
    head, *lines = data.split(b"\n")
    try:
        fields = json.loads(head)
        files, names = tuple(map(str, fields["files"])), fields["packages"]
        packages = dict(zip(map(str, names), lines, strict=True))
        index = _index(fields["index"]) if fields["index"] is not None else None

        def source_of(file: int, document: int) -> Source:
            return Source(files[file], text_of(files[file]), document)

        place = fields["place"]
        catalog = Catalog(
            StoredPackages(packages, lambda line: _package(json.loads(line), source_of), again),
            str(fields["problem"]),
            _place(place, source_of) if place is not None else None,
            files=files,
            self_contained=True,
            entry_index=index,
        )
        return StoredCatalog(catalog, tuple(map(_finding, fields["found"])))
    except _MALFORMED:
        return None


def _source_form(place: Place | None, files: Mapping[str, int]) -> list[int]:
    """The file and the document that a place is in, which must be a document as such."""
    if place is None or place.keys or place.source.prefix:
        raise NotStorableError
    return [files[place.source.path], place.source.document]


def _place_form(place: Place, files: Mapping[str, int]) -> list[Any]:
    return [*_source_form(Place(place.source), files), list(place.keys)]


def _place(form: Sequence[Any], source_of: SourceOf) -> Place:
    file, document, keys = form
    return Place(source_of(file, document), tuple(keys))


def _finding_form(found: Diagnostic) -> list[Any]:
    if found.related or not isinstance(found.cause, DecodeFailure | None):
        raise NotStorableError
    cause = found.cause.message if found.cause is not None else None
    tags = sorted(tag.name for tag in found.tags)
    return [found.code, int(found.severity), found.message, found.location, found.hint, cause, tags]


def _finding(form: Sequence[Any]) -> Diagnostic:
    code, severity, message, place, hint, cause, tags = form
    return Diagnostic(
        code, Severity(severity), message, Location(*place) if place is not None else None, hint,
        cause=DecodeFailure(cause) if cause is not None else None, tags=frozenset(RuleTag[tag] for tag in tags),
    )  # fmt: skip


def _index(form: Sequence[Any]) -> CatalogIndex:
    counts, names, apis, packages, labels, copies = form
    lists = ({key: tuple(having) for key, having in part} for part in (names, packages, labels))
    names, packages, labels = lists
    apis = {GVK(*api): tuple(having) for api, having in apis}
    return CatalogIndex(dict(counts), names, apis, packages, labels, dict(copies))


def _package_form(package: Package, files: Mapping[str, int]) -> list[Any]:
    table: dict[int, int] = {}
    properties: list[Any] = []
    bundles = []
    for bundle in package.bundles.values():
        if bundle.objects or bundle.package != package.name:
            raise NotStorableError
        for prop in bundle.properties:
            if id(prop) not in table:
                table[id(prop)] = len(properties)
                properties.append([prop.type] if prop.type in CONTENT else [prop.type, prop.value])
        numbers = [table[id(prop)] for prop in bundle.properties]
        place = _source_form(bundle.location, files)
        bundles.append([bundle.name, bundle.image, bundle.version, numbers, bundle.related_images, *place])
    return [
        package.name, package.default_channel, package.description, dict(package.icon),
        _source_form(package.location, files), package.deprecations,
        [_channel_form(channel, files) for channel in package.channels.values()], properties, bundles,
    ]  # fmt: skip


def _channel_form(channel: Channel, files: Mapping[str, int]) -> list[Any]:
    place = _source_form(channel.location, files)
    for number, entry in enumerate(channel.entries):
        if entry.location is None or entry.location.keys != ("entries", number):
            raise NotStorableError
    return [channel.name, *place, [entry[:4] for entry in channel.entries]]


def _package(form: Sequence[Any], source_of: SourceOf) -> Package:
    name, default, description, icon, place, deprecations, channels, properties, bundles = form
    shared = [Property(kind, *value) if value else None for kind, *value in properties]
    return Package(
        name, default,
        {channel[0]: _channel(channel, name, source_of) for channel in channels},
        {bundle[0]: _bundle(bundle, name, properties, shared, source_of) for bundle in bundles},
        tuple(Deprecation(*each) for each in deprecations), description, icon, Place(source_of(*place)),
    )  # fmt: skip


def _channel(form: Sequence[Any], package: str, source_of: SourceOf) -> Channel:
    name, file, document, entries = form
    source = source_of(file, document)
    members = (
        ChannelEntry(entry, replaces, tuple(skips), skip_range, Place(source, ("entries", number)))
        for number, (entry, replaces, skips, skip_range) in enumerate(entries)
    )
    return Channel(name, package, tuple(members), Place(source))


def _bundle(
    form: Sequence[Any], package: str, kinds: Sequence[Any], shared: Sequence[Property | None], source_of: SourceOf
) -> CatalogBundle:
    name, image, version, numbers, related, file, document = form
    source = source_of(file, document)
    properties = tuple(
        shared[number] or Property(kinds[number][0], Place(source, ("properties", index, "value")))
        for index, number in enumerate(numbers)
    )
    return CatalogBundle(name, package, image, version, properties, (), tuple(related), Place(source))
