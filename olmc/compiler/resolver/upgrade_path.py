"""The upgrades between versions (R-CAT-410), for one pair and for all versions of a channel at once.

The resolver asks for pairs. A call of `Range.contains` for each pair of a few hundred versions and as many skipRanges
takes longer than all other work for a graph. So there the versions are sorted once, and a comparator cuts the row.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, Protocol

from olmc.compiler.model.catalog import SubscriptionRequest
from olmc.compiler.resolver.snapshot import EXISTING, Entry, Snapshot
from olmc.k8s.diagnostics import Location
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import CatalogKey
from olmc.k8s.semver import Comparator, Range, Version, range_or_none
from olmc.k8s.strconv import quoted

__all__ = [
    "EDGE_KINDS",
    "ChannelError",
    "ChannelOffer",
    "EdgeKind",
    "InstalledVersion",
    "Precedence",
    "Scale",
    "UpgradeEdges",
    "UpgradeStep",
    "as_set",
    "edge_kind",
    "members",
    "offer",
    "ordered",
    "precedence",
    "replaces_or_skips",
    "scale_of",
    "skips_over",
    "sources",
    "union",
    "upgrade_path",
    "upgrades",
]


EdgeKind = Literal["replaces", "skips", "skipRange"]
EDGE_KINDS: tuple[EdgeKind, ...] = ("replaces", "skips", "skipRange")

Precedence = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


class UpgradeEdges(Protocol):
    """The fields of a CSV or an entry of a channel that make it an upgrade; "" for an absent one."""

    @property
    def name(self) -> str: ...

    @property
    def replaces(self) -> str: ...

    @property
    def skips(self) -> Sequence[str]: ...

    @property
    def skip_range(self) -> str: ...


class InstalledVersion(Protocol):
    """An installed version: a CSV's name, and its version as far as it can be read."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> Version | None: ...


class UpgradeStep(UpgradeEdges, InstalledVersion, Protocol):
    """An entry that others upgrade in turn."""


def edge_kind(entry: UpgradeEdges, name: str, version: Version | None) -> EdgeKind | None:
    """Return why `entry` is an upgrade of the CSV with this name and version, None if it is none (R-CAT-410).

    What has no name ("") can still lie in a skipRange; nothing upgrades the CSV of its own name (D16).
    """
    if name and entry.name == name:
        return None
    if name and entry.replaces == name:
        return "replaces"
    if name and name in entry.skips:
        return "skips"
    return "skipRange" if skips_over(entry, version) else None


def replaces_or_skips(entry: UpgradeEdges, name: str) -> bool:
    """Return whether `entry` names the CSV as the one that it replaces or among those that it skips."""
    return entry.replaces == name or name in entry.skips


def skips_over(entry: UpgradeEdges, version: Version | None) -> bool:
    """Return whether the skipRange of `entry` contains `version`; an unreadable one contains nothing (R-CAT-456)."""
    skip_range = range_or_none(entry.skip_range)
    return skip_range is not None and version is not None and skip_range.contains(version)


def upgrades(entry: UpgradeEdges, installed: InstalledVersion) -> bool:
    """Return whether `entry` is an upgrade of what is installed (R-CAT-410)."""
    return edge_kind(entry, installed.name, installed.version) is not None


def upgrade_path(chain: Sequence[UpgradeStep], installed: UpgradeStep) -> tuple[str, ...]:
    """The CSVs that upgrades pass, from what is installed to where they end or come round again (R-CAT-415).

    Each hop leads to the first entry of `chain`, a channel in its order, that is an upgrade.
    """
    current = installed
    passed = [current.name]
    while True:
        following = next((entry for entry in chain if upgrades(entry, current)), None)
        # An entry may be lower than what it upgrades, so a skipRange can lead back to where the walk came from.
        if following is None or following.name in passed:
            return tuple(passed)
        passed.append(following.name)
        current = following


def precedence(version: Version) -> Precedence:
    """A key that orders versions as they are ordered (R-CAT-451): build metadata does not count."""
    prerelease = version.prerelease
    identifiers = tuple(map(_identifier, prerelease.split("."))) if prerelease else ()
    return version.major, version.minor, version.patch, not prerelease, identifiers


def _identifier(text: str) -> tuple[bool, int, str]:
    if not (text.isascii() and text.isdigit()):
        return (True, 0, text)
    # Compare numbers of any length as texts: Python limits the digits of a number.
    digits = text.lstrip("0")
    return (False, len(digits), digits)


class Scale(NamedTuple):
    """Versions in ascending order; sets of them are integers in which a bit stands for a number.

    `keys` are their precedences, `below[n]` is the set of the first n.
    """

    keys: tuple[Precedence, ...]
    below: tuple[int, ...]

    def inside(self, contained: Range) -> int:
        """The set of the versions that the range contains (R-CAT-455)."""
        result = 0
        for alternative in contained.alternatives:
            fitting = self.below[-1]
            for comparator in alternative:
                fitting &= self._accepted(comparator)
            result |= fitting
        return result

    def _accepted(self, comparator: Comparator) -> int:
        key = precedence(comparator.version)
        every = self.below[-1]
        less = self.below[bisect_left(self.keys, key)]
        most = self.below[bisect_right(self.keys, key)]
        match comparator.operator:
            case "==":
                return most ^ less
            case "!=":
                return every ^ most ^ less
            case "<":
                return less
            case "<=":
                return most
            case ">":
                return every ^ most
            case _:
                return every ^ less


def scale_of(versions: Mapping[int, Version]) -> Scale:
    """The scale of versions by number."""
    ordered = sorted((precedence(version), number) for number, version in versions.items())
    below = [0]
    for _, number in ordered:
        below.append(below[-1] | 1 << number)
    return Scale(tuple(key for key, _ in ordered), tuple(below))


def sources(entry: UpgradeEdges, numbers: Mapping[str, int], scale: Scale, inside: int) -> list[int]:
    """Return which of the versions `inside` have an edge to an entry, as a set for each of EDGE_KINDS.

    Unlike `edge_kind` it tells all edges between two versions, not just the first. `numbers` are those of all names.
    """
    others = inside & ~(1 << numbers[entry.name])
    replaced = as_set([numbers[entry.replaces]] if entry.replaces else [])
    skipped = as_set(numbers[name] for name in entry.skips if name)
    skip_range = range_or_none(entry.skip_range)
    ranged = scale.inside(skip_range) if skip_range is not None else 0
    return [replaced & others, skipped & others, ranged & others]


def members(numbers: int) -> Iterator[int]:
    """The numbers in a set, ascending."""
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest


def as_set(numbers: Iterable[int]) -> int:
    """The set of these numbers."""
    result = 0
    for number in numbers:
        result |= 1 << number
    return result


def union(sets: Iterable[int]) -> int:
    """The numbers that are in any of the sets."""
    result = 0
    for numbers in sets:
        result |= numbers
    return result


class ChannelError(ValueError):
    """A channel without a usable order; its message is OLM's, `location` the place of one of its entries."""

    def __init__(self, text: str, location: Location | None) -> None:
        super().__init__(text)
        self.location = location


@dataclass(frozen=True, slots=True)
class ChannelOffer:
    """The entries that a Subscription can get, best first; `absent` is OLM's text why the named selection is
    empty.
    """

    candidates: tuple[Entry, ...] = ()
    absent: str = ""


def ordered(items: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries of one channel from its head down the chain of `replaces`, skipped and withheld ones left
    out (R-CAT-402).

    Raises ChannelError when there is no head, a cycle, or more than one chain.
    """
    if not items:
        return ()
    by_name = {entry.name: entry for entry in items}
    skipped = {name for entry in items for name in entry.skips if name in by_name}
    replaced = skipped | {entry.replaces for entry in items if entry.replaces in by_name}
    # A skip is an edge for the search of heads, and no edge to walk: a skipped entry is passed through by `replaces`
    # and then left out (R-CAT-402).
    heads = sorted((entry for entry in items if entry.name not in replaced), key=lambda entry: entry.name)
    where = f"channel {quoted(items[0].channel)} of package {quoted(items[0].package)}"
    if not heads:
        raise ChannelError(
            f"no channel heads (entries not replaced by another entry) found in {where}", items[0].location
        )
    chains = [[entry for entry in _descent(head, by_name, where) if entry.name not in skipped] for head in heads]
    if len(chains) > 1:
        raise ChannelError(
            "a unique replacement chain within a channel is required to determine the relative order "
            f"between channel entries, but {len(chains)} replacement chains were found in {where}: "
            + ", ".join(map(_span, chains)),
            items[0].location,
        )
    return tuple(entry for entry in chains[0] if not entry.withheld)


def _descent(head: Entry, by_name: dict[str, Entry], where: str) -> list[Entry]:
    walked = {head.name: head}
    current = head
    while current.replaces in by_name:
        current = by_name[current.replaces]
        if current.name in walked:
            text = f"a cycle exists in the chain of replacement beginning with {quoted(head.name)} in {where}"
            raise ChannelError(text, head.location)
        walked[current.name] = current
    return list(walked.values())


def _span(chain: Sequence[Entry]) -> str:
    if not chain:
        return "[]"
    return chain[0].name if len(chain) == 1 else f"{chain[0].name}...{chain[-1].name}"


def offer(
    snapshot: Snapshot, request: SubscriptionRequest, installed: Entry | None, *, legacy_precedence: bool = False
) -> ChannelOffer:
    """The candidates of a Subscription whose installed CSV is `installed`, without that CSV itself.

    Implements R-CAT-410, R-CAT-420, R-CAT-421, R-CAT-571, D19, and with `legacy_precedence` D17. Raises
    ChannelError.
    """
    # startingCSV says where to begin, and is never looked at again (R-CAT-422).
    starting = "" if installed else request.starting
    selected, absent = _selection(snapshot, request, starting)
    if absent:
        return ChannelOffer(absent=absent)
    fitting = [entry for entry in _chains(selected) if installed is None or upgrades(entry, installed)]
    # One name in several channels is as many candidates, D19 says in which order.
    twins: dict[str, list[Entry]] = {entry.name: [] for entry in fitting}
    for entry in selected:
        if entry.name in twins and not entry.withheld:
            twins[entry.name].append(entry)
    candidates = {twin.identifier: twin for named in twins.values() for twin in named}
    # OLM's documents have other catalogs step in for upgrades; its code never looks there (D17).
    if installed and not candidates and legacy_precedence:
        return ChannelOffer(tuple(_elsewhere(snapshot, request, installed)))
    return ChannelOffer(tuple(candidates.values()))


def _selection(snapshot: Snapshot, request: SubscriptionRequest, starting: str) -> tuple[list[Entry], str]:
    """The entries that the Subscription names, default channel first, or why there are none (R-CAT-571)."""
    # A Subscription that names no catalog takes the package from any (R-CAT-571).
    anywhere = request.catalog == CatalogKey("", "")
    catalogs = [
        each
        for each in snapshot.order(request.catalog)
        if each in snapshot.catalogs and (anywhere or each == request.catalog)
    ]
    # A catalog with packages that were not vendored does not count as empty.
    is_whole = not (snapshot.left_out.get(request.catalog) or (anywhere and snapshot.left_out))
    if not any(snapshot.catalogs[key] for key in catalogs) and is_whole:
        source = f"catalog {request.catalog.name} in namespace {request.catalog.namespace}"
        return [], f"no operators found from {source} referenced by {request.in_texts}"
    entries = [entry for key in catalogs for entry in snapshot.of_package(request.package) if entry.catalog == key]
    tail = f"in the catalog referenced by {request.in_texts}"
    if not entries:
        return [], f"no operators found in package {request.package} {tail}"
    entries = [entry for entry in entries if request.channel in ("", entry.channel)]
    where = f"in channel {request.channel} of package {request.package} {tail}"
    if not entries:
        return [], f"no operators found {where}"
    # This goes before the order of the channel: startingCSV may name an entry that another one skips (R-CAT-421).
    if starting:
        entries = [entry for entry in entries if entry.name == starting]
        if not entries:
            return [], f"no operators found with name {starting} {where}"
    return sorted(entries, key=_channel_rank), ""


def _channel_rank(entry: Entry) -> tuple[bool, str]:
    return (not entry.default_channel, entry.channel)


def _chains(selected: Iterable[Entry]) -> list[Entry]:
    """Return the chains of all channels of `selected` one after the other; a single entry is a chain, with any
    skips."""
    groups = [list(group) for _, group in groupby(selected, key=_channel_rank)]
    chains = [group if len(group) == 1 else ordered(group) for group in groups]
    return [entry for chain in chains for entry in chain if not entry.withheld]


def _elsewhere(snapshot: Snapshot, request: SubscriptionRequest, installed: Entry) -> Iterable[Entry]:
    """Upgrades from the other catalogs, heads that skip first, then those that replace (R-CAT-413, steps 3
    and 4).
    """
    others = [
        key
        for key in snapshot.order(request.catalog)
        if key not in (request.catalog, CatalogKey(snapshot.namespace, EXISTING))
    ]
    chains: list[tuple[Entry, ...]] = []
    for key in others:
        entries = [entry for entry in snapshot.of_package(request.package) if entry.catalog == key]
        entries = sorted((entry for entry in entries if request.channel in ("", entry.channel)), key=_channel_rank)
        chains += [ordered(list(group)) for _, group in groupby(entries, key=_channel_rank)]
    heads = [chain[0] for chain in chains if chain and skips_over(chain[0], installed.version)]
    following = [entry for chain in chains for entry in chain if replaces_or_skips(entry, installed.name)]
    return [entry for entry in dict.fromkeys(heads + following) if entry.name != installed.name]
