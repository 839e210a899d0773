"""The plan for a move of the cluster as text for terminals, as Markdown for pull requests, and as JSON for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olmc.compiler.olm.naming import BLOCKED_REASON
from olmc.compiler.output.messages import clean, in_black, in_color, json_text
from olmc.compiler.output.text import aligned
from olmc.review.diff.outputs import code
from olmc.review.plan.platform import VERDICTS, ClusterPlatform
from olmc.review.plan.platform_plan import MovedOperator, PlatformPlan

PLATFORM_FORMAT = 1
"""The version of the JSON format, `schemas/platform-upgrade.schema.json`."""

_COLUMNS = ("NAMESPACE", "OPERATOR", "VERSION", "CHANNEL", "MOVE", "WHY")
_OLM_SAYS = f"What OLM says (ClusterOperator operator-lifecycle-manager, Upgradeable=False, {BLOCKED_REASON})"
_NOBODY_SAYS = "Problems without a warning of OLM"
_TO_DO = "What to do, in this order"


def as_text(plan: PlatformPlan, *, color: bool = False, verbose: bool = False) -> str:
    """The plan: a table with a row for each operator, OLM's message, what it leaves out, and what to do.

    With `verbose` every finding has a line of its own, also where the table has it.
    """
    paint = in_color if color else in_black
    lines = [paint(headline(plan), "bold")]
    if plan.operators:
        lines += ["", *aligned([_COLUMNS, *map(_row, plan.operators)]).splitlines()]
    for heading, body in _sections(plan, verbose):
        lines += ["", paint(heading, "bold"), *(f"  {line}" for line in body)]
    return "".join(f"{line}\n" for line in lines)


def headline(plan: PlatformPlan) -> str:
    """The move, and how many operators go along with it."""
    counts = [f"{count} {verdict}" for verdict in VERDICTS if (count := _count(plan, verdict))]
    counts += [f"{len(plan.manifests)} manifest{'s' * (len(plan.manifests) != 1)} lost"] if plan.manifests else []
    return f"{plan.move.old} → {plan.move.new}: {', '.join(counts) or 'no operators'}"


def _count(plan: PlatformPlan, verdict: str) -> int:
    return sum(operator.verdict == verdict for operator in plan.operators)


def _sections(plan: PlatformPlan, verbose: bool) -> Iterator[tuple[str, list[str]]]:
    sections = ((_OLM_SAYS, _messages(plan)), (_NOBODY_SAYS, _unsaid(plan, verbose)), (_TO_DO, _tasks(plan)))
    for heading, body in sections:
        listed = list(body)
        if listed:
            yield heading, listed


def _messages(plan: PlatformPlan) -> Iterator[str]:
    for release, message in plan.messages:
        if len(plan.messages) > 1:
            yield "before {}.{}:".format(*release)
        yield from (clean(line) for line in message.splitlines())


def _unsaid(plan: PlatformPlan, verbose: bool) -> Iterator[str]:
    for operator in plan.operators:
        for finding in operator.findings if verbose else operator.findings[1:]:
            if verbose or finding.verdict != "blocked":
                yield clean(f"{operator.name}: {finding.verdict}: {finding.text}")
        if operator.held and operator.verdict != "blocked":
            yield clean(f"{operator.name}: OLM does not upgrade it for the time being: {operator.held}")
    for manifest in plan.manifests:
        yield clean(f"{manifest.location}: {manifest.key}: {manifest.text}")
    for key in plan.unknown:
        yield clean(f"what the catalog {key.name} holds after the move is not known: --to-catalog {key.name}=FOLDER")


def _tasks(plan: PlatformPlan) -> Iterator[str]:
    if plan.is_clean:
        return
    for number, task in enumerate(plan.tasks, 1):
        yield clean(f"{number}. {task.text}")
        if task.command:
            yield clean(f"   $ {task.command}")


def _row(operator: MovedOperator) -> list[str]:
    more = len(operator.findings) - 1
    why = operator.findings[0].text + (f" (and {more} more)" if more > 0 else "") if operator.findings else ""
    cells = (operator.namespace, operator.package, operator.version, operator.channel, operator.verdict, why)
    return [clean(cell) or "-" for cell in cells]


def as_markdown(plan: PlatformPlan) -> str:
    """The plan as a comment for a pull request."""
    lines = [f"### {clean(headline(plan))}", ""]
    if plan.operators:
        lines += ["| Namespace | Operator | Version | Channel | Move | Why |", "|---|---|---|---|---|---|"]
        rows = (map(_cell, _row(operator)) for operator in plan.operators)
        lines += [f"| {' | '.join(row)} |" for row in rows]
    if plan.messages:
        lines += ["", f"**{_OLM_SAYS}**", "", "```text", *_messages(plan), "```"]
    for heading, body in (_NOBODY_SAYS, [*_unsaid(plan, verbose=False)]), (_TO_DO, [*_task_items(plan)]):
        if body:
            lines += ["", f"**{heading}**", "", *(f"- {code(line)}" for line in body)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text if text == "-" else code(text)


def _task_items(plan: PlatformPlan) -> Iterator[str]:
    if not plan.is_clean:
        for number, task in enumerate(plan.tasks, 1):
            yield f"{number}. {task.text}" + (f" {task.command}" if task.command else "")


def as_json(plan: PlatformPlan) -> str:
    """The plan in the format of `schemas/platform-upgrade.schema.json`."""
    return json_text(as_data(plan)) + "\n"


def as_data(plan: PlatformPlan) -> dict[str, Any]:
    """The plan as data."""
    return {
        "version": PLATFORM_FORMAT,
        "from": _platform(plan.move.old),
        "to": _platform(plan.move.new),
        "operators": [_operator(operator) for operator in plan.operators],
        "messages": [{"release": "{}.{}".format(*release), "text": message} for release, message in plan.messages],
        "manifests": [
            {"object": item.key._asdict(), "place": str(item.location), "text": item.text} for item in plan.manifests
        ],
        "unknownCatalogs": [{"namespace": key.namespace, "name": key.name} for key in plan.unknown],
        "tasks": [task._asdict() for task in plan.tasks],
    }


def _platform(platform: ClusterPlatform) -> dict[str, str]:
    release = "{}.{}".format(*platform.release) if platform.release is not None else ""
    return {"openshift": release, "kubernetes": platform.kube_version}


def _operator(operator: MovedOperator) -> dict[str, Any]:
    step = operator.step
    return {
        "namespace": operator.namespace,
        "package": operator.package,
        "csv": operator.csv,
        "version": operator.version,
        "channel": operator.channel,
        "verdict": operator.verdict,
        "findings": [finding._asdict() for finding in operator.findings],
        "held": operator.held,
        "step": None
        if step is None
        else {
            "when": "before" if step.is_before else "after",
            "channel": step.channel,
            "csvs": list(step.csvs),
            "version": step.version,
            "approvedOnly": step.approved_only,
        },
    }
