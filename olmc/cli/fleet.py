"""`olmc fleet`: plan, status, check and render for many clusters at once, and parts of that for several machines."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmc.cli.as_click import GivenPath
from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, STREAM, say, tell, writing
from olmc.cli.options import (
    approve_option,
    as_option,
    given_fields,
    given_version,
    kube_version_option,
    olm_version_option,
    output_option,
)
from olmc.compiler.load.files import MAX_FILE_BYTES, read_bounded
from olmc.compiler.output.messages import clean
from olmc.integrations.fleet.outputs import GRAVITIES, FleetReport, merged, report_of
from olmc.integrations.fleet.pool import TaskEnd, default_jobs, fleet_worker, run_tasks
from olmc.integrations.fleet.run import FleetCount, FleetOrder, Runner, reader_of, results_of, tasks_of
from olmc.integrations.fleet.trees import (
    FileTree,
    FleetEntry,
    TooDeepError,
    as_pattern,
    entries_of,
    revision_tree,
    shard,
    work_tree,
)
from olmc.k8s.diagnostics import Location, Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import DEPTH
from olmc.k8s.yaml.rules import too_large
from olmc.review.diff.git import GitError, as_revision, revision_files, top_of

if TYPE_CHECKING:
    from olmc.cli.declared import F
    from olmc.compiler.cache import Cache

# What all commands of `olmc fleet` do: find clusters, have their tasks done, show progress, and print the report.


class FleetInput(NamedTuple):
    """The top of the repository, its clusters, the folder beside them, and the trees, the first of them before."""

    top: Path
    entries: list[FleetEntry]
    beside: str | None
    trees: tuple[FileTree, ...]


def read_fleet(given: dict[str, Any], from_: str = "") -> FleetInput:
    """The clusters that the command line names, and the trees that they are in."""
    patterns, source = given["entries"], given["entries_from"]
    if source is not None:
        lines = _lines_of(source)
        patterns = (*patterns, *(line.strip() for line in lines if line.strip() and not line.startswith("#")))
    elif not patterns:
        patterns = (".",)
    top = given["repository"].resolve() if given["repository"] is not None else _top(patterns)
    here = top if given["repository"] is not None else Path.cwd().resolve()
    relative = [_relative(top, here / pattern) for pattern in patterns]
    beside = _relative(top, here / given["beside"]) if given["beside"] is not None else None
    revision = as_revision(from_) if from_ else None
    hexdigits = 40
    trees: list[FileTree] = []
    if revision is not None:
        if revision.path is not None:
            raise click.BadParameter("give git:REF without a path; the clusters say where.", param_hint="--from")
        report = Report()
        try:
            files = revision_files(revision.ref, report)
        except GitError as error:
            raise click.BadParameter(f"{error}.", param_hint="--from") from error
        if files is None:
            tell(tuple(report))
            raise SystemExit(BAD_INPUT)
        hexdigits = max((len(file.name) for file in files.values()), default=40)
        after = work_tree(top, hexdigits=hexdigits)
        trees = [revision_tree(files, after.by_name), after]
    elif from_:
        if not Path(from_).is_dir():
            raise click.BadParameter(f"{from_} is no folder; give git:REF or a folder.", param_hint="--from")
        trees = [work_tree(Path(from_).resolve()), work_tree(top)]
    else:
        trees = [work_tree(top)]
    # What is written or kept beside the repository's own files is no input.
    try:
        entries, idle = entries_of(top, relative, trees)
    except TooDeepError as error:
        tell((too_large("the repository", DEPTH, place=Location(str(error))),))
        raise SystemExit(BAD_INPUT) from error
    for pattern in idle:
        raise click.UsageError(f"{pattern} names no folder of the repository.")
    return FleetInput(top, entries, beside, tuple(trees))


def _lines_of(source: Path) -> list[str]:
    """The lines of a file, or of stdin; names of folders need not be UTF-8."""
    try:
        data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1) if str(source) == STREAM else read_bounded(source)
    except OSError as error:
        cause = error.strerror or str(error)
        raise click.BadParameter(f"{source} can't be read: {cause}.", param_hint="--entries-from") from error
    if len(data) > MAX_FILE_BYTES or b"\0" in data:
        raise click.BadParameter(f"{source} is no list of folders, one a line.", param_hint="--entries-from")
    return os.fsdecode(data).splitlines()


def _top(patterns: Sequence[str]) -> Path:
    """The top of the repository that the current directory is in; without one that of all entries."""
    try:
        top = top_of()
    except GitError:
        top = None
    here = Path.cwd().resolve()
    fixed = [here / pattern.partition("*")[0].rpartition("/")[0] for pattern in patterns]
    if top is not None and all(Path(os.path.normpath(path)).is_relative_to(top) for path in fixed):
        return top
    folders = [Path(os.path.normpath(path)).resolve() for path in fixed]
    return here if all(path.is_relative_to(here) for path in folders) else Path(os.path.commonpath(folders))


def _relative(top: Path, place: Path) -> str:
    absolute = Path(os.path.normpath(place))
    if not absolute.is_relative_to(top):
        raise click.UsageError(f"{place} is not in the repository {top}.")
    return "" if absolute == top else absolute.relative_to(top).as_posix()


def run_command(
    ctx: click.Context, command: str, found: FleetInput, given: dict[str, Any], options: Mapping[str, Any],
    values: Mapping[str, Any] | None = None, on_result: Callable[[str, Mapping[str, Any]], None] | None = None,
) -> FleetReport:  # fmt: skip
    """The report of a command for all clusters; `on_result` hears of each as well."""
    fields = {name: given[name] for name in ("approve", "kube_version", "apis", "api_resources", "olm_version")}
    fixed = given_fields(ctx, fields | dict(options)) | given_version(ctx)
    order = FleetOrder(
        command, {**fields, **options}, tuple(sorted(fixed)), values or {}, found.beside,
        tuple(map(reader_of, found.trees)),
    )  # fmt: skip
    from olmc.compiler.cache import user_cache

    store = user_cache()
    work = tasks_of(order, found.entries)
    with results_of(work, store, _runner(given, store), _progress) as (count, result_of):
        _tell_count(count)

        def results() -> Iterator[tuple[str, Mapping[str, Any]]]:
            for number, entry in enumerate(found.entries):
                result = result_of(number)
                if on_result is not None:
                    on_result(entry.name, result)
                yield entry.name, result

        return report_of(command, results())


def _runner(given: Mapping[str, Any], store: Cache | None) -> Runner:
    """What does the tasks: processes here, or a Dask cluster."""
    seconds = float(given["entry_timeout"])

    def run(tasks: Sequence[bytes], blobs: Path, folder: Path) -> Iterator[TaskEnd]:
        jobs = given["jobs"] or default_jobs(len(tasks))
        return run_tasks(tasks, jobs, seconds, lambda place: fleet_worker(folder / f"worker-{place}", blobs))

    def run_elsewhere(tasks: Sequence[bytes], blobs: Path, folder: Path) -> Iterator[TaskEnd]:
        try:
            from olmc.integrations.fleet.dask_runner import SchedulerError, run_on_dask
        except ImportError as error:
            raise click.UsageError(f"--scheduler needs the extra olmc[fleet] ({error}).") from error
        done = 0
        try:
            for end in run_on_dask(given["scheduler"], seconds, tasks, blobs, folder):
                done += 1
                yield end
        except SchedulerError as error:
            kept = "what is done is kept, so run the command again" if store is not None else "nothing of it is kept"
            say(f"error: {error}; {done:,} of {len(tasks):,} tasks were done, and {kept}.")
            raise SystemExit(BAD_INPUT) from error

    return run_elsewhere if given["scheduler"] else run


def _tell_count(count: FleetCount) -> None:
    alike, plural = count.clusters - count.cached - count.compiled, "s" * (count.clusters != 1)
    say(f"olmc: {count.clusters:,} cluster{plural}, {alike:,} of them unchanged or like another one; "
        f"{count.cached:,} taken from the cache, {count.compiled:,} compiled")  # fmt: skip


def finish(ctx: click.Context, report: FleetReport, output: str, least: int, *, verbose: bool) -> None:
    """Print a report, and end with the exit code that it asks for."""
    from olmc.integrations.fleet import outputs

    if output == "text":
        click.echo(outputs.as_text(report, color=True, verbose=verbose), nl=False)
    else:
        formats = {"markdown": outputs.as_markdown, "json": outputs.as_json, "html": outputs.as_html}
        click.echo(formats[output](report), nl=False)
    is_broken = any(group.gravity == "error" for group in report.outcomes)
    ctx.exit(BAD_INPUT if is_broken else FINDINGS if report.worst >= least else DONE)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Gives what shows on a terminal how many tasks are done, how fast, and how long the rest will take."""
    out = sys.stderr
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, total: None  # noqa: ARG005
        return
    begin: list[tuple[float, int]] = []

    def advanced(done: int, total: int) -> None:
        begin.append((time.monotonic(), done)) if not begin else None
        seconds, fresh = time.monotonic() - begin[0][0], done - begin[0][1]
        rate = fresh / seconds if seconds and fresh else 0
        left = f", {rate:.1f}/s, {_span((total - done) / rate)} left" if rate else ""
        bar = "█" * (20 * done // max(total, 1))
        out.write(f"\r\x1b[Kolmc: {bar:░<20} {done:,} of {total:,}{left}")
        out.flush()

    try:
        yield advanced
    finally:
        out.write("\r\x1b[K")
        out.flush()


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


_RANKS = {"breaking": GRAVITIES["breaking"], "risk": GRAVITIES["risk"], "any": 1}
_FORMATS = ["text", "markdown", "json", "html"]
_SECONDS = 300


@click.group()
def fleet() -> None:
    """Plan, check and render many clusters at once.

    \b
    Examples:
      olmc fleet plan 'clusters/*' --from git:main         what a branch does to all clusters
      olmc fleet plan . -o markdown --fail-on breaking     as Argo CD and Flux apply them, for CI
      olmc fleet status --entries-from clusters.txt        every operator, everywhere
      olmc fleet plan 'clusters/*' --scheduler tcp://10.0.0.1:8786

    Identical clusters are compiled once, and results are cached. Clusters with the same outcome are shown together.
    """


def _fleet_options(function: F) -> F:
    """The options that say which clusters, and how they are worked on."""
    options = (
        click.argument("entries", nargs=-1, metavar="[ENTRY]..."),
        click.option("--entries-from", type=GivenPath(path_type=Path, allow_dash=True), metavar="FILE",
                     help="A file with one entry per line; - is stdin."),
        click.option("--repository", type=GivenPath(path_type=Path, file_okay=False, exists=True), metavar="DIR",
                     help="The folder of the entries. [default: the repository of the current directory]"),
        click.option("--beside", type=GivenPath(path_type=Path), metavar="DIR",
                     help="A folder with catalogs and bundles that all clusters share."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _work_options(function: F) -> F:
    options = (
        click.option("--jobs", type=click.IntRange(1, 1024), metavar="N",
                     help="Number of processes. [default: all processors]"),
        click.option("--entry-timeout", type=click.IntRange(1), default=_SECONDS, show_default=True, metavar="SECONDS",
                     help="Time limit for one cluster."),
        click.option("--scheduler", default="", metavar="tcp://HOST:PORT",
                     help="Run on a Dask cluster instead of local processes."),
        as_option(approve_option), kube_version_option, as_option(olm_version_option),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


_FAIL_ON = click.option(
    "--fail-on", type=click.Choice(list(_RANKS)), default="any", show_default=True,
    help="Exit 1 only for outcomes of this severity or higher.",
)  # fmt: skip
_VERBOSE = click.option("-v", "--verbose", is_flag=True, help="List all clusters by name.")
_OUTPUT = as_option(
    output_option(_FORMATS, "Text, a comment for a pull request, JSON (schemas/fleet.schema.json), or a page.")
)


@fleet.command()
@_fleet_options
@click.option(
    "--from",
    "from_",
    default="git:HEAD",
    show_default=True,
    metavar="FROM",
    help="What the clusters have now: git:REF or another folder.",
)
@_OUTPUT
@_FAIL_ON
@_VERBOSE
@click.option(
    "--prune/--no-prune",
    default=True,
    show_default=True,
    help="Delete objects that FROM has and the work tree no longer has.",
)
@_work_options
@click.pass_context
def plan(ctx: click.Context, /, from_: str, output: str, fail_on: str, verbose: bool, **given: Any) -> None:
    """Show what a change will do to each cluster.

    ENTRY is the folder of a cluster, a pattern such as 'clusters/*' or 'clusters/**/prod' (quoted, so that it names
    folders of both sides), or a repository with Applications, ApplicationSets or Kustomizations; without one it is the
    current directory. A cluster of which nothing that it reads has changed is not compiled.

    \b
    Examples:
      olmc fleet plan 'clusters/*' --from git:main
      olmc fleet plan 'clusters/*' --beside operators --fail-on breaking
      olmc fleet plan --entries-from changed.txt -o json

    Exit codes: 0 nothing happens, or nothing as grave as --fail-on asks, 1 something does, 2 wrong usage, 3 a cluster
    can't be compiled.
    """  # fmt: skip
    found = read_fleet(given, from_)
    options = {"prune": given["prune"]}
    finish(ctx, run_command(ctx, "plan", found, given, options), output, _RANKS[fail_on], verbose=verbose)


@fleet.command()
@_fleet_options
@_OUTPUT
@_VERBOSE
@_work_options
@click.pass_context
def status(ctx: click.Context, /, output: str, verbose: bool, **given: Any) -> None:
    """Show each operator's version and phase in each cluster.

    ENTRY is as for olmc fleet plan.

    \b
    Examples:
      olmc fleet status 'clusters/*'
      olmc fleet status 'clusters/*' -o json

    Exit codes: 0 done, 1 an operator would fail, 2 wrong usage, 3 a cluster can't be compiled.
    """
    finish(ctx, run_command(ctx, "status", read_fleet(given), given, {}), output, _RANKS["breaking"], verbose=verbose)


@fleet.command()
@_fleet_options
@_OUTPUT
@_VERBOSE
@click.option("--select", multiple=True, metavar="CODE", help="Only codes with this prefix (may be repeated).")
@click.option("--ignore", multiple=True, metavar="CODE", help="Exclude codes with this prefix (may be repeated).")
@click.option("--strict", is_flag=True, help="Treat warnings as findings.")
@_work_options
@click.pass_context
def check(
    ctx: click.Context, /, output: str, verbose: bool, select: tuple[str, ...], ignore: tuple[str, ...], strict: bool,
    **given: Any,
) -> None:  # fmt: skip
    """Find what is wrong in each cluster.

    ENTRY is as for olmc fleet plan, codes are as for olmc check.

    \b
    Examples:
      olmc fleet check 'clusters/*'
      olmc fleet check 'clusters/*' --strict -o markdown

    Exit codes: 0 nothing found, 1 findings, 2 wrong usage, 3 a cluster can't be compiled.
    """
    from olmc.cli.check import check_codes

    check_codes(("--select", select), ("--ignore", ignore))
    values = {"select": list(select), "ignore": list(ignore)}
    done = run_command(ctx, "check", read_fleet(given), given, {}, values)
    finish(ctx, done, output, _RANKS["risk" if strict else "breaking"], verbose=verbose)


@fleet.command()
@_fleet_options
@click.option(
    "--output-dir",
    type=GivenPath(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Write one folder per cluster to DIR, at its path in the repository.",
)
@click.option(
    "--for",
    "for_",
    type=click.Choice(["review", "apply"]),
    default="review",
    show_default=True,
    help="What OLM leaves in a cluster (review), or what to apply without OLM (apply).",
)
@_OUTPUT
@_VERBOSE
@_work_options
@click.pass_context
def render(ctx: click.Context, /, output_dir: Path, for_: str, output: str, verbose: bool, **given: Any) -> None:
    """Write the objects that OLM would leave in each cluster.

    ENTRY is as for olmc fleet plan. The folder of a cluster that can't be compiled stays as it is.

    \b
    Examples:
      olmc fleet render 'clusters/*' --output-dir rendered

    Exit codes: 0 done, 1 an operator would fail, 2 wrong usage, 3 a cluster can't be compiled.
    """  # fmt: skip
    from olmc.compiler.output.directory import link_below, write

    def written(name: str, result: Mapping[str, Any]) -> None:
        if "files" in result:
            below = name.replace("#", "-release-")
            folder = output_dir / below
            with writing(folder):
                if (link := link_below(output_dir, below)) is not None:
                    raise OSError(errno.ELOOP, "it is a link that leads elsewhere", os.fspath(link))
                write(folder, {path: [text.encode()] for path, text in result["files"].items()}, result["private"])

    done = run_command(ctx, "render", read_fleet(given), given, {"purpose": for_}, on_result=written)
    finish(ctx, done, output, _RANKS["breaking"], verbose=verbose)


@fleet.command("shard")
@_fleet_options
@click.option("--of", "count", type=click.IntRange(1), required=True, metavar="N", help="Number of parts.")
@click.option("--index", type=click.IntRange(0), required=True, metavar="N", help="Which part, counted from 0.")
@click.option(
    "--from", "from_", default="", metavar="FROM", help="Also include clusters that only FROM has, as plan does."
)
def shard_(count: int, index: int, from_: str, **given: Any) -> None:
    """Print a part of the clusters, for one job of several.

    \b
    Examples:
      olmc fleet shard 'clusters/*' --of 20 --index 3 | olmc fleet plan --entries-from - -o json > part-3.json
      olmc fleet merge part-*.json -o markdown

    Exit codes: 0 done, 2 wrong usage.
    """
    if index >= count:
        raise click.BadParameter(f"the parts of {count} have the numbers 0 to {count - 1}.", param_hint="--index")
    found = read_fleet(given, from_)
    names = dict.fromkeys(as_pattern(entry) for entry in shard(found.entries, count, index))
    click.echo("".join(f"{clean(name)}\n" for name in names), nl=False)


@fleet.command("merge")
@click.argument(
    "parts", nargs=-1, required=True, type=GivenPath(path_type=Path, dir_okay=False, exists=True), metavar="FILE..."
)
@_OUTPUT
@_FAIL_ON
@_VERBOSE
@click.pass_context
def merge(ctx: click.Context, /, parts: tuple[Path, ...], output: str, fail_on: str, verbose: bool) -> None:
    """Put the reports of parts together: each FILE is what one part printed with -o json.

    \b
    Examples:
      olmc fleet merge part-*.json -o markdown

    Exit codes: 0 nothing as grave as --fail-on asks, 1 something is, 2 wrong usage, 3 a cluster can't be compiled.
    """
    from olmc.compiler.load.files import read_bounded
    from olmc.integrations.fleet.outputs import from_json

    reports = []
    for path in parts:
        try:
            report = from_json(read_bounded(path).decode("utf-8", "replace"))
        except OSError as error:
            raise click.BadParameter(f"{path} can't be read: {error.strerror or error}") from error
        if report is None:
            raise click.BadParameter(f"{path} is not what olmc fleet prints with -o json.")
        reports.append(report)
    if len({report.command for report in reports}) > 1:
        raise click.UsageError("the parts are of different commands.")
    finish(ctx, merged(reports), output, _RANKS[fail_on], verbose=verbose)
