"""From what the user names to the sides of a comparison: workspaces and bundles, renderings, revisions of git."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from operator import not_
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from olmc.explain.left_out import Compiled, left_out_of
from olmc.generate.passes import is_wanted
from olmc.load.builds import build_files
from olmc.load.config import narrowing_of, read_config
from olmc.load.files import ignore_lines, scan
from olmc.load.left_out import left_out
from olmc.load.suppressions import written
from olmc.model.coerce import text
from olmc.model.diagnostic import Diagnostic, Report, Severity
from olmc.model.location import Location
from olmc.model.options import Narrowing, Options
from olmc.model.workspace import Inputs
from olmc.review.diff.documents import Spared, spared
from olmc.review.diff.git import GitError, Revision, as_revision, folder_here, submodules, top_of, write_tree
from olmc.review.diff.rendered import rendered_objects, rendering, texts_below
from olmc.review.diff.sides import Settings, Side
from olmc.rules import diff as rules
from olmc.rules.versions import VERSION_OF_RENDERING

__all__ = ["Compile", "Kinds", "Reading", "read_sides", "read_versions"]


Compile = Callable[[Path, Narrowing | None], Compiled]
"""Compiles a directory, with what is left out of it in the place of what it leaves out itself."""


class Kinds(NamedTuple):
    """The kinds that are compared: only those in `include`, if there are any, and not those in `exclude`."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class Reading(NamedTuple):
    """Both sides, None when one can't be compared, and what there is to say, with the sides' names in places."""

    sides: tuple[Side, Side] | None
    diagnostics: tuple[Diagnostic, ...]


def read_sides(
    old: str, new: str, folder: Path, compiled: Compile, *, allow_empty: bool = False, kinds: Kinds | None = None
) -> Reading:
    """The two sides of a comparison.

    Each is the path of a workspace, a bundle, a rendering or a file of one, or `git:REF[:PATH]`; a revision without a
    path takes that of the other side, or else the current directory. `folder` is an empty folder to write revisions to,
    `compiled` compiles a directory. With `allow_empty` a side that does not exist, or has no objects, is empty.

    What a workspace leaves out by its own settings is decided by the old side for both: whoever changes the new one
    must not choose what a review gets to see. `kinds` are those that the user asked for, and win.
    """
    first = _found(old, new, folder, allow_empty)
    second = _found(new, old, folder, allow_empty)
    narrowing = _narrowing(first)
    if first.texts is not None and second.texts is not None and second.path is not None and second.path.is_dir():
        second = second._replace(texts=texts_below(second.path, second.report, narrowing.ignored))
    known = Spared({}, 0)
    if first.texts is not None and second.texts is not None:
        known = spared(first.texts, second.texts)
    chosen = kinds or Kinds(narrowing.include, narrowing.exclude)
    sides = [_side(each, compiled, _Shared(known, narrowing, chosen), allow_empty) for each in (first, second)]
    told = tuple(diagnostic for each in (first, second) for diagnostic in _named(each))
    if any(map(_stops, (first, second))):
        return Reading(None, told)
    if first.revision is not None and second.revision is not None:  # in a work tree submodules are folders
        sides = [
            side._replace(left_out=(*side.left_out, *submodules(revision)))
            for side, revision in zip(sides, (first.revision, second.revision), strict=True)
        ]
    return Reading((sides[0], sides[1]), told)


def read_versions(
    path: str, versions: Sequence[tuple[str, Compile]], folder: Path, *, allow_empty: bool = False,
    kinds: Kinds | None = None,
) -> Reading:  # fmt: skip
    """The two sides of what one path is under two versions of OLM.

    `path` is as in `read_sides`, but no rendering; `versions` are the names of both, each with what compiles for it.
    """
    found = _found(path, path, folder, allow_empty)
    if found.texts is not None:
        found.report.add(VERSION_OF_RENDERING.finding(None, side=path))
    told = list(_named(found))
    if _stops(found):
        return Reading(None, tuple(told))
    narrowing = _narrowing(found)
    shared = _Shared(Spared({}, 0), narrowing, kinds or Kinds(narrowing.include, narrowing.exclude))
    sides, stops = [], False
    for name, compiled in versions:
        each = found._replace(report=Report())
        sides.append(_side(each, compiled, shared, allow_empty)._replace(name=f"{path} under OLM {name}"))
        told += _named(each)
        stops |= _stops(each)
    return Reading(None if stops else (sides[0], sides[1]), tuple(dict.fromkeys(told)))


class _Found(NamedTuple):
    """What is at a side: the directory to compile, or the texts of a rendering by path, or neither; and the revision
    that they are from, with its path."""

    asked: str
    path: Path | None
    texts: Mapping[str, str] | None
    report: Report
    revision: Revision | None = None


class _Shared(NamedTuple):
    """What holds for both sides: what need not be read, what is left out, and the kinds that are compared."""

    known: Spared
    narrowing: Narrowing
    kinds: Kinds


def _found(asked: str, other: str, folder: Path, allow_empty: bool) -> _Found:
    report = Report()
    revision, path = _place(asked, other, folder, report, allow_empty)
    texts = rendering(path, report) if path is not None else None
    return _Found(asked, path, texts, report, revision if path is not None else None)


def _narrowing(found: _Found) -> Narrowing:
    """What a side leaves out by its own settings; of a rendering that is files alone."""
    if found.path is None or not found.path.is_dir():
        return Narrowing()
    if found.texts is not None:
        return Narrowing(ignored=ignore_lines(found.path))
    narrowing = narrowing_of(found.path, read_config(found.path, Report()))
    return narrowing._replace(purpose=narrowing.purpose or Options().purpose)


def _stops(found: _Found) -> bool:
    """Whether a side can't be compared; of a rendering no object may be missing."""
    least = Severity.ERROR if found.texts is None else Severity.FAILURE
    return (found.report.worst() or Severity.INFO) >= least


def _place(
    asked: str, other: str, folder: Path, report: Report, allow_empty: bool
) -> tuple[Revision | None, Path | None]:
    """The revision that a side is of, and where it is on this machine, None if it is nowhere."""
    revision = as_revision(asked)
    if revision is None:
        path = Path(asked)
        if not path.exists() and not allow_empty:
            report.add(rules.NO_SUCH_SIDE.finding(None, side=asked))
        return None, path if path.exists() else None
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        revision = _with_path(revision, other)
        return revision, write_tree(revision, place, report, may_be_absent=allow_empty)
    except (GitError, OSError) as error:
        problem = error.strerror if isinstance(error, OSError) else error.args[0]
        report.add(rules.NO_GIT.finding(None, side=asked, problem=problem))
        return None, None


def _side(found: _Found, compiled: Compile, shared: _Shared, allow_empty: bool) -> Side:
    side = Side(found.asked, ())
    if found.path is None:
        side = side._replace(settings=Settings({}))
    elif found.texts is not None:
        objects = rendered_objects(found.texts, found.report, shared.known.memory)
        side = Side(found.asked, objects, shared=shared.known.shared)
        if found.path.is_dir():
            left = left_out(found.path, Inputs(frozenset(found.texts)), ignored=shared.narrowing.ignored)
            side = side._replace(left_out=left)
    else:
        side = _compiled_side(found, found.path, compiled, shared.narrowing)
    if not side.objects and not side.shared and not allow_empty and not _stops(found):
        found.report.add(rules.EMPTY_SIDE.finding(None, side=found.asked))
    return _of_kinds(side, shared.kinds)


def _of_kinds(side: Side, kinds: Kinds) -> Side:
    """A side whose objects are of kinds that are compared."""
    if kinds == Kinds():
        return side
    wanted = [is_wanted(text(obj.get("kind")), *kinds) for obj in side.objects]
    kept, excluded = (tuple(compress(side.objects, each)) for each in (wanted, map(not_, wanted)))
    return side._replace(objects=kept, excluded=excluded)


def _compiled_side(found: _Found, path: Path, compiled: Compile, narrowing: Narrowing) -> Side:
    """A workspace or a bundle as it is without the settings by which it hides something.

    Files that it leaves out itself, and that can't be compiled, stay left out; then the comparison says so.
    """
    config, everything = read_config(path, Report()), narrowing._replace(include=(), exclude=())
    done = compiled(path, everything)
    own = narrowing_of(path, config).ignored
    if _is_stopped(done) and not set(own) <= set(narrowing.ignored):
        wider = everything._replace(ignored=(*narrowing.ignored, *own))
        again = compiled(path, wider)
        done, everything = (done, everything) if _is_stopped(again) else (again, wider)
    found.report.found.extend(done.diagnostics)
    if _is_stopped(done):
        return Side(found.asked, ())
    files = scan(path, Report(), ignored=everything.ignored, ignore_file=False).walk()
    patterns = tuple(filter(_is_pattern, ignore_lines(path)))
    settings = Settings(config, patterns, tuple(written(path, config, files)), build_files(path))
    objects = tuple(each.object for each in done.objects)
    return Side(found.asked, objects, done.settled, left_out=left_out_of(path, done, everything), settings=settings)


def _is_stopped(done: Compiled) -> bool:
    return any(each.severity is Severity.ERROR for each in done.diagnostics)


def _is_pattern(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


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
