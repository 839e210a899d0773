"""From what the user names to the sides of a comparison: workspaces and bundles, renderings, revisions of git."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from olmc.model.diagnostic import Diagnostic, Report, Severity
from olmc.model.location import Location
from olmc.review.diff.documents import Spared, spared
from olmc.review.diff.git import GitError, Revision, as_revision, folder_here, top_of, write_tree
from olmc.review.diff.rendered import rendered_objects, rendering
from olmc.review.diff.sides import Compiled, Side, side_of
from olmc.rules import diff as rules
from olmc.rules.versions import VERSION_OF_RENDERING

__all__ = ["Compile", "Reading", "read_sides", "read_versions"]


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
    told = tuple(diagnostic for each in found for diagnostic in _named(each))
    if any(map(_stops, found)):
        return Reading(None, told)
    return Reading((sides[0], sides[1]), told)


def read_versions(
    path: str, versions: Sequence[tuple[str, Compile]], folder: Path, *, allow_empty: bool = False
) -> Reading:
    """The two sides of what one path is under two versions of OLM.

    `path` is as in `read_sides`, but no rendering; `versions` are the names of both, each with what compiles for it.
    """
    found = _found(path, path, folder, allow_empty)
    if found.texts is not None:
        found.report.add(VERSION_OF_RENDERING.finding(None, side=path))
    told = list(_named(found))
    if _stops(found):
        return Reading(None, tuple(told))
    sides, stops = [], False
    for name, compiled in versions:
        each = found._replace(report=Report())
        sides.append(_side(each, compiled, Spared({}, 0), allow_empty)._replace(name=f"{path} under OLM {name}"))
        told += _named(each)
        stops |= _stops(each)
    return Reading(None if stops else (sides[0], sides[1]), tuple(dict.fromkeys(told)))


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


def _stops(found: _Found) -> bool:
    """Whether a side can't be compared; of a rendering no object may be missing."""
    least = Severity.ERROR if found.texts is None else Severity.FAILURE
    return (found.report.worst() or Severity.INFO) >= least


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
    except (GitError, OSError) as error:
        problem = error.strerror if isinstance(error, OSError) else error.args[0]
        report.add(rules.NO_GIT.finding(None, side=asked, problem=problem))
        return None


def _side(found: _Found, compiled: Compile, known: Spared, allow_empty: bool) -> Side:
    side = Side(found.asked, ())
    if found.texts is not None:
        objects = rendered_objects(found.texts, found.report, known.memory)
        side = Side(found.asked, objects, shared=known.shared)
    elif found.path is not None:
        done = compiled(found.path)
        found.report.found.extend(done.diagnostics)
        side = side_of(found.asked, done)
    if not side.objects and not side.shared and not allow_empty and not _stops(found):
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


def _named(found: _Found) -> Iterable[Diagnostic]:
    """What there is to say about a side, with the paths of files as the user would write them."""
    root = f"{found.asked.rstrip('/')}/"
    if found.path is not None and not found.path.is_dir():
        root = found.asked.removesuffix(found.path.name)

    def named(place: Location) -> Location:
        return place._replace(path=f"{root}{place.path}")

    for each in found.report:
        location = named(each.location) if each.location is not None else None
        related = tuple((text, named(place)) for text, place in each.related)
        yield each._replace(location=location, related=related)
