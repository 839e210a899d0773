"""The state that `--from` names: another workspace at rest, a revision of it, what olmc rendered, or a file that
`olmc import` wrote."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from olmc.api import compile
from olmc.cli.console import tell
from olmc.cli.process import BAD_INPUT, Input, bad_value, no_cluster
from olmc.diagnostics.rules import output as rules
from olmc.diff.both_sides import BegunCluster
from olmc.diff.git import GitError, as_revision, with_path, write_tree
from olmc.diff.renderings import read_rendering
from olmc.diff.sides import Side, SideSettings, workspace_side
from olmc.lean import NamedTuple
from olmc.load.cluster_state import read_dump
from olmc.load.config import narrowing_of, read_config
from olmc.model.diagnostics import Report, Severity
from olmc.model.options import APIResource, Narrowing, Options
from olmc.model.state import ClusterState
from olmc.transition.state import state_of, with_aggregated_rules


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


def state_from(names: Sequence[str], beside: str, options: Options, given: frozenset[str]) -> NamedState:
    """The state that `names` mean, for a compilation of the path `beside` with these options.

    Of two, one is a workspace, which says what was applied, and one says what the cluster holds. Ends the command,
    with the reason on stderr, where there is no such state.
    """
    return _joined([_state(name, beside, options, given) for name in names])


def begun_from(
    names: Sequence[str], beside: str, options: Options, given: frozenset[str], *, may_be_absent: bool
) -> NamedState:
    """The same with its side; with `may_be_absent` a path that a revision does not have is an empty workspace."""
    states = [_state(name, beside, options, given, may_be_absent=may_be_absent, as_side=True) for name in names]
    return _as_begun(states, " and ".join(names))


def begun_at(
    one: Input | None, name: str, options: Options, given: frozenset[str], report: Report
) -> BegunCluster | None:
    """The cluster in which a workspace comes to rest, an empty one for None; None, with the reason in `report`, where
    it can't be compiled."""
    found = _settled(one, options, given, report, as_side=True) if one is not None else _nothing()
    return _as_begun([found], name).begun if found is not None else None


def _as_begun(states: Sequence[NamedState], name: str) -> NamedState:
    found = _joined(states)
    side = next((one.side for one in states if one.side is not None), Side("", ()))
    objects = (manifest.object for manifest in found.state.objects.values())
    # What the workspace was compiled to is what the cluster holds, unless that is given by itself.
    settled = side.settled if len(states) == 1 else None
    held = side._replace(name=name, objects=tuple(objects), settled=settled, is_held=True)
    return found._replace(side=held._replace(manifests=frozenset(found.state.applied)))


def _joined(states: Sequence[NamedState]) -> NamedState:
    held = next((found for found in states if not found.state.tracked), states[0])
    git = next((found for found in states if found.state.tracked), held)
    if len(states) > 2 or (len(states) == 2 and held is git):
        text = "given twice it takes a workspace, for what was applied, and a state, for what the cluster holds."
        bad_value(text, "--from")
    applied = {**git.state.applied, **held.state.applied}
    expected = git.state.objects if git is not held else held.state.expected
    state = ClusterState(
        held.state.objects, applied, git.state.tracked, expected, git.state.ignored, git.state.documents
    )  # fmt: skip
    return NamedState(state, held.served)


def _state(
    name: str, beside: str, options: Options, given: frozenset[str], *, may_be_absent: bool = False,
    as_side: bool = False,
) -> NamedState:  # fmt: skip
    report = Report()
    found: NamedState | None = None
    with tempfile.TemporaryDirectory(prefix="olmc-from-") as folder:
        path = _place(name, beside, Path(folder), report, may_be_absent)
        if path is not None:
            absent = may_be_absent and path.is_dir() and not any(path.iterdir())
            found = _nothing() if absent else _state_at(path, options, given, report, as_side=as_side)
    # What fails in the state is as it is, unless that is why there is none: a dump with an object that no cluster has.
    tell(tuple(report), least=Severity.ERROR if found is not None else Severity.FAILURE)
    if found is None:
        raise SystemExit(BAD_INPUT)
    return found


def _nothing() -> NamedState:
    """What a workspace leaves that is not there."""
    return NamedState(ClusterState({}), side=Side("", (), settings=SideSettings({})))


def _place(name: str, beside: str, folder: Path, report: Report, may_be_absent: bool) -> Path | None:
    """Where the state is on this machine; None, with the reason in `report`, if nowhere."""
    revision = as_revision(name)
    if revision is None:
        path = Path(name)
        if not path.exists():
            report.add(rules.NO_SUCH_SIDE.finding(None, side=name))
        return path if path.exists() else None
    try:
        return write_tree(with_path(revision, beside), folder, report, may_be_absent=may_be_absent)
    except (GitError, OSError) as error:
        problem = error.strerror if isinstance(error, OSError) else error.args[0]
        report.add(rules.NO_GIT.finding(None, side=name, problem=problem))
        return None


def _state_at(
    path: Path, options: Options, given: frozenset[str], report: Report, *, as_side: bool
) -> NamedState | None:
    if path.is_dir() and read_rendering(path, Report()) is None:
        return _settled(Input(path), options, given, report, as_side=as_side)
    dump = read_dump([path], report)
    if dump is None:
        return None
    objects = with_aggregated_rules(dict(dump.state.objects))
    return NamedState(dump.state._replace(objects=objects), dump.served)


def _settled(
    one: Input, options: Options, given: frozenset[str], report: Report, *, as_side: bool
) -> NamedState | None:
    """The state in which a workspace comes to rest."""
    # What the command line approves or deletes is for what comes next; what the workspace says itself is done already.
    before = options._replace(purpose="review", include=(), exclude=(), approve=(), delete=(), state=None)
    fixed = (given | {"purpose", "include", "exclude"}) - {"approve", "delete"}
    path = one.root
    done = compile(path, before, given=fixed, beside=one.beside, release=one.release)
    report.found.extend(done.diagnostics)
    if done.settled is None or done.workspace is None or done.failed:
        if not done.failed:
            no_cluster(str(path), "--from")
        return None
    state = state_of(done.objects, done.settled.cluster, done.workspace)
    ignored = narrowing_of(path, read_config(path, Report())).ignored
    side = workspace_side("", path, done, Narrowing(ignored)) if as_side else None
    return NamedState(state._replace(ignored=ignored), side=side)
