"""`olmc plan`, with `--walk` and `--at`: the plan hop by hop."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.compiling import PROPOSED, given_of, tell_empty, tell_idle
from olmc.cli.console import (
    BAD_INPUT,
    DONE,
    FINDINGS,
    UNTIMED,
    Input,
    Timings,
    bad_value,
    folder_for_others,
    folder_from_here,
    progress,
    say,
    tell,
    tell_approvals,
    wrong_usage,
)
from olmc.cli.declared import PathOf, Whole, argument, command, flag, option
from olmc.cli.inputs import is_in_repository
from olmc.cli.options import (
    CompileOptions,
    canonical_version,
    entry_option,
    exit_code_option,
    fail_on_option,
    fields_of,
    fixed_of,
    inputs_of,
    least_of,
    no_remedies_option,
    options_and_begun,
    options_of,
    output_option,
    timings_of,
)
from olmc.compiler.api import Compilation, emptiness
from olmc.compiler.catalogs.content import served_candidates
from olmc.compiler.catalogs.loading import load_catalog
from olmc.compiler.load.config import read_config
from olmc.compiler.load.entries import as_repository, may_have_been_repository, repository_at
from olmc.compiler.load.files import ScannedFolder, no_folder, read_text, real_path, scan, scan_workspace
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.options import Narrowing, Options
from olmc.compiler.olm.naming import release_of
from olmc.compiler.olm.profiles.data import OPENSHIFT_PREFIX, is_openshift, openshift, openshift_release, served_by
from olmc.compiler.output.messages import json_text
from olmc.k8s.diagnostics import Report, Severity, close_matches, did_you_mean
from olmc.k8s.lean import NamedTuple
from olmc.k8s.strconv import full_kube_version, minor_of
from olmc.review.diff.git import as_committed
from olmc.review.diff.revisions import as_revision
from olmc.review.plan import engine, outputs
from olmc.review.plan.engine import Beginning, PlanHop, PlannedPath, place_of_state
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    from olmc.compiler.model.cluster import CatalogSource, Cluster
    from olmc.k8s.objects import CatalogKey
    from olmc.review.plan.platform import ClusterPlatform
    from olmc.review.plan.platform_plan import PlatformPlan

# `olmc plan --to`: the cluster itself moves to another release.


class PlatformTarget(NamedTuple):
    """The target of a cluster's move: an OpenShift release as `ocp-4.19`, a version of Kubernetes ("" for none), and
    the content of catalogs there as `NAME=PATH`."""

    to: str = ""
    kube: str = ""
    catalogs: tuple[str, ...] = ()

    @property
    def is_asked(self) -> bool:
        """Return whether the cluster moves at all."""
        return bool(self.to or self.kube or self.catalogs)


class MoveOptions(NamedTuple):
    """The options for the move of the cluster itself."""

    to: str = option(
        "--to", default="", metavar="ocp-X.Y",
        help="Upgrade the cluster itself to this OpenShift release: blocking and breaking operators.",
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
    """Return the options for the cluster at `root` before the move. If its version is not set, it is the version of
    Kubernetes before the target's."""
    if given & {"kube_version", "olm_version"} or read_config(root, Report()).keys() & {"kubeVersion", "olmVersion"}:
        return options
    return options._replace(kube_version=f"v1.{minor_of(move.kube or _kube_of(move)) - 1}.0")


def _kube_of(move: PlatformTarget) -> str:
    known: Mapping[str, str] = openshift()["kubernetes"]
    return known[move.to.removeprefix(OPENSHIFT_PREFIX)]


def plan_move(done: Compilation, move: PlatformTarget) -> PlatformPlan:
    """The plan for the cluster that was compiled."""
    from olmc.review.plan import platform, platform_plan

    assert done.settled is not None
    assert done.workspace is not None
    cluster = done.settled.cluster
    old, new = _platforms(done.options, move)
    bundles = {b.name: b for b in (*done.workspace.vendored.values(), *done.workspace.bundles.values())}
    catalogs = platform_plan.with_catalogs(cluster, _given_catalogs(cluster, move.catalogs), bundles)
    manifests = done.workspace.manifests
    given = platform.PlatformMove(old, new)
    return platform_plan.platform_plan(cluster, manifests, given, catalogs, done.options.olm_version)


def _platforms(options: Options, move: PlatformTarget) -> tuple[ClusterPlatform, ClusterPlatform]:
    """Return the present and the future platform of a cluster. APIs that no release brings stay."""
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


if TYPE_CHECKING:
    import click

    from olmc.review.diff.both_sides import BegunCluster
    from olmc.review.plan.leftovers import Plan
# Changes of Secrets must be known; a comparison masks them.
_COMPARED = Options(show_secrets=True)


class PlanOptions(NamedTuple):
    """The options of `olmc plan`."""

    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf(), metavar="[PATH]")
    output: str = output_option(
        ["text", "markdown", "json", "html"],
        "Text, a comment for a pull request, JSON (schemas/plan.schema.json), or a page.",
    )
    entries: tuple[str, ...] = entry_option
    compiling: CompileOptions = CompileOptions()
    fail_on: str | None = fail_on_option
    exit_code: bool = exit_code_option
    allow_empty: bool = flag("--allow-empty", help="Treat a PATH that does not exist on one side as empty.")
    verbose: bool = flag("-v", "--verbose", help="Show all lines of long sections.")
    no_remedies: bool = no_remedies_option
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
      olmc plan                                 uncommitted changes
      olmc plan clusters/prod --from git:main   what this branch does once merged
      olmc plan --from cluster-state.yaml       from the cluster as it is
      olmc plan --from git:v1 -o markdown       a comment for a pull request
      olmc plan --to ocp-4.19                   what a cluster upgrade breaks

    Exit codes: 0 done, also with changes, 1 an operator would fail or get stuck, or a change that --exit-code or
    --fail-on asks about, 2 wrong usage, 3 input that can't be compiled.
    """
    paths, output, verbose = opts.paths, opts.output, opts.verbose
    present = tuple(_existing(ctx, path) for path in paths) if opts.allow_empty else paths
    fields, move = fields_of(opts.compiling), checked_move(*opts.move)
    # Files that a .gitignore keeps out of the repository are no change of a branch.
    if not move.is_asked and (not fields["from_"] or any(as_revision(name) is not None for name in fields["from_"])):
        present = tuple(as_committed(path) if path.is_dir() else path for path in present or (Path(),))
    inputs = inputs_of(ctx, present, opts.entries)
    if len(inputs) > 1:
        wrong_usage("a plan is for one cluster; give one PATH, or one --entry.")
    timings = timings_of(ctx, opts.compiling.timings)
    given = engine.EVERYTHING | fixed_of(ctx, fields)
    if move.is_asked:
        raise SystemExit(_moved(ctx, inputs[0], move, output, given, options_of(ctx, fields), verbose=verbose))
    if not fields["from_"]:
        fields["from_"] = ("git:HEAD",)
        if not is_in_repository() and _has_nothing(inputs[0]):
            # The previous state is the same, so there is no change.
            fields["from_"] = () if inputs[0].is_staged else (inputs[0].root.as_posix(),)
    tree = scan_workspace(inputs[0].root, by_package=True) if not no_folder(inputs[0].root) else None
    if tree is not None and inputs[0].is_plain:
        exit_code = _plan_repository(ctx, opts, inputs[0].root, tree, fields)
        if exit_code is not None:
            raise SystemExit(exit_code)
    options, begun = _begun(ctx, opts, fields)
    with progress() as doing:
        doing(f"compiling {inputs[0].root}")
        name = paths[0].as_posix() if paths else "."
        path = _planned_path(inputs[0], name, given, begun, timings)
        path = path._replace(request=path.request._replace(tree=tree), remedies=not opts.no_remedies)
        done, narrowing = _compile_cluster(path, options)
        root = None if path.is_staged else path.request.root
        tell(done.diagnostics, root, least=Severity.WARNING if verbose else Severity.ERROR)
        tell_idle(ctx, given_of([done]), PROPOSED)
        tell_empty(root, done, ctx.params)
        if done.failed or done.settled is None:
            raise SystemExit(BAD_INPUT)
        tell_approvals(options.approve, [done.settled.cluster])
        timings.stage("plan")
        folder = _folder_of(root, opts.output)
        names = fields["from_"] if opts.output in ("text", "json") else list(map(name_for_others, fields["from_"]))
        planned = engine.planned_for(path, options, begun, done, narrowing, folder, names)
        is_walk = opts.walk or opts.at is not None
        hops = list(engine.walk_hops(planned, done, options, partial(engine.recompile, path))) if is_walk else []
    if hops:
        print_hops(hops, opts.at, output, verbose=verbose)
    else:
        say(engine.write(planned, opts.output, color=True, verbose=opts.verbose), nl=False, out=True)
    raise SystemExit(FINDINGS if planned.fails or _is_grave(planned, opts) else DONE)


def _begun(ctx: click.Context, opts: PlanOptions, fields: dict[str, Any]) -> tuple[Options, BegunCluster]:
    """The options, and the cluster that FROM names; an empty one where that is nothing."""
    if fields["from_"]:
        entry = "".join(opts.entries)
        return options_and_begun(ctx, fields, _COMPARED, may_be_absent=opts.allow_empty, entry=entry)
    begun = engine.begun_at(None, " and ".join(map(str, opts.paths)), Report())
    assert begun is not None
    return options_of(ctx, fields, _COMPARED)._replace(state=begun.state), begun


def _is_grave(planned: Plan, opts: PlanOptions) -> bool:
    """Return whether the plan has a change that --exit-code or --fail-on asks about."""
    least = least_of(opts.fail_on, exit_code=opts.exit_code)
    if least is None:
        return False
    is_any = least is Severity.INFO and (bool(planned.drift) or not planned.is_empty)
    return is_any or _has_change(planned, least)


def _has_change(planned: Plan, least: Severity) -> bool:
    """Return whether a change has at least this severity; an unknown operator is a risk."""
    if planned.has_unknown and least <= Severity.FAILURE:
        return True
    return any(change.severity >= least for change in planned.difference.changes)


def _has_nothing(one: Input) -> bool:
    """Return whether PATH is a folder with nothing for OLM."""
    return bool(emptiness(None if one.is_staged else one.root, compile(one.request(Options(), frozenset()))))


def _plan_repository(
    ctx: click.Context, opts: PlanOptions, root: Path, tree: ScannedFolder, fields: dict[str, Any]
) -> int | None:
    """Print the plan for all clusters of a repository, and return the exit code; None where neither side is one."""
    known = repository_at(root, tree)
    # A workspace may have been a repository before.
    now = known if known is not None or not may_have_been_repository(root, tree) else as_repository(root, tree.folder)
    if now is None:
        return None
    from olmc.review.plan.repository import (
        plan_repository,
        repository_json,
        repository_markdown,
        repository_plan_from,
        repository_text,
    )

    given = engine.EVERYTHING | fixed_of(ctx, fields)
    request = CompileRequest(now.root, options_of(ctx, {**fields, "from_": ()}, _COMPARED), given)
    report = Report()
    name = fields["from_"][0]
    with progress() as doing, tempfile.TemporaryDirectory(prefix="olmc-from-") as folder:
        doing(f"compiling the clusters of {now.root}")
        place = place_of_state(name, Beginning(os.fspath(now.root), request, as_side=True), Path(folder), report)
        before = repository_at(place) if place is not None and place.is_dir() else None
        if before is None and known is None:
            return None
        if opts.walk or opts.at is not None or opts.output == "html":
            wrong_usage("--walk, --at and -o html take one cluster; choose one with --entry.")
        if len(fields["from_"]) > 1:
            wrong_usage("a plan for all clusters takes one --from; choose a cluster with --entry.")
        tell(tuple(report), least=Severity.FAILURE)
        if place is None:
            return BAD_INPUT
        if not place.is_dir():
            wrong_usage(f"{name} is the state of one cluster; choose its entry with --entry.")
        before = before or as_repository(place, scan_workspace(place).folder)
        planned = plan_repository(request, before, now, (name, folder_from_here(now.root) or "."))
    planned = repository_plan_from(_folder_of(now.root, opts.output), planned)
    if opts.output == "json":
        say(repository_json(planned), out=True)
    elif opts.output == "markdown":
        say(repository_markdown(planned), nl=False, out=True)
    else:
        say(repository_text(planned, color=True, verbose=opts.verbose), nl=False, out=True)
    if planned.failed:
        return BAD_INPUT
    least = least_of(opts.fail_on, exit_code=opts.exit_code)
    is_grave = least is not None and bool(
        ((planned.released or planned.undetermined) and least <= Severity.FAILURE)
        or any(change.severity >= least for change in planned.changes)
        or any(_has_change(each.plan, least) for each in planned.clusters)
    )
    fails = planned.is_broken or any(each.plan.fails for each in planned.clusters)
    return FINDINGS if fails or is_grave or (least is Severity.INFO and not planned.is_empty) else DONE


def plan_of(ctx: click.Context, one: Input, name: str, fields: dict[str, Any]) -> Plan:
    """Return the plan for the cluster that --from names, for a page of HTML; `name` is the name of PATH."""
    given = engine.EVERYTHING | fixed_of(ctx, fields)
    options, begun = options_and_begun(ctx, fields, _COMPARED)
    cluster = list(map(name_for_others, fields["from_"]))
    names = " and ".join(cluster)
    path = _planned_path(one, name, given, begun._replace(side=begun.side._replace(name=names)), UNTIMED)
    done, narrowing = _compile_cluster(path, options)
    folder = folder_for_others(one.root if not one.is_staged else None)
    begun = begun._replace(side=begun.side._replace(name=names))
    return engine.planned_for(path, options, begun, done, narrowing, folder, cluster)


def name_for_others(name: str) -> str:
    """Return the name of a workspace, a state or a revision for pages that others read: of a path that leads out of the
    current folder only the last part, since the others need not know the folders of its author."""
    path = Path(name)
    return real_path(path).name if path.is_absolute() or ".." in path.parts else name


def _planned_path(
    one: Input, name: str, given: frozenset[str], begun: BegunCluster | None, timings: Timings
) -> PlannedPath:
    request = one.request(Options(), given, timings.stage)._replace(without_idle_bundles=True)
    ignored = begun.state.ignored if begun is not None else None
    return engine.PlannedPath(request, name, ignored, one.is_staged, timings.compiled)


def _compile_cluster(path: PlannedPath, options: Options) -> tuple[Compilation, Narrowing]:
    """Compile PATH as a plan does; a bundle by itself is wrong usage."""
    done, narrowing = engine.compile_planned(path, options)
    if done.workspace is None and not done.failed:
        bad_value(engine.NO_CLUSTER.format(path.name), "PATH")
    return done, narrowing


def print_hops(hops: Sequence[PlanHop], at: int | None, output: str, *, verbose: bool) -> None:
    """Print the hops, or the one with the index `at`; one that there is not is wrong usage."""
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
    from olmc.review.plan import platform_plan

    with progress() as doing:
        doing(f"compiling {one.root}")
        path = _planned_path(one, "", given, None, UNTIMED)
        path = path._replace(ignored=options.state.ignored if options.state is not None else None)
        done, _ = _compile_cluster(path, before_the_move(options, move, given, one.root))
        tell(done.diagnostics, least=Severity.WARNING if verbose else Severity.ERROR)
        tell_idle(ctx, given_of([done]), PROPOSED)
        if done.failed or done.settled is None or done.workspace is None:
            raise SystemExit(BAD_INPUT)
        planned = plan_move(done, move)
    if output == "text":
        say(platform_plan.as_text(planned, color=True, verbose=verbose), nl=False, out=True)
    else:
        formats = {"markdown": platform_plan.as_markdown, "json": platform_plan.as_json}
        say(formats[output](planned), nl=False, out=True)
    return DONE if planned.is_clean else FINDINGS


def _folder_of(root: Path | None, output: str) -> str:
    """The folder that stands before places: as seen from here in text, as others see it in pages; none in JSON."""
    if output == "text":
        return folder_from_here(root)
    return folder_for_others(root) if output != "json" else ""


def _existing(ctx: click.Context, path: Path) -> Path:
    """A path, or an empty folder for one that does not exist."""
    if path.exists() or path.is_symlink():
        return path
    return Path(ctx.with_resource(tempfile.TemporaryDirectory(prefix="olmc-")))
