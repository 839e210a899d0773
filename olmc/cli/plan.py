"""`olmc plan`."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.api import Compilation, compile
from olmc.cli.console import UNTIMED, Timings, folder_from_here, progress, say, tell, tell_approvals
from olmc.cli.declared import Choice, PathOf, Whole, argument, command, option
from olmc.cli.options import (
    COMPILE,
    PROPOSED,
    entry_option,
    given_fields,
    given_of,
    given_version,
    inputs_of,
    output_option,
    tell_idle,
    timings_of,
    with_begun,
    with_proposed,
)
from olmc.cli.platform import MOVE, PlatformTarget, before_the_move, checked_move, plan_move
from olmc.cli.process import BAD_INPUT, DONE, FINDINGS, Input, no_cluster, wrong_usage
from olmc.cli.walking import drift_in, print_hops, walk_hops
from olmc.lean import NamedTuple
from olmc.load.config import narrowing_of, read_config
from olmc.model.diagnostics import Report, Severity
from olmc.model.options import Narrowing, Options
from olmc.output.places import seen_from

if TYPE_CHECKING:
    import click

    from olmc.diff.both_sides import BegunCluster
    from olmc.diff.sides import Side
    from olmc.plan.plan import Plan

_LEAST = {"breaking": Severity.ERROR, "risk": Severity.FAILURE, "any": Severity.INFO}
_EVERYTHING = frozenset({"purpose", "include", "exclude"})


@command(
    argument("paths", multiple=True, type=PathOf(), metavar="[PATH]"),
    output_option(
        ["text", "markdown", "json", "html"],
        "Text, a comment for a pull request, JSON (schemas/plan.schema.json), or a page.",
    ),
    entry_option,
    *COMPILE,
    option(
        "--fail-on",
        type=Choice(("breaking", "risk", "any")),
        default="any",
        show_default=True,
        help="Exit 1 only for changes of this severity or higher.",
    ),
    option("--allow-empty", is_flag=True, help="Treat a PATH that does not exist on one side as empty."),
    option("-v", "--verbose", is_flag=True, help="Show all lines of long sections."),
    option("--walk", is_flag=True, help="Show the state between hops, one approval at a time."),
    option("--at", type=Whole(0), metavar="INDEX", help="With --walk: only the step with this number, from 0."),
    *MOVE,
)
def plan(
    ctx: click.Context,
    /,
    paths: tuple[Path, ...],
    output: str,
    entries: tuple[str, ...],
    approve: tuple[str, ...],
    olm_version: str,
    fail_on: str,
    allow_empty: bool,
    verbose: bool,
    walk: bool,
    at: int | None,
    to: str,
    to_kube: str,
    to_catalogs: tuple[str, ...],
    **proposed: Any,
) -> None:
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
    inputs = inputs_of(ctx, tuple(_existing(ctx, path) for path in paths) if allow_empty else paths, entries)
    if len(inputs) > 1:
        wrong_usage("a plan is for one cluster; give one PATH, or one --entry.")
    timings = timings_of(ctx, proposed)
    move = checked_move(to, to_kube, to_catalogs)
    given = _EVERYTHING | given_version(ctx) | given_fields(ctx, proposed) | ({"approve"} if approve else frozenset())
    if move.is_asked:
        raise SystemExit(_moved(ctx, inputs[0], move, output, verbose, proposed, given, approve, olm_version))
    proposed["from_"] = proposed["from_"] or ("git:HEAD",)
    # What of Secrets changes is to be known; a comparison masks it.
    given_options = Options(approve=approve, olm_version=olm_version, show_secrets=True)
    options, begun = with_begun(given_options, proposed, ctx, may_be_absent=allow_empty)
    with progress() as doing:
        doing(f"compiling {inputs[0].root}")
        path = PlannedPath(inputs[0], paths[0].as_posix() if paths else ".", given, begun.state.ignored, timings)
        done, narrowing = compile_planned(path, options)
        root = None if path.one.is_staged else path.one.root
        tell(done.diagnostics, root, least=Severity.WARNING if verbose else Severity.ERROR)
        tell_idle(ctx, given_of([done]), PROPOSED)
        if done.failed or done.settled is None:
            raise SystemExit(BAD_INPUT)
        tell_approvals(approve, [done.settled.cluster])
        timings.stage("plan")
        planned = planned_for(path, options, begun, done, narrowing, output)
        is_walk = walk or at is not None
        hops = list(walk_hops(planned, done, options, partial(_recompiled, path))) if is_walk else []
    if hops:
        print_hops(hops, at, output, verbose=verbose)
    else:
        _print(planned, output, verbose=verbose)
    grave = any(change.severity >= _LEAST[fail_on] for change in planned.difference.changes)
    some = fail_on == "any" and not (planned.is_empty and not planned.drift)
    raise SystemExit(FINDINGS if grave or some else DONE)


def plan_of(ctx: click.Context, one: Input, name: str, options: Options, proposed: dict[str, Any]) -> Plan:
    """What happens to the cluster that --from names, for a page of HTML; `name` is what PATH is called."""
    given = _EVERYTHING | given_version(ctx) | given_fields(ctx, proposed)
    given |= {"approve"} if options.approve else frozenset()
    options, begun = with_begun(options._replace(show_secrets=True), proposed, ctx)
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
        done = compile(
            one.root, options, given=path.given, beside=one.beside, release=one.release, narrowing=narrowing,
            stage=path.timings.stage,
        )  # fmt: skip
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
    from olmc.diff.compare import compare, with_approval
    from olmc.diff.sides import compiled_side
    from olmc.plan.applied import applied_changes
    from olmc.plan.outcomes import planned_installs
    from olmc.plan.plan import plan_of

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
    plan = plan_of(begun.state, applied, done.settled, difference, diagnostics, done.extensions)
    return plan._replace(drift=drift_in(begun.state, options, partial(_recompiled, path)))


def _side(path: PlannedPath, options: Options, begun: BegunCluster, done: Compilation, narrowing: Narrowing) -> Side:
    """PATH as the side of a comparison. What it says about itself is compared with what a workspace says about itself,
    and with nothing else."""
    from olmc.diff.sides import compiled_side, workspace_side

    if path.one.is_staged or begun.side.settings is None:
        return compiled_side(path.name, done)

    def compile_fresh() -> Compilation:
        return compile_planned(path, options._replace(state=None))[0]

    return workspace_side(path.name, path.one.root, done, narrowing, compile_fresh)


def _print(plan: Plan, output: str, *, verbose: bool) -> None:
    from olmc.plan import outputs

    if output == "text":
        say(outputs.as_text(plan, color=True, verbose=verbose), nl=False, out=True)
        return
    from olmc.plan.html import as_html  # jinja2 takes long to import

    formats = {"markdown": outputs.as_markdown, "json": outputs.as_json, "html": as_html}
    say(formats[output](plan), nl=False, out=True)


def _moved(
    ctx: click.Context, one: Input, move: PlatformTarget, output: str, verbose: bool, proposed: dict[str, Any],
    given: frozenset[str], approve: tuple[str, ...], olm_version: str,
) -> int:  # fmt: skip
    """Print the plan for the cluster's own move, and give the exit code."""
    from olmc.plan import platform_outputs

    options = with_proposed(Options(approve=approve, olm_version=olm_version), proposed, ctx)
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
