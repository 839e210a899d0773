"""`olmc migrate --to olm-v1`: Subscriptions become ClusterExtensions, with a verdict on every operator.

The changed workspace is compiled, again and again until nothing is left to correct: what can't be installed stays, what
would be upgraded at once is pinned, and each installer gets the rights that it needs (R-V1-MIG-3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olmc.api import Compilation, compile, compile_workspace
from olmc.diagnostics.rules import migration as rules
from olmc.lean import NamedTuple
from olmc.load.config import CONFIG_FILE, read_config
from olmc.load.files import has_file, read_text
from olmc.migrate.cutover import cutover
from olmc.migrate.extension_losses import Sides, losses
from olmc.migrate.extension_moves import (
    ExtensionMove,
    Reason,
    catalog_edit,
    catalog_for,
    catalog_losses,
    cluster_catalog_object,
    plan_extensions,
)
from olmc.migrate.extension_refusals import dependencies, reason_of, refusals
from olmc.migrate.proposed import built_elsewhere, changed_workspace
from olmc.model.cluster import CatalogSource, Cluster, NamespacedName
from olmc.model.diagnostics import Diagnostic, Report, Severity, Source
from olmc.model.objects import CatalogKey, KubernetesObject, labels_of, mapping, name_of, namespace_of, texts
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.model.options import Options
from olmc.model.workspace import Manifest, Workspace
from olmc.olm.naming import COPIED_FROM
from olmc.olmv1.feature_gates import gates_of
from olmc.proposed.document_edits import with_settings
from olmc.proposed.migration import Edit, FileChange, Migration, carried_out, left_alone
from olmc.yaml import at
from olmc.yaml.edit import EditError, without_document

_MOST_ROUNDS = 100


class Verdict(NamedTuple):
    """Whether a Subscription moves, and the reasons: what is lost if it does, what stands against it if it does not."""

    subscription: NamespacedName
    place: Source | None
    move: ExtensionMove | None
    reasons: tuple[Reason, ...]

    @property
    def outcome(self) -> str:
        if self.move is None:
            return "stays"
        return "moves with losses" if self.reasons else "moves as it is"


class ExtensionMigration(NamedTuple):
    """The changes with what there is to say about them, the verdicts, and the steps on a live cluster as a script."""

    migration: Migration
    verdicts: tuple[Verdict, ...] = ()
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
    for name, reasons in stays.items():  # what the bundle says against it is told as well
        stays[name] = (*reasons, *_of_bundle(name, before, workspace, options, reasons))
    after = before
    changes: tuple[FileChange, ...] = ()
    for _ in range(_MOST_ROUNDS):
        refused = _unwritable(moves, workspace, cluster)
        if not refused:
            changes = carried_out(list(_edits(moves, workspace, cluster)))
            changed = _with_catalogs(changed_workspace(workspace, changes), moves, cluster)
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
    lost = losses(Sides(before.objects, after.objects), moves) if moves else {}
    verdicts = tuple(sorted(_verdicts(moves, stays, lost, cluster), key=lambda verdict: verdict.subscription))
    remarks = [finding for verdict in verdicts for finding in _findings(verdict)]
    if moves:
        config, told = _config_change(root, workspace, moves, cluster, asked)
        changes = (*changes, *config)
        remarks += (*_goes_with_v0(before, moves), *told)
    steps = cutover(before, after, moves, gates) if moves else ""
    return ExtensionMigration(Migration(tuple(sorted(changes)), tuple(remarks)), verdicts, steps)


def _is_current(moves: Iterable[ExtensionMove], workspace: Workspace) -> bool:
    """Whether what was compiled is what would be written."""
    written = {name_of(manifest.object): manifest.object["spec"] for manifest in workspace.extensions}
    accounts = {name_of(m.object) for m in workspace.manifests if m.object["kind"] == "ServiceAccount"}
    return all(written.get(move.name) == move.object["spec"] and f"{move.name}-installer" in accounts for move in moves)


def _of_bundle(
    name: NamespacedName, before: Compilation, workspace: Workspace, options: Options, known: Iterable[Reason]
) -> Iterator[Reason]:
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
    reasons: list[Reason] = []
    if entry is not None:
        reasons += dependencies(entry, before.settled.cluster, at(subscription.source, "spec"))
    if content is not None:
        reasons += refusals(content, name, options)
    kinds = {reason.kind for reason in known}
    yield from (reason for reason in reasons if reason.kind not in kinds)


def _judged(
    moves: Iterable[ExtensionMove], before: Compilation, after: Compilation, options: Options
) -> tuple[list[ExtensionMove], dict[NamespacedName, tuple[Reason, ...]]]:
    """The moves corrected by what came of them, and those that are refused with the reasons."""
    results = {result.extension.name: result for result in after.extensions}
    corrected: list[ExtensionMove] = []
    refused: dict[NamespacedName, tuple[Reason, ...]] = {}
    assert before.settled is not None
    rest = _rest_changed(tuple(moves), before, after)
    workspace, cluster = after.workspace, before.settled.cluster
    for move in moves:
        result = results.get(move.name)
        reasons: list[Reason] = []
        place = move.place()
        if result is None or workspace is None:
            reasons.append(Reason("bundles", "R-V1-CE-1", "its ClusterExtension is refused", "Rename it.", place))
        elif result.problem:
            reasons += (reason_of(line, place) for line in result.problem.split("\n"))
            if any(reason.kind == "dependencies" for reason in reasons):
                entries = cluster.catalogs[move.subscription.catalog].entries
                entry = next(entry for entry in entries if entry.name == move.csv)
                reasons = list(dependencies(entry, cluster, at(move.subscription.source, "spec")))
        elif result.installed is not None and result.installed.name != move.csv:
            if move.pinned:
                why = f"OLM v1 would install {result.installed.name} in place of {move.csv}"
                reasons.append(Reason("versions", "R-V1-RES-8", why, "Upgrade it under OLM v0 first.", place))
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
    loss = Reason("upgrades", "R-V1-RES-8", why, hint, at(move.subscription.source, "spec", "channel"))
    return move._replace(pinned=True, losses=(*move.losses, loss))


def _rest_changed(
    moves: tuple[ExtensionMove, ...], before: Compilation, after: Compilation
) -> Mapping[str, tuple[Reason, ...]]:
    """By namespace, what would become of operators that stay with OLM v0."""
    moving = {move.member for move in moves}
    was = {name: phase for name, phase in before.phases.items() if name not in moving}
    reasons: dict[str, tuple[Reason, ...]] = {}
    for name in sorted(was.keys() | after.phases.keys()):
        now = after.phases.get(name)
        if was.get(name) != now:
            became = "be gone" if now is None else "be installed by OLM v0 again" if name in moving else f"be {now[0]}"
            why = f"{name} is installed beside it, and would {became}"
            hint = "Subscribe to both by name, and let what depends on the other move with it."
            reasons.setdefault(name.namespace, (Reason("dependencies", "R-V1-RES-13", why, hint),))
    return reasons


def _edits(moves: Iterable[ExtensionMove], workspace: Workspace, cluster: Cluster) -> Iterator[Edit]:
    """The changes to all documents: of Subscriptions, their CatalogSources, and what is left without a use."""
    moves = list(moves)
    moving = {move.subscription.name for move in moves}
    beside: dict[NamespacedName, list[KubernetesObject]] = {}
    for key, of_key in _by_catalog(moves).items():
        source = cluster.catalogs.get(key)
        if source is None or source.manifest is None:
            continue
        others = [name for name, s in cluster.subscriptions.items() if name not in moving and s.catalog == key]
        if any(name_of(manifest.object) == key.name for manifest in workspace.extension_catalogs):
            continue
        if source.source is not None and not source.of_cluster and not others:
            yield catalog_edit(source, source.source)
        else:
            beside.setdefault(of_key[0].subscription.name, []).append(cluster_catalog_object(source))
    for move in moves:
        yield move.edit(beside.get(move.subscription.name, ()))
    for manifest in workspace.manifests:
        if _has_no_use(manifest, moves, moving, cluster):
            yield Edit(manifest.source, without_document)


def _by_catalog(moves: Iterable[ExtensionMove]) -> dict[CatalogKey, list[ExtensionMove]]:
    by_key: dict[CatalogKey, list[ExtensionMove]] = {}
    for move in moves:
        by_key.setdefault(move.subscription.catalog, []).append(move)
    return by_key


def _has_no_use(
    manifest: Manifest, moves: Iterable[ExtensionMove], moving: set[NamespacedName], cluster: Cluster
) -> bool:
    """Whether an object is OLM v0's, and only for operators that move: CSVs with what belongs to them, and groups."""
    obj = manifest.object
    name, kind = NamespacedName(namespace_of(obj), name_of(obj)), obj["kind"]
    if obj["apiVersion"].partition("/")[0] != OLM_GROUP:
        return False
    csvs = {move.member for move in moves}
    if kind == CSV_KIND and COPIED_FROM in labels_of(obj):
        return NamespacedName(labels_of(obj)[COPIED_FROM], name.name) in csvs
    if kind in (CSV_KIND, "OperatorCondition"):
        return name in csvs
    if kind == "InstallPlan":
        planned = texts(mapping(obj.get("spec")).get("clusterServiceVersionNames"))
        return bool(planned) and all(NamespacedName(name.namespace, csv) in csvs for csv in planned)
    if kind == "OperatorGroup":
        left = [csv for csv in cluster.members if csv.namespace == name.namespace and csv not in csvs]
        waiting = [s for s in cluster.subscriptions if s.namespace == name.namespace and s not in moving]
        return not left and not waiting and name.namespace in {csv.namespace for csv in csvs}
    return False


def _unwritable(
    moves: list[ExtensionMove], workspace: Workspace, cluster: Cluster
) -> dict[NamespacedName, tuple[Reason, ...]]:
    """The Subscriptions whose documents olmc can't edit, or what goes with them, with the reason."""
    refused: dict[NamespacedName, tuple[Reason, ...]] = {}
    for move in moves:
        try:
            carried_out(list(_edits([move], workspace, cluster)))
        except EditError as error:
            place = at(move.subscription.source, "spec")
            hint = "Write it in YAML, one object a document, and run olmc migrate again."
            refused[move.subscription.name] = (Reason("files", "R-V1-MIG-3", str(error), hint, place),)
    return refused


def _with_catalogs(workspace: Workspace, moves: Iterable[ExtensionMove], cluster: Cluster) -> Workspace:
    """The workspace with the content of catalogs under the names that they have for OLM v1."""
    renamed = {}
    for key in _by_catalog(moves):
        name, _ = catalog_for(key, cluster)
        content = workspace.catalogs.get(key.name) or workspace.catalogs.get(f"{key.namespace}/{key.name}")
        if content is not None and name not in workspace.catalogs:
            renamed[name] = content
    return workspace._replace(catalogs={**workspace.catalogs, **renamed})


def _verdicts(
    moves: Iterable[ExtensionMove], stays: Mapping[NamespacedName, tuple[Reason, ...]],
    lost: Mapping[str, list[Reason]], cluster: Cluster,
) -> Iterator[Verdict]:  # fmt: skip
    for move in moves:
        source = cluster.catalogs.get(move.subscription.catalog)
        of_catalog = catalog_losses(source) if isinstance(source, CatalogSource) else ()
        reasons = dict.fromkeys((*move.losses, *of_catalog, *lost.get(move.name, ())))
        yield Verdict(move.subscription.name, move.subscription.source, move, tuple(reasons))
    for name, reasons_against in stays.items():
        yield Verdict(name, cluster.subscriptions[name].source, None, reasons_against)


def _findings(verdict: Verdict) -> Iterator[Diagnostic]:
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


def _plans(moves: Iterable[ExtensionMove], cluster: Cluster) -> set[str]:
    """The InstallPlans of what moves, as olmc.yaml approves them."""
    listed = ((move, entry) for move in moves for entry in cluster.catalogs[move.subscription.catalog].entries)
    return {f"{move.namespace}/{entry.name}" for move, entry in listed if entry.package == move.name}


def _config_change(
    root: Path, workspace: Workspace, moves: Iterable[ExtensionMove], cluster: Cluster, asked: str
) -> tuple[tuple[FileChange, ...], list[Diagnostic]]:
    """What olmc.yaml has to say for the profile that was asked for, and what a patch can't do."""
    told = []
    for key in _by_catalog(moves):
        name, _ = catalog_for(key, cluster)
        if name != key.name and key.name in workspace.catalogs:
            hint = f"Rename catalogs/{key.name} to catalogs/{name}."
            text = f"the content of ClusterCatalog {name} is looked for in catalogs/{name}"
            told.append(rules.BY_HAND.finding(None, text=text, hint=hint))
    config = read_config(root, Report())
    gone = _plans(moves, cluster)
    approved = [entry for entry in texts(config.get("approve")) if entry not in gone]
    settings: dict[str, Any] = {"olmVersion": asked} if asked not in ("", config.get("olmVersion")) else {}
    settings |= {"approve": approved} if approved != texts(config.get("approve")) else {}
    if not settings:
        return (), told
    text = (read_text(root, CONFIG_FILE, Report()) if has_file(root, CONFIG_FILE) else "") or ""
    try:
        said = with_settings(text, lambda _: settings)
        return ((FileChange(CONFIG_FILE, text, said),) if said != text else ()), told
    except EditError as error:
        return (), [*told, left_alone("olmc.yaml", Source(CONFIG_FILE, text), str(error))]
