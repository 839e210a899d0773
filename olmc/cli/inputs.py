"""What is compiled when PATH is no directory: files, and what other tools print into a pipe, as one workspace."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import BAD_INPUT, STREAM, Input, Timings, bad_value, is_single, no_cluster, say, tell, wrong_usage
from olmc.compiler.load.config import narrowing_of, read_config
from olmc.compiler.load.deciding_files import tool_files
from olmc.compiler.load.entries import changed_entries, chosen, entries_at
from olmc.compiler.load.files import MAX_FILE_BYTES
from olmc.compiler.load.kustomization import NAMES
from olmc.compiler.load.live_objects import read_dump
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.model.catalog import names_of_bundles
from olmc.compiler.model.options import Narrowing, Options
from olmc.compiler.model.workspace import ClusterState, Inputs
from olmc.compiler.rules.texts import output as rules
from olmc.compiler.transition.state import state_of, with_aggregated_rules
from olmc.k8s.diagnostics import Report, Severity, close_matches, did_you_mean, join_limited
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import APIResource
from olmc.review.diff.both_sides import BegunCluster, read_rendering
from olmc.review.diff.git import GitError, as_revision, with_path, write_tree
from olmc.review.diff.settings import Side, SideSettings, workspace_side
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.compiler.api import Compilation

_STREAM_FILE = "stdin.yaml"


def staged_inputs(ctx: click.Context, paths: Sequence[Path], entries: Sequence[str]) -> list[Input]:
    """As `inputs_of`, where there are entries, files or streams among the paths."""
    if entries:
        return _entries(paths, entries)
    # A kustomization stands for its folder.
    paths = [path.parent if path.name in NAMES and path.is_file() else path for path in paths]
    singles = [path for path in dict.fromkeys(paths) if is_single(path)]
    folders = [path for path in paths if not is_single(path)]
    if not singles:
        return [Input(path) for path in folders]
    if len(folders) > 1:
        wrong_usage("files and streams make one workspace with one directory at most; give no second one.")
    staged = Path(ctx.with_resource(tempfile.TemporaryDirectory(prefix="olmc-input-")))
    for path in singles:
        _stage(path, staged)
    return [Input(folders[0], staged)] if folders else [Input(staged, staged, is_staged=True)]


def sides_of_entry(old: str, new: str | None, name: str) -> tuple[str, str]:
    """What `olmc diff` compares for an entry of the repository that is NEW, or else the work tree: its folder on both
    sides. Of a git revision without a path that is found by the diff itself."""
    root = Path(new or ".")
    if not root.is_dir() or (old.startswith("git:") and ":" in old.removeprefix("git:")) or ".." in old:
        wrong_usage("--entry goes with git:REF, or a directory, as OLD and a directory as NEW.")
    meant = _entries([root], [name])
    folders = dict.fromkeys(one.root for one in meant)
    if len(folders) > 1 or any(one.release is not None for one in meant):
        problem = "is a Helm chart with values of its own" if len(folders) == 1 else "is several folders"
        bad_value(f"{name} {problem}; give the folder on both sides.", "--entry")
    folder = next(iter(folders))
    below = folder.relative_to(root)
    return (old if old.startswith("git:") else (Path(old) / below).as_posix()), folder.as_posix()


def _entries(paths: Sequence[Path], names: Sequence[str]) -> list[Input]:
    """The entries of a repository that are called so, with how they are installed if they are Helm charts."""
    if len(paths) > 1:
        wrong_usage("--entry chooses in one repository; give one PATH.")
    known, report = entries_at(paths[0]), Report()
    inputs: dict[Input, None] = {}
    for name in names:
        meant = chosen(known, name)
        if not meant:
            words = [entry.path for entry in known]
            words += (applier.name.rpartition("/")[2] for entry in known for applier in entry.appliers)
            near = did_you_mean(*close_matches(name, words, 3)) or f"There are: {join_limited(words, 12)}."
            bad_value(f"{paths[0]} has no entry {name}. {near}", "--entry")
        changed_entries(meant, report)
        inputs.update(dict.fromkeys(Input(paths[0] / entry.path, release=entry.release) for entry in meant))
    tell(tuple(report), paths[0])
    return list(inputs)


def _stage(path: Path, folder: Path) -> None:
    """Write a file or a stream into a folder, by its own path as far as that stays below."""
    try:
        if str(path) == STREAM:
            content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with path.open("rb") as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
        target = folder / _name(path)
        while target.exists():
            target = target.with_name(f"_{target.name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    except OSError as error:
        say(f"error: {path} can't be read: {error.strerror}.")
        raise SystemExit(BAD_INPUT) from error


def _name(path: Path) -> str:
    """The name that messages have for a file: its own path, with an ending by which it is read."""
    if str(path) == STREAM:
        return _STREAM_FILE
    is_below = not path.is_absolute() and not any(part.startswith(".") for part in path.parts)
    name = path.as_posix() if is_below else path.name.lstrip(".")
    return name if name.endswith(SUFFIXES) else f"{name}.yaml"


# The state that `--from` names: another workspace at rest, a revision of it, what olmc rendered, or a file that
# `olmc import` wrote.


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
            if found is not None and found.side is None and as_side and as_revision(name) is not None:
                found = found._replace(side=Side("", (), tools=_tools_of(path)))
    # What fails in the state is as it is, unless that is why there is none: a dump with an object that no cluster has.
    tell(tuple(report), least=Severity.ERROR if found is not None else Severity.FAILURE)
    if found is None:
        raise SystemExit(BAD_INPUT)
    return found


def _tools_of(path: Path) -> SideSettings | None:
    """The files on which results of tools depend, in a revision of a folder of plain objects."""
    texts = read_rendering(path, Report()) if path.is_dir() else None
    if texts is None:
        return None
    return SideSettings({}, (), (), *tool_files(path, Inputs(frozenset(texts)), texts))


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
    done = compile(one.request(before, fixed))
    report.found.extend(done.diagnostics)
    if done.settled is None or done.workspace is None or done.failed:
        if not done.failed:
            no_cluster(str(path), "--from")
        return None
    state = state_of(done.objects, done.settled.cluster, done.workspace)
    ignored = narrowing_of(path, read_config(path, Report())).ignored
    side = workspace_side("", path, done, Narrowing(ignored)) if as_side else None
    return NamedState(state._replace(ignored=ignored), side=side)


# `--timings`: how long each stage of a command takes and how much there was to do, on stderr, for reports of bugs.


@contextmanager
def timed() -> Iterator[Timings]:
    """Who hears about stages and counts; what they heard is reported in the end."""
    # What happened before is the start, of which only the CPU knows how long it took.
    spent: dict[str, tuple[float, float]] = {"start": (0.0, time.process_time())}
    counts = dict.fromkeys(("files", "bytes", "bundles", "catalog entries", "objects", "bytes written"), 0)
    current = "", time.perf_counter(), time.process_time()

    def stage(name: str) -> None:
        nonlocal current
        before, began, used = current
        now, cpu = time.perf_counter(), time.process_time()
        if before:
            wall, total = spent.get(before, (0.0, 0.0))
            spent[before] = wall + now - began, total + cpu - used
        current = name, now, cpu

    def compiled(root: Path, done: Compilation) -> None:
        stage("report")
        for name, number in _counts(root, done).items():
            counts[name] += number

    def written(number: int) -> None:
        counts["bytes written"] += number

    try:
        yield Timings(stage, compiled, written)
    finally:
        stage("")
        say("olmc: stage         CPU       time")
        for name, (wall, cpu) in spent.items():
            say(f"olmc: {name:<8} {cpu:>6.3f} s" + (f"  {wall:>6.3f} s" if name != "start" else ""))
        say("olmc: " + ", ".join(f"{number:,} {name}" for name, number in counts.items()))


def _counts(root: Path, done: Compilation) -> dict[str, int]:
    """How much of what there was to compile."""
    paths = [root / name for name in sorted(done.inputs.files)]
    sizes = [path.stat().st_size for path in paths if path.is_file()]
    workspace = done.workspace
    bundles = 1 if workspace is None else len(workspace.bundles) + len(workspace.vendored)
    # Their names do not have packages read that nothing else has asked for, which would take longer than the command.
    entries = sum(len(names_of_bundles([catalog])) for catalog in workspace.catalogs.values()) if workspace else 0
    counts = (len(sizes), sum(sizes), 0 if done.failed else bundles, entries, len(done.objects))
    return dict(zip(("files", "bytes", "bundles", "catalog entries", "objects"), counts, strict=True))
