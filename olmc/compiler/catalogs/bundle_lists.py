"""The catalogs that lists of bundles make by themselves: a list of bundles (R-CAT-144), and ConfigMaps (R-CAT-150)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Any

from olmc.compiler.catalogs.csv_graphs import (
    PackageManifest,
    Versioned,
    base_of,
    by_version,
    compare,
    database_bundle,
    entry,
    joined,
    package_manifest,
    package_of,
    with_version,
)
from olmc.compiler.catalogs.loading import bundle_errors
from olmc.compiler.catalogs.properties import (
    APIKey,
    CatalogError,
    UncataloguedBundle,
    below,
    bundle_properties,
    crd_apis,
    described_crds,
    location_of,
    related_images,
    report_errors,
    required_apis,
    unavailable,
)
from olmc.compiler.model.catalog import Catalog, CatalogBundle, Channel, ChannelEntry, Package
from olmc.compiler.model.operators import Csv
from olmc.compiler.model.options import Indexing, IndexingMode
from olmc.compiler.rules.findings import catalogs as rules
from olmc.k8s.api.validation.field import aggregated
from olmc.k8s.diagnostics import Place, Report, Severity, Source
from olmc.k8s.gojson import DecodeError, decode_error, json_kind
from olmc.k8s.objects import KubernetesObject
from olmc.k8s.semver import parse_strict
from olmc.k8s.yaml import read


class _BadListError(ValueError):
    """The reason why bundles do not make a package, in OLM's words, and its place if that is known."""

    def __init__(self, text: str, place: Place | None = None) -> None:
        super().__init__(text)
        self.place = place


def catalog_from_bundles(
    bundles: Sequence[UncataloguedBundle],
    indexing: Indexing,
    report: Report,
    modes: Mapping[str, IndexingMode] = MappingProxyType({}),
) -> Catalog:
    """Return the catalog that `bundles` make, in the order given, or an unavailable one (R-CAT-144, D8).

    `modes` override `indexing`, the way to make the graph, for single packages.
    """
    errors = [error for bundle in bundles for error in bundle_errors(bundle, rules.BAD_BUNDLE_LIST, indexing)]
    by_package: dict[str, list[UncataloguedBundle]] = {}
    for bundle in bundles:
        by_package.setdefault(bundle.package, []).append(bundle)
    packages: dict[str, Package] = {}
    for name, members in by_package.items():
        try:
            packages[name] = _BUILDERS[modes.get(name, indexing.mode)](name, members, report)
        except ValueError as error:
            place = error.place if isinstance(error, _BadListError) else None
            errors.append(CatalogError(rules.BAD_BUNDLE_LIST, place or members[0].location, {"cause": error}))
    report_errors(errors, report)
    if errors:
        return unavailable(aggregated(error.text for error in errors), errors[0].place)
    return Catalog(packages)


def report_dropped(catalog: Catalog, bundles: Sequence[UncataloguedBundle], report: Report) -> None:
    """Report those of the bundles that a catalog was made of which no channel has, as from no head anything leads to
    them."""
    for package in catalog.packages.values():
        members = [bundle for bundle in bundles if bundle.package == package.name]
        dropped = [bundle for bundle in members if bundle.name not in package.bundles]
        if dropped:
            # The place to fix.
            newest = max(map(with_version, members), key=by_version).bundle
            place = location_of(below(newest.location, "metadata", "name"))
            names = ", ".join(bundle.name for bundle in dropped)
            report.add(rules.DROPPED_VERSIONS.finding(place, package=package.name, names=names))


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
    ordered = [with_version(bundle) for bundle in members]
    declared = _declared_default(ordered)
    heads = {channel: _head(channel, ordered) for channel in _channels(members)}
    default = _default_channel(declared, heads)
    manifest = PackageManifest(
        name, tuple((channel, head.name) for channel, head in heads.items()), default, members[0].location
    )
    package, problems = package_of(manifest, {bundle.name: bundle for bundle in members}, _served, report)
    if problems:
        raise _BadListError(joined(problems, "error loading package into db"), problems[0].place)
    return package


def _channels(members: Iterable[UncataloguedBundle]) -> list[str]:
    return list(dict.fromkeys(channel for bundle in members for channel in bundle.channels))


def _head(channel: str, bundles: Sequence[Versioned]) -> UncataloguedBundle:
    members = [candidate for candidate in bundles if channel in candidate.bundle.channels]
    highest = max(members, key=by_version)
    if sum(not compare(candidate, highest) for candidate in members) > 1:
        raise _BadListError(f"more than one potential channel head for {channel}")
    return highest.bundle


def _declared_default(bundles: Sequence[Versioned]) -> str:
    """The default channel that the highest bundle to declare one declares, in the order of the list."""
    highest = bundles[0]
    default = ""
    for candidate in bundles:
        # Of two that are as high the later one decides, so the order of the list matters (R-CAT-144).
        if compare(candidate, highest) >= 0:
            highest = candidate
            default = candidate.bundle.default_channel or default
    if sum(not compare(candidate, highest) for candidate in bundles) > 1:
        raise _BadListError(f"more than one bundle with maximum version {highest.version}")
    return default


def _default_channel(default: str, heads: Mapping[str, UncataloguedBundle]) -> str:
    """The declared default channel if there is such a channel, else the only one."""
    if default in heads or (len(heads) == 1 and not default):
        return next(iter(heads)) if len(heads) == 1 else default
    listed = " ".join(f"{channel}:{head.name}" for channel, head in sorted(heads.items()))
    raise _BadListError(f"unable to determine default channel among channel heads: map[{listed}]")


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
        inside = [member for member in strict if channel in member.bundle.channels]
        entries = _by_patch(_ordered(inside)) if skip_patches else _in_a_row(_ordered(inside))
        channels[channel] = Channel(channel, name, entries, inside[0].bundle.location)
    served = {bundle.name: _served(bundle, name, report) for bundle in members}
    return Package(name, default, channels, served, location=members[0].location)


def _ordered(inside: Sequence[Versioned]) -> list[Versioned]:
    ordered = sorted(inside, key=lambda member: member.version)
    for member, following in pairwise(ordered):
        # Build metadata gives versions no order, and a row without an order has no edges.
        if not member.version.compare(following.version):
            raise _BadListError(f"Bundle version {following.bundle.version} already added to index")
    return ordered


def _in_a_row(ordered: Sequence[Versioned]) -> tuple[ChannelEntry, ...]:
    """Each version replaces the one before it."""
    names = ["", *(member.bundle.name for member in ordered)]
    return tuple(entry(member.bundle, before) for before, member in zip(names, ordered, strict=False))


def _by_patch(ordered: Sequence[Versioned]) -> tuple[ChannelEntry, ...]:
    """The newest patch of each minor version replaces that of the one before and skips its own older patches."""
    entries: list[ChannelEntry] = []
    before = ""
    for _, group in groupby(ordered, key=lambda member: (member.version.major, member.version.minor)):
        *older, head = [member.bundle for member in group]
        entries += [entry(bundle) for bundle in older]
        entries.append(entry(head, before, tuple(bundle.name for bundle in older)))
        before = head.name
    return tuple(entries)


_BUILDERS: Mapping[IndexingMode, Callable[[str, Sequence[UncataloguedBundle], Report], Package]] = {
    "replaces": _from_replaces,
    "semver": partial(_from_versions, skip_patches=False),
    "semver-skippatch": partial(_from_versions, skip_patches=True),
}


_NO_CAUSE = "%!s(<nil>)"
"""OLM's text in these places, where it prints an error and has none."""

CRDS, CSVS, PACKAGES = "customResourceDefinitions", "clusterServiceVersions", "packages"


@dataclass(slots=True)
class _ConfigMapReading:
    """The state of reading a ConfigMap; `source` is its document."""

    data: Mapping[str, Any]
    source: Source
    report: Report
    crds: dict[APIKey, KubernetesObject] = field(default_factory=dict)
    bundles: dict[str, UncataloguedBundle] = field(default_factory=dict)
    packages: dict[str, Package] = field(default_factory=dict)
    errors: list[CatalogError] = field(default_factory=list)

    def place(self, key: str) -> Place:
        return Place(self.source, ("data", key) if key in self.data else ())

    def refuse(self, key: str, cause: object) -> None:
        self.errors.append(CatalogError(rules.BAD_CONFIGMAP, self.place(key), {"cause": cause}))


class _ConfigMapStop(Exception):  # noqa: N818  (the end of the reading, reported already)
    """OLM reads no further."""


def catalog_from_configmap(obj: KubernetesObject, source: Source, report: Report) -> Catalog:
    """The catalog in the ConfigMap `obj`, whose document is `source`, or an unavailable one (R-CAT-150)."""
    data = obj.get("data")
    work = _ConfigMapReading(data if isinstance(data, dict) else {}, source, report)
    # OLM reads CSVs against the CRDs, and packages against the CSVs: what stops the one makes the next meaningless.
    try:
        _read_crds(work)
        _read_csvs(work)
        _read_packages(work)
    except _ConfigMapStop:
        pass
    report_errors(work.errors, report)
    if work.errors:
        return unavailable(aggregated(error.text for error in work.errors), Place(source))
    return Catalog(work.packages, location=Place(source))


def _list_in(work: _ConfigMapReading, key: str, what: str) -> list[dict[str, Any]]:
    """The items of the list in the text under `key`; `what` names it in OLM's errors."""
    if key not in work.data:
        work.refuse(key, f"couldn't find expected key {key} in configmap")
        raise _ConfigMapStop
    findings = Report()
    text = work.data[key]
    documents = read(work.source.path, text if isinstance(text, str) else "", findings)
    problem = next((finding.message for finding in findings if finding.severity is Severity.ERROR), "")
    if problem:
        work.refuse(key, f"error loading {what} list: {problem}" if what else problem)
        raise _ConfigMapStop
    value = documents[0].value if documents else None
    wrong = value if not isinstance(value, list | None) else _first_wrong(value or [])
    if wrong is not None:
        cause = f"json: cannot unmarshal {json_kind(wrong)} into an item of {key}"
        work.refuse(key, f"error parsing {what} list: {cause}" if what else cause)
        raise _ConfigMapStop
    return [item for item in value or () if item is not None]


def _first_wrong(items: list[Any]) -> Any:
    return next((item for item in items if item is not None and not isinstance(item, dict)), None)


def _read_crds(work: _ConfigMapReading) -> None:
    for crd in _list_in(work, CRDS, ""):
        whole = _with_versions(crd)
        for api in crd_apis(whole):
            if api in work.crds:
                work.refuse(CRDS, f"can't add the same CRD twice in one configmap: {api}")
            work.crds.setdefault(api, whole)


def _with_versions(crd: KubernetesObject) -> KubernetesObject:
    spec = crd.get("spec")
    # OLM decodes all of them as v1beta1, independent of their apiVersion.
    whole = {"apiVersion": "apiextensions.k8s.io/v1beta1", **crd}
    if isinstance(spec, dict) and spec.get("versions") is None and spec.get("version"):
        version = {"name": spec["version"], "served": True, "storage": True}
        whole["spec"] = {**spec, "versions": [version]}
    return whole


def _read_csvs(work: _ConfigMapReading) -> None:
    csvs = _list_in(work, CSVS, "CSV")
    error = decode_error("[]registry.ClusterServiceVersion", csvs)
    if error is not None:
        work.refuse(CSVS, f"error parsing CSV list: {error}")
        raise _ConfigMapStop
    for csv in csvs:
        bundle = UncataloguedBundle("", (), "", csv, (csv, *_owned_crds(csv, work)), location=work.place(CSVS))
        # Alpha features are enabled where an index is built. olmc builds no index, so they are off (R-CAT-142).
        if base_of(bundle):
            work.errors.append(CatalogError(rules.SUBSTITUTES_FOR, bundle.location))
        try:
            required_apis(bundle.objects)
        except ValueError as error:
            work.refuse(CSVS, f"error adding operator bundle {bundle.name}/{bundle.version}/: {error}")
            continue
        work.bundles.setdefault(bundle.name, bundle)


def _owned_crds(csv: KubernetesObject, work: _ConfigMapReading) -> list[KubernetesObject]:
    """The CRDs that a CSV owns in the order in which it lists them, each once (D9)."""
    crds: list[KubernetesObject] = []
    try:
        for api in described_crds(Csv(csv).owned_crds):
            crd = work.crds.get(api)
            if crd is None:
                work.refuse(CSVS, f"couldn't find owned CRD in crd list {api}: {_NO_CAUSE}")
            elif not any(crd is listed for listed in crds):
                crds.append(crd)
    except ValueError:
        work.refuse(CSVS, f"error parsing owned name: {_NO_CAUSE}")
    return crds


def _read_packages(work: _ConfigMapReading) -> None:
    for item in _list_in(work, PACKAGES, "package"):
        try:
            manifest = package_manifest(item, work.place(PACKAGES))
        except DecodeError as error:
            work.refuse(PACKAGES, f"error parsing package list: {error}")
            raise _ConfigMapStop from None
        work.packages[manifest.name], problems = package_of(manifest, work.bundles, database_bundle, work.report)
        if problems:
            work.refuse(PACKAGES, joined(problems, f"error loading package {manifest.name}"))
