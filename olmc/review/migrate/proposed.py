"""`olmc migrate`: a workspace's files changed for the proposed APIs, and proof that nothing is lost by it.

What runs before has to run after: the changed workspace is compiled, and a Subscription whose operator would be moved,
widened or gone stays as it is, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from olmc.compiler.api import Compilation
from olmc.compiler.load.bundles import manifests_in_their_scope
from olmc.compiler.load.config import CONFIG_FILE
from olmc.compiler.load.manifests import manifests_in
from olmc.compiler.load.request import CompileRequest, request_of
from olmc.compiler.migration import (
    Edit,
    EditableFiles,
    Migration,
    carried_out,
    config_text,
    editable_files,
    left_alone,
    with_settings,
)
from olmc.compiler.model.cluster import NamespacedName
from olmc.compiler.model.workspace import Workspace
from olmc.k8s.diagnostics import Diagnostic, FileChange, Report, Severity, Source
from olmc.k8s.yaml import read
from olmc.k8s.yaml.edit import EditError
from olmc.review.diff.crd_kinds import plain
from olmc.review.diff.operators import operators as operators_of
from olmc.review.diff.permissions import SideAccess, access, permission_changes
from olmc.targets.pipeline import compile, compile_workspace
from olmc.targets.proposed import rules
from olmc.targets.proposed.descoped.install_topology import migrate_to_descoped
from olmc.targets.proposed.operator_api.manifests import read_operators_and_installs
from olmc.targets.proposed.operator_api.operators import SETTING, OperatorMove, plan_moves, settings_for
from olmc.targets.proposed.operator_api.preserved import RunningState, losses

__all__ = ["migrate"]


def migrate(
    root: CompileRequest | Path | str, to: Literal["descoped", "operators"], config: str | None = None
) -> Migration:
    """The changes that move the workspace at `root` to the proposed APIs; nothing is written.

    `config` is the text of olmc.yaml where it is not that of the file. What stops the compilation is among the remarks,
    and there are no changes then.
    """
    request = request_of(root)
    to_descoped = to == "descoped"
    before = compile(request, descoped=True) if to_descoped else compile(request)
    if before.failed or before.settled is None:
        return Migration((), tuple(d for d in before.diagnostics if d.severity is Severity.ERROR))
    if before.workspace is None:  # a bundle by itself has neither Subscriptions nor groups
        return Migration((), ())
    files = editable_files(request.root, before.workspace)
    if to_descoped:
        return _descoped(before, before.workspace, files)
    return _to_operators(before, before.workspace, files, config_text(request.root) if config is None else config)


def _descoped(before: Compilation, workspace: Workspace, files: EditableFiles) -> Migration:
    """The changes that descope operators, with the permissions that come and go by them (R-DESCOPE-10)."""
    assert before.settled is not None
    migration = migrate_to_descoped(before.settled.cluster, files)
    if not migration.changes:
        return migration
    after = compile_workspace(changed_workspace(workspace, migration.changes), before.options, Report())
    remarks = [
        rules.PERMISSION_MOVES.finding(None, who=change.identity, change=plain(change.message))
        for change in permission_changes(_access(before), _access(after))
    ]
    return migration._replace(remarks=(*migration.remarks, *remarks))


def _access(made: Compilation) -> SideAccess:
    objects = [rendered.object for rendered in made.objects]
    return access(objects, operators_of(objects))


def changed_workspace(workspace: Workspace, changes: Iterable[FileChange]) -> Workspace:
    """The workspace with the manifests of changed files read again."""
    after = {change.path: change.after for change in changes}
    report = Report()
    manifests = [manifest for manifest in workspace.manifests if manifest.source.path not in after]
    for path, text in after.items():
        manifests += manifests_in(read(path, text, report), report) if text else ()
    manifests.sort(key=lambda manifest: (manifest.source.path, manifest.source.document))
    return workspace._replace(manifests=manifests_in_their_scope(manifests, workspace.bundles.values(), report))


def _to_operators(before: Compilation, workspace: Workspace, files: EditableFiles, config: str) -> Migration:
    """Return the changes that make Operators of those Subscriptions whose operators keep running (R-OPERATOR-13).

    A Subscription that is left alone may be a dependency of another one, so the rest is tried again without it.
    """
    assert before.settled is not None
    plan = plan_moves(
        workspace, before.settled, read_operators_and_installs(workspace, Report()).operators, before.options
    )
    remarks = list(plan.refused)
    moves = list(plan.moves)
    while moves:
        refused = _unwritable(moves, files)
        if not refused:
            changes = carried_out([move.edit for move in moves], files)
            approved = tuple(dict.fromkeys(entry for move in moves for entry in move.approvals))
            after = _with_operators(before, changed_workspace(workspace, changes), approved)
            refused = losses(_state(before), _state(after), moves)
            if not refused:
                return _enabled(config, Migration(changes, tuple(remarks)), after, approved)
        remarks += _left(moves, refused)
        moves = [move for move in moves if move.name not in refused]
    return Migration((), tuple(remarks))


def _unwritable(moves: Iterable[OperatorMove], files: EditableFiles) -> dict[NamespacedName, str]:
    """The Subscriptions whose documents olmc can't edit, with the reason."""
    hindrances: dict[NamespacedName, str] = {}
    edits: list[Edit] = []
    for move in moves:
        try:
            carried_out([*edits, move.edit], files)
            edits.append(move.edit)
        except EditError as error:
            hindrances[move.name] = str(error)
    return hindrances


def _with_operators(before: Compilation, workspace: Workspace, approved: Sequence[str]) -> Compilation:
    entries = dict.fromkeys((*before.options.approved_installs, *approved))
    options = before.options._replace(operators_and_installs=True, approved_installs=tuple(entries))
    return compile_workspace(workspace, options, Report())


def _state(made: Compilation) -> RunningState:
    return RunningState(made.objects, made.phases, made.operators)


def _left(moves: Iterable[OperatorMove], reasons: Mapping[NamespacedName, str]) -> Iterator[Diagnostic]:
    for move in moves:
        if move.name in reasons:
            yield left_alone(f"Subscription {move.name}", move.subscription.source, reasons[move.name])


def _enabled(text: str, migration: Migration, after: Compilation, approved: Sequence[str]) -> Migration:
    """The migration with what olmc.yaml has to say for it; without that nothing would be installed any more."""
    try:
        change = FileChange(CONFIG_FILE, text, with_settings(text, lambda spec: settings_for(spec, approved)))
    except EditError as error:
        why = f"olmc.yaml has to say {SETTING}: true, and it can't be edited: {error}"
        remark = left_alone("everything", Source(CONFIG_FILE, text), why)
        return Migration((), (*migration.remarks, remark))
    accounts = [
        rules.INSTALL_ACCOUNT.finding(
            None, install=install.install.name, account=f"{install.account.namespace}/{install.account.name}",
            count=len(install.approvals),
        )
        for result in after.operators
        for install in result.installs
        if install.applied and install.account.generated
    ]  # fmt: skip
    changes = sorted((*migration.changes, *((change,) if change.before != change.after else ())))
    return Migration(tuple(changes), (*migration.remarks, *accounts))
