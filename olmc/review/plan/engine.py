"""The engine of plans: compile PATH on top of the cluster that a plan begins with, and compare.

`plan` is the function of the Python API; commands take the same steps one by one, because they report in between.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from olmc.compiler.api import Compilation
from olmc.compiler.load.config import narrowing_of, read_config
from olmc.compiler.load.request import CompileRequest, request_of
from olmc.compiler.load.workspace_files import redefined_in
from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.options import Narrowing, Options
from olmc.compiler.model.workspace import ClusterState
from olmc.compiler.output.places import seen_from
from olmc.compiler.transition.state import state_of
from olmc.k8s.diagnostics import Diagnostic, Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import object_key, spec_of, texts
from olmc.review.diagnose.engine import diagnose, scene_of
from olmc.review.diff.both_sides import BegunCluster
from olmc.review.diff.compare import compare, with_approval
from olmc.review.diff.settings import Side, compiled_side, workspace_side
from olmc.review.plan.begun import NO_CLUSTER, Beginning, NoStateError, as_begun, begun_at, named_state
from olmc.review.plan.leftovers import Plan, applied_changes, compare_with_state
from olmc.review.plan.outcomes import planned_installs
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
    where that is no workspace), whether it is the user's own folder, and a function that hears of each compilation."""

    request: CompileRequest
    name: str
    ignored: tuple[str, ...] | None = None
    is_staged: bool = False
    heard: Callable[[Path, Compilation], object] = _unheard


class PlanHop(NamedTuple):
    """What happens once one more InstallPlan is approved; `approved` is "" for the beginning, which needs none, and
    where ClusterExtensions go on by themselves."""

    number: int
    approved: str
    plan: Plan


class PlanResult(NamedTuple):
    """A plan, None where one side can't be compiled, and the diagnostics of both sides."""

    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def failed(self) -> bool:
        """Whether there is no plan."""
        return self.plan is None

    @property
    def operators(self) -> tuple[OperatorOutcome, ...]:
        """What becomes of each operator."""
        return self.plan.operators if self.plan is not None else ()

    @property
    def changes(self) -> tuple[DiffChange, ...]:
        """What changes in the cluster, the gravest of each group first."""
        return self.plan.difference.changes if self.plan is not None else ()

    def write(self, output: Literal["text", "markdown", "json", "html"] = "text") -> str:
        """Return the plan as `olmc plan -o` prints it, "" where there is none."""
        return write(self.plan, output) if self.plan is not None else ""

    def __repr__(self) -> str:
        """Summarize the plan in one line."""
        from olmc.review.plan.outputs import in_short

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

    own = narrowing_of(request.root, read_config(request.root, Report())).ignored
    if path.ignored is None:
        return compile_with(), Narrowing(own)
    narrowing = Narrowing(path.ignored)
    done = compile_with(narrowing)
    if not done.failed:
        return done, narrowing
    wider = Narrowing((*path.ignored, *own))
    return compile_with(wider), wider


def recompile(path: PlannedPath, options: Options) -> Compilation:
    """Compile PATH once more, with what somebody has approved or deleted by then."""
    fixed = path.request.fixed | {"approve", "delete"}
    return compile_planned(path._replace(request=path.request._replace(fixed=fixed)), options)[0]


def planned_for(
    path: PlannedPath, options: Options, begun: BegunCluster, done: Compilation, narrowing: Narrowing, folder: str = ""
) -> Plan:
    """Return the plan for PATH, which was compiled with `narrowing` for the cluster that it begins with.

    `folder` is the folder of PATH as the user names it, for the places of diagnostics.
    """
    assert done.settled is not None
    assert done.workspace is not None
    after = _side(path, options, begun, done, narrowing)
    difference = compare(begun.side, after)
    if not options.approve and any(install.waits for install in planned_installs(begun.state, done.settled)):
        request = path.request
        approving = path._replace(request=request._replace(fixed=request.fixed | {"approve"}))
        later, _ = compile_planned(approving, options._replace(approve=("all",)))
        approved = compiled_side(after.name, later)
        approved = after._replace(objects=approved.objects, settled=later.settled, manifests=approved.manifests)
        difference = with_approval(difference, compare(begun.side, approved))
    applied = applied_changes(begun.state, done.workspace.manifests, done.options)
    diagnostics = tuple(seen_from(folder, done.diagnostics)) if folder else done.diagnostics
    removed = {key for change in applied for key in (change.key, *change.along) if change.action in ("prune", "delete")}
    made = compare_with_state(
        begun.state, applied, done.settled, difference, diagnostics, done.extensions, diagnose(scene_of(done), removed)
    )
    return made._replace(drift=drift_in(begun.state, options, partial(recompile, path)))


def _side(path: PlannedPath, options: Options, begun: BegunCluster, done: Compilation, narrowing: Narrowing) -> Side:
    """PATH as the side of a comparison. What it says about itself is compared with what a workspace says about itself,
    and with nothing else."""
    if path.is_staged or (begun.side.settings is None and begun.side.tools is None):
        # A state has one definition of each object.
        return compiled_side(path.name, done)._replace(left_out=redefined_in(done.inputs))

    def compile_fresh() -> Compilation:
        return compile_planned(path, options._replace(state=None))[0]

    side = workspace_side(path.name, path.request.root, done, narrowing, compile_fresh)
    if begun.side.settings is None:  # a folder of plain objects has no settings of its own
        return side._replace(tools=side.settings, settings=None, left_out=())
    return side


def write(made: Plan, output: str, *, color: bool = False, verbose: bool = False) -> str:
    """Return a plan as text, with or without color, or as markdown, json or html."""
    from olmc.review.plan import outputs

    match output:
        case "json":
            return outputs.as_json(made)
        case "markdown":
            return outputs.as_markdown(made)
        case "html":
            from olmc.review.plan.outputs import as_html  # jinja2 takes long to import

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
        waiting = _waiting(done.settled.cluster)
        if not waiting and not any(result.further for result in done.extensions):
            return
        state = state_of(done.objects, done.settled.cluster, done.workspace)
        after = compile_once(options._replace(state=state, approve=(waiting,) if waiting else (), delete=()))
        if after.settled is None or (waiting and waiting == _waiting(after.settled.cluster)):
            return
        difference = compare(compiled_side(f"hop {index - 1}", done), compiled_side(f"hop {index}", after))
        made = compare_with_state(state, (), after.settled, difference, after.diagnostics, after.extensions)
        yield PlanHop(index, waiting, made)
        done = after


def _waiting(cluster: Cluster) -> str:
    """The first InstallPlan that waits for approval, as `--approve` takes it; "" for none."""
    plans = (plan for plan in cluster.plans.values() if plan.phase == "RequiresApproval" and plan.csvs)
    return next((f"{plan.namespace}/{plan.csvs[0]}" for plan in plans), "")


def drift_in(state: ClusterState, options: Options, compile_once: CompileOptions) -> tuple[DriftedObject, ...]:
    """Return where a state is not what is expected of it: of what was applied to it, or of PATH where only the state is
    given; a workspace is always what is expected of it."""
    if (state.tracked and not state.expected) or not state.objects:  # of what holds nothing yet nothing can be missing
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
    """What somebody has approved in a cluster."""
    for key, manifest in state.objects.items():
        spec = spec_of(manifest.object)
        if key.kind == "InstallPlan" and spec.get("approved") and spec.get("approval") == "Manual":
            yield from (f"{key.namespace}/{csv}" for csv in texts(spec.get("clusterServiceVersionNames")))
