"""Migrations to the proposed APIs: edits, what they make of a workspace's files, and the patch that shows them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence

from olmc.k8s.diagnostics import Diagnostic, Severity, Source
from olmc.k8s.lean import NamedTuple
from olmc.k8s.yaml import at
from olmc.targets.proposed import rules

NO_NEWLINE = "\\ No newline at end of file\n"


class Edit(NamedTuple):
    """A change to one document of a file: `apply` makes the file's new text of the document as it stands by then.

    It may raise EditError.
    """

    source: Source
    apply: Callable[[Source], str]


class FileChange(NamedTuple):
    """A file before and after; `before` is "" for a new one, `after` when nothing of it is left."""

    path: str
    before: str
    after: str


def carried_out(edits: Sequence[Edit]) -> tuple[FileChange, ...]:
    """What edits make of the files, by path. Raises EditError.

    Each file is edited from its end, so that the numbers of documents stay right when others are taken out.
    """
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for edit in sorted(edits, key=lambda each: -each.source.document):
        path = edit.source.path
        before.setdefault(path, edit.source.text)
        after[path] = edit.apply(edit.source._replace(text=after.get(path, edit.source.text)))
    return tuple(FileChange(path, before[path], after[path]) for path in sorted(before) if before[path] != after[path])


def as_patch(changes: Sequence[FileChange]) -> str:
    """The changes as a unified diff that `git apply` and `patch -p1` take."""
    return "".join(line for change in changes for line in _file_patch(change))


def _file_patch(change: FileChange) -> Iterator[str]:
    old, new = f"a/{change.path}", f"b/{change.path}"
    yield f"diff --git {old} {new}\n"
    if not change.before:
        yield "new file mode 100644\n"
        old = "/dev/null"
    if not change.after:
        yield "deleted file mode 100644\n"
    before, after = _lines(change.before), _lines(change.after)
    for line in difflib.unified_diff(before, after, old, new if change.after else "/dev/null", n=3):
        yield line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}"


def _lines(text: str) -> list[str]:
    """The lines as git counts them: only a line feed ends one."""
    found = text.split("\n")
    return [f"{line}\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])


class Migration(NamedTuple):
    """The changes to make, and what is left to people."""

    changes: tuple[FileChange, ...]
    remarks: tuple[Diagnostic, ...]

    @property
    def failed(self) -> bool:
        """Whether the workspace could not be compiled."""
        return any(remark.severity is Severity.ERROR for remark in self.remarks)

    @property
    def unfinished(self) -> bool:
        """Whether something is left to people."""
        return any(remark.severity >= Severity.WARNING for remark in self.remarks)


def left_alone(what: str, source: Source | None, why: str) -> Diagnostic:
    """The finding about something that stays as it is (OLMC695)."""
    return rules.LEFT_ALONE.finding(at(source), what=what, why=why)
