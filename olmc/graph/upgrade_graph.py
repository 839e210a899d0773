"""The upgrade graph of a package: its versions, what upgrades to what, and who never gets to the head of a channel.

An edge is drawn exactly where OLM would take it (R-CAT-410): into an entry that the channel's order has (R-CAT-402, so
never into one that another entry skips) and that may be installed (R-CAT-431), from a version of the channel that it
replaces, skips, or has in its skipRange. A channel that OLM can't order has no upgrades at all; for such a channel the
edges are those that its entries declare, so that one can see what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from olmc.catalogs.model_checks import heads as unreplaced
from olmc.lean import NamedTuple, regex
from olmc.model.catalog import Candidate, CatalogBundle, Channel, ChannelEntry, Package
from olmc.model.objects import CatalogKey
from olmc.output.unicode import clean
from olmc.resolver.snapshot import entry_of_candidate
from olmc.resolver.upgrade_path import (
    EDGE_KINDS,
    ChannelError,
    EdgeKind,
    Scale,
    as_set,
    members,
    ordered,
    precedence,
    scale_of,
    sources,
    union,
)
from olmc.semver import tolerant_or_none

_DEPRECATED = "olm.deprecated"
_VERSION_IN_NAME = regex(r"v?([0-9]+\.[0-9]+\.[0-9]+.*)$")


class Vertex(NamedTuple):
    """A version: `version` is "" where the catalog has no bundle of that name (`missing`).

    `channels` are those with an entry for it, `heads` those whose head it is, `skipped` those in which another entry
    skips it, `stranded` those in which its upgrades never lead to the head. `deprecated`: by `olm.deprecations`, with a
    `message`, or by the property `olm.deprecated`, which also means that OLM never installs it (`barred`).
    """

    name: str
    version: str
    channels: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    stranded: tuple[str, ...] = ()
    deprecated: bool = False
    message: str = ""
    barred: bool = False
    missing: bool = False


class Edge(NamedTuple):
    """An upgrade from one CSV name to another, for one reason, in these channels."""

    source: str
    target: str
    kind: EdgeKind
    channels: tuple[str, ...]


class ChannelView(NamedTuple):
    """A channel.

    `entries` are those that have a bundle, by name, `members` the names of all entries and of those that they mention,
    in the order of versions, `candidates` the entries that OLM tries, in its order; `first` says where it goes from
    each member, as far as the catalog decides. `problem` is OLM's text for a channel that it can't order; such a
    channel has no candidates.
    """

    name: str
    is_default: bool
    entries: Mapping[str, ChannelEntry]
    members: tuple[str, ...]
    heads: tuple[str, ...]
    candidates: tuple[str, ...]
    first: Mapping[str, str]
    problem: str = ""
    deprecated: bool = False
    message: str = ""


class UpgradeGraph(NamedTuple):
    """A package: its channels (the default one first, then by name), versions in their order, edges by target.

    `deprecated` and `message` are those of the whole package.
    """

    package: str
    default_channel: str
    channels: tuple[ChannelView, ...]
    versions: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    deprecated: bool = False
    message: str = ""

    def vertices(self) -> dict[str, Vertex]:
        """The versions by name."""
        return {vertex.name: vertex for vertex in self.versions}


class _Versions(NamedTuple):
    """The versions that channels mention: their names in order, numbers and scale; sets of numbers are integers."""

    names: tuple[str, ...]
    numbers: Mapping[str, int]
    scale: Scale
    barred: int


_Arrows = dict[int, list[int]]
"""By target the sources of each kind of edge, as sets."""


class _ChannelGraph(NamedTuple):
    """A channel with its edges, and its stranded and skipped versions."""

    view: ChannelView
    arrows: _Arrows
    stranded: int
    skipped: int


def upgrade_graph(package: Package, channels: Iterable[str] | None = None) -> UpgradeGraph:
    """The graph of a package, or of some of its channels (R-CAT-401, R-CAT-402, R-CAT-410, R-CAT-430, R-CAT-431)."""
    wanted = package.channels.keys() if channels is None else set(channels)
    chosen = [channel for name, channel in sorted(package.channels.items()) if name in wanted]
    chosen.sort(key=lambda channel: channel.name != package.default_channel)
    known = _versions_of(package, chosen)
    graphs = [_channel(channel, package, known) for channel in chosen]
    deprecation = next((item for item in package.deprecations if item.schema == "olm.package"), None)
    return UpgradeGraph(
        package.name,
        package.default_channel,
        tuple(graph.view for graph in graphs),
        tuple(_vertices(package, known, chosen, graphs)),
        tuple(_edges(known, graphs)),
        deprecation is not None,
        deprecation.message if deprecation else "",
    )


def _versions_of(package: Package, channels: Iterable[Channel]) -> _Versions:
    bundles: dict[str, CatalogBundle | None] = {}
    for channel in channels:
        for entry in channel.entries:
            for name in filter(None, (entry.name, entry.replaces, *entry.skips)):
                # Names that are only mentioned may be installed, so they are vertices as well.
                bundles[name] = package.bundles.get(name)
    names = tuple(sorted(bundles, key=lambda name: _rank(name, bundles[name])))
    numbers = {name: number for number, name in enumerate(names)}
    served = [(numbers[name], bundle) for name, bundle in bundles.items() if bundle is not None]
    versions = {number: tolerant_or_none(bundle.version) for number, bundle in served}
    # A channel may have thousands of entries, and a skipRange holds many of them: sets of versions as integers make
    # that a few operations.
    scale = scale_of({number: version for number, version in versions.items() if version is not None})
    return _Versions(names, numbers, scale, as_set(number for number, bundle in served if _is_barred(bundle)))


def _rank(name: str, bundle: CatalogBundle | None) -> tuple[object, ...]:
    version = tolerant_or_none(bundle.version) if bundle is not None else None
    # A missing bundle has no version; the one in its name puts it where a reader looks for it.
    version = version or tolerant_or_none(version_in(name))
    return (False, name) if version is None else (True, precedence(version), name)


def version_in(name: str) -> str:
    """The version that the name of a CSV ends with, "" for none; good for a label, not for a decision."""
    match = _VERSION_IN_NAME.search(name)
    return match[1] if match else ""


def label(vertex: Vertex) -> str:
    """What a version is called in a drawing: the version, else the one in its name, else the name."""
    return clean(vertex.version or version_in(vertex.name) or vertex.name)


def _is_barred(bundle: CatalogBundle) -> bool:
    return any(prop.type == _DEPRECATED for prop in bundle.properties)


def _channel(channel: Channel, package: Package, known: _Versions) -> _ChannelGraph:
    mentioned = (name for entry in channel.entries for name in (entry.name, entry.replaces, *entry.skips))
    inside = as_set(known.numbers[name] for name in mentioned if name)
    served = [entry for entry in channel.entries if entry.name in package.bundles]
    order, problem = _order(served, channel)
    # R-CAT-431: OLM takes none with the property, but it is there, and others may replace it.
    tried = [entry for entry in order if not known.barred >> known.numbers[entry.name] & 1]
    arrows = {
        known.numbers[e.name]: sources(e, known.numbers, known.scale, inside) for e in (served if problem else tried)
    }
    chosen = {} if problem else _choices([known.numbers[entry.name] for entry in tried], arrows, inside)
    heads = unreplaced(served) if problem else [entry.name for entry in order[:1]]
    into = {target: union(kinds) for target, kinds in arrows.items()} if problem else chosen
    # Without an order nothing says where OLM goes first, so any edge that leads on will do.
    reached = _reached(as_set(known.numbers[name] for name in heads), into)
    # Versions without a bundle can't be installed anew, so it is no loss where they end.
    alive = as_set(known.numbers[entry.name] for entry in served)
    deprecation = next((d for d in package.deprecations if (d.schema, d.name) == ("olm.channel", channel.name)), None)
    view = ChannelView(
        channel.name,
        channel.name == package.default_channel,
        {entry.name: entry for entry in served},
        tuple(known.names[number] for number in members(inside)),
        tuple(heads),
        tuple(entry.name for entry in tried),
        {known.names[s]: known.names[target] for target, numbers in chosen.items() for s in members(numbers)},
        problem,
        deprecation is not None,
        deprecation.message if deprecation else "",
    )
    skipped = as_set(known.numbers[name] for entry in channel.entries for name in entry.skips if name)
    return _ChannelGraph(view, arrows, alive & ~reached if heads else 0, skipped)


def _order(served: list[ChannelEntry], channel: Channel) -> tuple[list[ChannelEntry], str]:
    """The entries in the order in which OLM tries them, or its text for why they have none (R-CAT-402)."""
    if len(served) == 1:
        return served, ""  # OLM orders only several
    key = CatalogKey("", "")
    items = [
        entry_of_candidate(
            Candidate(e.name, channel.package, channel.name, key, "", (), replaces=e.replaces, skips=e.skips)
        )
        for e in served
    ]
    try:
        chain = ordered(items)
    except ChannelError as error:
        return [], str(error)
    by_name = {entry.name: entry for entry in served}
    return [by_name[item.name] for item in chain], ""


def _choices(order: Iterable[int], arrows: _Arrows, inside: int) -> dict[int, int]:
    """The versions that go to each entry because no entry before it in the order takes them."""
    # OLM takes the first candidate that fits, so what an earlier entry has taken never gets to a later one (R-CAT-410).
    left = inside
    choices: dict[int, int] = {}
    for target in order:
        choices[target] = union(arrows[target]) & left
        left &= ~choices[target]
    return choices


def _reached(heads: int, into: Mapping[int, int]) -> int:
    """The versions from which the edges `into` lead to one of the heads, these included."""
    reached = fresh = heads
    while fresh:
        # Backwards from the heads, each version once: forwards every version would walk the same way.
        fresh = union(into.get(target, 0) for target in members(fresh)) & ~reached
        reached |= fresh
    return reached


def _vertices(
    package: Package, known: _Versions, channels: Iterable[Channel], graphs: list[_ChannelGraph]
) -> Iterator[Vertex]:
    entries: dict[str, list[str]] = {}
    for channel in channels:
        for name in dict.fromkeys(entry.name for entry in channel.entries):
            entries.setdefault(name, []).append(channel.name)
    messages = {item.name: item.message for item in package.deprecations if item.schema == "olm.bundle"}
    for number, name in enumerate(known.names):
        bundle = package.bundles.get(name)
        barred = bool(known.barred >> number & 1)
        yield Vertex(
            name,
            bundle.version if bundle is not None else "",
            tuple(entries.get(name, ())),
            tuple(graph.view.name for graph in graphs if name in graph.view.heads),
            tuple(graph.view.name for graph in graphs if graph.skipped >> number & 1),
            tuple(graph.view.name for graph in graphs if graph.stranded >> number & 1),
            barred or name in messages,
            messages.get(name, ""),
            barred,
            bundle is None,
        )


def _edges(known: _Versions, graphs: list[_ChannelGraph]) -> Iterator[Edge]:
    for target, name in enumerate(known.names):
        views = [(graph.view.name, graph.arrows[target]) for graph in graphs if target in graph.arrows]
        for index, kind in enumerate(EDGE_KINDS):
            sets = [(channel, arrows[index]) for channel, arrows in views if arrows[index]]
            together = tuple(channel for channel, _ in sets)
            for source in members(union(numbers for _, numbers in sets)):
                channels = tuple(c for c, numbers in sets if numbers >> source & 1) if len(sets) > 1 else together
                yield Edge(known.names[source], name, kind, channels)
