"""A fleet's report as text, Markdown, JSON and HTML: one table of outcomes, then each outcome once."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from olmc.diff.outputs import LIMIT
from olmc.fleet.results import GRAVITIES, LEFT_OUT, FleetReport, OutcomeGroup, is_left_out, outcome_key
from olmc.output.budget import shares
from olmc.output.messages import in_black, in_color
from olmc.output.text import aligned
from olmc.output.unicode import clean, json_text
from olmc.resources import template_text

FORMAT_VERSION = 1
"""The version of the JSON format, `schemas/fleet.schema.json`."""

_SHOWN = 3
_DEEPEST = 6
_LEAST = 1_000
"""How many characters an outcome is shortened to at the least."""
_ESCAPES = re.compile(r"\033\[[0-?]*[ -/]*[@-~]")
_HEAD = ("", "CLUSTERS", "OUTCOME", "SEVERITY", "WHICH")
FIELDS = {"plan": "plan", "status": "operators", "check": "findings", "render": "rendered"}
"""Under which name JSON has what came of a cluster, by the command."""


def as_text(report: FleetReport, *, color: bool = False, verbose: bool = False) -> str:
    """The table, then what each outcome is; with `verbose` all clusters by name."""
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
    lines = [paint(headline(report), "bold"), "", *aligned([list(_HEAD), *rows]).splitlines()]
    for number, group in enumerate(report.outcomes, 1):
        body = _body(group, color=color)
        if body:
            name = f"{number}. {_count(len(group.clusters))}: {clean(group.headline)}"
            several = len(group.clusters) > 1
            first = f", as it is for {clean(group.clusters[0])}" if several else f": {clean(group.clusters[0])}"
            lines += ["", paint(f"{name}{first}", "bold"), *(f"  {line}".rstrip() for line in body)]
    return "".join(f"{line}\n" for line in lines)


def headline(report: FleetReport) -> str:
    """How many clusters there are, and in how many ways they end."""
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


def _which(clusters: Sequence[str], verbose: bool) -> str:
    shown = clusters if verbose or len(clusters) <= _SHOWN + 1 else clusters[:_SHOWN]
    more = f" and {len(clusters) - len(shown):,} more" if len(shown) < len(clusters) else ""
    return f"{', '.join(map(clean, shown))}{more}"


def _body(group: OutcomeGroup, *, color: bool) -> list[str]:
    lines = group.text.splitlines()
    # The first line of a plan says what the heading says.
    lines = lines[1:] if lines and _ESCAPES.sub("", lines[0]).endswith(group.headline) else lines
    while lines and not lines[0].strip():
        lines = lines[1:]
    return lines if color else [_ESCAPES.sub("", line) for line in lines]


def as_markdown(report: FleetReport, limit: int = LIMIT) -> str:
    """The table, and each outcome folded, as a comment for a pull request of at most `limit` characters.

    Where not all fits, each gravity has its share, the graver the larger, and says how much of it is left out.
    """
    head = f"### {headline(report)}\n\n| Clusters | Outcome | Severity | Which |\n|---:|---|---|---|\n"
    numbered: dict[str, list[tuple[int, OutcomeGroup]]] = {}
    for number, group in enumerate(report.outcomes, 1):
        numbered.setdefault(group.gravity, []).append((number, group))
    rows = [[_row(group) for _, group in groups] for groups in numbered.values()]
    parts = [[(number, group) for number, group in groups if _body(group, color=False)] for groups in numbered.values()]
    weights = [3 ** GRAVITIES[gravity] for gravity in numbered]
    needs = [sum(map(len, texts)) for texts in rows] + [sum(len(_folded(*one)) for one in part) for part in parts]
    given = shares(needs, [*(2 * weight for weight in weights), *weights], limit - len(head))
    lines, outcomes = [], []
    for at, gravity in enumerate(numbered):
        lines += _fitting(rows[at], given[at], f"| | … {{}} more of severity {gravity} | {gravity} | |\n")
        outcomes += _details(parts[at], given[at + len(rows)], gravity)
    return "".join((head, *lines, *outcomes))


def _details(part: Sequence[tuple[int, OutcomeGroup]], space: int, gravity: str) -> list[str]:
    """The outcomes of a gravity within a space: those that are long leave something to the others."""
    texts = [_folded(number, group) for number, group in part]
    if sum(map(len, texts)) > space:
        kept = min(len(texts), max(1, space // _LEAST))
        given = shares([len(text) for text in texts[:kept]], [1] * kept, space - _LEAST // 10)
        texts[:kept] = [_folded(*one, most) for one, most in zip(part, given, strict=False)]
    return _fitting(texts, space, f"\n… {{}} more of severity {gravity} without space for details\n")


def _row(group: OutcomeGroup) -> str:
    cells = (f"{len(group.clusters):,}", _cell(group.headline), group.gravity, _cell(_which(group.clusters, False)))
    return f"| {' | '.join(cells)} |\n"


def _folded(number: int, group: OutcomeGroup, most: int | None = None) -> str:
    """An outcome folded, with as many of its lines as `most` characters have space for."""
    lines = _body(group, color=False)
    name = html.escape(f"{number}. {_count(len(group.clusters))}: {clean(group.headline)}")
    longest = max(map(len, re.findall("`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, 1 + longest)
    head, end = f"\n<details><summary>{name}</summary>\n\n{fence}text\n", f"{fence}\n\n</details>\n"
    texts = [f"{line}\n" for line in lines]
    kept = texts if most is None else _fitting(texts, most - len(head) - len(end), "… and {} more lines\n")
    return "".join((head, *kept, end))


def _fitting(texts: Sequence[str], space: int, more: str) -> list[str]:
    """As many of the texts as there is space for, from the first on, and how many more there are."""
    if sum(map(len, texts)) <= space:
        return list(texts)
    space -= len(more.format(len(texts)))
    if space < 0:
        return []
    ends = list(accumulate(map(len, texts)))
    kept = bisect_right(ends, space)
    return [*texts[:kept], more.format(f"{len(texts) - kept:,}")]


def _cell(text: str) -> str:
    escaped = html.escape(clean(text)).replace("|", "\\|")
    return re.sub(r"([\\`*_{}\[\]<>#@~])", r"\\\1", escaped.replace("\\|", "|")).replace("|", "\\|")


def as_json(report: FleetReport) -> str:
    """The report in the format of `schemas/fleet.schema.json`."""
    outcomes = [
        {
            "gravity": group.gravity,
            "headline": group.headline,
            "count": len(group.clusters),
            "clusters": list(group.clusters),
            "key": group.key,
            "text": _ESCAPES.sub("", group.text),
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
    headline, gravity, text, key, clusters = (data[name] for name in ("headline", "gravity", "text", "key", "clusters"))
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
    from jinja2 import Environment, StrictUndefined  # takes long to import

    style = template_text("base.css") + template_text("fleet.css")
    outcomes = [
        {"group": group, "headline": clean(group.headline),
         "which": _which(group.clusters, verbose=False), "count": _count(len(group.clusters)),
         "lines": [(_depth(line), line) for line in _body(group, color=False)],
         "names": ", ".join(map(clean, group.clusters))}
        for group in report.outcomes
    ]  # fmt: skip
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    style_hash = "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return page.from_string(template_text("fleet.html.j2")).render(
        command=report.command, headline=headline(report), style=style, style_hash=style_hash, outcomes=outcomes
    )


def _depth(line: str) -> int:
    """How far a line is indented; what does not fit into its width goes on two characters further in."""
    return min((len(line) - len(line.lstrip(" "))) // 2, _DEEPEST)
