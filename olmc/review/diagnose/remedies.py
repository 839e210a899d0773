"""Remedies: candidate changes of files that were compiled before they are offered.

A candidate is proven if every operator of its diagnosis succeeds after it, the diagnosis is no longer made, and no
operator that runs stops. The search compiles at most a dozen candidates, with their texts in the place of files.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from olmc.compiler.api import Compilation
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.load.unsaved import with_unsaved
from olmc.compiler.load.vendored import VENDOR_FOLDER
from olmc.k8s.diagnostics import Diagnostic, FileChange, Fix, Misspelling, RefusedObject, Severity, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import mapping
from olmc.k8s.yaml import dump_one
from olmc.k8s.yaml.edit import (
    EditError,
    set_value,
    value_of,
    with_block,
    with_item,
    with_moved,
    with_quotes,
    without_document,
    without_item,
    without_key,
)
from olmc.review.diagnose.diagnosis import (
    AddedItem,
    Diagnosis,
    Edit,
    FieldEdit,
    MovedField,
    NewDocument,
    QuotedScalar,
    RemedyCandidate,
    RemovedDocument,
    RemovedItem,
    Structure,
)
from olmc.review.diagnose.engine import CURE, diagnose, scene_of
from olmc.review.explain.status import OperatorStatus, operators
from olmc.targets.pipeline import compile

MOST_TRIALS = 12
"""The number of candidates that are compiled for one workspace."""
MOST_SECONDS = 30.0
"""The CPU time that they may take together."""
_MOST_FILES = 5_000
_MOST_STEPS = 4
"""The number of changes in one remedy, where each of them reveals the next mistake."""
_MOST_NEXT = 3


class Remedy(NamedTuple):
    """A candidate that was compiled, with the changes of files that it makes; `is_proven`: it cures the diagnosis.

    Without `changes` it was not compiled: its files can't be edited, such as those that another tool builds. `left` is
    the problem that keeps an operator from running after it, "" where the diagnosis itself is left.
    """

    diagnosis: Diagnosis
    candidate: RemedyCandidate
    changes: tuple[FileChange, ...]
    is_proven: bool
    left: str = ""


class RemedySearch(NamedTuple):
    """The tried candidates of each diagnosis, in order; `is_complete`: no candidate was left out for lack of time."""

    tried: tuple[Remedy, ...]
    is_complete: bool = True

    def proven(self) -> tuple[Remedy, ...]:
        """The first proven remedy of each diagnosis."""
        first: dict[Diagnosis, Remedy] = {}
        for remedy in self.tried:
            if remedy.is_proven:
                first.setdefault(remedy.diagnosis, remedy)
        return tuple(first.values())


class _Before(NamedTuple):
    """The base of candidates: a request, the rows of operators that it gave, and all diagnoses."""

    request: CompileRequest
    rows: Mapping[tuple[str, str, str], OperatorStatus]
    found: Sequence[Diagnosis]


def search(
    request: CompileRequest, done: Compilation, found: Sequence[Diagnosis], seconds: float = MOST_SECONDS
) -> RemedySearch:
    """Try the candidates of diagnoses, those of each in their order until one is proven, for some seconds of CPU."""
    waiting = [diagnosis for diagnosis in found if diagnosis.candidates]
    if not waiting or not request.root.is_dir():
        return RemedySearch((), not waiting)
    tried: list[Remedy] = []
    cured: set[Diagnosis] = set()
    number, until = 0, time.process_time() + seconds
    before = _Before(request, _rows(done), found)
    for diagnosis in waiting:
        pending = [(1, candidate) for candidate in diagnosis.candidates if diagnosis not in cured]
        while pending:
            if number >= MOST_TRIALS or time.process_time() > until:
                return RemedySearch(tuple(tried), is_complete=False)
            number += 1
            depth, candidate = pending.pop(0)
            remedy, after = _tried(before, diagnosis, candidate)
            tried.append(remedy)
            if remedy.is_proven and after is not None:
                also = [
                    each for each in waiting
                    if each not in {diagnosis, *cured} and _is_of_same(each, diagnosis) and _cures(each, before, after)
                ]  # fmt: skip
                tried += (remedy._replace(diagnosis=each) for each in also)
                cured.update((diagnosis, *also))
                break
            if after is not None and depth < _MOST_STEPS:
                pending[:0] = [(depth + 1, each) for each in _continued(before, remedy, after)]
    proven = {remedy.diagnosis for remedy in tried if remedy.is_proven}
    left = [diagnosis for diagnosis in waiting if diagnosis not in proven]
    if len(left) > 1 and number < MOST_TRIALS and time.process_time() < until:
        tried += _tried_together(before, left)
    return RemedySearch(tuple(tried))


def _tried_together(before: _Before, left: Sequence[Diagnosis]) -> Iterator[Remedy]:
    """The first candidates of several diagnoses at once: one mistake may hide that the change of another one helps."""
    firsts = [diagnosis.candidates[0] for diagnosis in left]
    edits = tuple(dict.fromkeys(edit for candidate in firsts for edit in candidate.edits))
    together = RemedyCandidate("; ".join(dict.fromkeys(candidate.text for candidate in firsts)), edits)
    try:
        changes = changes_of(before.request.root, edits)
        after = _compiled_with(before.request, changes) if changes else None
    except EditError:
        return
    if after is not None and not (_adds(together) and any(map(_is_refused_group, after.diagnostics))):
        is_proven = all(_cures(diagnosis, before, after) for diagnosis in left)
        yield from (Remedy(diagnosis, together, changes, is_proven) for diagnosis in left)


def with_fixes(
    request: CompileRequest, done: Compilation, found: Sequence[Diagnosis], seconds: float = MOST_SECONDS
) -> tuple[Diagnosis, ...]:
    """The diagnoses, each that a change of files cures with the first proven one."""
    proven = {remedy.diagnosis: remedy for remedy in search(request, done, found, seconds).proven()}
    return tuple(_with_fix(diagnosis, proven.get(diagnosis)) for diagnosis in found)


def _with_fix(diagnosis: Diagnosis, remedy: Remedy | None) -> Diagnosis:
    if remedy is None:
        return diagnosis
    finding, title = diagnosis.finding, remedy.candidate.text
    hint = "\n".join(filter(None, (finding.hint, f"{CURE}: {title}.")))
    return diagnosis._replace(finding=finding._replace(hint=hint, fix=Fix(title, remedy.changes)))


def applicable(
    request: CompileRequest, done: Compilation, found: Sequence[Diagnosis], chosen: Sequence[Remedy]
) -> tuple[Remedy, ...]:
    """Return the remedies to apply in one run: all if they are proven together, else the first one.

    Each one was compiled alone. Two of them may change one file, or undo each other.
    """
    try:
        changes = merged(request.root, chosen)
    except EditError:
        return tuple(chosen[:1])
    if len(chosen) > 1:
        before, after = _Before(request, _rows(done), found), _compiled_with(request, changes)
        if not all(_cures(remedy.diagnosis, before, after) for remedy in chosen):
            return tuple(chosen[:1])
    return tuple(chosen)


def _compiled_with(request: CompileRequest, changes: Sequence[FileChange]) -> Compilation:
    """The compilation of a workspace with changes, of which its files see nothing. Raises EditError where it takes a
    copy of too many files."""
    if all(change.before and change.after for change in changes):
        texts = {request.root / change.path: change.after for change in changes}
        return compile(request._replace(root=with_unsaved(request.root, texts), tree=None))
    if not _is_small(request.root):
        raise EditError("the workspace has too many files to try a new one in a copy")
    with _copied(request.root) as copy:  # folders are listed as they are on the disk
        for change in changes:
            path = copy / change.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(change.after, encoding="utf-8")
        return compile(request._replace(root=copy, tree=None))


@contextmanager
def _copied(root: Path) -> Iterator[Path]:
    """A copy of a workspace in a temporary folder, without the history."""
    with tempfile.TemporaryDirectory(prefix="olmc-fix-") as folder:
        copy = Path(folder) / "workspace"
        shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        yield copy


def _is_small(root: Path) -> bool:
    count = 0
    for _, _, files in os.walk(root):
        count += len(files)
        if count > _MOST_FILES:
            return False
    return root.is_dir()


def _is_of_same(other: Diagnosis, diagnosis: Diagnosis) -> bool:
    """Return whether two diagnoses may have one cause: an operator that fails is one of both, and each says it its
    way."""
    return other.finding.code != diagnosis.finding.code and bool(set(other.operators) & set(diagnosis.operators))


def _continued(before: _Before, remedy: Remedy, after: Compilation) -> Iterator[RemedyCandidate]:
    """The candidates of what a change brought to light, together with the change: OLM stops at the first mistake."""
    known = {each.finding.message for each in before.found}
    found = diagnose(scene_of(after))
    if any(each.finding.message == remedy.diagnosis.finding.message for each in found):
        return
    for each in found:
        if each.finding.message not in known and set(each.operators) & set(remedy.diagnosis.operators):
            for more in each.candidates[:_MOST_NEXT]:
                if more.holds or _takes_back(remedy.candidate, more):
                    continue  # an upgrade that is held back needs no other change
                text = f"{remedy.candidate.text}; {more.text}"
                yield RemedyCandidate(text, (*remedy.candidate.edits, *more.edits))


def _takes_back(earlier: RemedyCandidate, later: RemedyCandidate) -> bool:
    """Return whether a candidate takes out a document that an earlier one has just changed."""
    removed = {(edit.source.path, edit.source.document) for edit in later.edits if isinstance(edit, RemovedDocument)}
    changed = (edit.source for edit in earlier.edits if not isinstance(edit, (NewDocument, QuotedScalar)))
    return any((source.path, source.document) in removed for source in changed)


def _tried(before: _Before, diagnosis: Diagnosis, candidate: RemedyCandidate) -> tuple[Remedy, Compilation | None]:
    """A candidate with its verdict, and the compilation with it, None where it can't be made."""
    try:
        changes = changes_of(before.request.root, candidate.edits)
        after = _compiled_with(before.request, changes) if changes else None
        # A group that the API server refuses is to be corrected, and not to get another one beside it.
        hides = after is not None and _adds(candidate) and any(map(_is_refused_group, after.diagnostics))
        is_proven = after is not None and not hides and _cures(diagnosis, before, after, _leaves(candidate))
    except EditError:
        return Remedy(diagnosis, candidate, (), is_proven=False), None
    left = _problem_left(before, diagnosis, after) if after is not None and not (hides or is_proven) else ""
    return Remedy(diagnosis, candidate, changes, is_proven, left), None if hides else after


def _problem_left(before: _Before, diagnosis: Diagnosis, after: Compilation) -> str:
    """The problem of an operator of a diagnosis after a change that cures the diagnosis and not the operator."""
    if after.failed or after.settled is None:
        return ""
    found = diagnose(scene_of(after))
    if _count(diagnosis, found) >= _count(diagnosis, before.found):
        return ""
    findings = (*(each.finding for each in found), *after.diagnostics)
    namespaces = [namespace for namespace, _ in diagnosis.operators]
    grave = (each.message for each in findings if each.severity >= Severity.FAILURE)
    return next((message for message in grave if any(name in message for name in namespaces)), "")


def _leaves(candidate: RemedyCandidate) -> bool:
    """Return whether a candidate takes documents out, so that the operator to install may be one of them."""
    return any(isinstance(edit, RemovedDocument) for edit in candidate.edits)


def _adds(candidate: RemedyCandidate) -> bool:
    return any(isinstance(edit, NewDocument) for edit in candidate.edits)


def _is_refused_group(finding: Diagnostic) -> bool:
    cause = finding.cause
    if isinstance(cause, Misspelling):
        return finding.severity is Severity.FAILURE and "OperatorGroup" in cause.meant
    return isinstance(cause, RefusedObject) and cause.kind == "OperatorGroup"


def _cures(diagnosis: Diagnosis, before: _Before, after: Compilation, may_leave: bool = False) -> bool:
    """Return whether a diagnosis is not made any more, its operators run, and every operator that ran before still
    runs.

    `may_leave`: the operator that was to be installed need not be there.
    """
    if after.failed or after.settled is None:
        return False
    rows = _rows(after)
    running = {(row.namespace, row.package) for row in rows.values() if _runs(row)}
    if any(_runs(row) and (row.namespace, row.package) not in running for row in before.rows.values()):
        return False
    wanted = _wanted(diagnosis, before, rows.values())
    if not (wanted or may_leave) or not all(_runs(row) and not row.fails for row in wanted):
        return False
    # Its words may differ after the change: of several diagnoses of one kind about an operator one has to be missing.
    return _count(diagnosis, diagnose(scene_of(after))) < _count(diagnosis, before.found)


def _wanted(diagnosis: Diagnosis, before: _Before, rows: Iterable[OperatorStatus]) -> list[OperatorStatus]:
    """The rows of the operators of a diagnosis, also of a Subscription that a change gives another package."""
    asking = {
        (row.namespace, row.subscription)
        for row in before.rows.values()
        if row.subscription and (row.namespace, row.package) in diagnosis.operators
    }
    return [
        row for row in rows
        if (row.namespace, row.package) in diagnosis.operators or (row.namespace, row.subscription) in asking
    ]  # fmt: skip


def _count(diagnosis: Diagnosis, found: Iterable[Diagnosis]) -> int:
    same = (diagnosis.finding.code, diagnosis.operators)
    return sum((other.finding.code, other.operators) == same for other in found)


def _runs(row: OperatorStatus) -> bool:
    return bool(row.csv) and row.phase == "Succeeded"


def _rows(done: Compilation) -> dict[tuple[str, str, str], OperatorStatus]:
    assert done.settled is not None
    states: Iterable[OperatorStatus] = ()
    if done.extensions:
        from olmc.review.explain.extensions import extension_states  # most workspaces have none

        states = extension_states(done.extensions)
    rows = operators(done.settled, done.operators, tuple(states))
    return {(row.namespace, row.package, row.subscription or row.extension): row for row in rows}


def changes_of(root: Path, edits: Iterable[Edit]) -> tuple[FileChange, ...]:
    """Return the edited files below a folder, by path. Raises EditError for a file that has changed or is absent, such
    as one that a tool builds, for one that `olmc vendor` fetched, and for one that a link leads to or that is outside
    of the folder."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    known: dict[str, set[str]] = {}
    for edit in edits:
        path = edit.path if isinstance(edit, (NewDocument, QuotedScalar)) else edit.source.path
        if path.startswith(f"{VENDOR_FOLDER}/"):
            raise EditError(f"{path} is a copy of a published image, whose digest is in olmc.lock")
        # A link may lead out of the workspace, and out of the copy in which a candidate is compiled.
        if Path(os.path.realpath(root / path)) != Path(os.path.realpath(root)) / path:
            raise EditError(f"{path} is reached by a link, or is outside of the workspace")
        if path not in before:
            before[path] = after[path] = _text(root / path)
        known.setdefault(path, set()).add(after[path])
        if isinstance(edit, NewDocument):
            head = f"{after[path].rstrip()}\n---\n" if after[path].strip() else ""
            after[path] = head + edit.text
            continue
        if isinstance(edit, QuotedScalar):
            after[path] = with_quotes(after[path], edit.line, edit.column)
            continue
        # An edit may be of the document after those that come before it.
        if edit.source.text not in known[path]:
            raise EditError(f"{path} is not what was compiled")
        source = edit.source._replace(text=after[path])
        after[path] = without_document(source) if isinstance(edit, RemovedDocument) else edited(edit, source).text
    return tuple(FileChange(path, before[path], after[path]) for path in sorted(before) if before[path] != after[path])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise EditError(f"{path} can't be read") from error


def edited(edit: FieldEdit | AddedItem | RemovedItem | MovedField, source: Source) -> Source:
    """The document after an edit, with its comments. Raises EditError."""
    if isinstance(edit, RemovedItem):
        return without_item(source, edit.keys)
    if isinstance(edit, MovedField):
        return with_moved(source, edit.keys, edit.items, edit.name)
    if isinstance(edit, AddedItem):
        return with_item(source, edit.keys, json.loads(edit.value.json))
    if edit.value is None:
        return _without(source, edit.keys)
    if isinstance(edit.value, Structure):
        return set_value(source, edit.keys, json.loads(edit.value.json))
    if isinstance(edit.value, tuple):
        return set_value(source, edit.keys, list(edit.value))
    return _with_scalar(source, edit.keys, edit.value)


def _without(source: Source, keys: tuple[str | int, ...]) -> Source:
    parent = _value(source, keys[:-1])
    if set(parent) == {keys[-1]} and isinstance(keys[-2], str):  # an empty mapping is written as one
        return with_block(source, keys[:-1], [f"{keys[-2]}: {{}}"], {keys[-2]: {}})
    return without_key(source, keys)


def _with_scalar(source: Source, keys: tuple[str | int, ...], value: str | bool | int) -> Source:
    if keys[:2] == ("metadata", "annotations") and not mapping(mapping(value_of(source)).get("metadata")).get(
        "annotations"
    ):
        name = value_of(source)["metadata"]["name"]
        added = {"name": name, "annotations": {str(keys[2]): value}}
        with suppress(EditError):  # metadata between braces
            return with_block(source, ("metadata", "name"), dump_one(added).splitlines(), added)
    return set_value(source, keys, value)


def _value(source: Source, keys: Iterable[str | int]) -> Mapping[str, object]:
    value = value_of(source)
    for key in keys:
        value = value[key]
    if not isinstance(value, dict):
        raise EditError("there is no mapping at this place")
    return value


def merged(root: Path, remedies: Sequence[Remedy]) -> tuple[FileChange, ...]:
    """The changes of several remedies together. Raises EditError where they can't be made together."""
    if len(remedies) == 1:
        return remedies[0].changes
    edits = [edit for remedy in remedies for edit in remedy.candidate.edits]
    # A document that is taken out changes the numbers of those behind it.
    last = [edit for edit in edits if isinstance(edit, RemovedDocument)]
    last.sort(key=lambda edit: (edit.source.path, edit.source.document), reverse=True)
    first = [edit for edit in edits if not isinstance(edit, RemovedDocument)]
    return changes_of(root, dict.fromkeys((*first, *last)))
