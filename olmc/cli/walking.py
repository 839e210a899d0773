"""`olmc plan --walk` and `--at`: the plan hop by hop, where somebody approves one InstallPlan after the other; and the
drift of the state that a plan begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from olmc.api import Compilation
from olmc.cli.console import say
from olmc.cli.process import bad_value
from olmc.lean import NamedTuple
from olmc.model.options import Options
from olmc.model.state import ClusterState
from olmc.output.unicode import json_text

if TYPE_CHECKING:
    from olmc.diff.sides import Side
    from olmc.model.cluster import Cluster
    from olmc.plan.drift import DriftedObject, StateComparison
    from olmc.plan.plan import Plan

CompileOptions = Callable[[Options], Compilation]
_MOST = 100


class PlanHop(NamedTuple):
    """What happens once one more InstallPlan is approved; `approved` is "" for the beginning, which needs none, and
    where ClusterExtensions go on by themselves."""

    number: int
    approved: str
    plan: Plan


def walk_hops(first: Plan, begun: Compilation, options: Options, compile_once: CompileOptions) -> Iterator[PlanHop]:
    """The hops after `first`, whose compilation is `begun`: each approves the first InstallPlan that waits, and has
    ClusterExtensions resolve once more."""
    from olmc.diff.compare import compare
    from olmc.plan.plan import plan_of
    from olmc.transition.state import state_of

    yield PlanHop(0, "", first)
    done = begun
    for index in range(1, _MOST):
        assert done.settled is not None
        assert done.workspace is not None
        waiting = _waiting(done.settled.cluster)
        if not waiting and not any(result.further for result in done.extensions):
            return
        state = state_of(done.objects, done.settled.cluster, done.workspace)
        after = compile_once(options._replace(state=state, approve=(waiting,) if waiting else (), delete=()))
        if after.settled is None or (waiting and waiting == _waiting(after.settled.cluster)):
            return
        difference = compare(_side(index - 1, done), _side(index, after))
        plan = plan_of(state, (), after.settled, difference, after.diagnostics, after.extensions)
        yield PlanHop(index, waiting, plan)
        done = after


def _side(index: int, done: Compilation) -> Side:
    from olmc.diff.sides import compiled_side

    return compiled_side(f"hop {index}", done)


def _waiting(cluster: Cluster) -> str:
    """The first InstallPlan that waits for approval, as `--approve` takes it; "" for none."""
    plans = (plan for plan in cluster.plans.values() if plan.phase == "RequiresApproval" and plan.csvs)
    return next((f"{plan.namespace}/{plan.csvs[0]}" for plan in plans), "")


def print_hops(hops: Sequence[PlanHop], at: int | None, output: str, *, verbose: bool) -> None:
    """Print the hops, or the one with the index `at`; one that there is not is wrong usage."""
    from olmc.plan import outputs

    chosen = [hop for hop in hops if at in (None, hop.number)]
    if not chosen:
        bad_value(f"there are the hops 0 to {len(hops) - 1}", "--at")
    if output == "json":
        data = [{"index": hop.number, "approved": hop.approved, "plan": outputs.as_data(hop.plan)} for hop in chosen]
        say(json_text({"version": outputs.FORMAT_VERSION, "hops": data}), out=True)
        return
    for number, hop in enumerate(chosen):
        begins = "ClusterExtensions go on" if hop.number else "what is applied"
        head = f"Hop {hop.number}: " + (f"{hop.approved} is approved" if hop.approved else begins)
        if output == "markdown":
            say(f"## {head}\n\n{outputs.as_markdown(hop.plan)}", out=True)
        else:
            text = outputs.as_text(hop.plan, color=True, verbose=verbose)
            say(f"{chr(10) * (number > 0)}== {head}\n{text}", nl=False, out=True)


def drift_in(state: ClusterState, options: Options, compile_once: CompileOptions) -> tuple[DriftedObject, ...]:
    """Where a state is not what is expected of it: of what was applied to it, or of PATH where only the state is given;
    a workspace is always what is expected of it."""
    if (state.tracked and not state.expected) or not state.objects:  # of what holds nothing yet nothing can be missing
        return ()
    if state.expected:
        from olmc.plan.drift import compare_state

        held = [manifest.object for manifest in state.objects.values()]
        expected = [manifest.object for manifest in state.expected.values()]
        return compare_state(held, expected, state.applied_by_repository).drift
    comparison = held_against(state, compile_once(fresh_options(state, options)))
    return comparison.drift if comparison is not None else ()


def fresh_options(state: ClusterState, options: Options) -> Options:
    """The options with which PATH is compiled as if nothing had been there, with what somebody has approved since."""
    return options._replace(state=None, delete=(), approve=(*options.approve, *_approved(state)))


def held_against(state: ClusterState, fresh: Compilation) -> StateComparison | None:
    """A state held against what a fresh compilation comes to rest in; None if that is nothing."""
    from olmc.model.objects import object_key
    from olmc.plan.drift import compare_state

    if fresh.settled is None or fresh.workspace is None:
        return None
    held = [manifest.object for manifest in state.objects.values()]
    manifests = {object_key(manifest.object): manifest.object for manifest in fresh.workspace.manifests}
    return compare_state(held, [rendered.object for rendered in fresh.objects], manifests)


def _approved(state: ClusterState) -> Iterator[str]:
    """What somebody has approved in a cluster."""
    from olmc.model.objects import spec_of, texts

    for key, manifest in state.objects.items():
        spec = spec_of(manifest.object)
        if key.kind == "InstallPlan" and spec.get("approved") and spec.get("approval") == "Manual":
            yield from (f"{key.namespace}/{csv}" for csv in texts(spec.get("clusterServiceVersionNames")))
