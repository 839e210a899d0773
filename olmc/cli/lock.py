"""`olmc resolve`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.compiling import cluster_parts, given_of, is_any_broken, tell_empty, tell_idle, tell_left_entries
from olmc.cli.console import (
    BAD_INPUT,
    DONE,
    FINDINGS,
    Input,
    progress,
    say,
    say_table,
    tell,
    tell_approvals,
    writing,
    wrong_usage,
)
from olmc.cli.declared import PathOf, argument, command, flag, option
from olmc.cli.options import (
    CompileOptions,
    entry_option,
    fields_of,
    fixed_of,
    inputs_of,
    options_of,
    output_option,
    timings_of,
)
from olmc.compiler.api import Compilation
from olmc.compiler.load.config import LOCK_FILE, lock_text, read_lock
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.model.workspace import Lock
from olmc.compiler.output.directory import put, rewrite
from olmc.compiler.output.messages import clean, json_text
from olmc.k8s.diagnostics import LockFault, Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.review.check.repository import CompiledCluster, cluster_findings, merged, missing_catalogs
from olmc.review.diagnose.engine import diagnose, hops_with_causes, scene_of
from olmc.review.explain.resolution import (
    PinError,
    ResolutionHop,
    as_data,
    as_table,
    hops,
    operator_hops,
    pinned,
    resolutions,
)
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.compiler.load.repository import ClusterPart


class ResolveOptions(NamedTuple):
    """The options of `olmc resolve`."""

    paths: tuple[Path, ...] = argument(multiple=True, type=PathOf(), metavar="[PATH]...")
    output: str = output_option(
        ["table", "wide", "json"],
        "A table, one that no terminal cuts, or JSON for machines (schemas/resolution.schema.json).",
    )
    update: bool = flag("--update", help="Resolve again and write the result to olmc.lock.")
    locked: bool = flag("--locked", help="Fail if olmc.lock is out of date, and show what changed.")
    pin: str | None = option(
        "--pin", metavar="PACKAGE=VERSION",
        help="Set startingCSV and manual approval on the package's Subscription, in its file.",
    )  # fmt: skip
    entries: tuple[str, ...] = entry_option
    compiling: CompileOptions = CompileOptions()


@command(ResolveOptions)
def resolve(ctx: click.Context, opts: ResolveOptions) -> None:
    """Show what OLM would install or upgrade, and why.

    PATH is a directory; the default is the current one. Files, and - for stdin, are added to it. Of a repository, each
    cluster is shown.

    \b
    Examples:
      olmc resolve                     what OLM would install and upgrade
      olmc resolve -o json             the same for machines
      olmc resolve --update            write olmc.lock for later commands
      olmc resolve --locked            fail if the lock is out of date (for CI)
      olmc resolve --pin kettle=1.2.0  stay at this version

    Exit codes: 0 done, 1 findings (something can't be resolved, or the lock is out of date), 2 wrong usage, 3 input
    that can't be compiled, or a pin that is not possible.
    """
    update, locked, pin = opts.update, opts.locked, opts.pin
    if sum((update, locked, pin is not None)) > 1:
        wrong_usage("--update, --locked and --pin exclude each other.")
    if pin is not None and not all(pin.partition("=")):
        wrong_usage("--pin takes PACKAGE=VERSION.")
    timings = timings_of(ctx, opts.compiling.timings)
    one = _one_input(ctx, opts.paths, opts.entries)
    path, is_staged = one.root, one.is_staged
    if is_staged and (update or pin is not None):
        wrong_usage("--update and --pin write into a workspace; give its directory as PATH.")
    fields = fields_of(opts.compiling)
    parts = cluster_parts(ctx, path, fields) if one.is_plain and not (update or locked or pin) else ()
    of_clusters = [part for part in parts if part is not None]
    if of_clusters:
        raise SystemExit(_resolve_clusters(ctx, opts, of_clusters, path))
    given, options = fixed_of(ctx, fields), options_of(ctx, fields)
    with progress() as doing:
        doing(f"resolving {path}")
        obey_lock = not update and pin is None
        done = compile(one.request(options, given, timings.stage)._replace(obey_lock=obey_lock))
        timings.compiled(path, done)
    tell(done.diagnostics, None if is_staged else path)
    tell_idle(ctx, given_of([done]))
    tell_empty(None if is_staged else path, done, ctx.params)
    if done.failed or done.settled is None:
        raise SystemExit(FINDINGS if locked and _lock_broken(done) else BAD_INPUT)
    tell_approvals(options.approve, [done.settled.cluster])
    if pin is not None:
        raise SystemExit(_pin(path, done, pin))
    if update:
        _write_lock(path, done)
    if locked:
        code = _check_lock(done)
        if opts.output == "json" and code != BAD_INPUT:
            _print(done, opts.output)
        raise SystemExit(code)
    _print(done, opts.output)
    raise SystemExit(FINDINGS if done.findings else DONE)


def _one_input(ctx: click.Context, paths: tuple[Path, ...], entries: tuple[str, ...]) -> Input:
    """Return the paths as one input: one directory, with files and streams beside it."""
    first, *others = inputs_of(ctx, paths, entries)
    if others:
        wrong_usage("one workspace is resolved at a time; give one directory.")
    return first


def _lock_broken(done: Compilation) -> bool:
    return all(d.cause is LockFault.UNMET for d in done.diagnostics if d.severity is Severity.ERROR)


def _resolve_clusters(ctx: click.Context, opts: ResolveOptions, parts: Sequence[ClusterPart], path: Path) -> int:
    """Print what OLM would do in each cluster of the repository at `path`, those alike together; the exit code."""
    fields, timings = fields_of(opts.compiling), timings_of(ctx, opts.compiling.timings)
    tell_left_entries(parts, path)
    given, options = fixed_of(ctx, fields), options_of(ctx, fields)
    made = []
    with progress() as doing:
        for part in parts:
            doing(f"resolving {part.heading}")
            made.append(compile(CompileRequest(path, options, given, stage=timings.stage, part=part)))
            timings.compiled(path, made[-1])
    # A file of several clusters is reported once, and the way to the content of a catalog is that of `olmc check` here.
    clusters_made = [CompiledCluster(part, done) for part, done in zip(parts, made, strict=True)]
    found = (each for one in clusters_made for each in cluster_findings(one, one.compilation.diagnostics))
    shown = merged((*found, *missing_catalogs(clusters_made)))
    tell(shown, path, least=Severity.FAILURE)
    tell_idle(ctx, given_of(made))
    if all(done.failed for done in made):
        return BAD_INPUT
    tell_approvals(options.approve, [done.settled.cluster for done in made if done.settled is not None])
    if opts.output == "json":
        clusters = [
            {"names": list(part.cluster.names or part.cluster.paths), **_data(done)}
            for part, done in zip(parts, made, strict=True)
        ]
        say(json_text({"version": 1, "clusters": clusters}), out=True)
    else:
        alike: dict[str, list[str]] = {}
        for part, done in zip(parts, made, strict=True):
            nothing = _UNKNOWN if part.left_out else _NOTHING_ASKED
            alike.setdefault(_table(done) or f"{nothing}\n", []).append(part.heading)
        for table, titles in alike.items():
            say(clean(f"== {', '.join(titles)}"), out=True)
            say_table(table, wide=opts.output == "wide")
    fails = is_any_broken(parts) or any(finding.severity is Severity.FAILURE for finding in shown)
    return FINDINGS if fails else DONE


_NOTHING_ASKED = "nothing here asks for an operator"
_UNKNOWN = "unknown, because olmc leaves it out"


def _data(done: Compilation) -> dict[str, Any]:
    """Return the actions of OLM, in the format of `schemas/resolution.schema.json`."""
    return as_data(resolutions(done.settled), done.operators, _of_extensions(done)[0]) if done.settled else {}


def _table(done: Compilation) -> str:
    """Return the actions of OLM with the reasons, "" for none."""
    if done.settled is None:
        return ""
    causes = diagnose(scene_of(done, only_operators=True))
    return as_table(
        (*hops_with_causes(hops(done.settled), causes), *operator_hops(done.operators), *_of_extensions(done)[1])
    )


def _of_extensions(done: Compilation) -> tuple[Sequence[Any], tuple[ResolutionHop, ...]]:
    if not done.extensions:  # as in most workspaces
        return (), ()
    from olmc.review.explain.extensions import extension_hops, resolutions_data

    return resolutions_data(done.extensions), tuple(extension_hops(done.extensions))


def _print(done: Compilation, output: str) -> None:
    if done.settled is None:
        return
    if output == "json":
        say(json_text(_data(done)), out=True)
        return
    table = _table(done)
    if not table:
        asking = "no Subscription and no Operator" if done.options.operators_and_installs else "no Subscription"
        say(f"olmc: {_NOTHING_ASKED} ({asking})")
    say_table(table, wide=output == "wide")


def _write_lock(path: Path, done: Compilation) -> None:
    if done.lock is None and not (path / LOCK_FILE).exists():
        say("The workspace has no Subscription to lock.")
        return
    images = done.workspace.images if done.workspace is not None else ()
    with writing(path / LOCK_FILE):
        put(path / LOCK_FILE, lock_text(done.lock or Lock({}), images))
    say(f"{path / LOCK_FILE} written")


def _check_lock(done: Compilation) -> int:
    if done.workspace is None or done.workspace.lock is None:
        say("There is no olmc.lock; write one with olmc resolve --update.")
        return BAD_INPUT
    if any(diagnostic.cause is LockFault.CHANGED for diagnostic in done.diagnostics):
        return FINDINGS
    say("olmc.lock holds")
    return FINDINGS if done.findings else DONE


def _pin(path: Path, done: Compilation, pin: str) -> int:
    package, _, version = pin.partition("=")
    if done.settled is None:
        return BAD_INPUT
    try:
        edited = pinned(done.settled.beginning, package, version, is_built=bool(done.inputs.built))
    except PinError as error:
        tell([error.diagnostic], path)
        return BAD_INPUT
    texts = {path / source.path: source.text for source in edited}
    with writing(*texts):
        rewrite(texts)
    for changed in texts:
        say(clean(f"{changed}: {package} is pinned to {version}"))
    if read_lock(path, Report()).operators is not None:
        say("olmc.lock has the earlier choice; olmc resolve --update writes it again.")
    return DONE
