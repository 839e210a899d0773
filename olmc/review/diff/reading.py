"""From what the user names to the sides of a comparison: workspaces and bundles, renderings, revisions of git."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, Protocol

from olmc.model.diagnostic import Diagnostic, Report, Severity
from olmc.model.location import Location
from olmc.model.objects import Rendered
from olmc.review.diff.git import GitError, Revision, as_revision, folder_here, top_of, write_tree
from olmc.review.diff.rendered import Memory, rendered_objects, rendering
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
    memory: Memory = {}
    found: list[Side] = []
    told: list[Diagnostic] = []
    for number, (asked, other) in enumerate(((old, new), (new, old))):
        report = Report()
        place = folder / str(number)
        place.mkdir()
        side = _side(asked, other, place, compiled, report, memory, allow_empty)
        if side is not None and not side.objects and not allow_empty and not _stops(report):
            report.add(rules.EMPTY_SIDE.finding(None, side=asked))
        told += _named(report, asked)
        if side is not None and not _stops(report):
            found.append(side)
    return Reading((found[0], found[1]) if len(found) == 2 else None, tuple(told))


def _stops(report: Report) -> bool:
    return report.worst() is Severity.ERROR


def _side(
    asked: str, other: str, folder: Path, compiled: Compile, report: Report, memory: Memory, allow_empty: bool
) -> Side | None:
    revision = as_revision(asked)
    path: Path | None = Path(asked)
    if revision is not None:
        try:
            path = write_tree(_with_path(revision, other), folder, report, may_be_absent=allow_empty)
        except GitError as error:
            report.add(rules.NO_GIT.finding(None, side=asked, problem=error.args[0]))
            return None
    if path is None:
        return None
    if not path.exists():
        if not allow_empty:
            report.add(rules.NO_SUCH_SIDE.finding(None, side=asked))
        return Side(asked, ())
    texts = rendering(path, report)
    if texts is not None:
        objects = rendered_objects(texts, report, memory)
        return Side(asked, objects)
    done = compiled(path)
    for diagnostic in done.diagnostics:
        report.add(diagnostic)
    return Side(asked, tuple(each.object for each in done.objects), done.settled)


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
