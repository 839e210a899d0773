"""What an output lacks: everything, since it is filtered out, or what is wanted, so that nobody prunes by the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from olmc.generate.passes import generate
from olmc.model.cluster import Cluster, Name
from olmc.model.diagnostic import Diagnostic, Report, Severity
from olmc.model.options import Options
from olmc.model.suggestions import join_limited
from olmc.rules import apply as rules

if TYPE_CHECKING:
    from olmc.proposed.gate import Judged
    from olmc.proposed.outcome import Outcome

_SHOWN = 3


class LeftOut(NamedTuple):
    """That the options include, exclude and phase have left out everything: `problem` as in "PATH gives no objects: …",
    and what there would be."""

    problem: str
    hint: str


def left_out(compiled: Sequence[tuple[Cluster, Options]]) -> LeftOut | None:
    """What is left out of compilations that gave no objects; None if there are no objects at all."""
    chosen = [options for _, options in compiled]
    filters = [name for name in ("include", "exclude") if any(getattr(options, name) for options in chosen)]
    filters += sorted({f"phase {options.phase}" for options in chosen if options.phase and options.purpose == "apply"})
    if not filters:
        return None
    whole = [
        found.identity.kind
        for cluster, options in compiled
        for found in generate(cluster, options._replace(include=(), exclude=(), phase=0), Report())
    ]
    if not whole:
        return None
    verb = "leave" if len(filters) > 1 else "leaves"
    return LeftOut(
        f": {' and '.join(filters)} {verb} none of the {len(whole)} that there are",
        f"There are objects of kind {', '.join(sorted(set(whole)))}.",
    )


def missing(
    cluster: Cluster, found: Iterable[Diagnostic], operators: Iterable[Outcome] = (), installs: Iterable[Judged] = ()
) -> tuple[str, ...]:
    """What a settled cluster lacks: operators that are not installed, each with the reason; else, what was `found`.

    `operators` and `installs` are those of v2alpha1, the latter without those that Operators make. That somebody
    accepts a finding does not make the objects be there, so `found` is to have those that are suppressed.
    """
    absent = (*_csvs(cluster), *_subscriptions(cluster), *_proposed(operators, installs))
    if absent:
        return absent
    failures = (each for each in found if each.severity is Severity.FAILURE)
    return tuple(dict.fromkeys(f"{each.message} [{each.code}]" for each in failures))


def incomplete(lacking: Sequence[str], *, done: str, keep_going: str) -> Diagnostic:
    """That half an output is not `done` ("written"), and how to go on: `keep_going` is what to do to have it all the
    same."""
    hint = f"Mend that first. To go on with what there is, {keep_going}; whoever prunes by it removes the rest."
    return rules.INCOMPLETE.finding(None, done=done, missing=join_limited(lacking, _SHOWN), hint=hint)


def _csvs(cluster: Cluster) -> Iterator[str]:
    for name, member in sorted(cluster.members.items()):
        if not member.succeeded and member.phase != "Replacing":
            yield f"{name} ({member.phase or 'without a status'})"


def _subscriptions(cluster: Cluster) -> Iterator[str]:
    """The Subscriptions that have installed nothing, and why, if it is that nobody has approved it."""
    plans = (plan for plan in cluster.plans if plan.phase == "RequiresApproval" and plan.csvs)
    waiting = {(plan.namespace, plan.name): plan.csvs[0] for plan in plans}
    for name, subscription in sorted(cluster.subscriptions.items()):
        if any(Name(name.namespace, csv) in cluster.csvs for csv in (subscription.installed, subscription.current)):
            continue
        csv = waiting.get((name.namespace, subscription.plan))
        yield f"{name} (to be approved as {name.namespace}/{csv})" if csv else f"{name} (nothing is installed)"


def _proposed(operators: Iterable[Outcome], installs: Iterable[Judged]) -> Iterator[str]:
    """The Operators of which nothing is applied, and the Installs that are not."""
    for outcome in operators:
        if not outcome.installed and not any(each.applied for each in outcome.installs):
            yield f"Operator {outcome.operator.name} (nothing is installed)"
    for judged in installs:
        if not judged.applied and not judged.install.operator:
            yield f"Install {judged.install.name} (it is not applied)"
