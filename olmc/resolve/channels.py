"""The order of a channel and what a Subscription can get from it (R-CAT-402, R-CAT-410 … R-CAT-423,
R-CAT-571).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from olmc.model.location import Location
from olmc.model.objects import CatalogKey
from olmc.model.resolution import Wish
from olmc.resolve.upgrade_path import replaces_or_skips, skips_over, upgrades
from olmc.resolve.view import EXISTING, Item, View
from olmc.strconv import quoted

__all__ = ["ChannelError", "Offer", "offer", "ordered"]


class ChannelError(ValueError):
    """A channel without a usable order; its message is OLM's, `location` the place of one of its entries."""

    def __init__(self, text: str, location: Location | None) -> None:
        super().__init__(text)
        self.location = location


@dataclass(frozen=True, slots=True)
class Offer:
    """The items that a Subscription can get, best first; `absent` is OLM's text why the named selection is
    empty.
    """

    candidates: tuple[Item, ...] = ()
    absent: str = ""


def ordered(items: Sequence[Item]) -> tuple[Item, ...]:
    """The entries of one channel from its head down the chain of `replaces`, skipped and withheld ones left
    out (R-CAT-402).

    Raises ChannelError when there is no head, a cycle, or more than one chain.
    """
    if not items:
        return ()
    by_name = {item.name: item for item in items}
    skipped = {name for item in items for name in item.skips if name in by_name}
    replaced = skipped | {item.replaces for item in items if item.replaces in by_name}
    heads = sorted((item for item in items if item.name not in replaced), key=lambda item: item.name)
    where = f"channel {quoted(items[0].channel)} of package {quoted(items[0].package)}"
    place = items[0].origin.location
    if not heads:
        raise ChannelError(f"no channel heads (entries not replaced by another entry) found in {where}", place)
    chains = [[item for item in _descent(head, by_name, where) if item.name not in skipped] for head in heads]
    if len(chains) > 1:
        raise ChannelError(
            "a unique replacement chain within a channel is required to determine the relative order "
            f"between channel entries, but {len(chains)} replacement chains were found in {where}: "
            + ", ".join(map(_span, chains)),
            place,
        )
    return tuple(item for item in chains[0] if not item.withheld)


def _descent(head: Item, by_name: dict[str, Item], where: str) -> list[Item]:
    walked = {head.name: head}
    current = head
    while current.replaces in by_name:
        current = by_name[current.replaces]
        if current.name in walked:
            text = f"a cycle exists in the chain of replacement beginning with {quoted(head.name)} in {where}"
            raise ChannelError(text, head.origin.location)
        walked[current.name] = current
    return list(walked.values())


def _span(chain: Sequence[Item]) -> str:
    if not chain:
        return "[]"
    return chain[0].name if len(chain) == 1 else f"{chain[0].name}...{chain[-1].name}"


def offer(view: View, wish: Wish, installed: Item | None, *, legacy_precedence: bool = False) -> Offer:
    """The candidates of a Subscription whose installed CSV is `installed`, without that CSV itself.

    Implements R-CAT-410, R-CAT-420, R-CAT-421, R-CAT-571, D19, and with `legacy_precedence` D17. Raises
    ChannelError.
    """
    starting = "" if installed else wish.starting
    selected, absent = _selection(view, wish, starting)
    if absent:
        return Offer(absent=absent)
    fitting = [item for item in _chains(selected) if installed is None or upgrades(item, installed)]
    # One name in several channels is as many candidates, D19 says in which order.
    best_first = dict.fromkeys(item.name for item in fitting)
    found = {
        twin.identifier: twin for name in best_first for twin in selected if twin.name == name and not twin.withheld
    }
    if installed and not found and legacy_precedence:
        return Offer(tuple(_elsewhere(view, wish, installed)))
    return Offer(tuple(found.values()))


def _selection(view: View, wish: Wish, starting: str) -> tuple[list[Item], str]:
    """The entries that the Subscription names, default channel first, or why there are none (R-CAT-571)."""
    entries = _entries(view, wish.catalog)
    if not entries:
        source = f"catalog {wish.catalog.name} in namespace {wish.catalog.namespace}"
        return [], f"no operators found from {source} referenced by subscription {wish.name}"
    entries = [item for item in entries if _of_package(item, wish.package)]
    tail = f"in the catalog referenced by subscription {wish.name}"
    if not entries:
        return [], f"no operators found in package {wish.package} {tail}"
    entries = [item for item in entries if wish.channel in ("", item.channel)]
    where = f"in channel {wish.channel} of package {wish.package} {tail}"
    if not entries:
        return [], f"no operators found {where}"
    if starting:
        entries = [item for item in entries if item.name == starting]
        if not entries:
            return [], f"no operators found with name {starting} {where}"
    return sorted(entries, key=_channel_rank), ""


def _entries(view: View, key: CatalogKey) -> Sequence[Item]:
    if key != CatalogKey("", ""):
        return view.catalogs.get(key, ())
    return [item for each in view.order(key) if each.name != EXISTING for item in view.catalogs[each]]


def _of_package(item: Item, package: str) -> bool:
    return item.package == package or any(name == package for name, _ in item.packages)


def _channel_rank(item: Item) -> tuple[bool, str]:
    return (not item.default_channel, item.channel)


def _chains(selected: Iterable[Item]) -> list[Item]:
    """The chains of all channels of `selected` one after the other; an entry alone is a chain, whatever it
    skips.
    """
    groups = [list(group) for _, group in groupby(selected, key=_channel_rank)]
    chains = [group if len(group) == 1 else ordered(group) for group in groups]
    return [item for chain in chains for item in chain if not item.withheld]


def _elsewhere(view: View, wish: Wish, installed: Item) -> Iterable[Item]:
    """Upgrades from the other catalogs, heads that skip first, then those that replace (R-CAT-413, steps 3
    and 4).
    """
    others = [
        key for key in view.order(wish.catalog) if key not in (wish.catalog, CatalogKey(EXISTING, view.namespace))
    ]
    chains: list[tuple[Item, ...]] = []
    for key in others:
        entries = [item for item in view.catalogs[key] if _of_package(item, wish.package)]
        entries = sorted((item for item in entries if wish.channel in ("", item.channel)), key=_channel_rank)
        chains += [ordered(list(group)) for _, group in groupby(entries, key=_channel_rank)]
    heads = [chain[0] for chain in chains if chain and skips_over(chain[0], installed.version)]
    following = [item for chain in chains for item in chain if replaces_or_skips(item, installed.name)]
    return [item for item in dict.fromkeys(heads + following) if item.name != installed.name]
