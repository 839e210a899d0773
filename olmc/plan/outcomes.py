"""What becomes of the operators of a state, and the InstallPlans that OLM makes on the way."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.diff.operators import DiffOperator, heads
from olmc.diff.operators import operators as operators_of
from olmc.diff.versions import dead_end
from olmc.explain.provenance import APPROVAL
from olmc.explain.status import UNKNOWN, OperatorStatus, in_short
from olmc.explain.status import operators as status_of_operators
from olmc.lean import NamedTuple
from olmc.model.cluster import InstallPlan, NamespacedName
from olmc.model.objects import mapping, name_of, spec_of, text
from olmc.model.state import ClusterState
from olmc.reconcile.loop import SettledCluster

LEFT_RUNNING = "left running"
"""The outcome of an operator that nothing in the repository asks for any more: OLM does not uninstall."""
FAILED_BEFORE = "failed before"
MOVED = "moved"
"""The outcome of an operator that a ClusterExtension has taken over from OLM v0."""


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

    `outcome` is installed, upgraded, recovered, unchanged, removed, `LEFT_RUNNING`, waiting, failing, `FAILED_BEFORE`,
    `MOVED` or, where the content of a catalog is not in the workspace, unknown; `why` says what keeps it from more.
    `extension` is the ClusterExtension that it is of.
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
    subscription: str = ""
    extension: str = ""


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


def operator_outcomes(state: ClusterState, settled: SettledCluster) -> Iterator[OperatorOutcome]:
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
            catalog = dead_end(settled.cluster, NamespacedName(namespace, package), row.csv, row.version)
            why = f"the catalog does not have {row.csv} any more, nor an upgrade from it"
            outcome = outcome._replace(why=why if catalog else "")
        yield outcome
    for (namespace, package), operator in sorted(before.items()):
        if (namespace, package) not in seen:
            yield OperatorOutcome(namespace, package, operator.name, operator.version, "", "", "", "removed")


def _outcome(row: OperatorStatus, before: DiffOperator | None, was_asked: bool) -> OperatorOutcome:
    outcome = _word(row, before, was_asked)
    why = in_short(row) if outcome not in ("unchanged", "installed", "upgraded", "recovered") else ""
    if outcome == "failing" and _runs_on(row, before):
        why = f"it runs on, but {why}"
    if outcome == "removed":
        why = f"Subscription {row.subscription} takes its plan for done, and OLM installs nothing anew"
    return OperatorOutcome(
        row.namespace, row.package, before.name if before is not None else "",
        before.version if before is not None else "", row.csv, row.version, row.phase or row.reason, outcome, why,
        row.subscription,
    )  # fmt: skip


_OF_GROUPS = frozenset("NoOperatorGroup TooManyOperatorGroups NoTargetNamespaces UnsupportedOperatorGroup".split())


def _runs_on(row: OperatorStatus, before: DiffOperator | None) -> bool:
    """Whether OLM only says that a CSV has failed, and takes nothing away: its group does not fit it any more
    (observed-52)."""
    same = before is not None and (before.name, before.phase) == (row.csv, "Succeeded")
    return same and row.reason in _OF_GROUPS


def _word(row: OperatorStatus, before: DiffOperator | None, was_asked: bool) -> str:
    if row.waits == APPROVAL or (not row.csv and row.reason == APPROVAL):
        return "waiting"
    if before is not None and not row.csv and row.subscription and not (row.reason or row.missing):
        return "removed"  # only the CSV was deleted (observed-41)
    if row.waits == UNKNOWN and not row.fails:
        return "unknown"
    if row.fails:
        same = before is not None and (before.name, before.phase) == (row.csv, row.phase)
        return FAILED_BEFORE if same and before is not None and before.phase != "Succeeded" else "failing"
    if before is None:
        return "installed" if row.csv else "waiting"
    if not row.subscription and was_asked:
        return LEFT_RUNNING
    if before.name != row.csv:
        return "upgraded"
    return "recovered" if before.phase not in ("", "Succeeded") else "unchanged"
