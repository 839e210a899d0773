"""Pins: a Subscription that stays at a version, by startingCSV and manual approval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from olmc.model.cluster import Cluster, Name, Subscription
from olmc.model.diagnostic import Diagnostic
from olmc.model.location import Source
from olmc.model.resolution import Candidate, Present
from olmc.model.suggestions import POSSIBLE, close_matches, did_you_mean
from olmc.resolve.channels import ChannelError, ordered
from olmc.resolve.upgrade_path import upgrade_path
from olmc.resolve.view import item_of_candidate, item_of_present
from olmc.rules import lock as rules
from olmc.yaml import locate
from olmc.yaml.edit import EditError, set_text


class PinError(ValueError):
    """A pin that can't be set; `diagnostic` says why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def pinned(cluster: Cluster, package: str, version: str) -> tuple[Source, ...]:
    """The files in which the Subscriptions to `package` are pinned to `version` (a version or a CSV's name).

    `cluster` is the state before anything is resolved. Raises PinError if there is no such Subscription or entry, if
    the entry can't be reached from what is installed, or if the file can't be edited safely.
    """
    found = [s for _, s in sorted(cluster.subscriptions.items()) if s.package == package and s.source is not None]
    if not found:
        known = sorted({s.package for s in cluster.subscriptions.values()})
        raise _error(None, package, version, "no Subscription in the workspace asks for this package", known, package)
    edited: dict[str, Source] = {}
    for subscription in found:
        source = subscription.source
        if source is None:
            continue
        name = _entry_name(cluster, subscription, version)
        current = edited.get(source.path, source)._replace(document=source.document, prefix=source.prefix)
        try:
            current = set_text(current, ("spec", "installPlanApproval"), "Manual")
            edited[source.path] = set_text(current, ("spec", "startingCSV"), name)
        except EditError as error:
            hint = f"Write it by hand: spec.installPlanApproval: Manual, and spec.startingCSV: {name}."
            place = locate(source, error.keys, of_key=True)
            found_error = rules.PIN_IMPOSSIBLE.finding(place, package=package, version=version, text=error, hint=hint)
            raise PinError(found_error) from error
    return tuple(edited.values())


def _entry_name(cluster: Cluster, subscription: Subscription, version: str) -> str:
    """The CSV's name of the entry that a version names, in the Subscription's channel."""
    package = subscription.package
    entries = tuple(channel_entries(cluster, subscription))
    fitting = [entry for entry in entries if version in (entry.name, entry.version)]
    if not fitting:
        where = f"channel {subscription.channel or '(default)'} of catalog {subscription.catalog.name}"
        known = [entry.version for entry in entries] + [entry.name for entry in entries]
        raise _error(subscription, package, version, f"{where} has no such entry", known, version)
    hindrance = obstacle(cluster, subscription, entries, fitting[0].name)
    if hindrance:
        raise _error(subscription, package, version, hindrance, (), "")
    return fitting[0].name


def obstacle(cluster: Cluster, subscription: Subscription, entries: Sequence[Candidate], goal: str) -> str:
    """Why upgrades don't lead from what is installed to `goal`, "" if they do or nothing is installed."""
    if not subscription.installed:
        return ""
    csv = cluster.csvs.get(Name(subscription.name.namespace, subscription.installed))
    version = csv.version if csv else ""
    try:
        chain = ordered([item_of_candidate(entry) for entry in entries])
    except ChannelError as error:
        return str(error)
    path = upgrade_path(chain, item_of_present(Present(subscription.installed, version, ()), ""))
    if goal in path:
        return ""
    there = f"{subscription.installed} is installed, and "
    if len(path) == 1:
        return f"{there}no upgrade leads from it"
    return f"{there}its upgrades go to {', then '.join(path[1:])}"


def channel_entries(cluster: Cluster, subscription: Subscription) -> Iterator[Candidate]:
    """What the catalog of a Subscription serves in the channel that it follows."""
    source = cluster.catalogs.get(subscription.catalog)
    channel = subscription.channel
    for entry in source.entries if source else ():
        fits = entry.channel == channel if channel else entry.default_channel
        if entry.package == subscription.package and fits:
            yield entry


def _error(
    subscription: Subscription | None, package: str, version: str, text: str, known: Sequence[str], meant: str
) -> PinError:
    near = close_matches(meant, known, 3, POSSIBLE) if meant else []
    hint = did_you_mean(*near) or f"See what there is with `olmc graph {package}`."
    source = subscription.source if subscription else None
    place = locate(source, ("spec",)) if source is not None else None
    return PinError(rules.PIN_IMPOSSIBLE.finding(place, package=package, version=version, text=text, hint=hint))
