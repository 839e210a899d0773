"""A fleet's report as text, Markdown, JSON and HTML: one table of outcomes, then each outcome once."""

from __future__ import annotations

import html
import json
import re
import shlex
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Any

from olmc.compiler.output.document import (
    LIMIT,
    Group,
    OutputDocument,
    PageItem,
    Section,
    aligned,
    code_cell,
    details,
    fence,
    page_parts,
    table_head,
    table_row,
    templates,
    within,
)
from olmc.compiler.output.messages import clean, in_black, in_color, json_text
from olmc.integrations.fleet.trees import READS_VALUES
from olmc.k8s.lean import NamedTuple
from olmc.resources import template_text

# Results of tasks: what a result is made of, and which clusters have the same outcome.
#
# Two outcomes are the same if their results are, once the names of the folders that a cluster is in are put aside.

GRAVITIES: Mapping[str, int] = {
    "error": 5, "breaking": 4, "failing": 4, "failure": 4, "risk": 3, "warning": 3, "change": 2, "info": 1, "none": 0,
}  # fmt: skip
"""The severity of outcomes: a failed compilation, a break or failure, a risk, a change, and none."""

UNCHANGED = {"headline": "nothing that it reads has changed", "gravity": "none", "text": "", "data": None}

# What says how a result may be kept and shared, and nothing about the cluster.
_OF_THE_RUN = frozenset({"passing", READS_VALUES})
LEFT_OUT = "leftOut"
"""Under which name a result has what is left out of its cluster."""

_TOP, _PART = "FLEET-TOP", "FLEET-PART-"


def folder_in_texts(entry: str) -> str:
    """Return the replacement of a cluster's folder in the text of a result, since clusters with one result share it: a
    word for each of its parts, so that a path may lead out of the folder."""
    parts = entry.split("/") if entry not in ("", ".") else []
    return "/".join((_TOP, *(f"{_PART}{number}" for number in range(len(parts)))))


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
    """The result of a fleet: the command, the number of clusters, and their outcomes, the most severe first."""

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
    """Return whether a result has what reports are made of, and files that stay in the folder that they are written
    into."""
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
    """Return whether a value is a list of what is left out, as results and reports have it."""
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and one.keys() == {"path", "what", "reason"}
        and all(isinstance(t, str) for t in one.values())
        for one in value
    )


def outcome_key(result: Mapping[str, Any], name: str) -> str:
    """Return the key that equal outcomes of clusters share, and no others; this cluster is `name`."""
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
    """Return the part of a result that a report has. It has a digest of the files, by which readers distinguish
    results."""
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


FORMAT_VERSION = 1
"""The version of the JSON format, `schemas/fleet.schema.json`."""

_SHOWN = 3
_DEEPEST = 6
_TURN = 1_000
"""The number of characters of an outcome in a comment before the next outcome of its severity."""
_ESCAPES = re.compile(r"\033\[[0-?]*[ -/]*[@-~]")
_HEAD = ("", "CLUSTERS", "OUTCOME", "SEVERITY", "WHICH")
FIELDS = {"plan": "plan", "status": "operators", "check": "findings", "render": "rendered"}
"""Under which name JSON has what came of a cluster, by the command."""


def as_text(report: FleetReport, *, color: bool = False, verbose: bool = False, from_here: FromHere = str) -> str:
    """The table, then what each outcome is; with `verbose` all clusters by name. `from_here` gives
    a folder of the repository as the user names it, for places and commands."""
    paint = in_color if color else in_black
    rows = [
        [
            f"{number}.",
            f"{len(group.clusters):,}",
            clean(group.headline),
            group.gravity,
            _which(group.clusters, verbose),
        ]
        for number, group in enumerate(report.outcomes, 1)
    ]
    table = ["", *aligned([list(_HEAD), *rows]).splitlines()] if rows else []
    lines = [paint(headline(report), "bold"), *table]
    for number, group in enumerate(report.outcomes, 1):
        body = _body(group, color=color, from_here=from_here)
        if body:
            name = f"{number}. {_count(len(group.clusters))}: {clean(group.headline)}"
            several = len(group.clusters) > 1
            first = f", as it is for {clean(group.clusters[0])}" if several else f": {clean(group.clusters[0])}"
            lines += ["", paint(f"{name}{first}", "bold"), *(f"  {line}".rstrip() for line in body)]
    return "".join(f"{line}\n" for line in lines)


def headline(report: FleetReport) -> str:
    """Return how many clusters there are, and in how many ways they end."""
    counts: dict[str, int] = {}
    for group in report.outcomes:
        counts[group.gravity] = counts.get(group.gravity, 0) + len(group.clusters)
    parts = [f"{count:,} {_GRAVITY_WORDS[gravity]}" for gravity, count in counts.items()]
    outcomes = f"{len(report.outcomes)} outcome{'s' * (len(report.outcomes) != 1)}"
    return f"{_count(report.total)}, {outcomes}: {', '.join(parts)}" if parts else f"{_count(report.total)}"


_GRAVITY_WORDS = {
    "error": "unknown", "breaking": "breaking", "failing": "failing", "failure": "with failures",
    "risk": "at risk", "warning": "with warnings", "change": "with changes", "info": "with remarks", "none": "fine",
}  # fmt: skip
assert _GRAVITY_WORDS.keys() == GRAVITIES.keys()


def _count(count: int) -> str:
    return f"{count:,} cluster{'s' * (count != 1)}"


def _which(clusters: Sequence[str], verbose: bool, style: Callable[[str], str] = clean) -> str:
    shown = clusters if verbose or len(clusters) <= _SHOWN + 1 else clusters[:_SHOWN]
    more = f" and {len(clusters) - len(shown):,} more" if len(shown) < len(clusters) else ""
    return f"{', '.join(map(style, shown))}{more}"


FromHere = Callable[[str], str]
_PLACED = re.compile(rf"{_TOP}(?:/{_PART}[0-9]+)*(?P<below>/?)")
_COMMAND = re.compile(r"`olmc [^`\n]*`")
_RELEASE = re.compile(r"#[0-9]+$")


def _text_of(group: OutcomeGroup, from_here: FromHere = str) -> str:
    """The text of an outcome, with the folder of its first cluster in places and commands."""
    parts = _RELEASE.sub("", clean(group.clusters[0])).split("/")

    def placed(match: re.Match[str]) -> str:
        number = match[0].count(_PART)
        folder = from_here("/".join(parts[:number]) or ".")
        return match["below"] and "" if folder == "." else f"{folder}{match['below']}"

    def in_command(match: re.Match[str]) -> str:
        return _PLACED.sub(lambda part: shlex.quote(placed(part) or "."), match[0])

    return _PLACED.sub(placed, _COMMAND.sub(in_command, group.text))


def _body(group: OutcomeGroup, *, color: bool, from_here: FromHere = str) -> list[str]:
    lines = _text_of(group, from_here).splitlines()
    # The first line of a plan says what the heading says, unless it has an advice as well.
    lines = lines[1:] if lines and _ESCAPES.sub("", lines[0]).endswith(group.headline) else lines
    while lines and not lines[0].strip():
        lines = lines[1:]
    return lines if color else [_ESCAPES.sub("", line) for line in lines]


def as_markdown(report: FleetReport, limit: int = LIMIT) -> str:
    """Return the table, and each outcome folded, as a comment for a pull request of at most `limit` characters.

    Where not all fits, each gravity has its share, the graver the larger, and says how much of it is left out.
    """
    table = f"\n{table_head(('Clusters', 'Outcome', 'Severity', 'Which'), numbers=1)}" if report.outcomes else ""
    head = f"### {headline(report)}\n{table}"
    numbered: dict[str, list[tuple[int, OutcomeGroup]]] = {}
    for number, group in enumerate(report.outcomes, 1):
        numbered.setdefault(group.gravity, []).append((number, group))
    weights = {gravity: 3 ** GRAVITIES[gravity] for gravity in numbered}
    rows = (
        Section("", (Group(tuple(PageItem(_row(group)) for _, group in groups)),),
                f"| | … {{:,}} more of severity {gravity} | {gravity} | |\n", weight=2 * weights[gravity])
        for gravity, groups in numbered.items()
    )  # fmt: skip
    folded = (
        Section("", tuple(_folded(number, group) for number, group in groups if _body(group, color=False)),
                f"\n… {{:,}} more of severity {gravity} without space for details\n", weight=weights[gravity])
        for gravity, groups in numbered.items()
    )  # fmt: skip
    return within(OutputDocument(head, (*rows, *folded)), limit)


def _row(group: OutcomeGroup) -> str:
    return table_row(
        (f"{len(group.clusters):,}", _cell(group.headline), group.gravity, _which(group.clusters, False, code_cell))
    )


def _folded(number: int, group: OutcomeGroup) -> Group:
    """Return an outcome folded; the outcomes of a gravity take turns, each with some characters of its lines."""
    lines = [f"{line}\n" for line in _body(group, color=False)]
    title = html.escape(clean(group.headline))
    title = f"<code>{title}</code>" if _NOT_OWN.search(group.headline) else title
    head, end = details(f"{number}. {_count(len(group.clusters))}: {title}")
    border = fence("".join(lines))
    turns = (passed // _TURN for passed in accumulate(map(len, lines), initial=0))
    items = tuple(PageItem(line, 1, turn) for line, turn in zip(lines, turns, strict=False))
    return Group(items, f"{head}{border}text\n", f"{border}\n{end}", "… and {:,} more lines\n")


_NOT_OWN = re.compile(r"[^A-Za-z0-9 ,;:()'…→-]")
"""A character that no headline of olmc's own has, but mentions, links and markup. Only code keeps GitHub and GitLab
from making a mention of `@name` and `#1`: they search the text after Markdown, where backslashes have no effect."""


def _cell(text: str) -> str:
    return code_cell(text) if _NOT_OWN.search(text) else clean(text)


def as_json(report: FleetReport) -> str:
    """The report in the format of `schemas/fleet.schema.json`."""
    outcomes = [
        {
            "severity": group.gravity,
            "headline": group.headline,
            "count": len(group.clusters),
            "clusters": list(group.clusters),
            "key": group.key,
            "text": _ESCAPES.sub("", _text_of(group)),
            ("problem" if group.gravity == "error" and isinstance(group.data, dict) and "problem" in group.data
             else FIELDS[report.command]): group.data,
            **({LEFT_OUT: list(group.left_out)} if group.left_out else {}),
        }
        for group in report.outcomes
    ]  # fmt: skip
    data = {"version": FORMAT_VERSION, "command": report.command, "total": report.total, "outcomes": outcomes}
    return json_text(data) + "\n"


def from_json(text: str) -> FleetReport | None:
    """The report that `as_json` wrote, None for anything else: parts come from other jobs."""
    try:
        data: Any = json.loads(text, parse_constant=_refused)
        if data["version"] != FORMAT_VERSION or data["command"] not in FIELDS:
            return None
        groups = tuple(_group_of(one, data["command"]) for one in data["outcomes"])
        if data["total"] != len({name for group in groups for name in group.clusters}):
            return None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return FleetReport(data["command"], data["total"], groups)


def _group_of(data: Mapping[str, Any], command: str) -> OutcomeGroup:
    """An outcome, without what no outcome of olmc has in its text; raises ValueError, KeyError and TypeError."""
    fields = ("headline", "severity", "text", "key", "clusters")
    headline, gravity, text, key, clusters = (data[name] for name in fields)
    if not all(isinstance(value, str) for value in (headline, gravity, text, key, *clusters)):
        raise TypeError
    if gravity not in GRAVITIES or not isinstance(clusters, list) or not clusters:
        raise ValueError
    reported = data["problem"] if "problem" in data else data[FIELDS[command]]
    # Who says of its clusters what they have in common with those of others speaks for these as well.
    result = {"headline": headline, "gravity": gravity, "text": text, "data": reported}
    result |= {LEFT_OUT: data[LEFT_OUT]} if LEFT_OUT in data else {}
    if all(outcome_key(result, name) != key for name in clusters) or not is_left_out(data.get(LEFT_OUT, [])):
        raise ValueError
    shown = "\n".join(map(clean, text.split("\n")))
    return OutcomeGroup(headline, gravity, tuple(clusters), shown, reported, key, tuple(data.get(LEFT_OUT, ())))


def _refused(constant: str) -> Any:
    raise ValueError(constant)


def as_html(report: FleetReport) -> str:
    """The report as one page that needs nothing from elsewhere."""
    outcomes = [
        {"group": group, "headline": clean(group.headline),
         "which": _which(group.clusters, verbose=False), "count": _count(len(group.clusters)),
         "lines": _lines(_body(group, color=False)),
         "names": ", ".join(map(clean, group.clusters))}
        for group in report.outcomes
    ]  # fmt: skip
    severities: dict[str, int] = {}
    for group in report.outcomes:
        severities[group.gravity] = severities.get(group.gravity, 0) + len(group.clusters)
    return templates().get_template("fleet.html.j2").render(
        page_parts(template_text("fleet.css"), template_text("fleet.js")), command=report.command,
        headline=headline(report), outcomes=outcomes, severities=severities.items(),
    )  # fmt: skip


class PageLine(NamedTuple):
    """A line of an outcome on a page: how far it is indented, and whether the next one has to be on the same sheet."""

    depth: int
    text: str
    leads: bool


def _lines(body: Sequence[str]) -> list[PageLine]:
    """The lines of an outcome; a heading and the head of a table lead to the next line."""
    indents = [len(line) - len(line.lstrip(" ")) if line else -1 for line in body]
    return [
        PageLine(
            _depth(line),
            line,
            bool(line)
            and (indents[number + 1 : number + 2] > [indents[number]] or _COLUMNS.fullmatch(line) is not None),
        )
        for number, line in enumerate(body)
    ]


_COLUMNS = re.compile(r" *[A-Z]+(?: +[A-Z]+)+")


def _depth(line: str) -> int:
    """Return how far a line is indented; what does not fit into its width goes on two characters further in."""
    return min((len(line) - len(line.lstrip(" "))) // 2, _DEEPEST)
