"""What becomes of ClusterExtensions: the bundle that each goes on to, what stops it, and what a person has to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from olmc.diff.extensions import DiffExtension, apis_by_owner, extensions
from olmc.explain.extensions import extension_states
from olmc.explain.status import OperatorStatus
from olmc.lean import NamedTuple
from olmc.model.objects import spec_of, text
from olmc.model.state import ClusterState
from olmc.plan.outcomes import FAILED_BEFORE, MOVED, OperatorOutcome

if TYPE_CHECKING:
    from olmc.olmv1.extensions import ExtensionResult

_CRD_CHECK = "validating upgrade for CRD"
_SEVERAL, _NONE = "in multiple catalogs with the same priority", "no bundles found for package"


class PlannedExtension(NamedTuple):
    """A ClusterExtension that goes on to another bundle: what it had ("" for nothing), what it gets, from which
    catalog, and what comes with the resolution after that ("" for nothing)."""

    name: str
    before: str
    after: str
    catalog: str
    further: str


def planned_extensions(state: ClusterState, results: Iterable[ExtensionResult]) -> Iterator[PlannedExtension]:
    """The ClusterExtensions that get another bundle, by name."""
    before = _before(state)
    for result in results:
        was = before[result.extension.name].bundle if result.extension.name in before else ""
        now = result.installed.name if result.installed is not None else ""
        if now and now != was:
            catalog = result.resolution.catalog if result.resolution is not None else ""
            yield PlannedExtension(result.extension.name, was, now, catalog, result.further)


def _before(state: ClusterState) -> dict[str, DiffExtension]:
    return extensions(manifest.object for manifest in state.objects.values())


def extension_outcomes(state: ClusterState, results: Sequence[ExtensionResult]) -> Iterator[OperatorOutcome]:
    """What becomes of each ClusterExtension of both states, those first that are there in the end."""
    before = _before(state)
    for row, result in zip(extension_states(results), results, strict=True):
        yield _outcome(row, result, before.get(row.extension))
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
    gone = {(each.namespace, each.package): each for each in of_v0 if each.outcome == "removed" and not each.after}
    rows = []
    for row in of_v1:
        was = gone.pop((row.namespace, row.package), None) if not row.before and row.outcome != "removed" else None
        if was is not None:
            word = MOVED if row.outcome == "installed" else row.outcome
            why = row.why or f"from OLM v0 to ClusterExtension {row.extension}"
            row = row._replace(before=was.before, before_version=was.before_version, outcome=word, why=why)
        rows.append(row)
    kept = (each for each in of_v0 if each.outcome != "removed" or each.after or (each.namespace, each.package) in gone)
    return (*kept, *rows)


def tasks_of_moves(operators: Iterable[OperatorOutcome]) -> Iterator[tuple[str, str]]:
    """What a person has to do before operators move, with the command for it."""
    moved = [each for each in operators if each.outcome == MOVED]
    if moved:
        names = ", ".join(each.before for each in moved)
        yield (
            f"Before this is applied, take the steps by which {names} move to OLM v1, as the repository stood before. "
            "Otherwise OLM v1 installs nothing over what is there, and OLM v0 upgrades it no more.",
            "olmc migrate --to olm-v1 --steps",
        )


def _outcome(row: OperatorStatus, result: ExtensionResult, before: DiffExtension | None) -> OperatorOutcome:
    word = _word(row, result, before)
    further = f"then {row.upgrade}" if row.upgrade else ""
    return OperatorOutcome(
        row.namespace, row.package, before.bundle if before is not None else "",
        before.version if before is not None else "", row.csv, row.version, row.phase, word,
        result.problem.partition("\n")[0] or further, extension=row.extension,
    )  # fmt: skip


def _word(row: OperatorStatus, result: ExtensionResult, before: DiffExtension | None) -> str:
    if result.problem:
        if not result.conditions and result.stored is None and result.resolution is not None:
            return "unknown"  # the content of a catalog or a bundle is not in the workspace
        return FAILED_BEFORE if before is not None and _is_old(result, before) else "failing"
    if before is None or not before.bundle:
        return "installed"
    if before.bundle != row.csv:
        return "upgraded"
    return "recovered" if before.is_stopped else "unchanged"


def _is_old(result: ExtensionResult, before: DiffExtension) -> bool:
    now = next((each.message for each in result.conditions if each.type == "Progressing"), "")
    return before.is_stopped and before.message == now


def tasks_of_extensions(state: ClusterState, results: Sequence[ExtensionResult]) -> Iterator[tuple[str, str]]:
    """What a person has to do about ClusterExtensions, each with its command ("" for none)."""
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


def _stopped(result: ExtensionResult) -> Iterator[tuple[str, str]]:
    name, chosen = result.extension.name, result.resolution.bundle if result.resolution is not None else None
    if not result.problem or result.stored is not None:
        return  # what the API server refuses is reported with its field
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
    elif _NONE in result.problem and result.installed is not None:
        yield (
            f"ClusterExtension {name}: have a catalog that leads on from {result.installed.name}, or, to go to a "
            f"version that is no successor, set upgradeConstraintPolicy: SelfCertified. {stays}.",
            "",
        )
    elif result.conditions:
        yield f"ClusterExtension {name}: set right what its condition Progressing says. {stays}.", ""
