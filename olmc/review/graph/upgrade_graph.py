"""The upgrade graph of a package: its versions, what upgrades to what, and who never gets to the head of a channel.

An edge is drawn exactly where OLM would take it (R-CAT-410): into an entry that the channel's order has (R-CAT-402, so
never into one that another entry skips) and that may be installed (R-CAT-431), from a version of the channel that it
replaces, skips, or has in its skipRange. A channel that OLM can't order has no upgrades at all; for such a channel the
edges are those that its entries declare, so that one can see what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from olmc.compiler.catalogs.content import heads as unreplaced
from olmc.compiler.model.catalog import Candidate, CatalogBundle, Channel, ChannelEntry, Package
from olmc.compiler.olm.facts import version_in
from olmc.compiler.output.messages import QueryError, clean, not_found
from olmc.compiler.resolver.snapshot import entry_of_candidate
from olmc.compiler.resolver.upgrade_path import (
    EDGE_KINDS,
    ChannelError,
    EdgeKind,
    Scale,
    as_set,
    edge_kind,
    members,
    ordered,
    precedence,
    scale_of,
    sources,
    union,
)
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import CatalogKey
from olmc.k8s.semver import tolerant_or_none

_DEPRECATED = "olm.deprecated"


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


def label(vertex: Vertex) -> str:
    """Return the name of a version in a drawing: the version, else the one in its name, else the name."""
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
    # Without an order the first target of OLM is unknown, so any edge that leads on counts.
    reached = _reached(as_set(known.numbers[name] for name in heads), into)
    # Versions without a bundle can't be installed again, so it is no loss where they end.
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


# The way that an upgrade goes: hop after hop to the first candidate in a channel's order (R-CAT-410, R-CAT-415).
#
# Only the catalog counts. In a cluster a hop can turn out differently, where dependencies or other operators rule a
# candidate out.

_MARGIN = "  "
_MOST = 3


class PathHop(NamedTuple):
    """One upgrade: from a CSV's name to another, for which reason, and the skipRange where that is the reason."""

    source: str
    target: str
    kind: EdgeKind
    skip_range: str = ""


class Walk(NamedTuple):
    """The hops from `start` until OLM rests, comes back to where it was (`circles`), or passes the goal (`reached`)."""

    channel: str
    start: Vertex
    hops: tuple[PathHop, ...]
    reached: bool = False
    circles: bool = False

    @property
    def stops(self) -> tuple[str, ...]:
        """The names on the way, the start and the end included."""
        return (self.start.name, *(hop.target for hop in self.hops))


class Route(NamedTuple):
    """Whether an upgrade in a channel gets from one version to another.

    `walk` is the one in that channel, `others` are those of the other channels that reach the goal if it doesn't.
    `goal` is None where the question is only where the walk leads.
    """

    walk: Walk
    goal: Vertex | None
    others: tuple[Walk, ...] = ()


def walk(graph: UpgradeGraph, channel: ChannelView, start: Vertex, goal: str = "") -> Walk:
    """The walk in a channel from `start`, which need not be one of its entries, up to `goal` if it comes by."""
    versions = graph.vertices()
    hops: list[PathHop] = []
    seen = {start.name}
    current = start
    while not goal or current.name != goal:
        entry = _next(channel, current)
        if entry is None:
            return Walk(channel.name, start, tuple(hops))
        hops.append(_hop(current, entry))
        # From a version that was there before all would go on as it did: OLM never comes to rest.
        if entry.name in seen:
            return Walk(channel.name, start, tuple(hops), circles=True)
        seen.add(entry.name)
        current = versions[entry.name]
    return Walk(channel.name, start, tuple(hops), reached=True)


def _next(channel: ChannelView, current: Vertex) -> ChannelEntry | None:
    """Return where OLM goes from a version; for what the channel has, the graph knows."""
    if current.name in channel.entries:
        target = channel.first.get(current.name)
        return channel.entries[target] if target is not None else None
    # What is installed need not be in the catalog (R-CAT-410); then each entry has to be asked.
    version = tolerant_or_none(current.version)
    candidates = (channel.entries[name] for name in channel.candidates)
    return next((entry for entry in candidates if edge_kind(entry, current.name, version)), None)


def _hop(current: Vertex, entry: ChannelEntry) -> PathHop:
    kind = edge_kind(entry, current.name, tolerant_or_none(current.version)) or "replaces"
    return PathHop(current.name, entry.name, kind, entry.skip_range if kind == "skipRange" else "")


def route(graph: UpgradeGraph, channel: ChannelView, start: Vertex, goal: Vertex | None = None) -> Route:
    """Return whether an upgrade from `start` gets to `goal` in a channel, and where it leads else."""
    if goal is None:
        return Route(walk(graph, channel, start), None)
    own = walk(graph, channel, start, goal.name)
    if own.reached:
        return Route(own, goal)
    walks = (walk(graph, other, start, goal.name) for other in graph.channels if other.name != channel.name)
    return Route(own, goal, tuple(other for other in walks if other.reached))


def channel_named(graph: UpgradeGraph, name: str) -> ChannelView:
    """The channel `name`, or the default channel for ""; QueryError."""
    wanted = name or graph.default_channel
    channel = next((channel for channel in graph.channels if channel.name == wanted), None)
    if channel is not None:
        return channel
    problem = f"{graph.package} has no channel {wanted}" if wanted else f"{graph.package} has no default channel"
    raise not_found(problem, wanted, (channel.name for channel in graph.channels))


def version_named(graph: UpgradeGraph, text: str, *, absent: bool = False) -> Vertex:
    """The version that `text` means: the name of a CSV, or a version; QueryError.

    With `absent` it may also be one that the catalog doesn't have, if its version is in the skipRange of some entry
    (R-CAT-410: what is installed need not be in the catalog).
    """
    versions = graph.vertices()
    if text in versions:
        return _with_version(versions[text])
    fitting = [vertex for vertex in graph.versions if text in (vertex.version, f"v{vertex.version}")]
    if not fitting and absent:
        fitting = [_with_version(v) for v in graph.versions if v.missing and version_in(v.name) == version_in(text)]
    if len(fitting) > 1:
        names = " and ".join(vertex.name for vertex in fitting)
        raise QueryError(f"{text} is the version of {names}; give the name of one.")
    if fitting:
        return fitting[0]
    if absent:
        # A bare version matches by skipRange only; a name can be replaced and skipped as well.
        name = "" if text == version_in(text) else text
        unlisted = Vertex(name, version_in(text), missing=True)
        if any(_next(channel, unlisted) for channel in graph.channels):
            return unlisted
    known = filter(None, (vertex.version for vertex in graph.versions))
    raise not_found(f"{graph.package} has no version {text}", text, known, versions)


def _with_version(vertex: Vertex) -> Vertex:
    """A version that the catalog doesn't have is taken to be the one that its name ends with."""
    return vertex._replace(version=version_in(vertex.name)) if vertex.missing else vertex


def obstacle(channel: ChannelView, goal: Vertex) -> str:
    """Return why no upgrade in a channel can end at `goal`, "" when one can (R-CAT-402, R-CAT-431)."""
    if channel.problem:
        return f"OLM can't order the channel: {channel.problem}"
    if goal.missing:
        return "the catalog has no bundle of that name"
    if goal.name not in channel.entries:
        return f"it is not in channel {channel.name}"
    if goal.barred:
        return "OLM never installs it (property olm.deprecated)"
    if goal.name not in channel.candidates:
        # OLM makes no candidate of a skipped entry, also if other entries lead to it (R-CAT-402).
        skipping = next((entry.name for entry in channel.entries.values() if goal.name in entry.skips), "another entry")
        return f"{skipping} skips it, and OLM never upgrades to a skipped entry"
    return ""


def dead_ends(channel: ChannelView, versions: Mapping[str, Vertex]) -> dict[str, list[str]]:
    """By name the entries of a channel that replace or skip it, but that OLM never upgrades to, with the reason."""
    candidates = set(channel.candidates)
    ends: dict[str, list[str]] = {}
    for entry in channel.entries.values():
        if entry.name not in candidates:
            text = f"{entry.name}: {obstacle(channel, versions[entry.name])}"
            for name in filter(None, dict.fromkeys((entry.replaces, *entry.skips))):
                ends.setdefault(name, []).append(text)
    return ends


def route_text(graph: UpgradeGraph, channel: ChannelView, route: Route) -> str:
    """The hops of a route in a channel, a line each; if they don't lead to the goal, where they lead, and why."""
    return "".join(f"{clean(line)}\n" for line in _lines(graph, channel, route))


def _lines(graph: UpgradeGraph, channel: ChannelView, route: Route) -> Iterator[str]:
    versions = graph.vertices()
    walk, goal = route.walk, route.goal
    start = label(walk.start)
    where = f"channel {channel.name}{' (default)' if channel.is_default else ''}"
    if goal is None:
        yield f"{graph.package} {start} in {where}: {_count(walk)}"
    elif walk.reached:
        yield f"{graph.package} {start} gets to {label(goal)} in {where}: {_count(walk)}"
    else:
        yield f"{graph.package} {start} does not get to {label(goal)} in {where}"
    if walk.start.missing:
        yield f"{_MARGIN}{start} is not in the catalog"
    yield from (_hop_text(hop, versions, walk.start) for hop in walk.hops)
    if channel.problem:
        yield f"OLM upgrades no version in this channel: {channel.problem}"
    elif not walk.reached:
        yield from _end(channel, walk, versions)
        if goal is not None and (reason := obstacle(channel, goal)):
            yield f"{label(goal)}: {reason}"
    if goal is not None and not walk.reached:
        yield from _elsewhere(graph, route, versions)


def _count(walk: Walk) -> str:
    hops = len(walk.hops)
    return f"{hops} hop{'s' if hops != 1 else ''}" if hops else "no hop"


def _hop_text(hop: PathHop, versions: Mapping[str, Vertex], start: Vertex) -> str:
    reason = f'skipRange "{hop.skip_range}"' if hop.kind == "skipRange" else hop.kind
    deprecated = "; deprecated" if versions[hop.target].deprecated else ""
    return f"{_MARGIN}{label(versions.get(hop.source, start))} → {label(versions[hop.target])}  {reason}{deprecated}"


def _end(channel: ChannelView, walk: Walk, versions: Mapping[str, Vertex]) -> Iterator[str]:
    """Yield where a walk ends, and if that is not at the head what was meant to lead on."""
    last = walk.stops[-1]
    end = label(versions.get(last, walk.start))
    if walk.circles:
        yield f"The upgrades go round in circles: {end} was installed before"
    elif last in channel.heads:
        yield f"It stays at {end}, the head of the channel"
    else:
        head = ", ".join(label(versions[name]) for name in channel.heads)
        yield f"It stays at {end}, short of the head of the channel ({head})"
        yield from (
            f"{_MARGIN}no way on to {text}" for text in islice(dead_ends(channel, versions).get(last, ()), _MOST)
        )


def _elsewhere(graph: UpgradeGraph, route: Route, versions: Mapping[str, Vertex]) -> Iterator[str]:
    goal = label(route.goal) if route.goal is not None else ""
    for other in route.others:
        stops = [label(versions.get(name, other.start)) for name in other.stops]
        yield f"Channel {other.channel} gets there: {' → '.join(stops)}"
    if not route.others and len(graph.channels) > 1:
        yield f"No other channel gets to {goal} either"
