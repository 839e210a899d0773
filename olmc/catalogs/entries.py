"""Which packages of a catalog have what others may ask for, so that only these are looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from olmc.catalogs.properties import GVK as GVK_PROPERTY
from olmc.catalogs.properties import LABEL, PACKAGE
from olmc.gojson import DecodeError, decode
from olmc.model.catalog import Candidate, CatalogBundle, CatalogIndex, Package, Property
from olmc.model.objects import GVK
from olmc.model.served_entries import ServedEntries

Row: TypeAlias = tuple[str, str, str, Sequence[Property]]
"""An entry as far as the index is concerned: its package, channel and name, and the properties of its bundle."""


def indexed(entries: Sequence[Candidate]) -> ServedEntries:
    """Entries by package, in the order given within each."""
    if isinstance(entries, ServedEntries):
        return entries
    packages: dict[str, list[Candidate]] = {}
    for entry in sorted(entries, key=lambda entry: entry.package):
        packages.setdefault(entry.package, []).append(entry)
    rows = (
        (entry.package, entry.channel, entry.name, entry.properties) for each in packages.values() for entry in each
    )
    return ServedEntries(index_of(rows), lambda package: packages[package])


def rows_of(packages: Mapping[str, Package]) -> Iterator[Row]:
    """The entries of packages, those of one package after the other, without what is derived from their properties."""
    for name, package in sorted(packages.items()):
        properties = {csv: _with_package(bundle) for csv, bundle in package.bundles.items()}
        for channel in package.channels.values():
            for entry in channel.entries:
                if entry.name in properties:
                    yield name, channel.name, entry.name, properties[entry.name]


def _with_package(bundle: CatalogBundle) -> tuple[Property, ...]:
    """The properties of a bundle with the one that every entry has, if they lack it."""
    if any(prop.type == PACKAGE for prop in bundle.properties):
        return bundle.properties
    return (*bundle.properties, Property(PACKAGE, {"packageName": bundle.package, "version": bundle.version}))


def index_of(rows: Iterable[Row]) -> CatalogIndex:
    """Which packages have what, of entries that come package by package in order."""
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    names: dict[str, dict[str, None]] = {}
    offers: dict[str, dict[Any, dict[str, None]]] = {GVK_PROPERTY: {}, PACKAGE: {}, LABEL: {}}
    read: dict[int, tuple[Property, Any]] = {}
    seen: dict[tuple[str, int], Sequence[Property]] = {}
    for package, channel, name, properties in rows:
        counts[package] += 1
        times[f"{channel}/{name}"] += 1
        names.setdefault(name, {})[package] = None
        if (package, id(properties)) in seen:
            continue
        seen[package, id(properties)] = properties  # kept, so that nothing else gets its identity
        for prop in properties:
            if prop.type in offers:
                if id(prop) not in read:
                    read[id(prop)] = prop, _offer(prop)
                offer = read[id(prop)][1]
                if offer is not None:
                    offers[prop.type].setdefault(offer, {})[package] = None
    apis, packages, labels = (
        {offer: tuple(having) for offer, having in offers[kind].items()} for kind in (GVK_PROPERTY, PACKAGE, LABEL)
    )
    copies = {identifier: number for identifier, number in times.items() if number > 1}
    return CatalogIndex(
        dict(counts), {name: tuple(having) for name, having in names.items()}, apis, packages, labels, copies
    )


def _offer(prop: Property) -> Any:
    """What others may require by a property; None for one that can't be decoded, which offers nothing, as in OLM."""
    try:
        fields = decode(prop.type, prop.value)
    except DecodeError:
        return None
    if prop.type == GVK_PROPERTY:
        return GVK(**fields)
    return fields["packageName" if prop.type == PACKAGE else "label"]
