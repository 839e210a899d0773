"""The plan: from a state of a cluster and what a repository makes of it, everything that happens, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from olmc.diff.compare import Difference
from olmc.diff.operators import DiffOperator, heads
from olmc.diff.operators import operators as operators_of
from olmc.explain.provenance import APPROVAL
from olmc.explain.status import OperatorStatus, in_short
from olmc.explain.status import operators as status_of_operators
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, InstallPlan, NamespacedName
from olmc.model.diagnostics import Diagnostic, Severity
from olmc.model.objects import ObjectKey, crd_key, mapping, name_of, spec_of, text
from olmc.model.operators import CSV_KIND, OLM_GROUP, Csv
from olmc.model.state import ClusterState
from olmc.plan.applied import AppliedChange
from olmc.plan.drift import DriftedObject
from olmc.reconcile.loop import SettledCluster

LEFT_RUNNING = "left running"
"""The outcome of an operator that nothing in the repository asks for any more: OLM does not uninstall."""


class PlannedInstall(NamedTuple):
    """An InstallPlan that OLM makes, or goes on with.

    `hops`: the CSVs that it installs, each with the one that it replaces in the cluster ("" for none). `done` of all
    `steps` are carried out.
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

    `outcome` is installed, upgraded, unchanged, removed, `LEFT_RUNNING`, waiting, failing or failed before; `why` says
    what keeps it from more.
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
    installs = planned_installs(state, settled)
    operators = tuple(_operators(state, settled))
    problems = tuple(d for d in diagnostics if d.severity is Severity.FAILURE)
    tasks = dict.fromkeys((*_to_mend(installs, problems), *_tasks(installs, operators, state, settled.cluster)))
    return Plan(applied, installs, operators, problems, difference, tuple(tasks))


def planned_installs(state: ClusterState, settled: SettledCluster) -> tuple[PlannedInstall, ...]:
    """The InstallPlans that OLM makes, or goes on with, in order."""
    return tuple(_installs(state, settled))


def _installs(state: ClusterState, settled: SettledCluster) -> Iterator[PlannedInstall]:
    known = {
        NamespacedName(key.namespace, key.name): text(mapping(manifest.object.get("status")).get("phase"))
        for key, manifest in state.objects.items()
        if key.kind == "InstallPlan"
    }
    there = {NamespacedName(key.namespace, key.name) for key in state.objects if key.kind == "ClusterServiceVersion"}
    for plan in settled.cluster.plans.values():
        # One that goes on and gets no further is no news.
        phase = known.get(NamespacedName(plan.namespace, plan.name))
        if phase is not None and (phase == plan.phase or not plan.resumed):
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
    # A package may have several rows, such as a new Subscription for what another one has installed: the operator that
    # was there goes with the row that has a CSV.
    installed = {(namespace, package) for (namespace, package, _), row in rows.items() if row.csv}
    seen = set()
    for (namespace, package, _), row in sorted(rows.items()):
        seen.add((namespace, package))
        is_other = not row.csv and (namespace, package) in installed
        operator = None if is_other else before.get(NamespacedName(namespace, package))
        outcome = _outcome(row, operator, (namespace, package) in asked)
        if outcome.outcome == "unchanged":
            outcome = outcome._replace(why=_dead_end(row, settled.cluster))
        yield outcome
    for (namespace, package), operator in sorted(before.items()):
        if (namespace, package) not in seen:
            yield OperatorOutcome(namespace, package, operator.name, operator.version, "", "", "", "removed")


def _dead_end(row: OperatorStatus, cluster: Cluster) -> str:
    """Why an operator that has not changed never will; "" for one that may (observed-38)."""
    subscription = cluster.subscriptions.get(NamespacedName(row.namespace, row.subscription))
    source = cluster.catalogs.get(subscription.catalog) if subscription is not None else None
    # Of a catalog that can't be read nothing is known, and OLM says that itself.
    if source is None or not source.entries or row.waits:
        return ""
    entries = [entry for entry in source.entries if entry.package == row.package]
    if not entries or any(entry.name == row.csv for entry in entries):
        return ""
    return f"the catalog does not have {row.csv} any more, nor an upgrade from it"


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
        return LEFT_RUNNING
    return "unchanged" if before.name == row.csv else "upgraded"


def _to_mend(installs: Iterable[PlannedInstall], problems: Iterable[Diagnostic]) -> Iterator[Task]:
    """What to set right first: what fails, each with its way out."""
    stuck = [install for install in installs if install.phase == "Failed"]
    for install in stuck:
        csvs = ", ".join(csv for _, csv in install.hops)
        hints = (f" {p.hint}" for p in problems if p.hint and install.message and install.message in p.message)
        yield Task(
            f"Set right what fails {csvs} before this is merged: OLM does not run a failed plan again, and upgrades "
            f"nothing in {install.namespace} any more.{next(hints, '')}"
        )
    # What is Pending or can't be resolved where a plan has failed follows from that.
    for problem in problems if not stuck else ():
        # Several lines are a derivation, and no advice.
        if problem.hint and "\n" not in problem.hint:
            yield Task(problem.hint)


def _tasks(
    installs: Iterable[PlannedInstall], operators: Sequence[OperatorOutcome], state: ClusterState, cluster: Cluster
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
        others = (o for o in operators if (o.namespace, o.package) == (operator.namespace, operator.package))
        if operator.outcome == LEFT_RUNNING:
            yield _left_running(operator, is_asked_for=any(other is not operator for other in others))
        elif operator.outcome == "removed":
            yield from _left_behind(operator, state, cluster)
    for name, member in sorted(cluster.members.items()):
        if member.reason == "OperatorConditionNotUpgradeable":
            yield Task(f"{name}: the running operator refuses the upgrade; {member.message}.")


def _left_running(operator: OperatorOutcome, *, is_asked_for: bool) -> Task:
    """What to do about an operator whose Subscription is gone; `is_asked_for`: there is another one for its package."""
    where = f"{operator.after} in {operator.namespace}"
    command = f"kubectl -n {operator.namespace} delete clusterserviceversion {operator.after}"
    if is_asked_for:
        text = (
            f"{where} belongs to no Subscription any more, and the new one can't take it over. Keep the name of the "
            "old one; or delete the CSV, and OLM installs the operator anew. Its CRDs and their objects stay."
        )
    else:
        text = (
            f"{where} goes on running, and nobody upgrades it: OLM uninstalls nothing. To uninstall it, delete its "
            "CSV; its CRDs and their objects stay."
        )
    return Task(text, command)


def _left_behind(operator: OperatorOutcome, state: ClusterState, cluster: Cluster) -> Iterator[Task]:
    """What is left of an operator that is gone: the CRDs that it owned and nobody else owns (observed-60)."""
    key = ObjectKey(OLM_GROUP, CSV_KIND, operator.namespace, operator.before)
    csv = state.objects.get(key)
    needed = {crd.name for other in cluster.csvs.values() for crd in other.owned_crds}
    names = {crd.name for crd in Csv(csv.object).owned_crds} - needed if csv is not None else set()
    left = [name for name in sorted(names) if crd_key(name) in cluster.objects]
    if left:
        yield Task(
            f"{operator.before} leaves its CRDs and their objects behind. To be rid of them, delete the CRDs; that "
            "deletes every object of these kinds in the whole cluster.",
            f"kubectl delete customresourcedefinition {' '.join(left)}",
        )
