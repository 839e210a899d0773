"""The work of a worker of `olmc fleet`: a task and the contents that it names become a result, bytes both."""

from __future__ import annotations

import io
import json
import posixpath
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, redirect_stderr
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.check import settings_of
from olmc.cli.console import BAD_INPUT, Input, say, tell
from olmc.cli.inspect import diagnosed_rows
from olmc.compiler.api import Compilation, emptiness
from olmc.compiler.load.entries import entries_at
from olmc.compiler.load.kustomization import REPOSITORY_MARK
from olmc.compiler.load.repository import pattern_part
from olmc.compiler.load.request import BesideFolder
from olmc.compiler.load.workspace import read_beside
from olmc.compiler.model.options import Options
from olmc.compiler.output.directory import files_of, private_in
from olmc.compiler.output.messages import as_json, as_text, seen_from
from olmc.integrations.fleet.outputs import LEFT_OUT, failed_result, folder_in_texts, packed
from olmc.integrations.fleet.pool import serve_tasks
from olmc.integrations.fleet.trees import READS_VALUES, WorkerFolders, reads_values, staged, staged_beside
from olmc.k8s.diagnostics import Diagnostic, Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject
from olmc.review.check.check import CheckRules, check_compiled
from olmc.review.explain.left_out import content, left_out_of, note
from olmc.review.explain.status import UNKNOWN, as_data, as_table
from olmc.review.plan import engine, outputs
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    from olmc.compiler.load.releases import Release
    from olmc.compiler.reconcile.loop import SettledCluster

_NOTHING = "nothing for OLM"
_EVERYTHING = frozenset({"purpose", "include", "exclude"})


class _Given(NamedTuple):
    """The content of a task: its options, those that olmc.yaml must not override, and the folders of both sides with
    those that count beside them; `folder` is the name of the entry's folder in texts."""

    options: Options
    given: frozenset[str]
    before: Path | None
    after: Path | None
    beside_before: BesideFolder | None
    beside: BesideFolder | None
    release: int | None
    values: Mapping[str, Any]
    folder: str


def run_task(task: bytes, worker: WorkerFolders, known: dict[str, BesideFolder]) -> bytes:
    """Return the result of a task, compressed JSON. A problem of the input is a result as well.

    `known` are the folders that count beside entries, by their digests, as far as the worker has read them.
    """
    stderr = io.StringIO()
    with redirect_stderr(stderr):
        try:
            result = _result(json.loads(task), worker, known)
        except SystemExit:
            result = failed_result("can't be compiled", stderr.getvalue())
        except Exception as error:  # of one entry, which must not stop the others
            message = getattr(error, "message", "") or stderr.getvalue()
            name = type(error).__name__
            result = failed_result("can't be compiled", message or f"{name}: {error}") | {"passing": True}
    return packed(result)


def _result(task: dict[str, Any], worker: WorkerFolders, known: dict[str, BesideFolder]) -> dict[str, Any]:
    with ExitStack() as stack:
        sides = [
            stack.enter_context(staged(worker, task.get(name), name, task["entry"])) for name in ("before", "after")
        ]
        beside = [
            _read_once(worker, digest, task["besidePath"], known) if digest else None
            for digest in (task.get("beforeBeside"), task.get("afterBeside"))
        ]
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in task["options"].items()
        }
        is_file = any(side is not None and side.is_file() for side in sides)
        folder = posixpath.dirname(task["entry"]) if is_file else task["entry"]
        given = _Given(
            Options()._replace(**values), frozenset(task["given"]), sides[0], sides[1], beside[0], beside[1],
            task.get("release"), task.get("values") or {}, folder_in_texts(folder),
        )  # fmt: skip
        return _COMMANDS[task["command"]](given)


def _read_once(worker: WorkerFolders, digest: str, path: str, known: dict[str, BesideFolder]) -> BesideFolder:
    """The folder that counts beside entries, of which a worker has two at most: one for each side."""
    if digest not in known:
        for old in list(known)[: max(0, len(known) - 1)]:
            del known[old]
        known[digest] = read_beside(staged_beside(worker, digest, path))
    return known[digest]


def _releases(folder: Path) -> list[Release | None]:
    """Return how a folder of a repository is installed, by each who applies it."""
    top = next(parent for parent in (folder, *folder.parents) if (parent / REPOSITORY_MARK).exists())
    path = folder.relative_to(top).as_posix()
    return [entry.release for entry in entries_at(top) if entry.path == path]


def _input(given: _Given) -> Input:
    assert given.after is not None
    if given.after.is_file():
        return _pattern(given.after, given.beside, given.options)
    return Input(given.after, given.beside, release=_release(given))


def _release(given: _Given) -> Release | None:
    """Return how the cluster is installed now."""
    if given.release is None or given.after is None:
        return None
    releases = _releases(given.after)
    if given.release >= len(releases):  # found by files of a repository within this one
        say(f"{given.folder} is in a repository of its own; give --repository with its top.")
        raise SystemExit(BAD_INPUT)
    return releases[given.release]


def _input_before(given: _Given) -> Input | None:
    """The side before, None for none; a chart as it was installed then by the one who installs it now."""
    if given.before is None:
        return None
    if given.before.is_file():
        return _pattern(given.before, given.beside_before, given.options)
    if given.release is None:
        return Input(given.before, given.beside_before)
    now = _release(given)
    listed = _releases(given.before)
    # The first three values name the installation: applier, name and namespace.
    release = next((old for old in listed if old and now and old[:3] == now[:3]), None)
    return Input(given.before, given.beside_before, release=release if now else listed[given.release])


def _pattern(values: Path, beside: BesideFolder | None, options: Options) -> Input:
    """The cluster of a file with values of a validated pattern."""
    return Input(values.parent, beside, part=pattern_part(values.parent, values.name, options))


def _refused(done: Compilation, folder: str) -> dict[str, Any] | None:
    """The result where an entry could not be compiled to a cluster."""
    if done.failed:
        return _failed_by(done.diagnostics, folder)
    return _NO_CLUSTER if done.settled is None else None


_NO_CLUSTER = failed_result("is no cluster", "it is a bundle by itself, and no workspace")


def _failed_by(diagnostics: tuple[Diagnostic, ...], folder: str) -> dict[str, Any]:
    stderr = io.StringIO()
    with redirect_stderr(stderr):
        tell(diagnostics, least=Severity.ERROR)
    first = next((d for d in diagnostics if d.severity is Severity.ERROR), None)
    result = failed_result("can't be compiled", stderr.getvalue(), first.code if first is not None else "")
    shown = io.StringIO()
    with redirect_stderr(shown):
        tell(seen_from(folder, diagnostics), least=Severity.ERROR)
    return result | {"text": shown.getvalue() or result["text"]}


def _plan(given: _Given) -> dict[str, Any]:
    options, fixed = given.options._replace(show_secrets=True), given.given | _EVERYTHING
    report = Report()
    one = _input_before(given)
    try:
        begun = engine.begun_at(one.request(options, fixed) if one is not None else None, "before", report)
    except engine.NoStateError:
        return _NO_CLUSTER
    if begun is None:
        return _failed_by(tuple(report), given.folder) | {"headline": "can't be compiled before the change"}
    with ExitStack() as stack:
        if given.after is None:
            empty = given.before.parent / ".olmc-empty" if given.before is not None else Path()
            empty.mkdir(exist_ok=True)
            stack.callback(shutil.rmtree, empty, ignore_errors=True)
            given = given._replace(after=empty)
        path = engine.PlannedPath(_input(given).request(options, fixed), "after", begun.state.ignored)
        options = options._replace(state=begun.state)
        done, narrowing = engine.compile_planned(path, options)
        refused = _refused(done, given.folder) or (_NO_CLUSTER if done.workspace is None else None)
        if refused is not None:
            return refused
        plan = engine.planned_for(path, options, begun, done, narrowing)
        if plan.is_empty and (nothing := emptiness(Path(), done)):
            data = outputs.as_data(plan)
            return {"headline": _NOTHING, "gravity": "warning", "text": as_text(nothing, color=True), "data": data}
    shown = outputs.as_text(engine.plan_from(given.folder, plan), color=True)
    worst = max((change.severity for change in plan.difference.changes), default=None)
    gravity = "none" if plan.is_empty else "change"
    gravity = {Severity.ERROR: "breaking", Severity.FAILURE: "risk"}.get(worst, gravity) if worst else gravity
    gravity = "risk" if plan.has_unknown and gravity in ("none", "change") else gravity
    gravity = "failing" if plan.fails else gravity
    return {
        "headline": outputs.outcome(plan), "gravity": gravity, "text": shown,
        "data": outputs.as_data(plan),
        READS_VALUES: _reads_values(done, begun.side.settled, begun.state.applied.values()),
    }  # fmt: skip


def _reads_values(done: Compilation, before: SettledCluster | None, held: Iterable[KubernetesObject] = ()) -> bool:
    """Return whether the values in ConfigMaps matter to a result, which then is of its own cluster only."""
    assert done.settled is not None
    manifests = done.workspace.manifests if done.workspace is not None else ()  # a bundle by itself is in none
    given = (*held, *(manifest.object for manifest in manifests))
    return reads_values(given, (one.cluster for one in (before, done.settled) if one is not None))


def _compiled(given: _Given) -> Compilation:
    one = _input(given)
    return compile(one.request(given.options, given.given))


def _status(given: _Given) -> dict[str, Any]:
    done = _compiled(given._replace(given=given.given | _EVERYTHING))
    refused = _refused(done, given.folder)
    if refused is not None:
        return refused
    if empty := emptiness(Path(), done):
        return {"headline": _NOTHING, "gravity": "warning", "text": as_text(empty, color=True), "data": []}
    assert done.settled is not None
    rows = diagnosed_rows(done, done.settled)
    failing = sum(row.fails for row in rows)
    number = _counted(len(rows), "operator")
    unknown = sum(row.waits == UNKNOWN for row in rows)
    if failing:
        headline = f"{failing} of {number} fail{'s' * (failing == 1)}"
    elif unknown:
        headline = f"{unknown} of {number} {'is' if unknown == 1 else 'are'} unknown"
    else:
        headline = f"{number}, none fails" if rows else "no operators"
    found = [("", row) for row in rows]
    # Entries with one result share it, so that its commands can name none of them.
    table = as_table(found, color=True, here=given.folder)
    gravity = "failing" if failing else "failure" if done.findings else "warning" if unknown else "none"
    return {
        "headline": headline, "gravity": gravity, "text": table,
        "data": as_data(found)["operators"], READS_VALUES: _reads_values(done, None),
    } | _left_out(given, done, table)  # fmt: skip


def _left_out(given: _Given, done: Compilation, text: str) -> dict[str, Any]:
    """Return the content that is left out of an entry, as data and behind the text of its result; {} for none."""
    found = left_out_of(_input(given).root, done)
    lines = note(found, f"{given.folder}/")
    if not lines:
        return {}
    listed = [{"path": left.location.path, "what": content(left), "reason": left.reason.text} for left in found]
    return {"text": f"{text}{lines}", LEFT_OUT: listed}


def _check(given: _Given) -> dict[str, Any]:
    request = _input(given).request(given.options, given.given)
    select, ignore = (tuple(given.values.get(name) or ()) for name in ("select", "ignore"))
    done = compile(request)
    rules = CheckRules(settings_of((), ()), select=select, ignore=ignore)
    found = check_compiled(request, done, rules, emptiness(Path(), done))
    shown = tuple(d for d in found.diagnostics if d.severity >= Severity.WARNING)
    worst = max((d.severity for d in shown), default=None)
    counts = [(severity, sum(d.severity is severity for d in shown)) for severity in reversed(Severity)]
    parts = [_counted(count, severity.name.lower()) for severity, count in counts if count]
    return {
        "headline": ", ".join(parts) or "nothing found", "gravity": worst.name.lower() if worst is not None else "none",
        "text": as_text(seen_from(given.folder, shown), color=True), "data": json.loads(as_json(shown)),
    }  # fmt: skip


def _render(given: _Given) -> dict[str, Any]:
    done = _compiled(given)
    if done.failed:
        return _failed_by(done.diagnostics, given.folder)
    if given.options.purpose == "apply" and done.missing:
        return failed_result("would be incomplete", "\n".join(done.missing))
    if empty := emptiness(Path(), done):
        return {"headline": _NOTHING, "gravity": "warning", "text": as_text(empty, color=True), "data": {"objects": 0}}
    files = {name: b"".join(parts).decode() for name, parts in files_of(done.objects).items()}
    failing = sum(d.severity is Severity.FAILURE for d in done.diagnostics)
    stderr = io.StringIO()
    with redirect_stderr(stderr):
        tell(seen_from(given.folder, done.diagnostics), least=Severity.WARNING)
    return {
        "headline": _counted(len(done.objects), "object") + (f", {_counted(failing, 'failure')}" if failing else ""),
        "gravity": "failing" if failing else "none", "text": stderr.getvalue(),
        "data": {"objects": len(done.objects)}, "files": files, "private": sorted(private_in(done.objects)),
    } | _left_out(given, done, stderr.getvalue())  # fmt: skip


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


_COMMANDS: Mapping[str, Callable[[_Given], dict[str, Any]]] = {
    "plan": _plan, "status": _status, "check": _check, "render": _render,
}  # fmt: skip


def main() -> None:
    """Do the tasks that come on stdin, and write their results to stdout, until stdin ends."""
    blobs, folder = map(Path, sys.argv[1:3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    known: dict[str, BesideFolder] = {}
    serve_tasks(lambda task: run_task(task, WorkerFolders(blobs, folder), known))


if __name__ == "__main__":
    main()
