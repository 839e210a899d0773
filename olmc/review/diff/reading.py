"""From what the user names to the sides of a comparison: workspaces and bundles, renderings, revisions of git."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, Protocol

from olmc.model.diagnostic import Diagnostic, Report, Severity
from olmc.model.location import Location
from olmc.model.objects import Rendered
from olmc.review.diff.documents import Spared, spared
from olmc.review.diff.git import GitError, Revision, as_revision, folder_here, top_of, write_tree
from olmc.review.diff.rendered import rendered_objects, rendering
from olmc.review.diff.sides import Side
from olmc.rules import diff as rules

if TYPE_CHECKING:
    from olmc.settle.rest import Settled

__all__ = ["Compile", "Compiled", "Reading", "read_sides"]


class Compiled(Protocol):
    """What is needed of a compilation."""

    @property
    def objects(self) -> tuple[Rendered, ...]: ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...

    @property
    def settled(self) -> Settled | None: ...


Compile = Callable[[Path], Compiled]


class Reading(NamedTuple):
    """Both sides, None when one can't be compared, and what there is to say, with the sides' names in places."""

    sides: tuple[Side, Side] | None
    diagnostics: tuple[Diagnostic, ...]


def read_sides(old: str, new: str, folder: Path, compiled: Compile, *, allow_empty: bool = False) -> Reading:
    """The two sides of a comparison.

    Each is the path of a workspace, a bundle, a rendering or a file of one, or `git:REF[:PATH]`; a revision without a
    path takes that of the other side, or else the current directory. `folder` is an empty folder to write revisions to,
    `compiled` compiles a directory. With `allow_empty` a side that does not exist, or has no objects, is empty.
    """
    found = [_found(*pair, folder, allow_empty) for pair in ((old, new), (new, old))]
    known = Spared({}, 0)
    if all(each.texts is not None for each in found):
        known = spared(*(each.texts or {} for each in found))
    sides = [_side(each, compiled, known, allow_empty) for each in found]
    told = tuple(diagnostic for each in found for diagnostic in _named(each.report, each.asked))
    if any(each.report.worst() is Severity.ERROR for each in found):
        return Reading(None, told)
    return Reading((sides[0], sides[1]), told)


class _Found(NamedTuple):
    """What is at a side: the directory to compile, or the texts of a rendering by path, or neither."""

    asked: str
    path: Path | None
    texts: Mapping[str, str] | None
    report: Report


def _found(asked: str, other: str, folder: Path, allow_empty: bool) -> _Found:
    report = Report()
    path = _place(asked, other, folder, report, allow_empty)
    texts = rendering(path, report) if path is not None else None
    return _Found(asked, path, texts, report)


def _place(asked: str, other: str, folder: Path, report: Report, allow_empty: bool) -> Path | None:
    """Where a side is on this machine, None if it is nowhere."""
    revision = as_revision(asked)
    if revision is None:
        path = Path(asked)
        if not path.exists() and not allow_empty:
            report.add(rules.NO_SUCH_SIDE.finding(None, side=asked))
        return path if path.exists() else None
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        return write_tree(_with_path(revision, other), place, report, may_be_absent=allow_empty)
    except GitError as error:
        report.add(rules.NO_GIT.finding(None, side=asked, problem=error.args[0]))
        return None


def _side(found: _Found, compiled: Compile, known: Spared, allow_empty: bool) -> Side:
    side = Side(found.asked, ())
    if found.texts is not None:
        objects = rendered_objects(found.texts, found.report, known.memory)
        side = Side(found.asked, objects, shared=known.shared)
    elif found.path is not None:
        done = compiled(found.path)
        found.report.found.extend(done.diagnostics)
        side = Side(found.asked, tuple(each.object for each in done.objects), done.settled)
    if not side.objects and not side.shared and not allow_empty and found.report.worst() is not Severity.ERROR:
        found.report.add(rules.EMPTY_SIDE.finding(None, side=found.asked))
    return side


def _with_path(asked: Revision, other: str) -> Revision:
    """The revision with a path from the top of the repository; raises GitError."""
    if asked.path is not None and not asked.path.startswith("./") and asked.path != ".":
        return asked
    if asked.path is not None:
        return asked._replace(path=_joined(folder_here(), asked.path))
    beside = as_revision(other)
    if beside is not None:
        path = beside.path if beside.path is not None else "."
        return _with_path(asked._replace(path=path), other)
    top = top_of()
    there = Path(other).resolve()
    if top is not None and there.is_relative_to(top):
        return asked._replace(path=there.relative_to(top).as_posix())
    return asked._replace(path=folder_here())


def _joined(folder: str, path: str) -> str:
    return (PurePosixPath(folder) / path).as_posix()


def _named(diagnostics: Iterable[Diagnostic], side: str) -> Iterable[Diagnostic]:
    """Diagnostics with the side's name before the paths of files, as a user would write them."""

    def named(place: Location) -> Location:
        return place._replace(path=f"{side.rstrip('/')}/{place.path}")

    for each in diagnostics:
        location = named(each.location) if each.location is not None else None
        related = tuple((text, named(place)) for text, place in each.related)
        yield each._replace(location=location, related=related)
