"""What `olmc check --since REV` leaves out: the findings that a revision of git has already."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from olmc.cli.console import BAD_INPUT, Input, tell, wrong_usage
from olmc.compiler.rules.findings.output import NO_GIT
from olmc.k8s.diagnostics import Diagnostic, Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.review.diff.git import GitError, Revision, top_of, write_tree

_Key = tuple[str, str, str]


class SinceResult(NamedTuple):
    """The findings that a revision does not have, and how many it has as well."""

    new: tuple[Diagnostic, ...]
    known: int


def findings_at(
    rev: str, inputs: Sequence[Input], check: Callable[[Path], Iterable[Diagnostic]]
) -> list[tuple[Diagnostic, ...]]:
    """What `check` finds in each directory as the revision has it, () for one that it does not have.

    Ends the command if git can't be asked, or if the revision can't be read.
    """
    if any(one.is_staged or one.beside is not None for one in inputs):
        wrong_usage("--since compares directories; files and streams have no revision.")
    if any(one.release is not None for one in inputs):
        wrong_usage("--since compares folders; what an Application renders a chart with has no revision.")
    report = Report()
    found = []
    with tempfile.TemporaryDirectory(prefix="olmc-since-") as folder:
        try:
            top = top_of()
            for number, one in enumerate(inputs):
                path = one.root.resolve()
                if top is None or not path.is_relative_to(top):
                    wrong_usage(f"--since: {one.root} is not in the repository of the current directory.")
                target = Path(folder, str(number))
                target.mkdir()
                below = path.relative_to(top).as_posix()
                place = write_tree(Revision(rev, below), target, report, may_be_absent=True)
                found.append(tuple(check(place)) if place is not None and any(place.iterdir()) else ())
        except GitError as error:
            report.add(NO_GIT.finding(None, side=f"--since {rev}", problem=error.args[0]))
    tell(tuple(report), least=Severity.ERROR)
    if report.failed:
        raise SystemExit(BAD_INPUT)
    return found


def only_new(now: Iterable[Diagnostic], before: Iterable[Diagnostic]) -> SinceResult:
    """The findings that were not there before, wherever in its file each stands; of equal ones so many as are new."""
    known, listed = Counter(map(_key, before)), tuple(now)
    new: list[Diagnostic] = []
    for diagnostic in listed:
        key = _key(diagnostic)
        # An error stops the compilation, so that nobody knows what else there is.
        if known[key] and diagnostic.severity is not Severity.ERROR:
            known[key] -= 1
        else:
            new.append(diagnostic)
    return SinceResult(tuple(new), len(listed) - len(new))


def _key(diagnostic: Diagnostic) -> _Key:
    path = diagnostic.location.path if diagnostic.location is not None else ""
    return diagnostic.code, path, diagnostic.message
