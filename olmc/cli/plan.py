"""`olmc plan`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.console import (
    BAD_INPUT,
    DONE,
    FINDINGS,
    UNTIMED,
    Input,
    Timings,
    bad_value,
    folder_from_here,
    no_cluster,
    progress,
    say,
    tell,
    tell_approvals,
    wrong_usage,
)
from olmc.cli.declared import Choice, PathOf, Whole, argument, command, flag, option
from olmc.cli.options import (
    EVERYTHING,
    PROPOSED,
    CompileOptions,
    canonical_version,
    entry_option,
    fields_of,
    fixed_of,
    given_of,
    inputs_of,
    options_and_begun,
    options_of,
    output_option,
    tell_idle,
    timings_of,
)
from olmc.compiler.api import Compilation
from olmc.compiler.load.config import narrowing_of, read_config
from olmc.compiler.model.options import Narrowing, Options
from olmc.compiler.model.workspace import ClusterState
from olmc.compiler.output.messages import json_text
from olmc.compiler.output.places import seen_from
from olmc.k8s.diagnostics import Report, Severity, close_matches, did_you_mean
from olmc.k8s.lean import NamedTuple
from olmc.k8s.semver import full_kube_version, minor_of
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.compiler.model.cluster import CatalogSource, Cluster
    from olmc.k8s.objects import CatalogKey
    from olmc.review.diff.both_sides import BegunCluster
    from olmc.review.diff.settings import Side
    from olmc.review.plan.leftovers import Plan
    from olmc.review.plan.platform import ClusterPlatform
    from olmc.review.plan.platform_plan import PlatformPlan
    from olmc.review.plan.repair import DriftedObject, StateComparison

# `olmc plan --to`: the cluster itself moves to another release.


class PlatformTarget(NamedTuple):
    """Where a cluster is to move: an OpenShift release as `ocp-4.19`, a version of Kubernetes ("" for none), and the
    content of catalogs there as `NAME=PATH`."""

    to: str = ""
    kube: str = ""
    catalogs: tuple[str, ...] = ()

    @property
    def is_asked(self) -> bool:
        """Whether the cluster moves at all."""
        return bool(self.to or self.kube or self.catalogs)


class MoveOptions(NamedTuple):
    """Where the cluster itself moves."""

    to: str = option(
        "--to", default="", metavar="ocp-X.Y",
        help="Upgrade the cluster itself to this OpenShift release: what blocks it, and what breaks.",
    )  # fmt: skip
    to_kube: str = option(
        "--to-kube", default="", metavar="VERSION", help="Upgrade the cluster itself to this Kubernetes version.",
    )  # fmt: skip
    to_catalogs: tuple[str, ...] = option(
        "--to-catalog", multiple=True, metavar="NAME=PATH",
        help="With --to: the content of CatalogSource NAME after the upgrade (may be repeated).",
    )  # fmt: skip


def checked_move(to: str, kube: str, catalogs: Sequence[str]) -> PlatformTarget:
    """The options as they stand on the command line; what they can't mean is wrong usage."""
    from olmc.compiler.olm.profiles.data import is_openshift

    if to:
        to = canonical_version(to)
        if not is_openshift(to):
            bad_value(f"{to} is no OpenShift release such as ocp-4.19; see --to-kube.", "--to")
    full = full_kube_version(kube)
    if kube and not full:
        bad_value("a version looks like v1.36.2", "--to-kube")
    for text in catalogs:
        name, _, path = text.partition("=")
        if not name or not path:
            bad_value(f"{text!r} is no NAME=PATH", "--to-catalog")
        if not Path(path).exists():
            bad_value(f"there is no {path}", "--to-catalog")
    if catalogs and not (to or kube):
        wrong_usage("--to-catalog needs --to or --to-kube: where the cluster moves.")
    return PlatformTarget(to, full, tuple(catalogs))


def before_the_move(options: Options, move: PlatformTarget, given: frozenset[str], root: Path) -> Options:
    """The options for the cluster at `root` as it is: where nobody has stated what it runs on, the version of
    Kubernetes
    before the one that it moves to."""
    from olmc.compiler.load.config import read_config

    if given & {"kube_version", "olm_version"} or read_config(root, Report()).keys() & {"kubeVersion", "olmVersion"}:
        return options
    return options._replace(kube_version=f"v1.{minor_of(move.kube or _kube_of(move)) - 1}.0")


def _kube_of(move: PlatformTarget) -> str:
    from olmc.compiler.olm.profiles.data import OPENSHIFT_PREFIX, openshift

    known: Mapping[str, str] = openshift()["kubernetes"]
    return known[move.to.removeprefix(OPENSHIFT_PREFIX)]


def plan_move(done: Compilation, move: PlatformTarget) -> PlatformPlan:
    """The plan for the cluster that was compiled."""
    from olmc.review.plan.platform import PlatformMove
    from olmc.review.plan.platform_plan import platform_plan, with_catalogs

    assert done.settled is not None
    assert done.workspace is not None
    cluster = done.settled.cluster
    old, new = _platforms(done.options, move)
    bundles = {b.name: b for b in (*done.workspace.vendored.values(), *done.workspace.bundles.values())}
    catalogs = with_catalogs(cluster, _given_catalogs(cluster, move.catalogs), bundles)
    manifests = done.workspace.manifests
    return platform_plan(cluster, manifests, PlatformMove(old, new), catalogs, done.options.olm_version)


def _platforms(options: Options, move: PlatformTarget) -> tuple[ClusterPlatform, ClusterPlatform]:
    """What the cluster is on, and what it moves to: what it serves besides stays, but for what the release brings."""
    from olmc.compiler.olm.naming import release_of
    from olmc.compiler.olm.profiles.data import OPENSHIFT_PREFIX, is_openshift, openshift, openshift_release, served_by
    from olmc.review.plan.platform import ClusterPlatform, platform_of

    if not move.to:
        old = platform_of(options)
        return old, ClusterPlatform(None, move.kube, old.api_resources)
    target = move.to.removeprefix(OPENSHIFT_PREFIX)
    releases = list(openshift()["kubernetes"])
    is_known = is_openshift(options.olm_version)
    now = openshift_release(options) if is_known else releases[releases.index(target) - 1]
    shipped = set(served_by(now))
    own = tuple(resource for resource in options.api_resources if resource not in shipped)
    old = platform_of(options, release_of(now))._replace(api_resources=(*own, *served_by(now)))
    kube = move.kube or openshift()["kubernetes"][target]
    return old, ClusterPlatform(release_of(target), kube, (*own, *served_by(target)))


def _given_catalogs(cluster: Cluster, texts: Sequence[str]) -> dict[CatalogKey, CatalogSource]:
    """The CatalogSources that `NAME=PATH` mean, with what they are going to serve."""
    return dict(pair for text in texts for pair in _given_catalog(cluster, *text.partition("=")[::2]))


def _given_catalog(cluster: Cluster, name: str, path: str) -> list[tuple[CatalogKey, CatalogSource]]:
    from olmc.compiler.catalogs.content import served_candidates
    from olmc.compiler.catalogs.loading import load_catalog
    from olmc.compiler.load.files import read_text, scan

    meant = [key for key in cluster.catalogs if name in (key.name, f"{key.namespace}/{key.name}")]
    if not meant:
        known = sorted(key.name for key in cluster.catalogs)
        near = did_you_mean(*close_matches(name, known, 3)) or f"There are: {', '.join(known) or 'none'}."
        bad_value(f"there is no CatalogSource {name}. {near}", "--to-catalog")
    place, report = Path(path), Report()
    root = place if place.is_dir() else place.parent
    names = scan(place, report).walk() if place.is_dir() else [place.name]
    files = {file: text for file in names if (text := read_text(root, file, report)) is not None}
    catalog = load_catalog("", files, report)
    tell(tuple(report), least=Severity.FAILURE)
    if report.failed or catalog.problem or not catalog.packages:
        if not report.found:
            say(f"error: {path} holds no catalog")
        raise SystemExit(BAD_INPUT)
    return [
        (key, cluster.catalogs[key]._replace(catalog=catalog, entries=served_candidates(key, catalog), problem=""))
        for key in meant
    ]


# `olmc plan --walk` and `--at`: the plan hop by hop, where somebody approves one InstallPlan after the other; and the
# drift of the state that a plan begins with.

CompileOnce = Callable[[Options], Compilation]
_MOST = 100


class PlanHop(NamedTuple):
    """What happens once one more InstallPlan is approved; `approved` is "" for the beginning, which needs none, and
    where ClusterExtensions go on by themselves."""

    number: int
    approved: str
    plan: Plan


def walk_hops(first: Plan, begun: Compilation, options: Options, compile_once: CompileOnce) -> Iterator[PlanHop]:
    """The hops after `first`, whose compilation is `begun`: each approves the first InstallPlan that waits, and has
    ClusterExtensions resolve once more."""
    from olmc.compiler.transition.state import state_of
    from olmc.review.diff.compare import compare
    from olmc.review.plan.leftovers import compare_with_state

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
        difference = compare(_walked_side(index - 1, done), _walked_side(index, after))
        plan = compare_with_state(state, (), after.settled, difference, after.diagnostics, after.extensions)
        yield PlanHop(index, waiting, plan)
        done = after


def _walked_side(index: int, done: Compilation) -> Side:
    from olmc.review.diff.settings import compiled_side

    return compiled_side(f"hop {index}", done)


def _waiting(cluster: Cluster) -> str:
    """The first InstallPlan that waits for approval, as `--approve` takes it; "" for none."""
    plans = (plan for plan in cluster.plans.values() if plan.phase == "RequiresApproval" and plan.csvs)
    return next((f"{plan.namespace}/{plan.csvs[0]}" for plan in plans), "")


def print_hops(hops: Sequence[PlanHop], at: int | None, output: str, *, verbose: bool) -> None:
    """Print the hops, or the one with the index `at`; one that there is not is wrong usage."""
    from olmc.review.plan import outputs

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


def drift_in(state: ClusterState, options: Options, compile_once: CompileOnce) -> tuple[DriftedObject, ...]:
    """Where a state is not what is expected of it: of what was applied to it, or of PATH where only the state is given;
    a workspace is always what is expected of it."""
    if (state.tracked and not state.expected) or not state.objects:  # of what holds nothing yet nothing can be missing
        return ()
    if state.expected:
        from olmc.review.plan.repair import compare_state

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
    from olmc.k8s.objects import object_key
    from olmc.review.plan.repair import compare_state

    if fresh.settled is None or fresh.workspace is None:
        return None
    held = [manifest.object for manifest in state.objects.values()]
    manifests = {object_key(manifest.object): manifest.object for manifest in fresh.workspace.manifests}
    return compare_state(held, [rendered.object for rendered in fresh.objects], manifests)


def _approved(state: ClusterState) -> Iterator[str]:
    """What somebody has approved in a cluster."""
    from olmc.k8s.objects import spec_of, texts

    for key, manifest in state.objects.items():
        spec = spec_of(manifest.object)
        if key.kind == "InstallPlan" and spec.get("approved") and spec.get("approval") == "Manual":
            yield from (f"{key.namespace}/{csv}" for csv in texts(spec.get("clusterServiceVersionNames")))


# What of Secrets changes is to be known; a comparison masks it.
_COMPARED = Options(show_secrets=True)
_LEAST = {"breaking": Severity.ERROR, "risk": Severity.FAILURE, "any": Severity.INFO}


class PlanOptions(NamedTuple):
    """The options of `olmc plan`."""

    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf(), metavar="[PATH]")
    output: str = output_option(
        ["text", "markdown", "json", "html"],
        "Text, a comment for a pull request, JSON (schemas/plan.schema.json), or a page.",
    )
    entries: tuple[str, ...] = entry_option
    compiling: CompileOptions = CompileOptions()
    fail_on: str = option(
        "--fail-on", type=Choice(("breaking", "risk", "any")), default="any", show_default=True,
        help="Exit 1 only for changes of this severity or higher.",
    )  # fmt: skip
    allow_empty: bool = flag("--allow-empty", help="Treat a PATH that does not exist on one side as empty.")
    verbose: bool = flag("-v", "--verbose", help="Show all lines of long sections.")
    walk: bool = flag("--walk", help="Show the state between hops, one approval at a time.")
    at: int | None = option(
        "--at", type=Whole(0), metavar="INDEX", help="With --walk: only the step with this number, from 0."
    )
    move: MoveOptions = MoveOptions()


@command(PlanOptions)
def plan(ctx: click.Context, opts: PlanOptions) -> None:
    """Show what a change will do to your cluster, step by step.

    PATH is a workspace, FROM the current state of its cluster: by default git:HEAD, the last commit of PATH. The plan
    has four steps: what the GitOps tool applies and prunes; which InstallPlans OLM creates, and what gets stuck; the
    resulting changes of operators, permissions and CRDs, breaking ones first; and what is left to do by hand.

    \b
    Examples:
      olmc plan                                 uncommitted changes, on top of the last commit
      olmc plan clusters/prod --from git:main   what this branch does once merged
      olmc plan --from cluster-state.yaml       from the cluster as it is (see olmc import)
      olmc plan --from git:v1 -o markdown       a comment for a pull request
      olmc plan --to ocp-4.19                   what an upgrade of the cluster itself breaks

    Exit codes: 0 nothing happens, 1 something does (see --fail-on), 2 wrong usage, 3 input that can't be compiled.
    """
    paths, output, verbose = opts.paths, opts.output, opts.verbose
    present = tuple(_existing(ctx, path) for path in paths) if opts.allow_empty else paths
    inputs = inputs_of(ctx, present, opts.entries)
    if len(inputs) > 1:
        wrong_usage("a plan is for one cluster; give one PATH, or one --entry.")
    timings = timings_of(ctx, opts.compiling.timings)
    move = checked_move(*opts.move)
    fields = fields_of(opts.compiling)
    given = EVERYTHING | fixed_of(ctx, fields)
    if move.is_asked:
        raise SystemExit(_moved(ctx, inputs[0], move, output, given, options_of(ctx, fields), verbose=verbose))
    fields["from_"] = fields["from_"] or ("git:HEAD",)
    options, begun = options_and_begun(ctx, fields, _COMPARED, may_be_absent=opts.allow_empty)
    with progress() as doing:
        doing(f"compiling {inputs[0].root}")
        path = PlannedPath(inputs[0], paths[0].as_posix() if paths else ".", given, begun.state.ignored, timings)
        done, narrowing = compile_planned(path, options)
        root = None if path.one.is_staged else path.one.root
        tell(done.diagnostics, root, least=Severity.WARNING if verbose else Severity.ERROR)
        tell_idle(ctx, given_of([done]), PROPOSED)
        if done.failed or done.settled is None:
            raise SystemExit(BAD_INPUT)
        tell_approvals(options.approve, [done.settled.cluster])
        timings.stage("plan")
        planned = planned_for(path, options, begun, done, narrowing, output)
        is_walk = opts.walk or opts.at is not None
        hops = list(walk_hops(planned, done, options, partial(_recompiled, path))) if is_walk else []
    if hops:
        print_hops(hops, opts.at, output, verbose=verbose)
    else:
        _print(planned, output, verbose=verbose)
    grave = any(change.severity >= _LEAST[opts.fail_on] for change in planned.difference.changes)
    some = opts.fail_on == "any" and not (planned.is_empty and not planned.drift)
    raise SystemExit(FINDINGS if grave or some else DONE)


def plan_of(ctx: click.Context, one: Input, name: str, fields: dict[str, Any]) -> Plan:
    """What happens to the cluster that --from names, for a page of HTML; `name` is what PATH is called."""
    given = EVERYTHING | fixed_of(ctx, fields)
    options, begun = options_and_begun(ctx, fields, _COMPARED)
    path = PlannedPath(one, name, given, begun.state.ignored)
    done, narrowing = compile_planned(path, options)
    return planned_for(path, options, begun, done, narrowing, "html")


class PlannedPath(NamedTuple):
    """What is applied: where it is and what it is called, the options that its olmc.yaml must not override, the
    patterns of files that FROM leaves out, None where that is no workspace, and who hears how long it takes."""

    one: Input
    name: str
    given: frozenset[str]
    ignored: tuple[str, ...] | None = None
    timings: Timings = UNTIMED


def compile_planned(path: PlannedPath, options: Options) -> tuple[Compilation, Narrowing]:
    """The compilation of PATH without the files that FROM leaves out, and what is left out: who changes PATH must not
    choose what a plan gets to see. Files that PATH leaves out itself stay left out where they can't be compiled."""
    one = path.one

    def compile_with(narrowing: Narrowing | None = None) -> Compilation:
        done = compile(one.request(options, path.given, path.timings.stage)._replace(narrowing=narrowing))
        path.timings.compiled(one.root, done)
        if done.workspace is None and not done.failed:
            no_cluster(path.name, "PATH")
        return done

    own = narrowing_of(one.root, read_config(one.root, Report())).ignored
    if path.ignored is None:
        return compile_with(), Narrowing(own)
    narrowing = Narrowing(path.ignored)
    done = compile_with(narrowing)
    if not done.failed:
        return done, narrowing
    wider = Narrowing((*path.ignored, *own))
    return compile_with(wider), wider


def _recompiled(path: PlannedPath, options: Options) -> Compilation:
    """PATH once more, with what somebody has approved or deleted by then."""
    return compile_planned(path._replace(given=path.given | {"approve", "delete"}), options)[0]


def planned_for(
    path: PlannedPath, options: Options, begun: BegunCluster, done: Compilation, narrowing: Narrowing, output: str
) -> Plan:
    """The plan for PATH, which was compiled with `narrowing` for the cluster that it begins with."""
    from olmc.review.diff.compare import compare, with_approval
    from olmc.review.diff.settings import compiled_side
    from olmc.review.plan.leftovers import applied_changes, compare_with_state
    from olmc.review.plan.outcomes import planned_installs

    assert done.settled is not None
    assert done.workspace is not None
    after = _side(path, options, begun, done, narrowing)
    difference = compare(begun.side, after)
    if not options.approve and any(install.waits for install in planned_installs(begun.state, done.settled)):
        approving = path._replace(given=path.given | {"approve"})
        later, _ = compile_planned(approving, options._replace(approve=("all",)))
        approved = compiled_side(after.name, later)
        approved = after._replace(objects=approved.objects, settled=later.settled, manifests=approved.manifests)
        difference = with_approval(difference, compare(begun.side, approved))
    applied = applied_changes(begun.state, done.workspace.manifests, done.options)
    diagnostics = done.diagnostics
    if output == "text":
        root = None if path.one.is_staged else path.one.root
        diagnostics = tuple(seen_from(folder_from_here(root), diagnostics))
    plan = compare_with_state(begun.state, applied, done.settled, difference, diagnostics, done.extensions)
    return plan._replace(drift=drift_in(begun.state, options, partial(_recompiled, path)))


def _side(path: PlannedPath, options: Options, begun: BegunCluster, done: Compilation, narrowing: Narrowing) -> Side:
    """PATH as the side of a comparison. What it says about itself is compared with what a workspace says about itself,
    and with nothing else."""
    from olmc.compiler.load.workspace_files import redefined_in
    from olmc.review.diff.settings import compiled_side, workspace_side

    if path.one.is_staged or begun.side.settings is None:
        # A state has one definition of each object.
        return compiled_side(path.name, done)._replace(left_out=redefined_in(done.inputs))

    def compile_fresh() -> Compilation:
        return compile_planned(path, options._replace(state=None))[0]

    return workspace_side(path.name, path.one.root, done, narrowing, compile_fresh)


def _print(plan: Plan, output: str, *, verbose: bool) -> None:
    from olmc.review.plan import outputs

    if output == "text":
        say(outputs.as_text(plan, color=True, verbose=verbose), nl=False, out=True)
        return
    from olmc.review.plan.outputs import as_html  # jinja2 takes long to import

    formats = {"markdown": outputs.as_markdown, "json": outputs.as_json, "html": as_html}
    say(formats[output](plan), nl=False, out=True)


def _moved(
    ctx: click.Context,
    one: Input,
    move: PlatformTarget,
    output: str,
    given: frozenset[str],
    options: Options,
    *,
    verbose: bool,
) -> int:
    """Print the plan for the cluster's own move, and give the exit code."""
    from olmc.review.plan import platform_outputs

    with progress() as doing:
        doing(f"compiling {one.root}")
        path = PlannedPath(one, "", given, options.state.ignored if options.state is not None else None)
        done, _ = compile_planned(path, before_the_move(options, move, given, one.root))
        tell(done.diagnostics, least=Severity.WARNING if verbose else Severity.ERROR)
        tell_idle(ctx, given_of([done]), PROPOSED)
        if done.failed or done.settled is None or done.workspace is None:
            raise SystemExit(BAD_INPUT)
        planned = plan_move(done, move)
    if output == "text":
        say(platform_outputs.as_text(planned, color=True, verbose=verbose), nl=False, out=True)
    else:
        formats = {"markdown": platform_outputs.as_markdown, "json": platform_outputs.as_json}
        say(formats[output](planned), nl=False, out=True)
    return DONE if planned.is_clean else FINDINGS


def _existing(ctx: click.Context, path: Path) -> Path:
    """A path, or an empty folder for one that does not exist."""
    if path.exists() or path.is_symlink():
        return path
    return Path(ctx.with_resource(tempfile.TemporaryDirectory(prefix="olmc-")))
