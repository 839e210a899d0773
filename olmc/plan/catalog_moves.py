"""What the catalogs before and after a move of the cluster have for an operator: whether it is stranded, and which
version gets it over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from olmc.catalogs.content import csv_of, inline_objects
from olmc.lean import NamedTuple
from olmc.model.catalog import Candidate, InstalledEntry
from olmc.model.cluster import CatalogSource, Subscription
from olmc.model.diagnostics import Report, join_limited
from olmc.model.objects import CatalogKey
from olmc.model.operators import Csv
from olmc.model.workspace import Bundle
from olmc.olm.openshift_maximum import MAXIMUM, maximum_of_values
from olmc.plan.platform import ClusterPlatform, MoveFinding, OperatorFacts, PlatformMove, facts_of, findings_of
from olmc.reconcile.requirements import kube_version_problem
from olmc.resolver.snapshot import Entry, entry_of_candidate, entry_of_installed
from olmc.resolver.upgrade_path import ChannelError, ordered, upgrade_path, upgrades


class CatalogsMove(NamedTuple):
    """The catalogs before and after, by what they are called, and the bundles whose content is known, by CSV.

    `known`: of which catalogs somebody has stated what they hold after the move; the others stay as they are.
    """

    old: Mapping[CatalogKey, CatalogSource]
    new: Mapping[CatalogKey, CatalogSource]
    known: frozenset[CatalogKey]
    bundles: Mapping[str, Bundle]


class SubscribedOperator(NamedTuple):
    """An installed operator with the Subscription that asks for it; `is_fit`: nothing but its catalog may be in its way
    when the cluster moves."""

    csv: Csv
    subscription: Subscription
    installed: InstalledEntry
    is_fit: bool

    @property
    def entry(self) -> Entry:
        """It as the resolver sees it."""
        return entry_of_installed(self.installed, self.csv.namespace)


class ClusterMoveStep(NamedTuple):
    """What gets an operator over the move: upgrade it to a version, before or after the cluster moves.

    `channel`: the one to subscribe to ("" for that which it has); `csvs`: those that OLM installs on the way, the last
    one stays, () for none; `approved_only`: OLM would go on from there, unless somebody has to approve.
    """

    is_before: bool
    channel: str
    csvs: tuple[str, ...]
    entry: Entry | None
    approved_only: bool = False

    @property
    def version(self) -> str:
        """The version that it ends with, "" where it stays."""
        return self.entry.origin.version if self.entry is not None else ""


def stranding(operator: SubscribedOperator, catalogs: CatalogsMove) -> MoveFinding | None:
    """That the catalog after the move has no way on for an operator (observed-38, observed-39, observed-70)."""
    subscription = operator.subscription
    key, package = subscription.catalog, subscription.package
    if key not in catalogs.known:
        return None
    source = catalogs.new[key]
    channels = channels_of(source, package)
    channel = subscription.channel or (channels[0] if channels else "")
    if not channels:
        return MoveFinding("stranded", f"the next catalog {key.name} has no package {package}", "R-CAT-571")
    if channel not in channels:
        text = f"the next catalog {key.name} has no channel {channel} of it, only {join_limited(channels, 6)}"
        return MoveFinding("stranded", text, "R-CAT-571")
    if not is_accepted(operator.entry, source, package, channel):
        text = f"channel {channel} of the next catalog {key.name} has neither {operator.csv.name} nor an upgrade of it"
        return MoveFinding("stranded", text, "R-CAT-410")
    return None


def channels_of(source: CatalogSource, package: str) -> list[str]:
    """The channels of a package, the default one first."""
    entries = [entry for entry in source.entries if entry.package == package]
    return list(dict.fromkeys(e.channel for e in sorted(entries, key=lambda e: (not e.default_channel, e.channel))))


def is_accepted(entry: Entry, source: CatalogSource, package: str, channel: str) -> bool:
    """Whether a channel has a CSV, or an upgrade of it."""
    chain = _chain(source, package, channel)
    return any(e.name == entry.name for e in _in_channel(source, package, channel)) or any(
        upgrades(e, entry) for e in chain
    )


def _in_channel(source: CatalogSource, package: str, channel: str) -> list[Candidate]:
    return [entry for entry in source.entries if (entry.package, entry.channel) == (package, channel)]


def _chain(source: CatalogSource, package: str, channel: str) -> tuple[Entry, ...]:
    try:
        return ordered([entry_of_candidate(entry) for entry in _in_channel(source, package, channel)])
    except ChannelError:
        return ()  # which nothing is installed from


def step_for(
    operator: SubscribedOperator, findings: Iterable[MoveFinding], move: PlatformMove, catalogs: CatalogsMove
) -> ClusterMoveStep | None:
    """What gets an operator with these findings over the move, the least that does; None where no catalog has it.

    What blocks has to be upgraded before; anything else rather before than after.
    """
    before = _steps(operator, move, catalogs, is_before=True)
    step = next(before, None)
    if step is not None or any(finding.verdict == "blocked" for finding in findings):
        return step
    return next(_steps(operator, move, catalogs, is_before=False), None)


def _steps(
    operator: SubscribedOperator, move: PlatformMove, catalogs: CatalogsMove, *, is_before: bool
) -> Iterator[ClusterMoveStep]:
    """The steps that help, those in the channel that it has first; what OLM comes to rest at before what it passes."""
    subscription, start = operator.subscription, operator.entry
    source = (catalogs.old if is_before else catalogs.new).get(subscription.catalog)
    if source is None:
        return
    package = subscription.package
    channels = channels_of(source, package)
    own = subscription.channel or (channels[0] if channels else "")
    for channel in sorted(channels, key=lambda name: name != own):
        chain = _chain(source, package, channel)
        by_name = {entry.name: entry for entry in chain}
        passed = upgrade_path(chain, start)
        for index in sorted(range(len(passed)), key=lambda at: (at != len(passed) - 1, at)):
            stop = by_name.get(passed[index], start if index == 0 else None)
            if stop is None or (index == 0 and not _may_stay(operator, channel, own, source)):
                continue
            if index and not _fits(facts_of_entry(stop, source, catalogs), move, is_before=is_before):
                continue
            if is_before and not _is_known_after(stop, subscription, channel, catalogs):
                continue
            goes_on = index < len(passed) - 1 and subscription.approval != "Manual"
            wanted = channel if channel != own else ""
            yield ClusterMoveStep(is_before, wanted, passed[1 : index + 1], stop if index else None, goes_on)


def _may_stay(operator: SubscribedOperator, channel: str, own: str, source: CatalogSource) -> bool:
    """Whether it helps to subscribe to another channel, with the version that is installed."""
    is_there = is_accepted(operator.entry, source, operator.subscription.package, channel)
    return channel != own and is_there and operator.is_fit


def _is_known_after(stop: Entry, subscription: Subscription, channel: str, catalogs: CatalogsMove) -> bool:
    if subscription.catalog not in catalogs.known:
        return True
    return is_accepted(stop, catalogs.new[subscription.catalog], subscription.package, channel)


def _fits(facts: OperatorFacts, move: PlatformMove, *, is_before: bool) -> bool:
    """Whether a version goes along with the move, and runs on the platform that it is installed on."""
    platform: ClusterPlatform = move.old if is_before else move.new
    runs = not kube_version_problem(facts.min_kube_version, platform.kube_version)
    harmful = (finding for finding in findings_of(facts, move) if is_before or finding.verdict != "blocked")
    return runs and not any(harmful)


def facts_of_entry(entry: Entry, source: CatalogSource, catalogs: CatalogsMove) -> OperatorFacts:
    """The facts about a version in a catalog, as far as its bundle is known."""
    maximum = maximum_of_values(prop.value for prop in entry.properties if prop.type == MAXIMUM)
    bundle = catalogs.bundles.get(entry.name)
    if bundle is not None:
        return facts_of(Csv(bundle.csv.object), bundle.objects, maximum)
    package = source.catalog.packages.get(entry.package) if source.catalog is not None else None
    listed = package.bundles.get(entry.name) if package is not None else None
    if package is None or listed is None:
        return OperatorFacts(maximum)
    csv = csv_of(package, listed, Report())
    return facts_of(Csv(csv or {}), inline_objects(listed, Report()), maximum)
