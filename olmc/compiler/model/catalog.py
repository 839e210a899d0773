"""Catalogs: packages, channels and bundles; and what the resolver is asked about them and answers (R-CAT-500 …
R-CAT-572).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from olmc.k8s.diagnostics import Location, Place
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import CONFLICTS, CONFLICTS_PER_SECOND, CelAccount
from olmc.k8s.objects import GVK, CatalogKey, KubernetesObject

if TYPE_CHECKING:
    from olmc.k8s.objects import Manifest


class Property(NamedTuple):
    """A property of a bundle: its type (`olm.gvk` …) and its decoded JSON value, its keys in OLM's order."""

    type: str
    value: Any


class ChannelEntry(NamedTuple):
    """An entry of a channel: a bundle's name and its upgrade edges."""

    name: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""
    location: Place | None = None


class Channel(NamedTuple):
    """A channel of a package with its entries in source order."""

    name: str
    package: str
    entries: tuple[ChannelEntry, ...]
    location: Place | None = None


class CatalogBundle(NamedTuple):
    """A bundle as a catalog lists it.

    `image` is "" for inline content, `properties` are all its properties in source order, `version` is the
    text of its `olm.package` property. `objects` are its manifests where the input had them as objects; those
    inside of properties `olm.bundle.object` stay encoded until someone asks (`inline_objects` in load).
    """

    name: str
    package: str
    image: str
    version: str
    properties: tuple[Property, ...]
    objects: tuple[KubernetesObject, ...] = ()
    related_images: tuple[str, ...] = ()
    location: Place | None = None


class Deprecation(NamedTuple):
    """An entry of `olm.deprecations`: `schema` and `name` of what is deprecated (no name for the package)."""

    schema: str
    name: str
    message: str


class Package(NamedTuple):
    """A package: its default channel, channels, bundles by name, deprecations."""

    name: str
    default_channel: str
    channels: Mapping[str, Channel]
    bundles: Mapping[str, CatalogBundle]
    deprecations: tuple[Deprecation, ...] = ()
    description: str = ""
    icon: Mapping[str, Any] = MappingProxyType({})
    location: Place | None = None


class LeftOutPackage(NamedTuple):
    """A package of a catalog that was not vendored with the rest: the packages that its bundles say they are of, the
    APIs that they provide and the labels that they carry, which is what requirements of others can be about."""

    name: str
    packages: tuple[str, ...] = ()
    apis: tuple[GVK, ...] = ()
    labels: tuple[str, ...] = ()


class CatalogIndex(NamedTuple):
    """An index of the packages of a catalog by what others may ask for, each in the order of their names. `counts` is
    the number of entries of a package, `names` are those of its CSVs, `apis`, `packages` and `labels` those that its
    properties offer. `copies` counts a `channel/name` that is there more than once (R-CAT-566)."""

    counts: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]
    apis: Mapping[GVK, tuple[str, ...]]
    packages: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, tuple[str, ...]]
    copies: Mapping[str, int]


class Catalog(NamedTuple):
    """The content that a CatalogSource serves; `problem` is OLM's text for why it can't be served, or "".

    `images` are the bundles that its templates name and that are no folders of the workspace. `files` are those that
    were read, `unused` the objects in them that a catalog ignores. `left_out` are its other packages, of which
    no more is known. `entry_index` is what is known of its entries without making them;
    `self_contained`: its files alone say all of it, so that they need not be read again.

    Where the parts do not fit together, `documents` are the packages as the documents have them, for a server that
    compares nothing. `unread` is Go's text for a document that no server can read, `spoilt` by package that for one
    with a wrong shape. `lacks_bundles`: nothing is wrong with it but that its templates name bundles that the workspace
    does not have.
    """

    packages: Mapping[str, Package]
    problem: str = ""
    location: Place | None = None
    images: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    unused: tuple[Manifest, ...] = ()
    left_out: tuple[LeftOutPackage, ...] = ()
    entry_index: CatalogIndex | None = None
    self_contained: bool = False
    documents: Mapping[str, Package] = MappingProxyType({})
    unread: str = ""
    spoilt: Mapping[str, str] = MappingProxyType({})
    lacks_bundles: bool = False


def names_of_bundles(catalogs: Iterable[Catalog]) -> set[str]:
    """The names of all bundles of catalogs."""
    return {name for catalog in catalogs for name in _names_of_bundles(catalog)}


def _names_of_bundles(catalog: Catalog) -> Iterable[str]:
    if catalog.entry_index is not None:  # of a sound catalog, in which each is an entry of a channel
        return catalog.entry_index.names
    return (name for package in catalog.packages.values() for name in package.bundles)


class Candidate(NamedTuple):
    """A served bundle of one channel as the resolver sees it (R-CAT-303): the same CSV in two channels is two of these.

    `version` is the text served, `properties` the effective list, derived `.required` ones included. One that is
    `withheld` counts for the order of its channel and can't be chosen: `olmc.lock` keeps to other versions.
    `location` is the document with the entry, which is only located when somebody asks; `bundle` is where the bundle
    itself stands.
    """

    name: str
    package: str
    channel: str
    catalog: CatalogKey
    version: str
    properties: tuple[Property, ...]
    default_channel: bool = False
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""
    image: str = ""
    location: Place | Location | None = None
    withheld: bool = False
    bundle: Place | None = None


class VisibleCatalog(NamedTuple):
    """A CatalogSource that the namespace sees: its entries by package, channel, or the reason why it can't be read; and
    the packages that were not vendored."""

    key: CatalogKey
    priority: int = 0
    entries: Sequence[Candidate] = ()
    problem: str = ""
    left_out: tuple[LeftOutPackage, ...] = ()


class SubscriptionRequest(NamedTuple):
    """A Subscription as far as the resolver is concerned; `installed` and `current` are the CSVs of its status.

    For messages, `location` is the place of its spec, `fields` has those of the spec's fields, and `kind` is Operator
    if an Operator asks.
    """

    name: str
    package: str
    channel: str
    catalog: CatalogKey
    starting: str = ""
    installed: str = ""
    current: str = ""
    location: Location | None = None
    fields: tuple[tuple[str, Location], ...] = ()
    kind: str = "Subscription"

    @property
    def in_texts(self) -> str:
        """Kind and name as the texts of a resolution have them: OLM's say subscription, and operator for a bundle, so
        that an Operator keeps its capital."""
        return f"{'subscription' if self.kind == 'Subscription' else self.kind} {self.name}"

    def place_of(self, field: str) -> Location | None:
        """The place of a field of the spec, or what is known instead."""
        return next((place for name, place in self.fields if name == field), self.location)


class InstalledEntry(NamedTuple):
    """A CSV that exists in the namespace and is no copy (R-CAT-503); `properties` per R-CAT-310.

    `namespace` is its own where the request is about the whole cluster, else "". `elsewhere`: a descoped operator of
    another namespace, which meets requirements and is no part of the problem itself (R-DESCOPE-11).
    """

    name: str
    version: str
    properties: tuple[Property, ...]
    replaces: str = ""
    phase: str = ""
    location: Location | None = None
    namespace: str = ""
    elsewhere: bool = False


class ResolveRequest(NamedTuple):
    """One namespace to resolve: the catalogs it sees, its Subscriptions, and the CSVs that it holds.

    `shared`: group and kind of the APIs that any number of bundles may provide. `whole_cluster`: it is not about one
    namespace but about all of them, and requests are named with theirs.
    `unheeded` are the types of properties that state a requirement, but not to this OLM. `legacy_precedence`: upgrades
    may come from other catalogs where the Subscription's own has none (D17). `timeout`: how long the solver may search,
    in seconds of a machine that has CONFLICTS_PER_SECOND; 0 for what is usual. `cel`: what rules in CEL cost so far.
    `catalog_error`: how the message about a catalog that can't be used begins, with {name} and {namespace}.
    `elsewhere`: the descoped operators of other namespaces.
    """

    namespace: str
    catalogs: tuple[VisibleCatalog, ...]
    requests: tuple[SubscriptionRequest, ...]
    present: tuple[InstalledEntry, ...] = ()
    fail_forward: bool = False
    shared: frozenset[tuple[str, str]] = frozenset()
    whole_cluster: bool = False
    unheeded: frozenset[str] = frozenset()
    legacy_precedence: bool = False
    timeout: int = 0
    cel: CelAccount | None = None
    catalog_error: str = "error using catalogsource {namespace}/{name}"
    elsewhere: tuple[InstalledEntry, ...] = ()

    @property
    def conflicts(self) -> int:
        """Return how many conflicts the solver may run into."""
        return self.timeout * CONFLICTS_PER_SECOND or CONFLICTS.most

    @property
    def scope(self) -> str:
        """Return the scope of the resolution, in words."""
        return "the cluster" if self.whole_cluster else f"namespace {self.namespace}"

    @property
    def kind(self) -> str:
        """The kind of those who ask."""
        return self.requests[0].kind if self.requests else "Subscription"


class Selection(NamedTuple):
    """A bundle that the resolver selects, and the `spec.replaces` that its CSV is going to have (R-CAT-414)."""

    candidate: Candidate
    replaces: str


class Resolution(NamedTuple):
    """The selections to install, in selection order (D21), or OLM's message for a failed resolution.

    `reason` is the reason of the Subscriptions' condition ResolutionFailed: "" on success, `ConstraintsNotSatisfiable`
    or `ErrorPreventedResolution`; `conflict` are the texts of the constraints that can't hold together (R-CAT-570).
    """

    selections: tuple[Selection, ...] = ()
    message: str = ""
    reason: str = ""
    conflict: tuple[str, ...] = ()


# The entries that a registry serves, made package by package when somebody asks for them (R-CAT-303).
#
# A catalog has thousands of bundles, and a resolution looks at those of a few packages. Which these are the index says.


class ServedEntries(Sequence[Candidate]):
    """The entries of a catalog by package, channel and place in the channel; `of` gives those of one package."""

    def __init__(self, index: CatalogIndex, of_package: Callable[[str], Sequence[Candidate]]) -> None:
        self.catalog_index = index
        self._of_package = of_package
        self._known: dict[str, Sequence[Candidate]] = {}

    def of(self, package: str) -> Sequence[Candidate]:
        """The entries of a package, () for one that the catalog does not serve."""
        if package not in self._known:
            self._known[package] = self._of_package(package) if package in self.catalog_index.counts else ()
        return self._known[package]

    def named(self, name: str) -> Iterator[Candidate]:
        """The entries of a name, in order."""
        packages = self.catalog_index.names.get(name, ())
        return (entry for package in packages for entry in self.of(package) if entry.name == name)

    def changed(self, change: Callable[[Candidate], Candidate]) -> ServedEntries:
        """The same entries, each changed in what the index does not know of."""
        return ServedEntries(self.catalog_index, lambda package: tuple(map(change, self.of(package))))

    def __iter__(self) -> Iterator[Candidate]:
        return (entry for package in self.catalog_index.counts for entry in self.of(package))

    def __len__(self) -> int:
        return sum(self.catalog_index.counts.values())

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def of_package(entries: Sequence[Candidate], package: str) -> Sequence[Candidate]:
    """The entries of a package."""
    if isinstance(entries, ServedEntries):
        return entries.of(package)
    return [entry for entry in entries if entry.package == package]


def named(entries: Sequence[Candidate], name: str) -> Iterator[Candidate]:
    """The entries of a name, in order."""
    if isinstance(entries, ServedEntries):
        return entries.named(name)
    return (entry for entry in entries if entry.name == name)
