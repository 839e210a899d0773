"""What OLM would choose: the resolution of a settled workspace as data, and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olmc.emit.tables import aligned
from olmc.model.resolution import Pick
from olmc.resolve.explain import reasons
from olmc.resolve.plans import Round
from olmc.settle.rest import Settled

if TYPE_CHECKING:
    from olmc.proposed.outcome import Outcome


FORMAT_VERSION = 1


class Hop(NamedTuple):
    """A line of the table: in a namespace, an operator goes from one version to another, and why."""

    namespace: str
    operator: str
    before: str
    after: str
    channel: str
    why: str


class Resolution(NamedTuple):
    """A namespace: what is selected first, OLM's message if that fails, the plans until rest, the CSVs at rest."""

    namespace: str
    solution: tuple[Pick, ...]
    message: str
    plans: tuple[tuple[str, tuple[str, ...]], ...]
    settled: tuple[str, ...]


def resolutions(settled: Settled) -> tuple[Resolution, ...]:
    """The resolution of every namespace with Subscriptions, by name."""
    found = []
    for namespace in sorted(settled.rounds):
        first, last = settled.first[namespace].answer, settled.rounds[namespace].answer
        plans = [done.plan for done in settled.history if done.plan and done.plan.namespace == namespace]
        message = next((answer.message for answer in (first, last) if answer is not None and answer.message), "")
        found.append(
            Resolution(
                namespace,
                first.picks if first is not None else (),
                message,
                tuple((plan.approval, plan.csvs) for plan in plans),
                tuple(csv.name for csv in settled.cluster.csvs_in(namespace)),
            )
        )
    return tuple(found)


def as_data(found: Sequence[Resolution]) -> dict[str, Any]:
    """The resolutions in the format of `schemas/resolution.schema.json`."""
    return {
        "version": FORMAT_VERSION,
        "namespaces": [
            {
                "namespace": one.namespace,
                "solution": [_selected(pick) for pick in one.solution],
                "message": one.message,
                "plans": [{"approval": approval, "install": list(names)} for approval, names in one.plans],
                "settled": list(one.settled),
            }
            for one in found
        ],
    }


def _selected(pick: Pick) -> dict[str, str]:
    candidate = pick.candidate
    return {
        "name": candidate.name,
        "package": candidate.package,
        "version": candidate.version,
        "channel": candidate.channel,
        "catalog": candidate.catalog.name,
        "catalogNamespace": candidate.catalog.namespace,
        "replaces": pick.replaces,
    }


def hops(settled: Settled) -> Iterator[Hop]:
    """The hops of all plans in order, then what stays as it is."""
    moving: set[tuple[str, str]] = set()
    for done in settled.history:
        for hop in _hops_of(done):
            moving.add((hop.namespace, hop.operator))
            yield hop
    for name, subscription in sorted(settled.cluster.subscriptions.items()):
        if (name.namespace, subscription.package) in moving:
            continue
        installed = subscription.installed or "-"
        why = "can't be resolved" if subscription.failure else "not resolved"
        if subscription.installed and not subscription.failure:
            why = "nothing to upgrade to"
        channel = subscription.channel
        yield Hop(name.namespace, subscription.package, installed, installed, channel, why)


def _hops_of(done: Round) -> Iterator[Hop]:
    if done.question is None or done.answer is None or done.plan is None:
        return
    present = {csv.name for csv in done.question.present}
    waits = "" if done.plan.approved else "; waits for approval"
    for pick, reason in zip(done.answer.picks, reasons(done.question), strict=True):
        candidate = pick.candidate
        if candidate.name in done.plan.csvs:
            before = pick.replaces if pick.replaces in present else "-"
            why = f"{reason}{waits}"
            yield Hop(done.plan.namespace, candidate.package, before, candidate.name, candidate.channel, why)


def operator_hops(operators: Sequence[Outcome]) -> Iterator[Hop]:
    """The hops of Operators of v2alpha1, Install by Install, or what keeps them where they are."""
    for outcome in operators:
        name = f"Operator {outcome.operator.name}"
        before = "-"
        for install in outcome.installs:
            why, after = name if install.applied else f"{name}; waits for approval", install.install.name
            yield Hop(install.content.namespace, outcome.package or "-", before, after, outcome.channel, why)
            before = after
        if outcome.failure or outcome.missing or outcome.problem:
            why = f"{name} can't be resolved" if outcome.failure else f"{name} can't be installed"
            installed = outcome.installed or "-"
            yield Hop("-", outcome.package or "-", installed, installed, outcome.channel, why)


def operators_as_data(operators: Sequence[Outcome]) -> list[dict[str, Any]]:
    """What became of Operators of v2alpha1, in the format of `schemas/resolution.schema.json`."""
    return [
        {
            "name": outcome.operator.name,
            "installed": outcome.installed,
            "installs": [{"name": each.install.name, "applied": each.applied} for each in outcome.installs],
            "message": outcome.failure[1] if outcome.failure else outcome.problem,
        }
        for outcome in operators
    ]


def as_table(rows: Sequence[Hop]) -> str:
    """The hops as aligned columns, "" for none."""
    if not rows:
        return ""
    return aligned([Hop("NAMESPACE", "OPERATOR", "FROM", "TO", "CHANNEL", "WHY"), *rows])
