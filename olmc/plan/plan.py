"""The plan: from a state of a cluster and what a repository makes of it, everything that happens, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from olmc.diff.compare import Difference
from olmc.diff.operators import DiffOperator, heads
from olmc.diff.operators import operators as operators_of
from olmc.explain.provenance import APPROVAL
from olmc.explain.status import OperatorStatus, in_short
from olmc.explain.status import operators as status_of_operators
from olmc.model.cluster import Cluster, InstallPlan, NamespacedName
from olmc.model.diagnostics import Diagnostic, Severity
from olmc.model.objects import name_of, spec_of, text
from olmc.model.state import ClusterState
from olmc.plan.applied import AppliedChange
from olmc.plan.drift import DriftedObject
from olmc.reconcile.loop import SettledCluster

STAYS = "stays"
"""The outcome of an operator that nothing in the repository asks for any more: OLM does not uninstall."""


class PlannedInstall(NamedTuple):
    """An InstallPlan that OLM makes, or goes on with.

    `hops`: the CSVs that it installs, each with the one that it replaces in the cluster ("" for none). `created`,
    `updated`: how many of its steps write something new, and how many what exists; `done` of all `steps` were carried
    out.
    """

    namespace: str
    name: str
    hops: tuple[tuple[str, str], ...]
    approval: str
    phase: str
    message: str
    steps: int
    done: int

    @property
    def waits(self) -> bool:
        """Whether somebody has to approve it."""
        return self.phase == APPROVAL


class OperatorOutcome(NamedTuple):
    """What becomes of an operator: the CSV, version and phase before ("" where there was none) and after.

    `outcome` is installed, upgraded, unchanged, removed, `STAYS`, waiting, failing or failed before; `why` says what
    keeps it from more.
    """

    namespace: str
    package: str
    before: str
    before_version: str
    after: str
    after_version: str
    phase: str
    outcome: str
    why: str = ""


class Task(NamedTuple):
    """Something that a person has to do, and the command for it ("" where there is none)."""

    text: str
    command: str = ""


class Plan(NamedTuple):
    """What happens: what the tool does, what OLM does then, what comes of it, and what a person has to do.

    `drift`: where the cluster that it begins with is not what is expected of it.
    """

    applied: tuple[AppliedChange, ...]
    installs: tuple[PlannedInstall, ...]
    operators: tuple[OperatorOutcome, ...]
    problems: tuple[Diagnostic, ...]
    difference: Difference
    tasks: tuple[Task, ...]
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
    installs = tuple(_installs(state, settled))
    operators = tuple(_operators(state, settled))
    problems = tuple(d for d in diagnostics if d.severity is Severity.FAILURE)
    return Plan(applied, installs, operators, problems, difference, tuple(_tasks(installs, operators, settled.cluster)))


def _installs(state: ClusterState, settled: SettledCluster) -> Iterator[PlannedInstall]:
    known = {NamespacedName(key.namespace, key.name) for key in state.objects if key.kind == "InstallPlan"}
    there = {NamespacedName(key.namespace, key.name) for key in state.objects if key.kind == "ClusterServiceVersion"}
    for plan in settled.cluster.plans.values():
        if NamespacedName(plan.namespace, plan.name) in known and not plan.resumed:
            continue
        yield _install(plan, there)
        there |= {NamespacedName(plan.namespace, csv) for csv in plan.csvs}


def _install(plan: InstallPlan, there: set[NamespacedName]) -> PlannedInstall:
    replaces = {
        name_of(step.object): text(spec_of(step.object).get("replaces"))
        for step in plan.steps
        if step.kind == "ClusterServiceVersion"
    }
    hops = []
    for csv in plan.csvs:
        before = replaces.get(csv, "")
        hops.append((before if NamespacedName(plan.namespace, before) in there else "", csv))
    return PlannedInstall(
        plan.namespace, plan.name, tuple(hops), plan.approval, plan.phase, plan.message, len(plan.steps), plan.executed
    )


def _operators(state: ClusterState, settled: SettledCluster) -> Iterator[OperatorOutcome]:
    """The operators of both states by namespace and package."""
    before = heads(operators_of(manifest.object for manifest in state.objects.values()))
    rows = {(row.namespace, row.package, row.subscription): row for row in status_of_operators(settled)}
    asked = {
        (key.namespace, text(spec_of(manifest.object).get("name")))
        for key, manifest in state.objects.items()
        if key.kind == "Subscription"
    }
    seen = set()
    for (namespace, package, _), row in sorted(rows.items()):
        seen.add((namespace, package))
        yield _outcome(row, before.get(NamespacedName(namespace, package)), (namespace, package) in asked)
    for (namespace, package), operator in sorted(before.items()):
        if (namespace, package) not in seen:
            yield OperatorOutcome(namespace, package, operator.name, operator.version, "", "", "", "removed")


def _outcome(row: OperatorStatus, before: DiffOperator | None, was_asked: bool) -> OperatorOutcome:
    outcome = _word(row, before, was_asked)
    why = in_short(row) if outcome not in ("unchanged", "installed", "upgraded") else ""
    return OperatorOutcome(
        row.namespace, row.package, before.name if before is not None else "",
        before.version if before is not None else "", row.csv, row.version, row.phase or row.reason, outcome, why,
    )  # fmt: skip


def _word(row: OperatorStatus, before: DiffOperator | None, was_asked: bool) -> str:
    if row.waits == APPROVAL or (not row.csv and row.reason == APPROVAL):
        return "waiting"
    if row.fails:
        same = before is not None and (before.name, before.phase) == (row.csv, row.phase)
        return "failed before" if same and before is not None and before.phase != "Succeeded" else "failing"
    if before is None:
        return "installed" if row.csv else "waiting"
    if not row.subscription and was_asked:
        return STAYS
    return "unchanged" if before.name == row.csv else "upgraded"


def _tasks(
    installs: Iterable[PlannedInstall], operators: Iterable[OperatorOutcome], cluster: Cluster
) -> Iterator[Task]:
    for install in installs:
        if install.waits:
            csvs = ", ".join(csv for _, csv in install.hops)
            patch = '--type merge -p \'{"spec":{"approved":true}}\''
            yield Task(
                f"Approve {csvs} in {install.namespace}: nothing of it is installed before.",
                f"kubectl -n {install.namespace} patch installplan {install.name} {patch}",
            )
    for operator in operators:
        if operator.outcome == STAYS:
            yield Task(
                f"{operator.after} in {operator.namespace} goes on running, since OLM uninstalls nothing. To uninstall "
                "it, delete its CSV; its CRDs and their resources stay.",
                f"kubectl -n {operator.namespace} delete clusterserviceversion {operator.after}",
            )
    for name, member in sorted(cluster.members.items()):
        if member.reason == "OperatorConditionNotUpgradeable":
            yield Task(f"{name}: the running operator refuses the upgrade; {member.message}.")
