"""The outcomes of the operators of a state, and the InstallPlans that OLM makes on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING

from olmc.compiler.model.cluster import APPROVAL, InstallPlan, NamespacedName
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.workspace import ClusterState
from olmc.compiler.olm.naming import component_label_key
from olmc.compiler.reconcile.loop import SettledCluster
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, ObjectKey, labels_of, mapping, name_of, spec_of, text
from olmc.review.diff.extensions import DiffExtension, apis_by_owner, extensions
from olmc.review.diff.operators import DiffOperator, heads
from olmc.review.diff.operators import operators as operators_of
from olmc.review.explain.extensions import extension_states
from olmc.review.explain.status import HELD_BACK, UNKNOWN, OperatorStatus, in_short
from olmc.review.explain.status import operators as status_of_operators
from olmc.targets.proposed.operator_api import OPERATOR_API, SEED_KEY

if TYPE_CHECKING:
    from olmc.compiler.results import ExtensionOutcome, OperatorResult

LEFT_RUNNING = "left running"
"""The outcome of an operator that nothing in the repository asks for any more: OLM does not uninstall."""
FAILED_BEFORE = "failed before"
RUNS_ON = "it runs on"
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
        """Return whether somebody has to approve it."""
        return self.phase == APPROVAL


class OperatorOutcome(NamedTuple):
    """The outcome of an operator: the CSV, version and phase before ("" if there was none) and after.

    `outcome` is installed, upgraded, recovered, unchanged, removed, `LEFT_RUNNING`, waiting, failing, `FAILED_BEFORE`,
    `MOVED` or, where the content of a catalog is not in the workspace, unknown; `why` is the obstacle to more.
    `extension` is the ClusterExtension that it is of. `is_stalled`: a diagnosis finds that it does not come up, which
    OLM's objects alone do not show.
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
    is_stalled: bool = False


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
        if plan.is_ignored or (phase is not None and (phase == plan.phase or not plan.resumed)):
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


def operator_outcomes(
    state: ClusterState, settled: SettledCluster, removed: Set[ObjectKey], proposed: Iterable[OperatorResult] = ()
) -> Iterator[OperatorOutcome]:
    """The operators of both states by namespace and package; `removed` are the objects that are pruned or deleted,
    `proposed` the results of Operators."""
    before = heads(operators_of(manifest.object for manifest in state.objects.values()))
    rows = {(row.namespace, row.package, row.subscription): row for row in status_of_operators(settled, proposed)}
    lost = {_package_of_operator(m.object) for key, m in state.objects.items() if key in removed} - {""}
    asked = {
        (key.namespace, text(spec_of(manifest.object).get("name")))
        for key, manifest in state.objects.items()
        if key.kind == "Subscription"
    } | set(_of_operators(state, settled, lost))
    # A package may have several rows, such as a new Subscription for what another one has installed: the operator that
    # was there goes with the row that has a CSV.
    installed = {(namespace, package) for (namespace, package, _), row in rows.items() if row.csv}
    seen = set()
    for (namespace, package, _), row in sorted(rows.items()):
        seen.add((namespace, package))
        is_other = not row.csv and (namespace, package) in installed
        operator = None if is_other else before.get(NamespacedName(namespace, package))
        # What an Install has brought, or an Operator has taken over from a Subscription, is asked for by that.
        is_kept = NamespacedName(namespace, row.csv) in settled.cluster.installed and package not in lost
        yield _outcome(row, operator, not is_kept and (namespace, package) in asked)
    for (namespace, package), operator in sorted(before.items()):
        if (namespace, package) not in seen:
            yield OperatorOutcome(namespace, package, operator.name, operator.version, "", "", "", "removed")


def _package_of_operator(obj: KubernetesObject) -> str:
    """The package that a proposed Operator asks for, "" if an object is none or names none."""
    if (obj["apiVersion"], obj["kind"]) != (OPERATOR_API, "Operator"):
        return ""
    return text(mapping(mapping(spec_of(obj).get("updates")).get("catalogSource")).get("package"))


def _of_operators(state: ClusterState, settled: SettledCluster, lost: Set[str]) -> Iterator[tuple[str, str]]:
    """The namespace and package of each CSV that only a proposed Operator of a state has as its component; `lost` are
    the packages whose Operator is removed."""
    packages: dict[str, str] = {}
    for key, manifest in state.objects.items():
        if key.kind == "Operator" and manifest.object["apiVersion"] == OPERATOR_API:
            labels = (component_label_key(key.name, ""), SEED_KEY + key.name)
            packages |= dict.fromkeys(labels, _package_of_operator(manifest.object))
    for key, manifest in state.objects.items() if packages else ():
        if key.kind == CSV_KIND:
            asked = [packages[label] for label in labels_of(manifest.object) if label in packages]
            is_kept = NamespacedName(key.namespace, key.name) in settled.cluster.installed
            yield from ((key.namespace, package) for package in asked if package in lost or not is_kept)


def _outcome(row: OperatorStatus, before: DiffOperator | None, was_asked: bool) -> OperatorOutcome:
    outcome = _word(row, before, was_asked)
    is_done = outcome in ("unchanged", "installed", "upgraded", "recovered") and row.waits != HELD_BACK
    why = "" if is_done else in_short(row)
    if outcome in ("failing", LEFT_RUNNING) and _runs_on(row, before):
        why = f"{RUNS_ON}, but {why}"
    if outcome == "removed":
        why = f"Subscription {row.subscription} treats its plan as done, and OLM does not install again"
    return OperatorOutcome(
        row.namespace, row.package, before.name if before is not None else "",
        before.version if before is not None else "", row.csv, row.version, row.phase or row.reason, outcome, why,
        row.subscription,
    )  # fmt: skip


_OF_GROUPS = frozenset("NoOperatorGroup TooManyOperatorGroups NoTargetNamespaces UnsupportedOperatorGroup".split())


def _runs_on(row: OperatorStatus, before: DiffOperator | None) -> bool:
    """Return whether OLM only says that a CSV has failed, and takes nothing away: its group does not fit it any more
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
        if _runs_on(row, before) and not row.subscription and was_asked:
            return LEFT_RUNNING
        same = before is not None and (before.name, before.phase) == (row.csv, row.phase)
        return FAILED_BEFORE if same and before is not None and before.phase != "Succeeded" else "failing"
    if before is None:
        return "installed" if row.csv else "waiting"
    if not row.subscription and was_asked:
        return LEFT_RUNNING
    if before.name != row.csv:
        return "upgraded"
    return "recovered" if before.phase not in ("", "Succeeded") else "unchanged"


# What becomes of ClusterExtensions: the bundle that each goes on to, what stops it, and what a person has to do.

_CRD_CHECK = "validating upgrade for CRD"
_SEVERAL, _NONE = "in multiple catalogs with the same priority", "no bundles found for package"


class PlannedExtension(NamedTuple):
    """A ClusterExtension that goes on to another bundle: what it had ("" for nothing), what it gets, from which
    catalog, what it passes on the way, and what comes next where it never comes to rest ("" for nothing)."""

    name: str
    before: str
    after: str
    catalog: str
    further: str
    via: tuple[str, ...] = ()


def planned_extensions(state: ClusterState, results: Iterable[ExtensionOutcome]) -> Iterator[PlannedExtension]:
    """The ClusterExtensions that get another bundle, by name."""
    before = _before(state)
    for result in results:
        was = before[result.extension.name].bundle if result.extension.name in before else ""
        now = result.installed.name if result.installed is not None else ""
        if now and now != was:
            catalog = result.resolution.catalog if result.resolution is not None else ""
            yield PlannedExtension(result.extension.name, was, now, catalog, result.further, result.via)


def _before(state: ClusterState) -> dict[str, DiffExtension]:
    return extensions(manifest.object for manifest in state.objects.values())


def extension_outcomes(state: ClusterState, results: Sequence[ExtensionOutcome]) -> Iterator[OperatorOutcome]:
    """Yield the outcome of each ClusterExtension of both states, first those that exist in the end."""
    before = _before(state)
    for row, result in zip(extension_states(results), results, strict=True):
        yield _extension_outcome(row, result, before.get(row.extension))
    there = {result.extension.name for result in results}
    for name, was in sorted(before.items()):
        if name not in there:
            namespace = text(spec_of(was.object).get("namespace"))
            yield OperatorOutcome(
                namespace, was.package, was.bundle, was.version, "", "", "", "removed",
                "all that it installed goes along", extension=name,
            )  # fmt: skip


def paired_outcomes(of_v0: Sequence[OperatorOutcome], of_v1: Iterable[OperatorOutcome]) -> tuple[OperatorOutcome, ...]:
    """The outcomes of both generations, with one for each operator that moves from OLM v0 to OLM v1 (R-V1-MIG-2)."""
    deleted = {(each.namespace, each.package): each for each in of_v0 if each.outcome == "removed" and not each.after}
    rows = []
    for row in of_v1:
        was = deleted.pop((row.namespace, row.package), None) if not row.before and row.outcome != "removed" else None
        if was is not None:
            word = MOVED if row.outcome == "installed" else row.outcome
            why = row.why or f"from OLM v0 to ClusterExtension {row.extension}"
            row = row._replace(before=was.before, before_version=was.before_version, outcome=word, why=why)
        rows.append(row)
    kept = (
        each for each in of_v0 if each.outcome != "removed" or each.after or (each.namespace, each.package) in deleted
    )
    return (*kept, *rows)


def tasks_of_moves(operators: Iterable[OperatorOutcome]) -> Iterator[tuple[str, str]]:
    """Yield the manual tasks before operators move, with their commands."""
    moved = [each for each in operators if each.outcome == MOVED]
    if moved:
        names = ", ".join(each.before for each in moved)
        yield (
            f"Before this is applied, take the steps by which {names} move to OLM v1, as the repository stood before. "
            "Otherwise OLM v1 does not install over existing objects, and OLM v0 does not upgrade it any more.",
            "olmc migrate --to olm-v1 --steps",
        )


def _extension_outcome(row: OperatorStatus, result: ExtensionOutcome, before: DiffExtension | None) -> OperatorOutcome:
    word = _extension_word(row, result, before)
    further = f"then {row.upgrade}" if row.upgrade else ""
    return OperatorOutcome(
        row.namespace, row.package, before.bundle if before is not None else "",
        before.version if before is not None else "", row.csv, row.version,
        UNKNOWN if word == "unknown" else row.phase, word,
        result.problem.partition("\n")[0] or further, extension=row.extension,
    )  # fmt: skip


def _extension_word(row: OperatorStatus, result: ExtensionOutcome, before: DiffExtension | None) -> str:
    if result.problem:
        if result.unknown:
            return "unknown"  # the content of a catalog or a bundle is not in the workspace
        return FAILED_BEFORE if before is not None and _is_old(result, before) else "failing"
    if before is None or not before.bundle:
        return "installed"
    if before.bundle != row.csv:
        return "upgraded"
    return "recovered" if before.is_stopped else "unchanged"


def _is_old(result: ExtensionOutcome, before: DiffExtension) -> bool:
    now = next((each.message for each in result.conditions if each.type == "Progressing"), "")
    return before.is_stopped and before.message == now


def tasks_of_extensions(state: ClusterState, results: Sequence[ExtensionOutcome]) -> Iterator[tuple[str, str]]:
    """Yield the manual tasks for ClusterExtensions, each with its command ("" for none)."""
    for result in results:
        yield from _stopped(result)
    there = {result.extension.name for result in results}
    crds = apis_by_owner(manifest.object for manifest in state.objects.values())
    for name in sorted(_before(state).keys() - there):
        lost = sorted(crds.get(name, ()))
        if lost:
            yield (
                f"Save what is needed of {', '.join(lost)} before: with ClusterExtension {name} its CRDs go, and with "
                "them every object of these kinds in the whole cluster.",
                f"kubectl get {','.join(lost)} -A -o yaml",
            )


def _stopped(result: ExtensionOutcome) -> Iterator[tuple[str, str]]:
    name, chosen = result.extension.name, result.resolution.bundle if result.resolution is not None else None
    if not result.problem or result.unknown or result.stored is not None:
        return  # what is unknown is no failure, and what the API server refuses is reported with its field
    stays = f"{result.installed.name} runs on" if result.installed is not None else "Nothing is installed"
    if _CRD_CHECK in result.problem and chosen is not None:
        yield (
            f"ClusterExtension {name}: keep what objects of the CRD rely on in {chosen.name}, pin the version until "
            f"then, or, where no object is harmed, set spec.install.preflight.crdUpgradeSafety.enforcement: None. "
            f"{stays}.",
            "",
        )
    elif _SEVERAL in result.problem:
        outcomes = result.resolution.outcomes if result.resolution is not None else ()
        rivals = ", ".join(outcome.name for outcome in outcomes if outcome.candidate)
        yield (
            f"ClusterExtension {name}: give one of the ClusterCatalogs {rivals} a higher spec.priority, or name it in "
            f"spec.source.catalog.selector. {stays}.",
            "",
        )
    elif result.advice:
        yield f"ClusterExtension {name}: {result.advice} {stays}.", ""
    elif _NONE in result.problem and result.installed is not None:
        yield (
            f"ClusterExtension {name}: have a catalog that leads on from {result.installed.name}, or, to go to a "
            f"version that is no successor, set upgradeConstraintPolicy: SelfCertified. {stays}.",
            "",
        )
    elif result.conditions:
        yield f"ClusterExtension {name}: set right what its condition Progressing says. {stays}.", ""
