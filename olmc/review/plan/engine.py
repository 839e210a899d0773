"""The engine of plans: compile PATH on top of the cluster that a plan begins with, and compare.

`plan` is the function of the Python API; commands take the same steps one by one, because they report in between.
"""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from olmc.compiler.api import Compilation
from olmc.compiler.load.config import narrowing_of, read_config
from olmc.compiler.load.deciding_files import tool_files
from olmc.compiler.load.entries import chosen, entries_at
from olmc.compiler.load.files import no_folder, read_text, scan_workspace
from olmc.compiler.load.live_objects import read_dump
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.load.repository import pattern_part
from olmc.compiler.load.request import CompileRequest, request_of
from olmc.compiler.load.workspace_files import redefined_in
from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.options import Narrowing, Options
from olmc.compiler.model.workspace import ClusterState, Inputs
from olmc.compiler.output.messages import advice_from, seen_from
from olmc.compiler.rules.findings import output as rules
from olmc.compiler.transition.state import state_of, with_aggregated_rules
from olmc.k8s.diagnostics import Diagnostic, Location, Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import APIResource, mapping, object_key, spec_of, texts
from olmc.k8s.yaml import read
from olmc.review.diagnose.engine import diagnose, scene_of
from olmc.review.diagnose.remedies import with_fixes
from olmc.review.diff.both_sides import BegunCluster, holds_nothing, read_rendering, shows_cluster
from olmc.review.diff.compare import compare, with_approval
from olmc.review.diff.git import GitError, submodules_at
from olmc.review.diff.revisions import Extent, as_revision, may_lack, meant_revision, unread_side, with_path, write_tree
from olmc.review.diff.settings import Side, SideSettings, cluster_side, compiled_side, workspace_side
from olmc.review.plan import outputs
from olmc.review.plan.leftovers import Plan, applied_changes, compare_with_state
from olmc.review.plan.outcomes import planned_installs
from olmc.review.plan.outputs import as_html, in_short
from olmc.review.plan.repair import DriftedObject, StateComparison, compare_state
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    from typing import Unpack

    from olmc.compiler.model.options import OptionFields
    from olmc.review.diff.crd_kinds import DiffChange
    from olmc.review.plan.outcomes import OperatorOutcome

CompileOptions = Callable[[Options], Compilation]
EVERYTHING = frozenset({"purpose", "include", "exclude"})
"""The options that olmc.yaml may not choose where all of a cluster counts."""
_MOST_HOPS = 100


def _unheard(root: Path, done: Compilation) -> object:  # noqa: ARG001
    return None


class PlannedPath(NamedTuple):
    """The workspace that is applied: how it is compiled, its name, the patterns of files that FROM leaves out (None
    where that is no workspace), whether it is the user's own folder, and a function that hears of each compilation.
    With `remedies` diagnoses come with the changes that cure them."""

    request: CompileRequest
    name: str
    ignored: tuple[str, ...] | None = None
    is_staged: bool = False
    heard: Callable[[Path, Compilation], object] = _unheard
    remedies: bool = False


class PlanHop(NamedTuple):
    """The steps after the approval of one more InstallPlan; `approved` is "" for the beginning, which needs none, and
    where ClusterExtensions continue by themselves."""

    number: int
    approved: str
    plan: Plan


class PlanResult(NamedTuple):
    """A plan, None where one side can't be compiled, and the diagnostics of both sides."""

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def failed(self) -> bool:
        """Return whether there is no plan."""
        return self.plan is None

    @property
    def operators(self) -> tuple[OperatorOutcome, ...]:
        """Return the outcome of each operator."""
        return self.plan.operators if self.plan is not None else ()

    @property
    def changes(self) -> tuple[DiffChange, ...]:
        """Return the changes in the cluster, the most severe of each group first."""
        return self.plan.difference.changes if self.plan is not None else ()

    def write(self, output: Literal["text", "markdown", "json", "html"] = "text") -> str:
        """Return the plan as `olmc plan -o` prints it, "" where there is none."""
        return write(self.plan, output) if self.plan is not None else ""

    def __repr__(self) -> str:
        """Summarize the plan in one line."""
        return f"<PlanResult: {in_short(self.plan) if self.plan is not None else 'failed'}>"


def plan(
    root: CompileRequest | Path | str = ".", before: CompileRequest | Path | str = "git:HEAD",
    options: Options | None = None, *, allow_empty: bool = False, **fields: Unpack[OptionFields],
) -> PlanResult:  # fmt: skip
    """Plan what happens to a cluster when a workspace is applied to it.

    `root`, `options` and further options are those of `olmc.compile`. `before` is the cluster: a workspace at rest (its
    directory or a request), a rendering, a file that `olmc import` wrote, or `git:REF[:PATH]`. With `allow_empty` a
    revision may lack the path. Nothing is raised for bad input. Raises NoStateError, a ValueError, for a bundle.
    """
    request = request_of(root, options, fields)
    fixed = request.fixed | EVERYTHING | ({"approve"} if request.options.approve else frozenset())
    # A plan has to know what changes in Secrets; a comparison masks it.
    request = request._replace(fixed=fixed, options=request.options._replace(show_secrets=True))
    report = Report()
    begun, served = None, request.options.api_resources
    if isinstance(before, CompileRequest):
        begun = begun_at(before._replace(stage=request.stage), str(before.root), report)
    else:
        name = os.fspath(before)
        beginning = Beginning(os.fspath(request.root), request, as_side=True, may_be_absent=allow_empty)
        found = named_state(name, beginning, report)
        if found is not None:
            begun, served = as_begun([found], name).begun, (*served, *found.served)
    if begun is None:
        return PlanResult(None, tuple(report))
    options = request.options._replace(state=begun.state, api_resources=served)
    path = PlannedPath(request, request.root.as_posix(), begun.state.ignored)
    done, narrowing = compile_planned(path, options)
    if done.workspace is None and not done.failed:
        raise NoStateError(NO_CLUSTER.format(path.name))
    if done.failed or done.settled is None:
        return PlanResult(None, (*report, *done.diagnostics))
    return PlanResult(planned_for(path, options, begun, done, narrowing), (*report, *done.diagnostics))


def compile_planned(path: PlannedPath, options: Options) -> tuple[Compilation, Narrowing]:
    """Compile PATH without the files that FROM leaves out; also return what is left out.

    The one who changes PATH must not choose what a plan gets to see. Files that PATH leaves out itself stay left out
    where they can't be compiled.
    """
    request = path.request

    def compile_with(narrowing: Narrowing | None = None) -> Compilation:
        done = compile(request._replace(options=options, narrowing=narrowing))
        path.heard(request.root, done)
        return done

    tree = request.tree
    own = narrowing_of(request.root, read_config(request.root, Report()), tree.folder if tree is not None else None)
    if path.ignored is None:
        return compile_with(), Narrowing(own.ignored)
    narrowing = Narrowing(path.ignored)
    done = compile_with(narrowing)
    if not done.failed:
        return done, narrowing
    wider = Narrowing((*path.ignored, *own.ignored))
    return compile_with(wider), wider


def recompile(path: PlannedPath, options: Options) -> Compilation:
    """Compile PATH once more, with what somebody has approved or deleted by then."""
    fixed = path.request.fixed | {"approve", "delete"}
    return compile_planned(path._replace(request=path.request._replace(fixed=fixed)), options)[0]


def planned_for(
    path: PlannedPath, options: Options, begun: BegunCluster, done: Compilation, narrowing: Narrowing, folder: str = "",
    cluster: Sequence[str] = (),
) -> Plan:  # fmt: skip
    """Return the plan for PATH, which was compiled with `narrowing` for the cluster that it begins with.

    `folder` is the folder of PATH as the user names it, for places and commands; `cluster` are the values of --from.
    """
    assert done.settled is not None
    assert done.workspace is not None
    after = _side(path, options, begun, done, narrowing)
    difference = compare(begun.side, after)
    if not options.approve and any(install.waits for install in planned_installs(begun.state, done.settled)):
        request = path.request
        approving = path._replace(request=request._replace(fixed=request.fixed | {"approve"}))
        # Who approves these plans has not approved those that OLM makes afterwards.
        waiting = tuple(_waiting(done.settled.cluster))
        later, _ = compile_planned(approving, options._replace(approve=waiting))
        approved = compiled_side(after.name, later)
        approved = after._replace(objects=approved.objects, settled=later.settled, manifests=approved.manifests)
        difference = with_approval(difference, compare(begun.side, approved))
    applied = applied_changes(begun.state, done.workspace, done.options, done.objects)
    removed = {key for change in applied for key in (change.key, *change.along) if change.action in ("prune", "delete")}
    found = diagnose(scene_of(done), removed)
    if path.remedies and not path.is_staged:
        found = with_fixes(path.request._replace(options=options, narrowing=narrowing), done, found)
    made = compare_with_state(
        begun.state, applied, done.settled, difference, done.diagnostics, done.extensions, found, done.operators
    )
    made = made._replace(drift=drift_in(begun.state, options, partial(recompile, path)))
    return plan_from(folder, made, cluster)


def plan_from(folder: str, made: Plan, cluster: Sequence[str] = ()) -> Plan:
    """Return a plan with its places and commands as one gives them where `folder` is the folder of PATH, and `cluster`
    are the values of --from."""
    tasks = tuple(task._replace(text=advice_from(folder, task.text, cluster)) for task in made.tasks)
    return made._replace(problems=tuple(seen_from(folder, made.problems)), tasks=tasks)


def _side(path: PlannedPath, options: Options, begun: BegunCluster, done: Compilation, narrowing: Narrowing) -> Side:
    """PATH as the side of a comparison. What it says about itself is compared with what a workspace says about itself,
    and with nothing else."""
    if path.is_staged or (begun.side.settings is None and begun.side.tools is None):
        # A state has one definition of each object.
        return cluster_side(path.name, done)._replace(left_out=redefined_in(done.inputs))

    def compile_fresh() -> Compilation:
        return compile_planned(path, options._replace(state=None))[0]

    side = workspace_side(path.name, path.request.root, done, narrowing, compile_fresh)
    if begun.side.settings is None:  # a folder of plain objects has no settings of its own
        return side._replace(tools=side.settings, settings=None, left_out=())
    return side


def write(made: Plan, output: str, *, color: bool = False, verbose: bool = False) -> str:
    """Return a plan as text, with or without color, or as markdown, json or html."""
    match output:
        case "json":
            return outputs.as_json(made)
        case "markdown":
            return outputs.as_markdown(made)
        case "html":
            return as_html(made)
    return outputs.as_text(made, color=color, verbose=verbose)


def walk_hops(first: Plan, begun: Compilation, options: Options, compile_once: CompileOptions) -> Iterator[PlanHop]:
    """Yield the hops of a plan: `first`, whose compilation is `begun`, and then one for each InstallPlan that waits,
    which the hop approves. ClusterExtensions resolve once more at each."""
    yield PlanHop(0, "", first)
    done = begun
    for index in range(1, _MOST_HOPS):
        assert done.settled is not None
        assert done.workspace is not None
        waiting = next(_waiting(done.settled.cluster), "")
        if not waiting and not any(result.further for result in done.extensions):
            return
        state = state_of(done.objects, done.settled.cluster, done.workspace)
        after = compile_once(options._replace(state=state, approve=(waiting,) if waiting else (), delete=()))
        if after.settled is None or (waiting and waiting == next(_waiting(after.settled.cluster), "")):
            return
        difference = compare(compiled_side(f"hop {index - 1}", done), compiled_side(f"hop {index}", after))
        made = compare_with_state(
            state, (), after.settled, difference, after.diagnostics, after.extensions, proposed=after.operators
        )
        yield PlanHop(index, waiting, made)
        done = after


def _waiting(cluster: Cluster) -> Iterator[str]:
    """Yield the InstallPlans that wait for approval, in order, as `--approve` takes them."""
    plans = (plan for plan in cluster.plans.values() if plan.phase == "RequiresApproval" and plan.csvs)
    yield from (f"{plan.namespace}/{plan.csvs[0]}" for plan in plans)


def drift_in(state: ClusterState, options: Options, compile_once: CompileOptions) -> tuple[DriftedObject, ...]:
    """Return where a state is not what is expected of it: of what was applied to it, or of PATH where only the state is
    given; a workspace is always what is expected of it."""
    if state.is_of_repository:  # of what holds nothing yet nothing can be missing
        return ()
    if state.expected:
        held = [manifest.object for manifest in state.objects.values()]
        expected = [manifest.object for manifest in state.expected.values()]
        return compare_state(held, expected, state.applied_by_repository).drift
    comparison = _compared_with_fresh(state, compile_once(_fresh_options(state, options)))
    return comparison.drift if comparison is not None else ()


def _fresh_options(state: ClusterState, options: Options) -> Options:
    """Return the options to compile PATH as if nothing had been there, with what somebody has approved since."""
    return options._replace(state=None, delete=(), approve=(*options.approve, *_approved(state)))


def _compared_with_fresh(state: ClusterState, fresh: Compilation) -> StateComparison | None:
    """Compare a state with what a fresh compilation comes to rest in; None if that is nothing."""
    if fresh.settled is None or fresh.workspace is None:
        return None
    held = [manifest.object for manifest in state.objects.values()]
    manifests = {object_key(manifest.object): manifest.object for manifest in fresh.workspace.manifests}
    return compare_state(held, [rendered.object for rendered in fresh.objects], manifests)


def _approved(state: ClusterState) -> Iterator[str]:
    """Yield the CSVs of the approved manual InstallPlans of a cluster."""
    for key, manifest in state.objects.items():
        spec = spec_of(manifest.object)
        if key.kind == "InstallPlan" and spec.get("approved") and spec.get("approval") == "Manual":
            yield from (f"{key.namespace}/{csv}" for csv in texts(spec.get("clusterServiceVersionNames")))


NO_CLUSTER = "{} is a bundle by itself, and no cluster; `olmc diff` compares bundles."
_SEVERAL = "{} has several entries {}; give the folder of one."
_TWICE = "given twice it takes a workspace, for what was applied, and a state, for what the cluster holds."


class NoStateError(ValueError):
    """A name does not name the state of a cluster; the message gives the reason."""

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
    an empty workspace. `entry`: of a revision of a whole repository the entry that is meant, or "" """

    beside: str
    request: CompileRequest
    as_side: bool = False
    may_be_absent: bool = False
    entry: str = ""


def named_state(name: str, beginning: Beginning, report: Report) -> NamedState | None:
    """Read the state that a name stands for: the path of a workspace, a rendering or a state file, or `git:REF[:PATH]`.

    Returns None, with the reason in `report`, where there is none. Raises NoStateError for a bundle.
    """
    with tempfile.TemporaryDirectory(prefix="olmc-from-") as folder:
        found = Report()
        path = place_of_state(name, beginning, Path(folder), found)
        revision = as_revision(name)
        if path is not None and beginning.entry and revision is not None and not revision.path:
            state = _state_of_entry(path, name, beginning, found)
        else:
            state = _state_at(path, name, beginning, found) if path is not None else None
        report.found.extend(_as_named(name, path, found))
    return state


def _state_of_entry(root: Path, name: str, beginning: Beginning, report: Report) -> NamedState | None:
    """The state that an entry of a repository stands for, a chart with the values of its applier there; an empty one
    where the repository does not have the entry."""
    meant = chosen(entries_at(root), beginning.entry)
    entries = list(dict.fromkeys((entry.path, entry.release, entry.is_pattern) for entry in meant))
    if not entries:
        return _nothing()
    if len(entries) > 1:
        raise NoStateError(_SEVERAL.format(name, beginning.entry))
    path, release, is_pattern = entries[0]
    request = beginning.request._replace(release=release)
    if is_pattern:
        part = pattern_part(root, path, request.options)
        return _settled(request._replace(root=root, part=part), name, report, as_side=beginning.as_side)
    return _state_at(root / path, name, beginning._replace(request=request), report)


def _state_at(path: Path, name: str, beginning: Beginning, report: Report) -> NamedState | None:
    """The state that a name stands for, which is at a path of this machine."""
    texts = read_rendering(path, Report()) if path.is_dir() else {}
    if path.is_dir() and texts is not None and holds_nothing(path):
        # Files of GitOps tools for something else are there already.
        there = SideSettings({}, (), (), *tool_files(path, Inputs(), {}, submodules=submodules_at(path)))
        return NamedState(ClusterState({}), side=Side("", (), settings=there))
    # A commit is what was applied, also where it has no object of OLM yet.
    is_commit = path.is_dir() and as_revision(name) is not None
    if texts is None or (is_commit and not shows_cluster(texts)):
        return _settled(beginning.request._replace(root=path), name, report, as_side=beginning.as_side)
    if path.is_file() and as_revision(name) is not None and _has_no_object(path):
        return _nothing()
    dump = read_dump([path], report)
    if dump is None:
        return None
    tools = _tools_of(path) if beginning.as_side and as_revision(name) is not None else None
    objects = with_aggregated_rules(dict(dump.state.objects))
    side = Side("", (), tools=tools) if tools is not None else None
    return NamedState(dump.state._replace(objects=objects), dump.served, side)


def _has_no_object(path: Path) -> bool:
    """Return whether a file can be read, and holds no object of Kubernetes: a text, or settings of a tool."""
    if not path.name.endswith(SUFFIXES):
        return True
    report = Report()
    text = read_text(path.parent, path.name, report)
    values = [mapping(document.value) for document in read(path.name, text or "", report)]
    return not report.failed and not any("apiVersion" in value or "kind" in value for value in values)


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
    return SideSettings({}, (), (), *tool_files(path, Inputs(frozenset(texts)), texts, submodules=submodules_at(path)))


def begun_at(request: CompileRequest | None, name: str, report: Report) -> BegunCluster | None:
    """Return the cluster in which a workspace comes to rest, an empty one for None; None, with the reason in `report`,
    where it can't be compiled. Raises NoStateError for a bundle."""
    found = _settled(request, name, report, as_side=True) if request is not None else _nothing()
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
        held.state.objects, applied, git.state.tracked, expected, git.state.ignored, git.state.documents,
        of_policies=git.state.of_policies, refused=git.state.refused,
    )  # fmt: skip
    return NamedState(state, held.served)


def _nothing() -> NamedState:
    """Return the empty state of an absent workspace."""
    return NamedState(ClusterState({}), side=Side("", (), settings=SideSettings({})))


def place_of_state(name: str, beginning: Beginning, folder: Path, report: Report) -> Path | None:
    """Return where the state is on this machine; None, with the reason in `report`, if nowhere."""
    revision = as_revision(name)
    if revision is None:
        path = Path(name)
        if not path.exists():
            report.add(rules.NO_SUCH_SIDE.finding(None, side=name, meant=meant_revision(name)))
        return path if path.exists() else None
    try:
        there = with_path(revision, beginning.beside)
        may_be_absent = beginning.may_be_absent or may_lack(revision, there)
        extent = Extent(may_be_absent, without_idle_bundles=beginning.request.without_idle_bundles)
        of_revision = Report()
        place = write_tree(there, folder, of_revision, extent=extent)
        report.found.extend(of_revision.found)
        return place if not any(each.severity is Severity.ERROR for each in of_revision.found) else None
    except (GitError, OSError) as error:
        report.add(unread_side(name, error))
        return None


def _settled(request: CompileRequest, name: str, report: Report, *, as_side: bool) -> NamedState | None:
    """The state in which the workspace of that name comes to rest."""
    # What the command line approves or deletes is for what comes next; what the workspace says itself is done already.
    before = request.options._replace(purpose="review", include=(), exclude=(), approve=(), delete=(), state=None)
    fixed = (request.fixed | {"purpose", "include", "exclude"}) - {"approve", "delete"}
    path = request.root
    tree = request.tree
    if tree is None and request.part is None and not no_folder(path):
        tree = scan_workspace(path, by_package=request.without_idle_bundles)
    done = compile(request._replace(options=before, fixed=fixed, tree=tree))
    report.found.extend(done.diagnostics)
    if done.settled is None or done.workspace is None or done.failed:
        if not done.failed:
            # A revision is in a temporary folder, whose path does not help the reader.
            raise NoStateError(NO_CLUSTER.format(name))
        return None
    state = state_of(done.objects, done.settled.cluster, done.workspace)
    ignored = narrowing_of(path, read_config(path, Report()), tree.folder if tree is not None else None).ignored
    # What a repository says about itself is compared for the repository, and not for each of its clusters.
    side = None
    if as_side:
        is_whole = request.part is None
        side = workspace_side("", path, done, Narrowing(ignored)) if is_whole else cluster_side("", done)
    return NamedState(state._replace(ignored=ignored), side=side)
