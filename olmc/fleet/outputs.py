"""A fleet's report as text, Markdown, JSON and HTML: one table of outcomes, then each outcome once."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from typing import Any

from olmc.fleet.results import GRAVITIES, FleetReport, OutcomeGroup
from olmc.output.messages import in_black, in_color
from olmc.output.text import aligned
from olmc.output.unicode import clean, json_text
from olmc.resources import template_text

FORMAT_VERSION = 1
"""The version of the JSON format, `schemas/fleet.schema.json`."""

_SHOWN = 3
_LIMIT = 60_000
_ESCAPES = re.compile(r"\033\[[0-?]*[ -/]*[@-~]")
_HEAD = ("", "CLUSTERS", "OUTCOME", "GRAVITY", "WHICH")
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
            first = (
                f", as it is for {clean(group.clusters[0])}" if len(group.clusters) > 1 else f": {group.clusters[0]}"
            )
            lines += ["", paint(f"{name}{clean(first)}", "bold"), *(f"  {line}".rstrip() for line in body)]
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
    "error": "can't be told", "breaking": "breaking", "failing": "failing", "failure": "with failures",
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


def as_markdown(report: FleetReport, limit: int = _LIMIT) -> str:
    """The table, and each outcome folded, as a comment for a pull request of at most `limit` characters."""
    lines = [f"### {headline(report)}", "", "| Clusters | Outcome | Gravity | Which |", "|---:|---|---|---|"]
    for group in report.outcomes:
        cells = (f"{len(group.clusters):,}", _cell(group.headline), group.gravity, _cell(_which(group.clusters, False)))
        lines.append(f"| {' | '.join(cells)} |")
    text = "".join(f"{line}\n" for line in lines)
    left_out = 0
    for number, group in enumerate(report.outcomes, 1):
        body = "\n".join(_body(group, color=False))
        if not body:
            continue
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", body)), default=0))
        name = html.escape(f"{number}. {_count(len(group.clusters))}: {clean(group.headline)}")
        part = f"\n<details><summary>{name}</summary>\n\n{fence}text\n{body}\n{fence}\n\n</details>\n"
        if len(text) + len(part) > limit - 100:
            left_out += 1
        else:
            text += part
    if len(text) > limit:
        text = text[: text.rindex("\n", 0, limit - 100) + 1]
    return text + (f"\n{left_out} more outcomes do not fit in here.\n" if left_out else "")


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
        }
        for group in report.outcomes
    ]  # fmt: skip
    data = {"version": FORMAT_VERSION, "command": report.command, "total": report.total, "outcomes": outcomes}
    return json_text(data) + "\n"


def from_json(text: str) -> FleetReport | None:
    """The report that `as_json` wrote, None for anything else."""
    try:
        data: Any = json.loads(text)
        if data["version"] != FORMAT_VERSION or data["command"] not in FIELDS or not isinstance(data["total"], int):
            return None
        field = FIELDS[data["command"]]
        groups = [
            OutcomeGroup(
                str(one["headline"]), next(name for name in GRAVITIES if name == one["gravity"]),
                tuple(map(str, one["clusters"])), str(one["text"]), one.get("problem", one.get(field)), str(one["key"]),
            )
            for one in data["outcomes"]
        ]  # fmt: skip
    except (ValueError, KeyError, TypeError, StopIteration):
        return None
    return FleetReport(data["command"], data["total"], tuple(groups))


def as_html(report: FleetReport) -> str:
    """The report as one page that needs nothing from elsewhere."""
    from jinja2 import Environment, StrictUndefined  # takes long to import

    style = template_text("base.css") + _STYLE
    outcomes = [
        {"group": group, "which": _which(group.clusters, verbose=False), "count": _count(len(group.clusters)),
         "body": "\n".join(_body(group, color=False)), "names": ", ".join(map(clean, group.clusters))}
        for group in report.outcomes
    ]  # fmt: skip
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    style_hash = "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return page.from_string(template_text("fleet.html.j2")).render(
        command=report.command, headline=headline(report), style=style, style_hash=style_hash, outcomes=outcomes
    )


_STYLE = """
table { border-collapse: collapse; width: 100%; margin: 1rem 0 }
th { text-align: left; color: var(--quiet); font-weight: 400; font-size: .88rem }
th, td { padding: .45rem .8rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums; font-weight: 600 }
.gravity { border-radius: 999px; padding: .1rem .6rem; font-size: .85rem; background: var(--panel) }
.error, .breaking, .failing, .failure { background: var(--breaking-soft); color: var(--breaking) }
.risk, .warning { background: var(--risk-soft); color: var(--risk) }
details { border: 1px solid var(--line); border-radius: 6px; margin: .8rem 0; padding: .5rem .9rem }
summary { cursor: pointer; font-weight: 600 }
pre { overflow-x: auto; background: var(--panel); padding: .8rem; border-radius: 6px }
.names { color: var(--quiet); font-size: .88rem; max-height: 8rem; overflow: auto; overflow-wrap: anywhere }
"""
