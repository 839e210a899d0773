"""`olmc migrate --to olm-v1`: Subscriptions become ClusterExtensions, with a verdict on every operator.

The changed workspace is compiled, again and again until nothing is left to correct: what can't be installed stays, what
would be upgraded at once is pinned, and each installer gets the rights that it needs (R-V1-MIG-3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from olmc.api import Compilation, compile, compile_workspace
from olmc.diagnostics.rules import migration as rules
from olmc.lean import NamedTuple
from olmc.migrate.cutover import cutover
from olmc.migrate.extension_edits import config_change, edits, unwritable, with_catalogs
from olmc.migrate.extension_leavings import leavings
from olmc.migrate.extension_losses import BothGenerations, copied_csvs, losses
from olmc.migrate.extension_moves import ExtensionMove, MoveReason, catalog_losses, plan_extensions
from olmc.migrate.extension_refusals import dependencies, reason_of, refusals
from olmc.migrate.proposed import built_elsewhere, changed_workspace
from olmc.model.cluster import CatalogSource, Cluster, NamespacedName
from olmc.model.diagnostics import Diagnostic, Report, Severity, Source
from olmc.model.objects import name_of
from olmc.model.options import Options
from olmc.model.workspace import Workspace
from olmc.olmv1.feature_gates import gates_of
from olmc.proposed.migration import FileChange, Migration, carried_out
from olmc.yaml import at

_MOST_ROUNDS = 100


class MoveVerdict(NamedTuple):
    """Whether a Subscription moves, and the reasons: what is lost if it does, what stands against it if it does not."""

    subscription: NamespacedName
    place: Source | None
    move: ExtensionMove | None
    reasons: tuple[MoveReason, ...]

    @property
    def outcome(self) -> str:
        if self.move is None:
            return "stays"
        return "moves with losses" if self.reasons else "moves as it is"


class ExtensionMigration(NamedTuple):
    """The changes with what there is to say about them, the verdicts, and the steps on a live cluster as a script."""

    migration: Migration
    verdicts: tuple[MoveVerdict, ...] = ()
    steps: str = ""


def migrate_to_extensions(root: Path | str, olm_version: str = "") -> ExtensionMigration:
    """The changes that make ClusterExtensions of Subscriptions, for the OLM v1 of a profile; nothing is written.

    `olm_version` "" is what olmc.yaml says, or the newest. What stops the compilation is among the remarks.
    """
    path = Path(root)
    before = compile(path)
    if before.failed or before.settled is None:
        errors = tuple(d for d in before.diagnostics if d.severity is Severity.ERROR)
        return ExtensionMigration(Migration((), errors))
    if before.workspace is None:  # a bundle by itself has neither Subscriptions nor groups
        return ExtensionMigration(Migration((), ()))
    built = built_elsewhere(path)
    if built is not None:
        return ExtensionMigration(Migration((), (built,)))
    options = before.options._replace(olm_version=olm_version or before.options.olm_version)
    return _migrated(path, before, before.workspace, options, olm_version)


def _migrated(
    root: Path, before: Compilation, workspace: Workspace, options: Options, asked: str
) -> ExtensionMigration:
    assert before.settled is not None
    cluster, gates = before.settled.cluster, gates_of(options.olm_version)
    plan = plan_extensions(workspace, cluster, gates, [rendered.object for rendered in before.objects])
    stays = dict(plan.stays)
    moves = list(plan.moves)
    for name, reasons in stays.items():  # what the bundle says against it is reported as well
        stays[name] = (*reasons, *_of_bundle(name, before, workspace, options, reasons))
    after = before
    changes: tuple[FileChange, ...] = ()
    # Refusing one move changes what the others find in the cluster, their permissions above all, so all are judged anew
    # until nothing is refused and what was compiled is what will be written.
    for _ in range(_MOST_ROUNDS):
        refused = unwritable(moves, workspace, cluster)
        if not refused:
            changes = carried_out(list(edits(moves, workspace, cluster)))
            changed = with_catalogs(changed_workspace(workspace, changes), moves, cluster)
            after = compile_workspace(changed, options, Report())
            moves, refused = _judged(moves, before, after, options)
        for name, reasons in refused.items():
            stays[name] = reasons
        moves = [move for move in moves if move.subscription.name not in refused]
        if not refused and after is not before and all(move.required for move in moves) and _is_current(moves, changed):
            break
        if not moves:
            break
    if not moves:
        changes = ()
    sides = BothGenerations(before.objects, after.objects)
    lost = losses(sides, moves) if moves else {}
    for move, reason in leavings(sides, moves):
        lost[move.name].append(reason)
    verdicts = tuple(sorted(_verdicts(moves, stays, lost, cluster), key=lambda verdict: verdict.subscription))
    remarks = [finding for verdict in verdicts for finding in _findings(verdict)]
    if moves:
        config, config_findings = config_change(root, workspace, moves, cluster, asked)
        changes = (*changes, *config)
        remarks += (*_goes_with_v0(before, moves), *config_findings)
    steps = cutover(before, after, moves, gates) if moves else ""
    return ExtensionMigration(Migration(tuple(sorted(changes)), tuple(remarks)), verdicts, steps)


def _is_current(moves: Iterable[ExtensionMove], workspace: Workspace) -> bool:
    """Whether what was compiled is what would be written."""
    written = {name_of(manifest.object): manifest.object.get("spec") for manifest in workspace.extensions}
    accounts = {name_of(m.object) for m in workspace.manifests if m.object["kind"] == "ServiceAccount"}
    return all(written.get(move.name) == move.object["spec"] and f"{move.name}-installer" in accounts for move in moves)


def _of_bundle(
    name: NamespacedName, before: Compilation, workspace: Workspace, options: Options, known: Iterable[MoveReason]
) -> Iterator[MoveReason]:
    """What stands against the bundle of a Subscription that stays for another reason."""
    assert before.settled is not None
    subscription = before.settled.cluster.subscriptions[name]
    source = before.settled.cluster.catalogs.get(subscription.catalog)
    listed = [entry for entry in (source.entries if source else ()) if entry.package == subscription.package]
    replaced = {entry.replaces for entry in listed}
    heads = [entry.name for entry in listed if entry.name not in replaced]
    csv = subscription.installed or subscription.current or subscription.starting_csv or next(iter(heads), "")
    entry = next((entry for entry in listed if entry.name == csv), None)
    content = workspace.bundles.get(csv)
    reasons: list[MoveReason] = []
    if entry is not None:
        reasons += dependencies(entry, before.settled.cluster, at(subscription.source, "spec"))
    if content is not None:
        reasons += refusals(content, name, options)
    kinds = {reason.kind for reason in known}
    yield from (reason for reason in reasons if reason.kind not in kinds)


def _judged(
    moves: Iterable[ExtensionMove], before: Compilation, after: Compilation, options: Options
) -> tuple[list[ExtensionMove], dict[NamespacedName, tuple[MoveReason, ...]]]:
    """The moves corrected by what came of them, and those that are refused with the reasons."""
    results = {result.extension.name: result for result in after.extensions}
    corrected: list[ExtensionMove] = []
    refused: dict[NamespacedName, tuple[MoveReason, ...]] = {}
    assert before.settled is not None
    rest = _rest_changed(tuple(moves), before, after)
    workspace, cluster = after.workspace, before.settled.cluster
    for move in moves:
        result = results.get(move.name)
        reasons: list[MoveReason] = []
        place = move.place()
        if result is None or workspace is None:
            reasons.append(MoveReason("bundles", "R-V1-CE-1", "its ClusterExtension is refused", "Rename it.", place))
        elif result.problem:
            reasons += (reason_of(line, place) for line in result.problem.split("\n"))
            if any(reason.kind == "dependencies" for reason in reasons):
                entries = cluster.catalogs[move.subscription.catalog].entries
                entry = next(entry for entry in entries if entry.name == move.csv)
                reasons = list(dependencies(entry, cluster, at(move.subscription.source, "spec")))
        elif result.installed is not None and result.installed.name != move.csv:
            if move.pinned:
                why = f"OLM v1 would install {result.installed.name} in place of {move.csv}"
                reasons.append(MoveReason("versions", "R-V1-RES-8", why, "Upgrade it under OLM v0 first.", place))
            else:
                move = _pinned(move, result.installed.name)
        content = workspace.bundles.get(move.csv) if workspace is not None else None
        if content is not None:
            kinds = {reason.kind for reason in reasons}
            more = refusals(content, move.subscription.name, options, move)
            reasons += (reason for reason in more if reason.kind not in kinds)
        reasons = reasons or list(rest.get(move.namespace, ()))
        if reasons:
            refused[move.subscription.name] = tuple(reasons)
        required = result.required if result is not None else ()
        corrected.append(move._replace(required=required or move.required))
    return corrected, refused


def _pinned(move: ExtensionMove, instead: str) -> ExtensionMove:
    why = (
        f"OLM v1 would install {instead} at once, as it follows no upgrade edges to begin with; it is pinned to "
        f"{move.version}"
    )
    hint = "Remove spec.source.catalog.version once it is installed, and it is upgraded edge by edge."
    loss = MoveReason("upgrades", "R-V1-RES-8", why, hint, at(move.subscription.source, "spec", "channel"))
    return move._replace(pinned=True, losses=(*move.losses, loss))


def _rest_changed(
    moves: tuple[ExtensionMove, ...], before: Compilation, after: Compilation
) -> Mapping[str, tuple[MoveReason, ...]]:
    """By namespace, what would become of operators that stay with OLM v0."""
    moving = {move.member for move in moves}
    was = {name: phase for name, phase in before.phases.items() if name not in moving}
    reasons: dict[str, tuple[MoveReason, ...]] = {}
    for name in sorted(was.keys() | after.phases.keys()):
        now = after.phases.get(name)
        if was.get(name) != now:
            became = "be gone" if now is None else "be installed by OLM v0 again" if name in moving else f"be {now[0]}"
            why = f"{name} is installed beside it, and would {became}"
            hint = "Subscribe to both by name, and let what depends on the other move with it."
            reasons.setdefault(name.namespace, (MoveReason("dependencies", "R-V1-RES-13", why, hint),))
    return reasons


def _verdicts(
    moves: Iterable[ExtensionMove], stays: Mapping[NamespacedName, tuple[MoveReason, ...]],
    lost: Mapping[str, list[MoveReason]], cluster: Cluster,
) -> Iterator[MoveVerdict]:  # fmt: skip
    for move in moves:
        source = cluster.catalogs.get(move.subscription.catalog)
        of_catalog = catalog_losses(source) if isinstance(source, CatalogSource) else ()
        reasons = dict.fromkeys((*move.losses, *of_catalog, *lost.get(move.name, ())))
        yield MoveVerdict(move.subscription.name, move.subscription.source, move, tuple(reasons))
    for name, reasons_against in stays.items():
        yield MoveVerdict(name, cluster.subscriptions[name].source, None, reasons_against)


def _findings(verdict: MoveVerdict) -> Iterator[Diagnostic]:
    name, place = verdict.subscription, at(verdict.place)
    move = verdict.move
    if move is not None:
        manner = "" if not verdict.reasons else f", and loses {len(verdict.reasons)} of what it has"
        manner = manner or ", with all that it has"
        yield rules.MOVES.finding(place, name=name, extension=move.name, csv=move.csv, manner=manner)
    rule = rules.STAYS if move is None else rules.LOSES
    for reason in verdict.reasons:
        yield rule.finding(
            reason.place or place, name=name, kind=reason.kind, text=reason.text, rule=reason.rule, hint=reason.hint
        )


def _goes_with_v0(before: Compilation, moves: Iterable[ExtensionMove]) -> Iterator[Diagnostic]:
    """What every operator leaves behind: OLM's own objects, with the copies of CSVs."""
    moves = list(moves)
    copies = [f"{csv} ({count})" for csv, count in copied_csvs(before.objects, moves).items()]
    if copies:
        text = f"by copied CSVs users of other namespaces see operators; these go: {', '.join(copies)} (R-V1-LIM-1)"
        yield rules.GOES_WITH_V0.finding(None, text=text)
    text = (
        f"of {', '.join(move.csv for move in moves)} the CSV, InstallPlan, Operator and OperatorCondition go, the "
        "variable OPERATOR_CONDITION_NAME and the annotations of OperatorGroups, and the ClusterRoles olm.og.* "
        "(R-V1-MIG-1)"
    )
    yield rules.GOES_WITH_V0.finding(None, text=text)
