"""The catalog that a list of bundles makes by itself (R-CAT-144)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, pairwise

from olmc.catalogs.catalog_errors import CatalogError, tell, unavailable
from olmc.catalogs.csv_graphs import (
    PackageManifest,
    Versioned,
    by_version,
    compare,
    entry,
    package_of,
    versioned,
    wrapped,
)
from olmc.catalogs.loading import bundle_troubles
from olmc.catalogs.rendering import UncataloguedBundle, bundle_properties, related_images
from olmc.diagnostics.rules import catalogs as rules
from olmc.kube.api_validation.field import aggregated
from olmc.model.catalog import Catalog, CatalogBundle, Channel, ChannelEntry, Package
from olmc.model.diagnostics import Place, Report
from olmc.model.options import Indexing, IndexingMode
from olmc.semver import parse_strict


class _BadListError(ValueError):
    """What keeps bundles from making a package, in OLM's words, and where it stands if that is known."""

    def __init__(self, text: str, place: Place | None = None) -> None:
        super().__init__(text)
        self.place = place


def catalog_from_bundles(bundles: Sequence[UncataloguedBundle], indexing: Indexing, report: Report) -> Catalog:
    """The catalog that `bundles` make, in the order given, or an unavailable one (R-CAT-144, D8)."""
    troubles = [each for bundle in bundles for each in bundle_troubles(bundle, rules.BAD_BUNDLE_LIST, indexing)]
    by_package: dict[str, list[UncataloguedBundle]] = {}
    for bundle in bundles:
        by_package.setdefault(bundle.package, []).append(bundle)
    packages: dict[str, Package] = {}
    for name, members in by_package.items():
        try:
            packages[name] = _BUILDERS[indexing.mode](name, members, report)
        except ValueError as error:
            place = error.place if isinstance(error, _BadListError) else None
            troubles.append(CatalogError(rules.BAD_BUNDLE_LIST, place or members[0].location, {"cause": error}))
    tell(troubles, report)
    if troubles:
        return unavailable(aggregated(each.text for each in troubles), troubles[0].place)
    return Catalog(packages)


def _served(bundle: UncataloguedBundle, package: str, report: Report) -> CatalogBundle:
    """A bundle as a catalog rendered by opm would list it."""
    return CatalogBundle(
        bundle.name,
        package,
        bundle.image,
        bundle.version,
        bundle_properties(bundle, report),
        bundle.objects,
        related_images(bundle),
        bundle.location,
    )


def _from_replaces(name: str, members: Sequence[UncataloguedBundle], report: Report) -> Package:
    ordered = [versioned(bundle) for bundle in members]
    declared = _declared_default(ordered)
    heads = {channel: _head(channel, ordered) for channel in _channels(members)}
    default = _default_channel(declared, heads)
    manifest = PackageManifest(
        name, tuple((channel, head.name) for channel, head in heads.items()), default, members[0].location
    )
    package, problems = package_of(manifest, {bundle.name: bundle for bundle in members}, _served, report)
    if problems:
        raise _BadListError(wrapped(problems, "error loading package into db"), problems[0].place)
    return package


def _channels(members: Iterable[UncataloguedBundle]) -> list[str]:
    return list(dict.fromkeys(channel for bundle in members for channel in bundle.channels))


def _head(channel: str, bundles: Sequence[Versioned]) -> UncataloguedBundle:
    members = [each for each in bundles if channel in each.bundle.channels]
    highest = max(members, key=by_version)
    if sum(not compare(each, highest) for each in members) > 1:
        raise _BadListError(f"more than one potential channel head for {channel}")
    return highest.bundle


def _declared_default(bundles: Sequence[Versioned]) -> str:
    """The default channel that the highest bundle to declare one declares, in the order of the list."""
    highest = bundles[0]
    default = ""
    for each in bundles:
        if compare(each, highest) >= 0:
            highest = each
            default = each.bundle.default_channel or default
    if sum(not compare(each, highest) for each in bundles) > 1:
        raise _BadListError(f"more than one bundle with maximum version {highest.version}")
    return default


def _default_channel(default: str, heads: Mapping[str, UncataloguedBundle]) -> str:
    """The declared default channel if there is such a channel, else the only one."""
    if default in heads or (len(heads) == 1 and not default):
        return next(iter(heads)) if len(heads) == 1 else default
    found = " ".join(f"{channel}:{head.name}" for channel, head in sorted(heads.items()))
    raise _BadListError(f"unable to determine default channel among channel heads: map[{found}]")


def _from_versions(name: str, members: Sequence[UncataloguedBundle], report: Report, *, skip_patches: bool) -> Package:
    default = ""
    strict = []
    for bundle in members:
        try:
            strict.append(Versioned(bundle, parse_strict(bundle.version)))
        except ValueError:
            raise _BadListError(f"Bundle version {bundle.version} is not valid") from None
        default = bundle.default_channel or default or min(bundle.channels, default="")
        if not default:
            raise _BadListError("Default channel is missing and can't be inferred")
    channels = {}
    for channel in _channels(members):
        inside = [each for each in strict if channel in each.bundle.channels]
        entries = _by_patch(_ordered(inside)) if skip_patches else _in_a_row(_ordered(inside))
        channels[channel] = Channel(channel, name, entries, inside[0].bundle.location)
    served = {bundle.name: _served(bundle, name, report) for bundle in members}
    return Package(name, default, channels, served, location=members[0].location)


def _ordered(inside: Sequence[Versioned]) -> list[Versioned]:
    ordered = sorted(inside, key=lambda each: each.version)
    for each, following in pairwise(ordered):
        if not each.version.compare(following.version):
            raise _BadListError(f"Bundle version {following.bundle.version} already added to index")
    return ordered


def _in_a_row(ordered: Sequence[Versioned]) -> tuple[ChannelEntry, ...]:
    """Each version replaces the one before it."""
    names = ["", *(each.bundle.name for each in ordered)]
    return tuple(entry(each.bundle, before) for before, each in zip(names, ordered, strict=False))


def _by_patch(ordered: Sequence[Versioned]) -> tuple[ChannelEntry, ...]:
    """The newest patch of each minor version replaces that of the one before and skips its own older patches."""
    entries: list[ChannelEntry] = []
    before = ""
    for _, group in groupby(ordered, key=lambda each: (each.version.major, each.version.minor)):
        *older, head = [each.bundle for each in group]
        entries += [entry(bundle) for bundle in older]
        entries.append(entry(head, before, tuple(bundle.name for bundle in older)))
        before = head.name
    return tuple(entries)


def _semver(name: str, members: Sequence[UncataloguedBundle], report: Report) -> Package:
    return _from_versions(name, members, report, skip_patches=False)


def _skip_patch(name: str, members: Sequence[UncataloguedBundle], report: Report) -> Package:
    return _from_versions(name, members, report, skip_patches=True)


_BUILDERS: Mapping[IndexingMode, Callable[[str, Sequence[UncataloguedBundle], Report], Package]] = {
    "replaces": _from_replaces,
    "semver": _semver,
    "semver-skippatch": _skip_patch,
}
