"""Results of tasks: what a result is made of, and which clusters have the same outcome.

Two outcomes are the same if their results are, once the names of the folders that a cluster is in are put aside.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from olmc.fleet.config_maps import READS_VALUES
from olmc.lean import NamedTuple

GRAVITIES: Mapping[str, int] = {
    "error": 5, "breaking": 4, "failing": 4, "failure": 4, "risk": 3, "warning": 3, "change": 2, "info": 1, "none": 0,
}  # fmt: skip
"""How grave an outcome is: what can't be compiled, what breaks or fails, what is a risk, what changes, and nothing."""

UNCHANGED = {"headline": "nothing that it reads has changed", "gravity": "none", "text": "", "data": None}

# What says how a result may be kept and shared, and nothing about the cluster.
_OF_THE_RUN = frozenset({"passing", READS_VALUES})
_UNCHANGED_COUNT = re.compile(r'"unchangedObjects": \d+')


class OutcomeGroup(NamedTuple):
    """Clusters with the same outcome: its headline, its gravity, and as text and as data what it is for the first of
    them."""

    headline: str
    gravity: str
    clusters: tuple[str, ...]
    text: str
    data: Any
    key: str


class FleetReport(NamedTuple):
    """What came of a fleet: the command, how many clusters there are, and their outcomes, the gravest first."""

    command: str
    total: int
    outcomes: tuple[OutcomeGroup, ...]

    @property
    def worst(self) -> int:
        """The rank of the gravest outcome."""
        return max((GRAVITIES[group.gravity] for group in self.outcomes), default=0)


def failed_result(headline: str, text: str, code: str = "") -> dict[str, Any]:
    """The result of what could not be done, and why."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    data = {"code": code, "problem": text.strip() or headline}
    return {"headline": f"{headline} ({code})" if code else headline, "gravity": "error", "text": text or first,
            "data": data}  # fmt: skip


def packed(result: Mapping[str, Any]) -> bytes:
    """A result as a worker gives it."""
    return zlib.compress(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"), 1)


def unpacked(data: bytes | memoryview) -> dict[str, Any] | None:
    """A result that somebody gave, None for what is none."""
    try:
        value = json.loads(zlib.decompress(data))
    except (zlib.error, ValueError):
        return None
    is_result = isinstance(value, dict) and value.get("gravity") in GRAVITIES and "headline" in value
    return value if is_result else None


def outcome_key(result: Mapping[str, Any], name: str) -> str:
    """What the outcomes that are the same as this one of the cluster `name` have in common, and no others."""
    compared = {
        key: value
        for key, value in result.items()
        if key not in _OF_THE_RUN and (key != "text" or result["data"] is None)
    }
    # How many objects stay as they are is no part of what happens.
    text = _UNCHANGED_COUNT.sub("", json.dumps(compared, ensure_ascii=False, sort_keys=True))
    for depth, word in enumerate(reversed(name.split("/"))):
        if len(word) > 2 and word in text:  # what is shorter stands in too many other words
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", f"{{{depth}}}", text)
    # Also of clusters that are called like it, what breaks is never the same as what is fine.
    return sha256(f"{result['gravity']} {text}".encode("utf-8", "replace")).hexdigest()


def report_of(command: str, results: Iterable[tuple[str, Mapping[str, Any]]]) -> FleetReport:
    """The report of a fleet, from the name and the result of each cluster, in order."""
    groups: dict[str, tuple[Mapping[str, Any], list[str]]] = {}
    total = 0
    for name, result in results:
        total += 1
        key = outcome_key(result, name)
        if key not in groups:
            groups[key] = ({k: v for k, v in result.items() if k != "files"}, [])
        groups[key][1].append(name)
    return ordered(command, total, [
        OutcomeGroup(result["headline"], result["gravity"], tuple(names), result["text"], result["data"], key)
        for key, (result, names) in groups.items()
    ])  # fmt: skip


def ordered(command: str, total: int, groups: Iterable[OutcomeGroup]) -> FleetReport:
    """The report with the gravest outcomes first, of these the largest, then by the clusters."""
    by_gravity = sorted(groups, key=lambda g: (-GRAVITIES[g.gravity], -len(g.clusters), g.clusters))
    return FleetReport(command, total, tuple(by_gravity))


def merged(reports: Sequence[FleetReport]) -> FleetReport:
    """One report of several for parts of a fleet."""
    groups: dict[str, OutcomeGroup] = {}
    for report in reports:
        for group in report.outcomes:
            known = groups.get(group.key)
            if known is None:
                groups[group.key] = group
                continue
            first = min(known, group, key=lambda one: one.clusters)
            groups[group.key] = first._replace(clusters=tuple(sorted({*known.clusters, *group.clusters})))
    total = len({name for group in groups.values() for name in group.clusters})
    return ordered(reports[0].command, total, groups.values())
