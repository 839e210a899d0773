"""The plan: from a state of a cluster and what a repository makes of it, everything that happens, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import TYPE_CHECKING

from olmc.diff.compare import Difference
from olmc.diff.extensions import is_extension
from olmc.lean import NamedTuple
from olmc.model.diagnostics import Diagnostic, Severity
from olmc.model.state import ClusterState
from olmc.plan.applied import AppliedChange
from olmc.plan.drift import DriftedObject
from olmc.plan.leftovers import late_changes, leftovers_of
from olmc.plan.outcomes import OperatorOutcome, PlannedInstall, operator_outcomes, planned_installs
from olmc.plan.tasks import Task, TaskContext, tasks_of
from olmc.reconcile.loop import SettledCluster

if TYPE_CHECKING:
    from olmc.olmv1.extensions import ExtensionResult
    from olmc.plan.extensions import PlannedExtension


class Plan(NamedTuple):
    """What happens: what the tool does, what OLM does then, what comes of it, and what a person has to do.

    `late`: what OLM gets round to late. `extensions`: the ClusterExtensions that get another bundle. `drift`: where the
    cluster that it begins with is not what is expected of it.
    """

    applied: tuple[AppliedChange, ...]
    installs: tuple[PlannedInstall, ...]
    operators: tuple[OperatorOutcome, ...]
    problems: tuple[Diagnostic, ...]
    difference: Difference
    tasks: tuple[Task, ...]
    late: tuple[str, ...] = ()
    extensions: tuple[PlannedExtension, ...] = ()
    drift: tuple[DriftedObject, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing happens."""
        return not (self.applied or self.installs or self.extensions or self.difference.changes)


def plan_of(
    state: ClusterState, applied: tuple[AppliedChange, ...], settled: SettledCluster, difference: Difference,
    diagnostics: Iterable[Diagnostic], extensions: Sequence[ExtensionResult] = (),
) -> Plan:  # fmt: skip
    """The plan for a state to which `applied` is done, after which OLM comes to rest in `settled`; `extensions` is what
    becomes of ClusterExtensions."""
    installs = planned_installs(state, settled)
    operators = tuple(operator_outcomes(state, settled))
    # Failures alone are of the cluster; errors have ended the compilation before, and the rest is advice of `check`.
    problems = tuple(d for d in diagnostics if d.severity is Severity.FAILURE)
    cluster = settled.cluster
    tasks = (
        *tasks_of(TaskContext(applied, installs, operators, problems, cluster)),
        *leftovers_of(state, difference, cluster, operators),
    )
    late = tuple(late_changes(applied, state, cluster))
    plan = Plan(applied, installs, operators, problems, difference, tuple(dict.fromkeys(tasks)), late)
    return _with_extensions(plan, state, extensions) if extensions or _has_extensions(state) else plan


def _has_extensions(state: ClusterState) -> bool:
    return any(is_extension(manifest.object) for manifest in state.objects.values())


def _with_extensions(plan: Plan, state: ClusterState, results: Sequence[ExtensionResult]) -> Plan:
    """The plan with what becomes of ClusterExtensions."""
    from olmc.diagnostics.rules import extensions as rules  # most plans are about none
    from olmc.plan.extensions import (
        extension_outcomes,
        paired_outcomes,
        planned_extensions,
        tasks_of_extensions,
        tasks_of_moves,
    )

    # How the controller came to what it says is a derivation, and no advice.
    hints = {found.hint for found in plan.problems if found.code in (rules.NOT_RESOLVED.code, rules.NOT_INSTALLED.code)}
    tasks = [task for task in plan.tasks if task.text not in hints]
    operators = paired_outcomes(plan.operators, extension_outcomes(state, results))
    # Whoever moves an operator to OLM v1 has to act before the extension is applied, whatever comes of it.
    before, after = list(tasks_of_moves(operators)), list(tasks_of_extensions(state, results))
    return plan._replace(
        extensions=tuple(planned_extensions(state, results)),
        operators=operators,
        tasks=(*starmap(Task, before), *tasks, *starmap(Task, after)),
    )
