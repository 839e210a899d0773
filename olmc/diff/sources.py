"""What is at a side: where the user's name for it leads, and what is to be read there."""

from __future__ import annotations

import posixpath
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from olmc.diagnostics.rules import output as rules
from olmc.diff.git import STREAM, GitError, Revision, as_revision, with_path, write_tree
from olmc.diff.premises import bundle_at
from olmc.diff.renderings import read_rendering
from olmc.lean import NamedTuple
from olmc.load.config import narrowing_of, read_config
from olmc.load.files import MAX_FILE_BYTES, git_ignore_lines, ignore_lines
from olmc.model.diagnostics import Diagnostic, Location, Report, Severity
from olmc.model.options import Narrowing, Options
from olmc.model.workspace import Bundle
from olmc.output.places import seen_from


class SideSource(NamedTuple):
    """What is at a side: the directory to compile, or the texts of a rendering by path, or neither; the revision that
    they are from, with its path; and the bundle that the directory is, if it is one."""

    name: str
    path: Path | None
    texts: Mapping[str, str] | None
    report: Report
    revision: Revision | None = None
    bundle: Bundle | None = None


def source_of(name: str, other: str, folder: Path, allow_empty: bool) -> SideSource:
    report = Report()
    revision, path = _place(name, other, folder, report, allow_empty)
    texts = read_rendering(path, report) if path is not None else None
    bundle = bundle_at(path) if path is not None and texts is None else None
    return SideSource(name, path, texts, report, revision if path is not None else None, bundle)


def narrowing_at(source: SideSource) -> Narrowing:
    """What a side leaves out by its own settings; of a rendering that is files alone."""
    if source.path is None or not source.path.is_dir():
        return Narrowing()
    if source.texts is not None:
        return Narrowing(ignored=(*git_ignore_lines(source.path), *ignore_lines(source.path)))
    narrowing = narrowing_of(source.path, read_config(source.path, Report()))
    return narrowing._replace(purpose=narrowing.purpose or Options().purpose)


def stops(source: SideSource) -> bool:
    """Whether a side can't be compared; of a rendering no object may be missing."""
    # What can't be read of a workspace has stopped its compilation; what can't be read of a rendering would just be
    # missing.
    least = Severity.ERROR if source.texts is None else Severity.FAILURE
    return (source.report.worst() or Severity.INFO) >= least


def _place(
    name: str, other: str, folder: Path, report: Report, allow_empty: bool
) -> tuple[Revision | None, Path | None]:
    """The revision that a side is of, and where it is on this machine, None if it is nowhere."""
    revision = as_revision(name)
    if name == STREAM:
        return None, _stream(folder)
    if revision is None:
        path = Path(name)
        if not path.exists() and not allow_empty:
            report.add(rules.NO_SUCH_SIDE.finding(None, side=name))
        return None, path if path.exists() else None
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        revision = with_path(revision, other)
        return revision, write_tree(revision, place, report, may_be_absent=allow_empty)
    except (GitError, OSError) as error:
        problem = error.strerror if isinstance(error, OSError) else error.args[0]
        report.add(rules.NO_GIT.finding(None, side=name, problem=problem))
        return None, None


def _stream(folder: Path) -> Path:
    """A folder with what comes from stdin, which is a workspace or a rendering like any other."""
    place = Path(tempfile.mkdtemp(dir=folder))
    (place / "stdin.yaml").write_bytes(sys.stdin.buffer.read(MAX_FILE_BYTES + 1))
    return place


def diagnostics_of(source: SideSource) -> Iterable[Diagnostic]:
    """What there is to say about a side, with the paths of files as the user would write them."""
    is_folder = source.path is None or source.path.is_dir()
    if as_revision(source.name) is None and source.name != STREAM:
        name = posixpath.normpath(source.name if is_folder else posixpath.dirname(source.name) or ".")
        return seen_from("" if name == "." else name, source.report)
    root = f"{source.name.rstrip('/')}/"
    if source.path is not None and not is_folder:
        root = source.name.removesuffix(source.path.name)

    def named(place: Location) -> Location:
        return place._replace(path=f"{root}{place.path}")

    return (
        diagnostic._replace(
            location=named(diagnostic.location) if diagnostic.location is not None else None,
            related=tuple((text, named(place)) for text, place in diagnostic.related),
        )
        for diagnostic in source.report
    )
