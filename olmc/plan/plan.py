"""The plan: from a state of a cluster and what a repository makes of it, everything that happens, in order."""

from __future__ import annotations

from collections.abc import Iterable

from olmc.diff.compare import Difference
from olmc.lean import NamedTuple
from olmc.model.diagnostics import Diagnostic, Severity
from olmc.model.state import ClusterState
from olmc.plan.applied import AppliedChange
from olmc.plan.drift import DriftedObject
from olmc.plan.leftovers import late_changes, leftovers_of
from olmc.plan.outcomes import OperatorOutcome, PlannedInstall, operator_outcomes, planned_installs
from olmc.plan.tasks import Task, TaskContext, tasks_of
from olmc.reconcile.loop import SettledCluster


class Plan(NamedTuple):
    """What happens: what the tool does, what OLM does then, what comes of it, and what a person has to do.

    `late`: what OLM gets round to late. `drift`: where the cluster that it begins with is not what is expected of it.
    """

    applied: tuple[AppliedChange, ...]
    installs: tuple[PlannedInstall, ...]
    operators: tuple[OperatorOutcome, ...]
    problems: tuple[Diagnostic, ...]
    difference: Difference
    tasks: tuple[Task, ...]
    late: tuple[str, ...] = ()
    drift: tuple[DriftedObject, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing happens."""
        return not (self.applied or self.installs or self.difference.changes)


def plan_of(
    state: ClusterState, applied: tuple[AppliedChange, ...], settled: SettledCluster, difference: Difference,
    diagnostics: Iterable[Diagnostic],
) -> Plan:  # fmt: skip
    """The plan for a state to which `applied` is done, after which OLM comes to rest in `settled`."""
    installs = planned_installs(state, settled)
    operators = tuple(operator_outcomes(state, settled))
    problems = tuple(d for d in diagnostics if d.severity is Severity.FAILURE)
    cluster = settled.cluster
    tasks = (
        *tasks_of(TaskContext(applied, installs, operators, problems, cluster)),
        *leftovers_of(state, difference, cluster, operators),
    )
    late = tuple(late_changes(applied, state, cluster))
    return Plan(applied, installs, operators, problems, difference, tuple(dict.fromkeys(tasks)), late)
