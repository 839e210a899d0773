"""Packages whose update graph stands in their CSVs: the registry's old database (R-CAT-141 … R-CAT-143)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from olmc.gojson import decode
from olmc.kube.api_validation.field import aggregated
from olmc.load.catalogs import properties as props
from olmc.load.catalogs.csv_edges import Edges, Problem, edges_of
from olmc.load.catalogs.rendering import LooseBundle, derived_properties, related_images
from olmc.load.catalogs.troubles import below
from olmc.model.catalog import CatalogBundle, Channel, ChannelEntry, Package, Property
from olmc.model.diagnostic import Report
from olmc.model.location import Place
from olmc.model.objects import as_text

DEPRECATED = "olm.deprecated"


@dataclass(frozen=True, slots=True)
class PackageManifest:
    """A package file of the old format: names of channels with the CSVs at their heads (R-CAT-140)."""

    name: str
    channels: tuple[tuple[str, str], ...]
    default_channel: str
    place: Place | None = None


def package_manifest(value: Any, place: Place | None) -> PackageManifest:
    """The package manifest in a document. Raises DecodeError if it is none."""
    fields = decode("registry.PackageManifest", value)
    channels = tuple((channel["name"], channel["currentCSV"]) for channel in fields["channels"] or ())
    return PackageManifest(fields["packageName"], channels, fields["defaultChannel"], place)


def skip_range(bundle: LooseBundle) -> str:
    """The annotation `olm.skipRange` of a CSV (R-CAT-142)."""
    return as_text(bundle.annotations.get("olm.skipRange"))


def is_deprecated(bundle: LooseBundle) -> bool:
    """Whether a bundle has the property `olm.deprecated`."""
    return any(each.type == DEPRECATED for each in derived_properties(bundle, Report()))


Serve = Callable[[LooseBundle, str, Report], CatalogBundle]


def package_of(
    manifest: PackageManifest, bundles: Mapping[str, LooseBundle], serve: Serve, report: Report
) -> tuple[Package, list[Problem]]:
    """The package that a manifest and the CSVs describe, and what is wrong with it (R-CAT-141).

    `serve` makes the catalog's view of a bundle of a package.
    """
    heads = [
        (index, name, head)
        for index, (name, head) in enumerate(manifest.channels)
        if head not in bundles or not is_deprecated(bundles[head])
    ]
    names = (name for _, name, _ in heads)
    default = next((name for name in names if name == manifest.default_channel or len(manifest.channels) == 1), "")
    edges, problems = edges_of(bundles)
    if not default:
        text = f"no default channel specified for {manifest.name}"
        problems.append(Problem(text, below(manifest.place, "defaultChannel")))
    channels: dict[str, Channel] = {}
    for index, name, head in heads:
        entries, found = _walk(head, bundles, edges, below(manifest.place, "channels", index, "currentCSV"))
        problems += found
        channels[name] = Channel(name, manifest.name, entries, manifest.place)
    used = dict.fromkeys(entry.name for channel in channels.values() for entry in channel.entries)
    served = {name: serve(bundles[name], manifest.name, report) for name in used}
    return Package(manifest.name, default, channels, served, location=manifest.place), problems


def _walk(
    head: str, bundles: Mapping[str, LooseBundle], edges: Mapping[str, Edges], place: Place | None
) -> tuple[tuple[ChannelEntry, ...], list[Problem]]:
    """The entries of the channel with this head, down through replaces; skipped ones with content are entries too.

    `place` is where the channel names its head.
    """
    if head not in bundles:
        return (), [Problem(f"no bundle found for bundlename {head}", place)]
    chain = [head]
    skipped: list[str] = []
    problems: list[Problem] = []
    while True:
        replaced, skips = edges[chain[-1]]
        skipped += skips
        if not replaced:
            break
        edge = below(bundles[chain[-1]].location, "spec", "replaces")
        if replaced in chain:
            problems.append(Problem(f"Cycle detected, {chain[-1]} replaces {replaced}", edge))
            break
        if is_deprecated(bundles[chain[-1]]):
            break
        if replaced not in bundles:
            problems.append(Problem(f"Invalid bundle {head}, replaces nonexistent bundle {replaced}", edge))
            break
        chain.append(replaced)
    entries = [entry(bundles[name], *edges[name]) for name in chain]
    others = [name for name in dict.fromkeys(skipped) if name in bundles and name not in chain]
    entries += [entry(bundles[name]) for name in others]
    return tuple(entries), problems


def entry(bundle: LooseBundle, replaced: str = "", skipped: tuple[str, ...] = ()) -> ChannelEntry:
    """A bundle in a channel."""
    return ChannelEntry(bundle.name, replaced, skipped, skip_range(bundle), bundle.location)


def database_bundle(bundle: LooseBundle, package: str, report: Report) -> CatalogBundle:
    """A bundle as the old database serves it: inline, its requirements beside the properties, not among them."""
    found = [each for each in derived_properties(bundle, report) if each.type != props.PACKAGE]
    found.append(Property(props.PACKAGE, {"packageName": package, "version": bundle.version}))
    return CatalogBundle(
        bundle.name,
        package,
        bundle.image,
        bundle.version,
        tuple(sorted(found, key=lambda each: (each.type, props.raw(each.value)))),
        bundle.objects,
        related_images(bundle),
        bundle.location,
    )


def wrapped(problems: Iterable[Problem], prefix: str) -> str:
    """The errors of one package as the loaders report them."""
    return f"{prefix}: {aggregated(each.text for each in problems)}"
