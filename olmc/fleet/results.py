"""Results of tasks: what a result is made of, and which clusters have the same outcome.

Two outcomes are the same if their results are, once the names of the folders that a cluster is in are put aside.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from olmc.fleet.config_maps import READS_VALUES
from olmc.lean import NamedTuple
from olmc.output.unicode import clean

GRAVITIES: Mapping[str, int] = {
    "error": 5, "breaking": 4, "failing": 4, "failure": 4, "risk": 3, "warning": 3, "change": 2, "info": 1, "none": 0,
}  # fmt: skip
"""How grave an outcome is: what can't be compiled, what breaks or fails, what is a risk, what changes, and nothing."""

UNCHANGED = {"headline": "nothing that it reads has changed", "gravity": "none", "text": "", "data": None}

# What says how a result may be kept and shared, and nothing about the cluster.
_OF_THE_RUN = frozenset({"passing", READS_VALUES})
LEFT_OUT = "leftOut"
"""Under which name a result has what is left out of its cluster."""

_COLORS = re.compile(r"(\x1b\[[0-9;]*m)")
_UNCHANGED_COUNT = re.compile(r'"unchangedObjects": \d+')


class OutcomeGroup(NamedTuple):
    """Clusters with the same outcome: its headline, its gravity, as text and as data what it is for the first of them,
    and what is left out of them, where the command lists that by itself."""

    headline: str
    gravity: str
    clusters: tuple[str, ...]
    text: str
    data: Any
    key: str
    left_out: tuple[Mapping[str, str], ...] = ()


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
    except (zlib.error, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not _is_result(value):
        return None
    return {**value, "text": _shown(value["text"])}


def _shown(text: str) -> str:
    """A text with its colors, and without anything else that a terminal would take for more than text."""
    return "\n".join("".join(_cleaned(line)) for line in text.split("\n"))


def _cleaned(line: str) -> Iterator[str]:
    for number, part in enumerate(_COLORS.split(line)):
        yield part if number % 2 else clean(part)


def _is_result(value: Mapping[str, Any]) -> bool:
    """Whether a result has what reports are made of, and files that stay in the folder that they are written into."""
    texts = [value.get(name) for name in ("headline", "gravity", "text")]
    files, private = value.get("files", {}), value.get("private", [])
    return (
        all(isinstance(text, str) for text in texts)
        and value["gravity"] in GRAVITIES
        and "data" in value
        and ("files" not in value or isinstance(value["data"], dict))
        and isinstance(files, dict)
        and all(_is_name(name) and isinstance(content, str) for name, content in files.items())
        and isinstance(private, list)
        and all(isinstance(name, str) and name in files for name in private)
        and is_left_out(value.get(LEFT_OUT, []))
    )


def _is_name(name: str) -> bool:
    return name not in ("", ".", "..") and not set(name) & {"/", "\\", "\0"}


def is_left_out(value: Any) -> bool:
    """Whether a value is a list of what is left out, as results and reports have it."""
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and one.keys() == {"path", "what", "reason"}
        and all(isinstance(t, str) for t in one.values())
        for one in value
    )


def outcome_key(result: Mapping[str, Any], name: str) -> str:
    """What the outcomes that are the same as this one of the cluster `name` have in common, and no others."""
    compared = {
        key: value
        for key, value in result.items()
        if key not in _OF_THE_RUN and (key != "text" or result["data"] is None)
    }
    # How many objects stay as they are is no part of what happens.
    text = _without_names(_UNCHANGED_COUNT.sub("", json.dumps(compared, ensure_ascii=False, sort_keys=True)), name)
    # Also of clusters that are called like it, what breaks is never the same as what is fine.
    return _digest(f"{result['gravity']} {text}")


def _without_names(text: str, name: str) -> str:
    """JSON with the names of the folders that a cluster is in put aside: by what can't stand in it, or a text that has
    the mark in place of a name would pass for one with the name."""
    for depth, word in enumerate(reversed(name.split("/"))):
        if len(word) > 2 and word in text:  # what is shorter stands in too many other words
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", f"\0{depth}", text)
    return text


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def _reported(result: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What a report has of a result: of files a digest, by which whoever reads the report can tell outcomes apart."""
    if "files" not in result:
        return result
    files = json.dumps([result["files"], result.get("private")], ensure_ascii=False, sort_keys=True)
    data = {**result["data"], "content": _digest(_without_names(files, name))}
    return {key: value for key, value in result.items() if key not in ("files", "private")} | {"data": data}


def report_of(command: str, results: Iterable[tuple[str, Mapping[str, Any]]]) -> FleetReport:
    """The report of a fleet, from the name and the result of each cluster, in order."""
    groups: dict[str, tuple[Mapping[str, Any], list[str]]] = {}
    total = 0
    for name, result in results:
        total += 1
        reported = _reported(result, name)
        key = outcome_key(reported, name)
        if key not in groups:
            groups[key] = (reported, [])
        groups[key][1].append(name)
    return ordered(command, total, [
        OutcomeGroup(
            result["headline"], result["gravity"], tuple(names), result["text"], result["data"], key,
            tuple(result.get(LEFT_OUT, ())),
        )
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
