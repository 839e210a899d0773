"""The cluster that a plan begins with: a workspace at rest, a revision of it, what olmc rendered, or a file that
`olmc import` wrote."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from olmc.compiler.load.config import narrowing_of, read_config
from olmc.compiler.load.deciding_files import tool_files
from olmc.compiler.load.live_objects import read_dump
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Narrowing
from olmc.compiler.model.workspace import ClusterState, Inputs
from olmc.compiler.rules.findings import output as rules
from olmc.compiler.transition.state import state_of, with_aggregated_rules
from olmc.k8s.diagnostics import Diagnostic, Location, Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import APIResource
from olmc.review.diff.both_sides import BegunCluster, holds_nothing, read_rendering, shows_cluster
from olmc.review.diff.git import GitError, as_revision, may_lack, with_path, write_tree
from olmc.review.diff.settings import Side, SideSettings, workspace_side
from olmc.targets.pipeline import compile

NO_CLUSTER = "{} is a bundle by itself, and no cluster; `olmc diff` compares bundles."
_TWICE = "given twice it takes a workspace, for what was applied, and a state, for what the cluster holds."


class NoStateError(ValueError):
    """A name stands for no state of a cluster, whatever is in its files; the message gives the reason."""

    @property
    def message(self) -> str:
        return str(self.args[0])


class NamedState(NamedTuple):
    """A state, what the cluster serves as far as that was written down with it, and the side that it is where somebody
    asked for it, or a workspace is one."""

    state: ClusterState
    served: tuple[APIResource, ...] = ()
    side: Side | None = None

    @property
    def begun(self) -> BegunCluster:
        """The state as a side, with what the workspace says about itself."""
        assert self.side is not None
        return BegunCluster(self.side, self.state)


class Beginning(NamedTuple):
    """The place of a state, beside which a revision without a path is; the request for workspaces there, whose root
    does not count; whether the state is a side as well; and whether a revision may lack the path, which then stands for
    an empty workspace."""

    beside: str
    request: CompileRequest
    as_side: bool = False
    may_be_absent: bool = False


def named_state(name: str, beginning: Beginning, report: Report) -> NamedState | None:
    """Read the state that a name stands for: the path of a workspace, a rendering or a state file, or `git:REF[:PATH]`.

    Returns None, with the reason in `report`, where there is none. Raises NoStateError for a bundle.
    """
    with tempfile.TemporaryDirectory(prefix="olmc-from-") as folder:
        found = Report()
        path = place_of_state(name, beginning, Path(folder), found)
        state = _state_at(path, name, beginning, found) if path is not None else None
        report.found.extend(_as_named(name, path, found))
    return state


def _state_at(path: Path, name: str, beginning: Beginning, report: Report) -> NamedState | None:
    """The state that a name stands for, which is at a path of this machine."""
    texts = read_rendering(path, Report()) if path.is_dir() else {}
    if path.is_dir() and texts is not None and holds_nothing(path):
        return _nothing()
    # A commit is what was applied, also where it has no object of OLM yet.
    is_commit = path.is_dir() and as_revision(name) is not None
    if texts is None or (is_commit and not shows_cluster(texts)):
        return _settled(beginning.request._replace(root=path), report, as_side=beginning.as_side)
    dump = read_dump([path], report)
    if dump is None:
        return None
    tools = _tools_of(path) if beginning.as_side and as_revision(name) is not None else None
    objects = with_aggregated_rules(dict(dump.state.objects))
    side = Side("", (), tools=tools) if tools is not None else None
    return NamedState(dump.state._replace(objects=objects), dump.served, side)


def _as_named(name: str, path: Path | None, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Diagnostics of a state with its places as the user names them."""
    if path is None:
        yield from diagnostics
        return
    folder = f"{path.as_posix()}/" if path.is_dir() else f"{path.parent.as_posix()}/"
    shown = f"{name.rstrip('/')}/" if path.is_dir() else f"{posixpath.dirname(name)}/".lstrip("/")

    def named(place: Location) -> Location:
        return place._replace(path=f"{shown}{place.path.removeprefix(folder)}")

    for diagnostic in diagnostics:
        yield diagnostic._replace(
            location=named(diagnostic.location) if diagnostic.location is not None else None,
            related=tuple((text, named(place)) for text, place in diagnostic.related),
        )


def _tools_of(path: Path) -> SideSettings | None:
    """Return the files on which results of tools depend, in a revision of a folder of plain objects."""
    texts = read_rendering(path, Report()) if path.is_dir() else None
    if texts is None:
        return None
    return SideSettings({}, (), (), *tool_files(path, Inputs(frozenset(texts)), texts))


def begun_at(request: CompileRequest | None, name: str, report: Report) -> BegunCluster | None:
    """Return the cluster in which a workspace comes to rest, an empty one for None; None, with the reason in `report`,
    where it can't be compiled. Raises NoStateError for a bundle."""
    found = _settled(request, report, as_side=True) if request is not None else _nothing()
    return as_begun([found], name).begun if found is not None else None


def as_begun(states: Sequence[NamedState], name: str) -> NamedState:
    """Join states, and make a side of them that is called by a name. Raises NoStateError as `joined_states`."""
    found = joined_states(states)
    side = next((one.side for one in states if one.side is not None), Side("", ()))
    objects = (manifest.object for manifest in found.state.objects.values())
    # What the workspace was compiled to is what the cluster holds, unless that is given by itself.
    settled = side.settled if len(states) == 1 else None
    held = side._replace(name=name, objects=tuple(objects), settled=settled, is_held=True)
    return found._replace(side=held._replace(manifests=frozenset(found.state.applied)))


def joined_states(states: Sequence[NamedState]) -> NamedState:
    """Join two states: a workspace, which says what was applied, and one that says what the cluster holds.

    Raises NoStateError for any others.
    """
    held = next((found for found in states if not found.state.tracked), states[0])
    git = next((found for found in states if found.state.tracked), held)
    if len(states) > 2 or (len(states) == 2 and held is git):
        raise NoStateError(_TWICE)
    applied = {**git.state.applied, **held.state.applied}
    expected = git.state.objects if git is not held else held.state.expected
    state = ClusterState(
        held.state.objects, applied, git.state.tracked, expected, git.state.ignored, git.state.documents
    )  # fmt: skip
    return NamedState(state, held.served)


def _nothing() -> NamedState:
    """What a workspace leaves that is not there."""
    return NamedState(ClusterState({}), side=Side("", (), settings=SideSettings({})))


def place_of_state(name: str, beginning: Beginning, folder: Path, report: Report) -> Path | None:
    """Return where the state is on this machine; None, with the reason in `report`, if nowhere."""
    revision = as_revision(name)
    if revision is None:
        path = Path(name)
        if not path.exists():
            report.add(rules.NO_SUCH_SIDE.finding(None, side=name))
        return path if path.exists() else None
    try:
        there = with_path(revision, beginning.beside)
        may_be_absent = beginning.may_be_absent or may_lack(revision, there)
        return write_tree(there, folder, report, may_be_absent=may_be_absent)
    except (GitError, OSError) as error:
        problem = error.strerror if isinstance(error, OSError) else error.args[0]
        report.add(rules.NO_GIT.finding(None, side=name, problem=problem))
        return None


def _settled(request: CompileRequest, report: Report, *, as_side: bool) -> NamedState | None:
    """The state in which a workspace comes to rest."""
    # What the command line approves or deletes is for what comes next; what the workspace says itself is done already.
    before = request.options._replace(purpose="review", include=(), exclude=(), approve=(), delete=(), state=None)
    fixed = (request.fixed | {"purpose", "include", "exclude"}) - {"approve", "delete"}
    path = request.root
    done = compile(request._replace(options=before, fixed=fixed))
    report.found.extend(done.diagnostics)
    if done.settled is None or done.workspace is None or done.failed:
        if not done.failed:
            raise NoStateError(NO_CLUSTER.format(path))
        return None
    state = state_of(done.objects, done.settled.cluster, done.workspace)
    ignored = narrowing_of(path, read_config(path, Report())).ignored
    # What a repository says about itself is compared for the repository, and not for each of its clusters.
    side = workspace_side("", path, done, Narrowing(ignored)) if as_side and request.part is None else None
    return NamedState(state._replace(ignored=ignored), side=side)
