"""The choices of a namespace: the entries of the catalogs that it sees and its existing CSVs, indexed and in order
(R-CAT-502)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby

from olmc.compiler.catalogs.properties import indexed
from olmc.compiler.model.catalog import (
    Candidate,
    CatalogIndex,
    InstalledEntry,
    LeftOutPackage,
    Property,
    ResolveRequest,
    ServedEntries,
)
from olmc.compiler.model.cluster import CatalogSource, Cluster
from olmc.compiler.model.options import Options
from olmc.compiler.olm.facts import declared_packages
from olmc.k8s.diagnostics import Location
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import GVK, CatalogKey
from olmc.k8s.semver import Version, parse_tolerant, strict_or_none, tolerant_or_none
from olmc.k8s.yaml import located

__all__ = [
    "EXISTING",
    "ChannelKey",
    "Entry",
    "Snapshot",
    "entry_of_candidate",
    "entry_of_installed",
    "needed_catalogs",
    "snapshot_of",
    "visible_catalogs",
]

EXCLUDE_GLOBAL = "olm.operatorframework.io/exclude-global-namespace-resolution"


def visible_catalogs(cluster: Cluster, namespace: str, options: Options) -> tuple[CatalogSource, ...]:
    """The catalogs that a namespace sees: its own, and the global ones unless its group leaves them out (R-CAT-502)."""
    groups = cluster.groups_in(namespace)
    annotations = groups[0].annotations if groups else {}
    namespaces = {namespace}
    # OLM compares with this very text: "True" leaves nothing out (R-CAT-502).
    if annotations.get(EXCLUDE_GLOBAL) != "true":
        namespaces.add(options.global_catalog_namespace)
    return tuple(source for source in _counting(cluster) if source.key.namespace in namespaces)


def _counting(cluster: Cluster) -> Iterator[CatalogSource]:
    """The catalogs that the resolver asks, in order; older releases do not ask for one that OLM does not serve."""
    is_asked = cluster.profile.resolver_catalog_refused == "blocks"
    return (source for _, source in sorted(cluster.catalogs.items()) if is_asked or not source.refused)


def needed_catalogs(cluster: Cluster, options: Options, *, clusterwide: bool = False) -> tuple[CatalogSource, ...]:
    """The catalogs that some namespace with Subscriptions sees, in order: one that can't be read fails them all.

    With `clusterwide` all catalogs: Operators are resolved over every one (R-OPERATOR-8).
    """
    if clusterwide:
        return tuple(_counting(cluster))
    namespaces = cluster.subscriptions.parts
    seen = {source.key: source for each in namespaces for source in visible_catalogs(cluster, each, options)}
    return tuple(source for _, source in sorted(seen.items()))


EXISTING = "@existing"
_ZERO = parse_tolerant("0.0.0")


# Without slots: most entries are never asked for more than their place, so the rest is read when it is asked for.
@dataclass(frozen=True, eq=False)
class Entry:
    """A bundle that could be chosen, of a catalog or existing (`channel` is "" then); one per CSV and channel.

    `identifier` per R-CAT-520. `package` is the package that it was served in, for an existing CSV the one of its
    last `olm.package` property (R-CAT-310).
    """

    identifier: str
    name: str
    package: str
    channel: str
    catalog: CatalogKey
    origin: Candidate | InstalledEntry

    @property
    def properties(self) -> tuple[Property, ...]:
        return self.origin.properties

    @cached_property
    def apis(self) -> tuple[GVK, ...]:
        """The APIs that it provides, one given twice twice, because that counts (D18)."""
        return tuple(GVK(**api) for api in _decoded(self.properties, "olm.gvk"))

    @cached_property
    def packages(self) -> tuple[tuple[str, str], ...]:
        """The package and the version of each `olm.package` property."""
        return tuple(declared_packages(self.properties))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(each["label"] for each in _decoded(self.properties, "olm.label"))

    # Finding a place takes parsing, and an explanation names a candidate for each bundle that may need it.
    @cached_property
    def location(self) -> Location | None:
        """Return where a catalog has it, or where the CSV stands."""
        return located(self.origin.location)

    @property
    def existing(self) -> bool:
        return isinstance(self.origin, InstalledEntry)

    @property
    def elsewhere(self) -> bool:
        """Return whether it is a descoped operator of another namespace, which nothing here can change
        (R-DESCOPE-11)."""
        return isinstance(self.origin, InstalledEntry) and self.origin.elsewhere

    @property
    def withheld(self) -> bool:
        """Return whether it only counts for the order of its channel."""
        return isinstance(self.origin, Candidate) and self.origin.withheld

    @property
    def version(self) -> Version | None:
        """The version for range checks (R-CAT-304); a CSV always has one, 0.0.0 at the least."""
        # A bundle with an invalid version is still served and installed; it is just in no range (R-CAT-304).
        version = tolerant_or_none(self.origin.version)
        return _ZERO if version is None and self.existing else version

    @cached_property
    def versions(self) -> tuple[Version, ...]:
        """The versions of which one has to be in a range (R-CAT-320): those that properties declare, and its own."""
        declared = (strict_or_none(text) for _, text in self.packages)
        return tuple(dict.fromkeys(version for version in (*declared, self.version) if version is not None))

    @property
    def replaces(self) -> str:
        """The upgrade edge to the predecessor; OLM's resolver knows none for an existing CSV."""
        return self.origin.replaces if isinstance(self.origin, Candidate) else ""

    @property
    def skips(self) -> tuple[str, ...]:
        return self.origin.skips if isinstance(self.origin, Candidate) else ()

    @property
    def skip_range(self) -> str:
        return self.origin.skip_range if isinstance(self.origin, Candidate) else ""

    @property
    def default_channel(self) -> bool:
        return isinstance(self.origin, Candidate) and self.origin.default_channel


def entry_of_candidate(candidate: Candidate) -> Entry:
    """The entry for an entry of a catalog."""
    catalog = candidate.catalog
    identifier = f"{catalog.name}/{catalog.namespace}/{candidate.channel}/{candidate.name}"
    return Entry(identifier, candidate.name, candidate.package, candidate.channel, catalog, candidate)


def entry_of_installed(present: InstalledEntry, namespace: str) -> Entry:
    """The entry for a CSV that exists in `namespace`, or in its own."""
    # A later property overwrites an earlier one in OLM's reading of a CSV (R-CAT-310).
    packages = [package for package, _ in declared_packages(present.properties)]
    package = packages[-1] if packages else ""
    identifier = f"{EXISTING}/{present.namespace or namespace}//{present.name}"
    return Entry(identifier, present.name, package, "", CatalogKey(namespace, EXISTING), present)


def _decoded(properties: Iterable[Property], kind: str) -> Iterator[dict[str, str]]:
    """The fields of each property of a type; one that can't be decoded offers nothing, as in OLM."""
    for declared in properties:
        if declared.type == kind:
            try:
                yield decode(kind, declared.value)
            except DecodeError:
                continue


class ChannelKey(NamedTuple):
    """The place of entries that are ordered together: a channel of a package in a catalog."""

    catalog: CatalogKey
    package: str
    channel: str


class CatalogItems:
    """The entries of a catalog by package, channel and name, those of a package made when they are asked for."""

    def __init__(self, entries: ServedEntries) -> None:
        self.index = entries.catalog_index
        self._entries = entries
        self._known: dict[str, dict[str, tuple[Entry, ...]]] = {}

    def channels(self, package: str) -> Mapping[str, tuple[Entry, ...]]:
        """The entries of a package by channel."""
        if package not in self._known:
            entries = sorted(self._entries.of(package), key=lambda candidate: (candidate.channel, candidate.name))
            channels = groupby(map(entry_of_candidate, entries), key=lambda entry: entry.channel)
            self._known[package] = {channel: tuple(items) for channel, items in channels}
        return self._known[package]

    def of(self, packages: Iterable[str]) -> Iterator[Entry]:
        """The entries of packages, which are given in order."""
        return (entry for package in packages for items in self.channels(package).values() for entry in items)

    def __iter__(self) -> Iterator[Entry]:
        return self.of(self.index.counts)

    def __bool__(self) -> bool:
        return bool(self.index.counts)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The entries of a namespace by catalog, and its existing CSVs, which count as a catalog as well (EXISTING).

    `copies` says of each identifier that is not unique how often it occurs (R-CAT-566). `left_out` are the packages
    that were not vendored, by catalog.
    """

    namespace: str
    priorities: Mapping[CatalogKey, int]
    existing: tuple[Entry, ...]
    catalogs: Mapping[CatalogKey, CatalogItems]
    copies: Mapping[str, int]
    shared: frozenset[tuple[str, str]] = frozenset()
    left_out: Mapping[CatalogKey, tuple[LeftOutPackage, ...]] = field(default_factory=dict)

    @property
    def unvendored(self) -> tuple[LeftOutPackage, ...]:
        """The packages that were left out of any catalog."""
        return tuple(package for packages in self.left_out.values() for package in packages)

    def items(self) -> Iterable[Entry]:
        return chain(self.existing, *self.catalogs.values())

    def providing(self, api: GVK) -> Iterator[Entry]:
        """The entries that provide an API."""
        return (entry for entry in self._having(lambda index: index.apis.get(api, ())) if api in entry.apis)

    def of_package(self, package: str) -> Iterator[Entry]:
        """The entries of a package, be it that they were served in it or that a property says so."""
        return (
            entry for entry in self._having(lambda index: _serving(index, package)) if is_of_package(entry, package)
        )

    def labelled(self, label: str) -> Iterator[Entry]:
        """The entries with a label."""
        return (entry for entry in self._having(lambda index: index.labels.get(label, ())) if label in entry.labels)

    def in_channel(self, channel: ChannelKey) -> tuple[Entry, ...]:
        """The entries of a channel, by name."""
        if channel.catalog in self.catalogs:
            return self.catalogs[channel.catalog].channels(channel.package).get(channel.channel, ())
        return tuple(entry for entry in self.existing if entry.package == channel.package)

    def _having(self, packages: Callable[[CatalogIndex], Iterable[str]]) -> Iterator[Entry]:
        return chain(self.existing, *(items.of(packages(items.index)) for items in self.catalogs.values()))

    @property
    def apis(self) -> set[GVK]:
        """All APIs that something provides."""
        return {*chain(*(i.apis for i in self.existing)), *chain(*(i.index.apis for i in self.catalogs.values()))}

    @property
    def packages(self) -> set[str]:
        """All packages that there is something of."""
        own = {package for entry in self.existing for package in (entry.package, *(name for name, _ in entry.packages))}
        return own.union(*((*items.index.counts, *items.index.packages) for items in self.catalogs.values()))

    @property
    def labels(self) -> set[str]:
        """All labels that something has."""
        return {*chain(*(i.labels for i in self.existing)), *chain(*(i.index.labels for i in self.catalogs.values()))}

    def order(self, own: CatalogKey) -> list[CatalogKey]:
        """The catalogs in the order in which a requirement of a bundle from `own` tries them (R-CAT-530)."""

        # Existing CSVs, then the own catalog: spec.priority only orders what comes behind these (R-CAT-530).
        def rank(key: CatalogKey) -> tuple[bool, bool, int, bool, str, str]:
            return (
                key.name != EXISTING,
                key != own,
                -self.priorities.get(key, 0),
                key.namespace != self.namespace,
                key.namespace,
                key.name,
            )

        return sorted((CatalogKey(self.namespace, EXISTING), *self.catalogs), key=rank)


def snapshot_of(resolve_request: ResolveRequest, present: Iterable[InstalledEntry]) -> Snapshot:
    """The snapshot for a request whose existing CSVs are `present` (what R-CAT-504 leaves of them), in fixed order."""
    existing = tuple(
        entry_of_installed(each, resolve_request.namespace)
        for each in sorted((*present, *resolve_request.elsewhere), key=lambda csv: csv.name)
    )
    # What comes first is preferred where no rule decides; OLM leaves that to the order of maps and of what a registry
    # sends, we to names (D2).
    served = sorted((each for each in resolve_request.catalogs if not each.problem), key=lambda catalog: catalog.key)
    catalogs = {catalog.key: CatalogItems(indexed(catalog.entries)) for catalog in served}
    times = Counter(entry.identifier for entry in existing)
    copies = {identifier: number for identifier, number in times.items() if number > 1}
    for key, items in catalogs.items():
        copies |= {f"{key.name}/{key.namespace}/{name}": number for name, number in items.index.copies.items()}
    return Snapshot(
        resolve_request.namespace,
        {catalog.key: catalog.priority for catalog in resolve_request.catalogs},
        existing,
        catalogs,
        copies,
        resolve_request.shared,
        {
            catalog.key: catalog.left_out
            for catalog in resolve_request.catalogs
            if catalog.left_out and not catalog.problem
        },
    )


def is_of_package(entry: Entry, package: str) -> bool:
    """Return whether an entry is of a package: it was served in it, or a property says so."""
    return entry.package == package or any(name == package for name, _ in entry.packages)


def _serving(index: CatalogIndex, package: str) -> list[str]:
    """The packages of a catalog with entries of a package, in order."""
    return sorted({*index.packages.get(package, ()), *({package} & index.counts.keys())})
