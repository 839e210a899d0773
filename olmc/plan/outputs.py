"""A plan as text for terminals, as Markdown for comments on pull requests, and as JSON for machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from olmc.diff.change import shown
from olmc.diff.deltas import Delta, path_text
from olmc.diff.outputs import as_data as difference_data
from olmc.diff.outputs import as_markdown as difference_markdown
from olmc.diff.outputs import as_text as difference_text
from olmc.diff.outputs import code, summary
from olmc.model.objects import ObjectKey
from olmc.output.messages import in_black, in_color
from olmc.output.text import aligned
from olmc.output.unicode import clean, json_text
from olmc.plan.applied import Action, AppliedChange
from olmc.plan.drift_outputs import drift_data, drift_lines
from olmc.plan.plan import OperatorOutcome, Plan, PlannedInstall

FORMAT_VERSION = 1
"""The version of the JSON format, `schemas/plan.schema.json`."""

_SIGNS: dict[Action, str] = {"create": "+", "change": "~", "prune": "-", "delete": "-"}
_WORDS: dict[Action, str] = {"create": "created", "change": "changed", "prune": "pruned", "delete": "deleted by hand"}
_HEADINGS = ("What is applied", "What OLM does then", "What comes of it", "What is left to do")
_DRIFT = "Drift: where the cluster is not what is expected before anything happens"
_LINES = (10, 12, 30)
"""How many lines of the first sections are shown where not all are asked for: together they fit on a screen."""


def as_text(plan: Plan, *, color: bool = False, verbose: bool = False) -> str:
    """The plan in the order in which it happens, a section a part; what is long is cut unless it is `verbose`."""
    paint = in_color if color else in_black
    lines = [paint(headline(plan), "bold")]
    sections: tuple[Iterable[str], ...] = (
        _applied_lines(plan.applied), _olm_lines(plan), _outcome_lines(plan, color), _task_lines(plan)
    )  # fmt: skip
    for number, (name, section) in enumerate(zip(_HEADINGS, sections, strict=True), 1):
        body = list(section)
        if body:
            most = len(body) if verbose or number > len(_LINES) else _LINES[number - 1]
            lines += ["", paint(f"{number}. {name}", "bold"), *_cut(body, most)]
    if plan.drift:
        body = [f"  {line}" for line in drift_lines(plan.drift, verbose=verbose)]
        lines += ["", paint(_DRIFT, "bold"), *_cut(body, len(body) if verbose else _LINES[0])]
    return "".join(f"{line}\n" for line in lines)


def headline(plan: Plan) -> str:
    """What happens in one line."""
    sides = f"{clean(plan.difference.old.name)} → {clean(plan.difference.new.name)}"
    if plan.is_empty:
        return f"{sides}: nothing happens"
    parts = [f"{len(plan.applied)} applied"] if plan.applied else ["nothing applied"]
    parts += [f"{len(plan.installs)} InstallPlan{'s' * (len(plan.installs) != 1)}"] if plan.installs else []
    waiting = sum(install.waits for install in plan.installs)
    parts += [f"{waiting} waiting for approval"] if waiting else []
    return f"{sides}: {', '.join(parts)}; {summary(plan.difference)}"


def _cut(lines: Sequence[str], most: int) -> list[str]:
    if len(lines) <= most + 1:
        return list(lines)
    return [*lines[:most], f"  … and {len(lines) - most} more lines (-v shows them)"]


def _applied_lines(applied: Iterable[AppliedChange]) -> Iterator[str]:
    for change in applied:
        along = f", and with it {_counted(change.along)}" if change.along else ""
        yield f"  {_SIGNS[change.action]} {clean(str(change.key))}: {_WORDS[change.action]}{along}{_delta_text(change)}"


def _delta_text(change: AppliedChange) -> str:
    texts = [_delta(delta) for delta in change.deltas[:3]]
    more = f", and {len(change.deltas) - 3} more fields" if len(change.deltas) > 3 else ""
    return f": {', '.join(texts)}{more}" if texts else ""


def _delta(delta: Delta) -> str:
    return f"{clean(path_text(delta.path))} {clean(shown(delta.old).text)} → {clean(shown(delta.new).text)}"


def _counted(keys: Sequence[ObjectKey]) -> str:
    """Objects by kind: `3 ClusterRole, 1 Deployment`."""
    kinds: dict[str, int] = {}
    for key in keys:
        kinds[key.kind] = kinds.get(key.kind, 0) + 1
    return ", ".join(f"{count} {clean(kind)}" for kind, count in sorted(kinds.items()))


def _olm_lines(plan: Plan) -> Iterator[str]:
    for install in plan.installs:
        yield f"  InstallPlan {clean(install.namespace)}/{clean(install.name)}: {_hops(install)}, {_state(install)}"
    for problem in plan.problems:
        place = f"{problem.location}: " if problem.location is not None else ""
        first, *more = problem.message.split("\n")
        yield f"  {clean(place)}{clean(first)}"
        yield from (f"    {clean(line)}" for line in more)


def _hops(install: PlannedInstall) -> str:
    hops = (f"{before} → {after}" if before else f"{after} (new)" for before, after in install.hops)
    return ", ".join(map(clean, hops))


def _state(install: PlannedInstall) -> str:
    if install.waits:
        return f"waits for approval ({install.steps} steps)"
    if install.phase == "Complete":
        return f"{install.approval}, complete ({install.steps} steps)"
    return f"{install.phase} after {install.done} of {install.steps} steps: {clean(install.message)}"


def _outcome_lines(plan: Plan, color: bool) -> Iterator[str]:
    rows = [row for row in plan.operators if row.outcome != "unchanged"]
    if rows:
        table = aligned([["NAMESPACE", "OPERATOR", "FROM", "TO", "PHASE", "OUTCOME"], *map(_row, rows)])
        yield from (f"  {line}" for line in table.splitlines())
    same = len(plan.operators) - len(rows)
    if same:
        yield f"  {same} other operator{'s' * (same != 1)}: unchanged" if rows else "  all operators: unchanged"
    if plan.difference.changes:
        yield ""
        _, *body = difference_text(plan.difference, color=color).splitlines()
        yield from (f"  {line}" if line else "" for line in body)


def _row(row: OperatorOutcome) -> list[str]:
    outcome = f"{row.outcome}: {row.why}" if row.why else row.outcome
    cells = [row.namespace, row.package, row.before_version or row.before, row.after_version or row.after, row.phase]
    return [*(clean(cell) or "-" for cell in cells), clean(outcome)]


def _task_lines(plan: Plan) -> Iterator[str]:
    for task in plan.tasks:
        yield f"  {clean(task.text)}"
        if task.command:
            yield f"    $ {clean(task.command)}"


def as_markdown(plan: Plan) -> str:
    """The plan as a comment for a pull request: what is applied, what OLM does, the review, and what is left to do."""
    lines = [f"### {clean(headline(plan))}", ""]
    for name, section in ((_HEADINGS[0], _applied_lines(plan.applied)), (_HEADINGS[1], _olm_lines(plan))):
        items = [f"- {code(line.strip())}" for line in section]
        if items:
            lines += [f"**{name}**", "", *items, ""]
    rows = [row for row in plan.operators if row.outcome != "unchanged"]
    if rows:
        lines += ["| Namespace | Operator | From | To | Phase | Outcome |", "|---|---|---|---|---|---|"]
        lines += ["| " + " | ".join(code(cell) if cell != "-" else "-" for cell in _row(row)) + " |" for row in rows]
        lines.append("")
    if plan.tasks:
        lines += [f"**{_HEADINGS[3]}**", ""]
        for task in plan.tasks:
            lines.append(f"- {code(task.text)}")
            if task.command:
                lines += ["", f"  {code(task.command)}", ""]
        lines.append("")
    if plan.drift:
        lines += [f"**{_DRIFT}**", "", *(f"- {code(line)}" for line in drift_lines(plan.drift)), ""]
    text = "\n".join(lines) + "\n"
    return text + (difference_markdown(plan.difference) if plan.difference.changes else "")


def as_json(plan: Plan) -> str:
    """The plan in the format of `schemas/plan.schema.json`."""
    return json_text(as_data(plan)) + "\n"


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as data."""
    return {
        "version": FORMAT_VERSION,
        "applied": [
            {
                "action": change.action,
                "object": _object(change.key),
                "fields": [path_text(delta.path) for delta in change.deltas],
                "along": [_object(key) for key in change.along],
            }
            for change in plan.applied
        ],
        "installPlans": [
            {
                **{key: value for key, value in install._asdict().items() if key != "hops"},
                "hops": [{"from": before, "to": after} for before, after in install.hops],
                "waits": install.waits,
            }
            for install in plan.installs
        ],
        "operators": [_operator(row) for row in plan.operators],
        "problems": [{"code": problem.code, "text": problem.message} for problem in plan.problems],
        "tasks": [task._asdict() for task in plan.tasks],
        "difference": difference_data(plan.difference),
        **({"drift": drift_data(plan.drift)} if plan.drift else {}),
    }


def _object(key: ObjectKey) -> dict[str, str]:
    return key._asdict()


def _operator(row: OperatorOutcome) -> dict[str, Any]:
    return {
        "namespace": row.namespace,
        "package": row.package,
        "from": {"csv": row.before, "version": row.before_version},
        "to": {"csv": row.after, "version": row.after_version},
        "phase": row.phase,
        "outcome": row.outcome,
        "why": row.why,
    }
