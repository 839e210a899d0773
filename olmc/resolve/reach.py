"""Which entries of a channel upgrades lead to, and from (R-CAT-410)."""

from __future__ import annotations

from collections.abc import Sequence

from olmc.golang.ranges import range_or_none
from olmc.golang.semver import VersionError, parse_tolerant
from olmc.model.resolution import Candidate


def upgrades_from(entry: Candidate, name: str, version: str) -> bool:
    """Whether an entry is an upgrade of the installed CSV `name`, whose version is `version`."""
    if entry.name == name:
        return False
    if entry.replaces == name or name in entry.skips:
        return True
    skip_range = range_or_none(entry.skip_range)
    try:
        return skip_range is not None and skip_range.contains(parse_tolerant(version))
    except VersionError:
        return False


def is_reachable(entries: Sequence[Candidate], name: str, version: str, goal: str) -> bool:
    """Whether upgrades lead from an installed CSV to the entry `goal`, over any number of hops."""
    versions = {**{entry.name: entry.version for entry in entries}, name: version}
    seen: set[str] = set()
    pending = [name]
    while pending:
        current = pending.pop()
        if current == goal:
            return True
        if current not in seen:
            seen.add(current)
            pending += [entry.name for entry in entries if upgrades_from(entry, current, versions[current])]
    return False


def leading_to(entries: Sequence[Candidate], goal: str) -> set[str]:
    """The names of the entries from which upgrades lead to `goal`, and `goal` itself if it is an entry."""
    by_name = {entry.name: entry for entry in entries}
    found: set[str] = set()
    pending = [goal]
    while pending:
        name = pending.pop()
        if name in by_name and name not in found:
            found.add(name)
            upgrade = by_name[name]
            pending += [other.name for other in entries if upgrades_from(upgrade, other.name, other.version)]
    return found
