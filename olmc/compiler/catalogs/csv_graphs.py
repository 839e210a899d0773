"""Packages whose update graph stands in their CSVs: the registry's old database (R-CAT-141 … R-CAT-144)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from olmc.compiler.catalogs import properties as props
from olmc.compiler.catalogs.properties import UncataloguedBundle, below, derived_properties, related_images
from olmc.compiler.model.catalog import CatalogBundle, Channel, ChannelEntry, Package, Property
from olmc.k8s.api.validation.field import aggregated
from olmc.k8s.diagnostics import Place, Report
from olmc.k8s.gojson import decode
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import as_text
from olmc.k8s.semver import Version, parse_strict

NO_VERSION = "0.0.0-z"
"""The version of a bundle without one, so that it is below every other."""


class Versioned(NamedTuple):
    """A bundle with its parsed version."""

    bundle: UncataloguedBundle
    version: Version


def with_version(bundle: UncataloguedBundle) -> Versioned:
    """A bundle with its version; a ValueError in OLM's words if it is none."""
    version = bundle.version or NO_VERSION
    try:
        return Versioned(bundle, parse_strict(version))
    except ValueError as error:
        raise ValueError(f"error parsing bundle {bundle.name} version {version}: {error}") from None


def compare(left: Versioned, right: Versioned) -> int:
    """Below, at or above 0, as the version of `one` is lower than, like or higher than that of `other`."""
    order: int = left.version.compare(right.version)
    return order or _build(left.version).compare(_build(right.version))


by_version = cmp_to_key(compare)


def _build(version: Version) -> Version:
    """The build metadata of a version as something that orders like a pre-release; none is below any."""
    # Semantic versions give builds no order, but the old database has to tell rebuilds of a version apart (R-CAT-144).
    return Version(1, prerelease=version.build) if version.build else Version(0)


SUBSTITUTES_FOR = "olm.substitutesFor"


class Edges(NamedTuple):
    """The names of the bundles that a bundle replaces, "" for none, and skips."""

    replaces: str = ""
    skips: tuple[str, ...] = ()


class PackageProblem(NamedTuple):
    """The reason why a package can't be loaded: OLM's text, and its place."""

    text: str
    place: Place | None


class _SubstituteError(ValueError):
    """The problem of a bundle's substitution, in OLM's words."""

    def __init__(self, text: str, bundle: UncataloguedBundle) -> None:
        super().__init__(text)
        self.place = below(bundle.location, "metadata", "annotations", SUBSTITUTES_FOR)


def base_of(bundle: UncataloguedBundle) -> str:
    """The name of the bundle that this one substitutes for, "" for none."""
    return as_text(bundle.annotations.get(SUBSTITUTES_FOR))


def edges_of(bundles: Mapping[str, UncataloguedBundle]) -> tuple[Mapping[str, Edges], list[PackageProblem]]:
    """The edges of bundles, given by name, and what is wrong with substitutes.

    What replaces a bundle replaces the last of its substitutes instead, what skips it skips these as well, and each
    substitute skips what it stands in for.
    """
    edges = {name: _declared_edges(bundle) for name, bundle in bundles.items()}
    try:
        chains = list(_chains(bundles))
    except ValueError as error:
        return edges, [PackageProblem(str(error), error.place if isinstance(error, _SubstituteError) else None)]
    for chain in chains:
        edges = {name: _with_chain(own, name, chain) for name, own in edges.items()}
    return edges, []


def _declared_edges(bundle: UncataloguedBundle) -> Edges:
    skips = bundle.spec.get("skips")
    return Edges(as_text(bundle.spec.get("replaces")), tuple(map(str, skips)) if isinstance(skips, list) else ())


def _with_chain(own: Edges, name: str, chain: Sequence[str]) -> Edges:
    """The edges of a bundle once a bundle and its substitutes, the last one last, are in their places."""
    if name in chain:
        return own._replace(skips=_union(own.skips, chain[: chain.index(name)]))
    first = next((place for place, substitute in enumerate(chain) if substitute in own.skips), len(chain))
    return Edges(chain[-1] if own.replaces in chain else own.replaces, _union(own.skips, chain[first:]))


def _union(skips: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*skips, *more)))


def _chains(bundles: Mapping[str, UncataloguedBundle]) -> Iterator[list[str]]:
    """Each bundle that is substituted for and no substitute itself, with its substitutes, the last one last."""
    substitutes: dict[str, list[UncataloguedBundle]] = {}
    for bundle in bundles.values():
        if base_of(bundle):
            substitutes.setdefault(base_of(bundle), []).append(bundle)
    placed: set[str] = set()
    for base in substitutes:
        if base not in bundles or not base_of(bundles[base]):
            chain = [base, *_substitutes_of(base, substitutes)]
            placed.update(chain)
            yield chain
    for bundle in bundles.values():
        if base_of(bundle) and bundle.name not in placed:
            raise _SubstituteError(f'cyclic substitutesFor chain detected involving "{bundle.name}"', bundle)


def _substitutes_of(base: str, substitutes: Mapping[str, Sequence[UncataloguedBundle]]) -> Iterator[str]:
    """The substitutes of a bundle by version, behind each those that substitute for it in turn."""
    ordered = sorted(map(with_version, substitutes.get(base, ())), key=by_version)
    for lower, higher in pairwise(ordered):
        if not compare(lower, higher):
            text = "cannot determine latest substitution because of duplicate versions"
            raise _SubstituteError(text, higher.bundle)
    for substitute in ordered:
        yield substitute.bundle.name
        yield from _substitutes_of(substitute.bundle.name, substitutes)


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


def skip_range(bundle: UncataloguedBundle) -> str:
    """The annotation `olm.skipRange` of a CSV (R-CAT-142)."""
    return as_text(bundle.annotations.get("olm.skipRange"))


def is_deprecated(bundle: UncataloguedBundle) -> bool:
    """Return whether a bundle has the property `olm.deprecated`."""
    return any(prop.type == DEPRECATED for prop in derived_properties(bundle, Report()))


Serve = Callable[[UncataloguedBundle, str, Report], CatalogBundle]


def package_of(
    manifest: PackageManifest, bundles: Mapping[str, UncataloguedBundle], serve: Serve, report: Report
) -> tuple[Package, list[PackageProblem]]:
    """The package that a manifest and the CSVs describe, and what is wrong with it (R-CAT-141).

    `serve` makes the catalog's view of a bundle of a package.
    """
    heads = [
        (index, name, head)
        for index, (name, head) in enumerate(manifest.channels)
        if head not in bundles or not is_deprecated(bundles[head])
    ]
    # The catalog drops a channel whose head is deprecated, the default channel as well (R-CAT-141).
    names = (name for _, name, _ in heads)
    default = next((name for name in names if name == manifest.default_channel or len(manifest.channels) == 1), "")
    edges, problems = edges_of(bundles)
    if not default:
        text = f"no default channel specified for {manifest.name}"
        problems.append(PackageProblem(text, below(manifest.place, "defaultChannel")))
    channels: dict[str, Channel] = {}
    for index, name, head in heads:
        entries, walk_problems = _walk(head, bundles, edges, below(manifest.place, "channels", index, "currentCSV"))
        problems += walk_problems
        channels[name] = Channel(name, manifest.name, entries, manifest.place)
    used = dict.fromkeys(entry.name for channel in channels.values() for entry in channel.entries)
    served = {name: serve(bundles[name], manifest.name, report) for name in used}
    return Package(manifest.name, default, channels, served, location=manifest.place), problems


def _walk(
    head: str, bundles: Mapping[str, UncataloguedBundle], edges: Mapping[str, Edges], place: Place | None
) -> tuple[tuple[ChannelEntry, ...], list[PackageProblem]]:
    """The entries of the channel with this head, down through replaces; skipped ones with content are entries too.

    `place` is where the channel names its head.
    """
    if head not in bundles:
        return (), [PackageProblem(f"no bundle found for bundlename {head}", place)]
    chain = [head]
    skipped: list[str] = []
    problems: list[PackageProblem] = []
    while True:
        replaced, skips = edges[chain[-1]]
        skipped += skips
        if not replaced:
            break
        edge = below(bundles[chain[-1]].location, "spec", "replaces")
        if replaced in chain:
            problems.append(PackageProblem(f"Cycle detected, {chain[-1]} replaces {replaced}", edge))
            break
        # A deprecated bundle ends its channel: the channel has no older bundles (R-CAT-141).
        if is_deprecated(bundles[chain[-1]]):
            break
        if replaced not in bundles:
            problems.append(PackageProblem(f"Invalid bundle {head}, replaces nonexistent bundle {replaced}", edge))
            break
        chain.append(replaced)
    entries = [entry(bundles[name], *edges[name]) for name in chain]
    # OLM lists skipped bundles where it has their content, so a startingCSV can name one (R-CAT-141, R-CAT-421).
    others = [name for name in dict.fromkeys(skipped) if name in bundles and name not in chain]
    entries += [entry(bundles[name]) for name in others]
    return tuple(entries), problems


def entry(bundle: UncataloguedBundle, replaced: str = "", skipped: tuple[str, ...] = ()) -> ChannelEntry:
    """A bundle in a channel."""
    return ChannelEntry(bundle.name, replaced, skipped, skip_range(bundle), bundle.location)


def database_bundle(bundle: UncataloguedBundle, package: str, report: Report) -> CatalogBundle:
    """A bundle as the old database serves it: inline, its requirements beside the properties, not among them."""
    properties = [prop for prop in derived_properties(bundle, report) if prop.type != props.PACKAGE]
    properties.append(Property(props.PACKAGE, {"packageName": package, "version": bundle.version}))
    return CatalogBundle(
        bundle.name,
        package,
        bundle.image,
        bundle.version,
        tuple(sorted(properties, key=lambda prop: (prop.type, props.raw(prop.value)))),
        bundle.objects,
        related_images(bundle),
        bundle.location,
    )


def joined(problems: Iterable[PackageProblem], prefix: str) -> str:
    """The errors of one package as the loaders report them."""
    return f"{prefix}: {aggregated(problem.text for problem in problems)}"
