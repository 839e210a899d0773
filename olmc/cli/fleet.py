"""`olmc fleet`: plan, status, check and render for many clusters at once, and parts of that for several machines."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.cli.check import check_codes
from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, STREAM, bad_value, say, tell, writing, wrong_usage
from olmc.cli.declared import Choice, PathOf, Whole, argument, command, flag, group, option
from olmc.cli.inputs import is_in_repository
from olmc.cli.options import (
    ClusterOptions,
    approve_option,
    exit_code_option,
    fail_on_option,
    fields_of,
    fixed_of,
    olm_version_option,
    output_option,
)
from olmc.compiler.api import emptiness
from olmc.compiler.cache import user_cache
from olmc.compiler.load.files import MAX_FILE_BYTES, read_bounded, real_path
from olmc.compiler.load.kustomization import repository_of
from olmc.compiler.load.request import CompileRequest
from olmc.compiler.output.directory import link_below, write
from olmc.compiler.output.messages import clean
from olmc.compiler.rules.findings.workspace import EMPTY
from olmc.integrations.fleet import outputs
from olmc.integrations.fleet.outputs import GRAVITIES, FleetReport, FromHere, from_json, merged, report_of
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
from olmc.review.diff.git import GitError, top_of
from olmc.review.diff.revisions import Revision, RevisionFile, as_revision, revision_files, unread_side
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

    from olmc.compiler.cache import Cache

# The common work of all commands of `olmc fleet`: find clusters, run their tasks, show progress, and print the report.


class FleetInput(NamedTuple):
    """The top of the repository, its clusters, the folder beside them, and the trees, the first of them before.
    `is_idle`: one of the given folders has no cluster."""

    top: Path
    entries: list[FleetEntry]
    beside: str | None
    trees: tuple[FileTree, ...]
    is_idle: bool = False


_HEAD = "git:HEAD"


def read_fleet(given: FleetOptions, from_: str = "", *, has_default: bool = False) -> FleetInput:
    """The clusters that the command line names, and the trees that they are in. `has_default`: without `from_` the side
    before is the last commit, if there is a repository or a cluster that needs one."""
    patterns, source = given.entries, given.entries_from
    if source is not None:
        lines = _lines_of(source)
        patterns = (*patterns, *(line.strip() for line in lines if line.strip() and not line.startswith("#")))
    elif not patterns:
        patterns = (".",)
    top = real_path(given.repository) if given.repository is not None else _top(patterns)
    here = top if given.repository is not None else real_path(Path.cwd())
    relative = [_relative(top, here / pattern) for pattern in patterns]
    beside = _relative(top, here / given.beside) if given.beside is not None else None
    if has_default and not from_:
        if not is_in_repository() and _are_empty(top, relative):
            _tell_idle(top, relative)
            return FleetInput(top, [], beside, (), is_idle=True)
        from_ = _HEAD
    revision = as_revision(from_) if from_ else None
    hexdigits = 40
    trees: list[FileTree] = []
    if revision is not None:
        if revision.path is not None:
            bad_value("give git:REF without a path; the clusters say where.", "--from")
        files = _files_of(revision, from_)
        hexdigits = max((len(file.name) for file in files.values()), default=40)
        after = work_tree(top, hexdigits=hexdigits)
        trees = [revision_tree(files, after.by_name), after]
    elif from_:
        if not Path(from_).is_dir():
            bad_value(f"{from_} is no folder; give git:REF or a folder.", "--from")
        trees = [work_tree(real_path(Path(from_))), work_tree(top)]
    else:
        trees = [work_tree(top)]
    # Files that are written or kept beside the repository's own files are no input.
    try:
        entries, idle = entries_of(top, relative, trees)
    except TooDeepError as error:
        tell((too_large("the repository", DEPTH, place=Location(str(error))),))
        raise SystemExit(BAD_INPUT) from error
    _tell_idle(top, idle)
    return FleetInput(top, entries, beside, tuple(trees), is_idle=bool(idle))


def _are_empty(top: Path, patterns: Sequence[str]) -> bool:
    """Return whether the folders that the patterns name have nothing for OLM; they are not in a repository."""
    if not all((top / pattern).is_dir() for pattern in patterns):
        return False
    entries, _ = entries_of(top, patterns, [work_tree(top)])
    roots = [top / entry.path for entry in entries]
    return all(emptiness(root, compile(CompileRequest(root))) for root in roots)


def _tell_idle(top: Path, patterns: Iterable[str]) -> None:
    """Report the folders in which no cluster is. Ends the command for one that does not exist."""
    for pattern in patterns:
        if not (top / pattern).is_dir():
            wrong_usage(f"{pattern} names no folder of the repository.")
        path = os.path.relpath(top / pattern)
        tell([EMPTY.finding(None, path="this directory" if path == "." else path)])


def _files_of(revision: Revision, side: str) -> dict[str, RevisionFile]:
    """The files of a revision. Ends the command if git does not have them."""
    report = Report()
    try:
        files = revision_files(revision.ref, report)
    except GitError as error:
        report.add(unread_side(side, error))
        files = None
    if files is None:
        tell(tuple(report))
        raise SystemExit(BAD_INPUT)
    return files


def _lines_of(source: Path) -> list[str]:
    """The lines of a file, or of stdin; names of folders need not be UTF-8."""
    try:
        data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1) if str(source) == STREAM else read_bounded(source)
    except OSError as error:
        cause = error.strerror or str(error)
        bad_value(f"{source} can't be read: {cause}.", "--entries-from")
    if len(data) > MAX_FILE_BYTES or b"\0" in data:
        bad_value(f"{source} is no list of folders, one a line.", "--entries-from")
    return os.fsdecode(data).splitlines()


def _top(patterns: Sequence[str]) -> Path:
    """The top of the repository that the current directory is in; without one that of all entries."""
    try:
        top = top_of()
    except GitError:
        top = None
    here = real_path(Path.cwd())
    fixed = [here / _fixed(f"{pattern}*") for pattern in patterns]
    if top is not None and all(Path(os.path.normpath(path)).is_relative_to(top) for path in fixed):
        return top
    folders = [real_path(Path(os.path.normpath(path))) for path in fixed]
    # Paths of a repository begin at its top, so a worker has to have that.
    homes = {repository_of(here / _fixed(pattern)) for pattern in patterns}
    home = homes.pop() if len(homes) == 1 else None
    if home is not None:
        return home
    return here if all(path.is_relative_to(here) for path in folders) else Path(os.path.commonpath(folders))


def _fixed(pattern: str) -> str:
    """The folder that a pattern begins with, all of it where it has no star."""
    return pattern.partition("*")[0].rpartition("/")[0] if "*" in pattern else pattern


def _relative(top: Path, place: Path) -> str:
    absolute = Path(os.path.normpath(place))
    if not absolute.is_relative_to(top):
        wrong_usage(f"{place} is not in the repository {top}.")
    return "" if absolute == top else absolute.relative_to(top).as_posix()


def run_command(
    ctx: click.Context, command: str, found: FleetInput, work: WorkOptions, options: Mapping[str, Any],
    values: Mapping[str, Any] | None = None, on_result: Callable[[str, Mapping[str, Any]], None] | None = None,
) -> FleetReport:  # fmt: skip
    """The report of a command for all clusters; `on_result` hears of each as well."""
    fields = fields_of(work)
    fixed = fixed_of(ctx, fields | dict(options))
    order = FleetOrder(
        command, {**fields, **options}, tuple(sorted(fixed)), values or {}, found.beside,
        tuple(map(reader_of, found.trees)),
    )  # fmt: skip

    if any(entry.is_part for entry in found.entries):
        together = f"; `olmc {command}` at the root compiles those of a cluster together" if command != "render" else ""
        say(f"olmc: each entry is compiled by itself, also where several are in one cluster{together}")
    store = user_cache()
    tasks = tasks_of(order, found.entries)
    with results_of(tasks, store, _runner(work, store), _progress) as (count, result_of):
        _tell_count(count)

        def results() -> Iterator[tuple[str, Mapping[str, Any]]]:
            for number, entry in enumerate(found.entries):
                result = result_of(number)
                if on_result is not None:
                    on_result(entry.name, result)
                yield entry.name, result

        return report_of(command, results())


def _runner(work: WorkOptions, store: Cache | None) -> Runner:
    """Return the runner of the tasks: processes here, or a Dask cluster."""
    seconds = float(work.entry_timeout)

    def run(tasks: Sequence[bytes], blobs: Path, folder: Path) -> Iterator[TaskEnd]:
        jobs = work.jobs or default_jobs(len(tasks))
        return run_tasks(tasks, jobs, seconds, lambda place: fleet_worker(folder / f"worker-{place}", blobs))

    def run_elsewhere(tasks: Sequence[bytes], blobs: Path, folder: Path) -> Iterator[TaskEnd]:
        try:
            from olmc.integrations.fleet.dask_runner import SchedulerError, run_on_dask
        except ImportError as error:
            wrong_usage(f"--scheduler needs the extra olmc[fleet] ({error}).")
        done = 0
        try:
            for end in run_on_dask(work.scheduler, seconds, tasks, blobs, folder):
                done += 1
                yield end
        except SchedulerError as error:
            kept = "what is done is kept, so run the command again" if store is not None else "nothing of it is kept"
            say(f"error: {error}; {done:,} of {len(tasks):,} tasks were done, and {kept}.")
            raise SystemExit(BAD_INPUT) from error

    return run_elsewhere if work.scheduler else run


def _tell_count(count: FleetCount) -> None:
    if not count.clusters:
        return
    alike, plural = count.clusters - count.cached - count.compiled, "s" * (count.clusters != 1)
    say(f"olmc: {count.clusters:,} cluster{plural}, {alike:,} of them unchanged or like another one; "
        f"{count.cached:,} taken from the cache, {count.compiled:,} compiled")  # fmt: skip


def finish(report: FleetReport, output: str, least: int | None, *, verbose: bool, from_here: FromHere = str) -> None:
    """Print a report, and end with the exit code that it asks for; without `least`, what changes is no failure, and an
    operator that would fail or get stuck is one. `from_here` gives a folder of the
    repository as the user names it."""
    if output == "text":
        say(outputs.as_text(report, color=True, verbose=verbose, from_here=from_here), nl=False, out=True)
    else:
        formats = {"markdown": outputs.as_markdown, "json": outputs.as_json, "html": outputs.as_html}
        say(formats[output](report), nl=False, out=True)
    is_broken = any(group.gravity == "error" for group in report.outcomes)
    fails = any(group.gravity in _FAILURES for group in report.outcomes)
    is_grave = least is not None and report.worst >= least
    raise SystemExit(BAD_INPUT if is_broken else FINDINGS if fails or is_grave else DONE)


def _from_here(found: FleetInput) -> FromHere:
    """Return a function that gives a folder of the repository as the user names it."""
    return lambda folder: Path(os.path.relpath(found.top / folder)).as_posix()


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


class FleetOptions(NamedTuple):
    """The options that choose clusters."""

    entries: tuple[str, ...] = argument(multiple=True, metavar="[ENTRY]...")
    entries_from: Path | None = option(
        "--entries-from", type=PathOf(), metavar="FILE", help="A file with one entry per line; - is stdin.",
    )  # fmt: skip
    repository: Path | None = option(
        "--repository", type=PathOf(file_okay=False, exists=True), metavar="DIR",
        help="The folder of the entries. [default: the repository of the current directory]",
    )  # fmt: skip
    beside: Path | None = option(
        "--beside", type=PathOf(), metavar="DIR", help="A folder with catalogs and bundles that all clusters share.",
    )  # fmt: skip


class WorkOptions(NamedTuple):
    """The options for the work on clusters."""

    jobs: int | None = option(
        "--jobs", type=Whole(1, 1024), metavar="N", help="Number of processes. [default: all processors]",
    )  # fmt: skip
    entry_timeout: int = option(
        "--entry-timeout", type=Whole(1), default=_SECONDS, show_default=True, metavar="SECONDS",
        help="Time limit for one cluster.",
    )  # fmt: skip
    scheduler: str = option(
        "--scheduler", default="", metavar="tcp://HOST:PORT", help="Run on a Dask cluster instead of local processes.",
    )  # fmt: skip
    approve: tuple[str, ...] = approve_option
    cluster: ClusterOptions = ClusterOptions()
    olm_version: str = olm_version_option


_FAILURES = ("failing", "failure")
"""The outcomes of a failing operator or check; a change that breaks something is none of them."""


def _least_of(opts: FleetPlanOptions | MergeOptions) -> int | None:
    """The rank from which on outcomes are a failure, None where only those that fail are."""
    level = "any" if opts.exit_code else opts.fail_on
    return _RANKS[level] if level is not None else None


_VERBOSE = flag("-v", "--verbose", help="List all clusters by name.")
_OUTPUT = output_option(_FORMATS, "Text, a comment for a pull request, JSON (schemas/fleet.schema.json), or a page.")


class FleetPlanOptions(NamedTuple):
    """The options of `olmc fleet plan`."""

    fleet: FleetOptions = FleetOptions()
    from_: str = option(
        "--from", default="", metavar="FROM",
        help=f"The current state of the clusters: git:REF or another folder. [default: {_HEAD}]",
    )  # fmt: skip
    output: str = _OUTPUT
    fail_on: str | None = fail_on_option
    exit_code: bool = exit_code_option
    verbose: bool = _VERBOSE
    prune: bool = flag(
        "--prune/--no-prune", default=True, show_default=True,
        help="Delete objects that FROM has and the work tree no longer has.",
    )  # fmt: skip
    work: WorkOptions = WorkOptions()


@command(FleetPlanOptions)
def plan(ctx: click.Context, opts: FleetPlanOptions) -> None:
    """Show what a change will do to each cluster.

    ENTRY is the folder of a cluster, a pattern such as 'clusters/*' or 'clusters/**/prod' (quoted, so that it names
    folders of both sides), or a repository with Applications, ApplicationSets or Kustomizations; without one it is the
    current directory. A cluster of which nothing that it reads has changed is not compiled.

    \b
    Examples:
      olmc fleet plan 'clusters/*' --from git:main
      olmc fleet plan 'clusters/*' --beside operators --fail-on breaking
      olmc fleet plan --entries-from changed.txt -o json

    Exit codes: 0 done, also with changes, 1 an operator would fail or get stuck, or a change that --exit-code or
    --fail-on asks about, 2 wrong usage, 3 a cluster can't be compiled.
    """  # fmt: skip
    found = read_fleet(opts.fleet, opts.from_, has_default=True)
    report = run_command(ctx, "plan", found, opts.work, {"prune": opts.prune})
    finish(report, opts.output, _least_of(opts), verbose=opts.verbose, from_here=_from_here(found))


class FleetStatusOptions(NamedTuple):
    """The options of `olmc fleet status`."""

    fleet: FleetOptions = FleetOptions()
    output: str = _OUTPUT
    verbose: bool = _VERBOSE
    work: WorkOptions = WorkOptions()


@command(FleetStatusOptions)
def status(ctx: click.Context, opts: FleetStatusOptions) -> None:
    """Show each operator's version and phase in each cluster.

    ENTRY is as for olmc fleet plan.

    \b
    Examples:
      olmc fleet status 'clusters/*'
      olmc fleet status 'clusters/*' -o json

    Exit codes: 0 done, 1 an operator would fail, 2 wrong usage, 3 a cluster can't be compiled.
    """
    found = read_fleet(opts.fleet)
    report = run_command(ctx, "status", found, opts.work, {})
    finish(report, opts.output, _RANKS["breaking"], verbose=opts.verbose, from_here=_from_here(found))


class FleetCheckOptions(NamedTuple):
    """The options of `olmc fleet check`."""

    fleet: FleetOptions = FleetOptions()
    output: str = _OUTPUT
    verbose: bool = _VERBOSE
    select: tuple[str, ...] = option(
        "--select", multiple=True, metavar="CODE", help="Only codes with this prefix (may be repeated)."
    )
    ignore: tuple[str, ...] = option(
        "--ignore", multiple=True, metavar="CODE", help="Exclude codes with this prefix (may be repeated)."
    )
    strict: bool = flag("--strict", help="Treat warnings as findings.")
    work: WorkOptions = WorkOptions()


@command(FleetCheckOptions)
def check(ctx: click.Context, opts: FleetCheckOptions) -> None:
    """Find what is wrong in each cluster.

    ENTRY is as for olmc fleet plan, codes are as for olmc check.

    \b
    Examples:
      olmc fleet check 'clusters/*'
      olmc fleet check 'clusters/*' --strict -o markdown

    Exit codes: 0 no findings, 1 findings, 2 wrong usage, 3 a cluster can't be compiled.
    """
    check_codes(("--select", opts.select), ("--ignore", opts.ignore))
    values = {"select": list(opts.select), "ignore": list(opts.ignore)}
    found = read_fleet(opts.fleet)
    done = run_command(ctx, "check", found, opts.work, {}, values)
    least = 0 if opts.strict and found.is_idle else _RANKS["risk" if opts.strict else "breaking"]
    finish(done, opts.output, least, verbose=opts.verbose, from_here=_from_here(found))


class FleetRenderOptions(NamedTuple):
    """The options of `olmc fleet render`."""

    fleet: FleetOptions = FleetOptions()
    output_dir: Path = option(
        "--output-dir", type=PathOf(file_okay=False), required=True, metavar="DIR",
        help="Write one folder per cluster to DIR, at its path in the repository.",
    )  # fmt: skip
    for_: str = option(
        "--for", type=Choice(("review", "apply")), default="review", show_default=True,
        help="OLM's result in a cluster (review), or the objects to apply without OLM (apply).",
    )  # fmt: skip
    output: str = _OUTPUT
    verbose: bool = _VERBOSE
    work: WorkOptions = WorkOptions()


@command(FleetRenderOptions)
def render(ctx: click.Context, opts: FleetRenderOptions) -> None:
    """Write the objects that OLM would leave in each cluster.

    ENTRY is as for olmc fleet plan. The folder of a cluster that can't be compiled, or
    that has nothing for OLM, stays as it is.

    \b
    Examples:
      olmc fleet render 'clusters/*' --output-dir rendered

    Exit codes: 0 done, 1 an operator would fail, 2 wrong usage, 3 a cluster can't be compiled.
    """  # fmt: skip

    def written(name: str, result: Mapping[str, Any]) -> None:
        if "files" in result:
            below = name.replace("#", "-release-")
            folder = opts.output_dir / below
            with writing(folder):
                if (link := link_below(opts.output_dir, below)) is not None:
                    raise OSError(errno.ELOOP, "it is a link that leads elsewhere", os.fspath(link))
                write(folder, {path: [text.encode()] for path, text in result["files"].items()}, result["private"])

    found = read_fleet(opts.fleet)
    done = run_command(ctx, "render", found, opts.work, {"purpose": opts.for_}, on_result=written)
    finish(done, opts.output, _RANKS["breaking"], verbose=opts.verbose, from_here=_from_here(found))


class ShardOptions(NamedTuple):
    """The options of `olmc fleet shard`."""

    fleet: FleetOptions = FleetOptions()
    parts: int = option("--of", type=Whole(1), required=True, metavar="N", help="Number of parts.")
    number: int = option("--index", type=Whole(0), required=True, metavar="N", help="Which part, counted from 0.")
    from_: str = option(
        "--from", default="", metavar="FROM", help="Also include clusters that only FROM has, as plan does."
    )


@command(ShardOptions)
def shard_(_: click.Context, opts: ShardOptions) -> None:
    """Print a part of the clusters, for one job of several.

    \b
    Examples:
      olmc fleet shard 'clusters/*' --of 20 --index 3 > entries.txt
      olmc fleet plan --entries-from entries.txt -o json > part-3.json
      olmc fleet merge part-*.json -o markdown

    Exit codes: 0 done, 2 wrong usage.
    """
    count, index = opts.parts, opts.number
    if index >= count:
        bad_value(f"the parts of {count} have the numbers 0 to {count - 1}.", "--index")
    found = read_fleet(opts.fleet, opts.from_)
    names = dict.fromkeys(as_pattern(entry) for entry in shard(found.entries, count, index))
    say("".join(f"{clean(name)}\n" for name in names), nl=False, out=True)


class MergeOptions(NamedTuple):
    """The options of `olmc fleet merge`."""

    parts: tuple[Path, ...] = argument(
        multiple=True, required=True, type=PathOf(dir_okay=False, exists=True), metavar="FILE..."
    )
    output: str = _OUTPUT
    fail_on: str | None = fail_on_option
    exit_code: bool = exit_code_option
    verbose: bool = _VERBOSE


@command(MergeOptions)
def merge(_: click.Context, opts: MergeOptions) -> None:
    """Put the reports of parts together: each FILE is what one part printed with -o json.

    \b
    Examples:
      olmc fleet merge part-*.json -o markdown

    Exit codes: 0 done, 1 something fails, or is as severe as --exit-code or --fail-on asks, 2 wrong usage, 3 a cluster
    can't be compiled.
    """
    reports = []
    for path in opts.parts:
        try:
            report = from_json(read_bounded(path).decode("utf-8", "replace"))
        except OSError as error:
            bad_value(f"{path} can't be read: {error.strerror or error}")
        if report is None:
            bad_value(f"{path} is not what olmc fleet prints with -o json.")
        reports.append(report)
    if len({report.command for report in reports}) > 1:
        wrong_usage("the parts are of different commands.")
    finish(merged(reports), opts.output, _least_of(opts), verbose=opts.verbose)


fleet = group(
    {"check": check, "merge": merge, "plan": plan, "render": render, "shard": shard_, "status": status},
    """Plan, check and render many clusters at once.

    \b
    Examples:
      olmc fleet plan 'clusters/*' --from git:main         what a branch does
      olmc fleet plan . -o markdown --fail-on breaking     entries of GitOps tools
      olmc fleet status --entries-from clusters.txt        all operators
      olmc fleet plan 'clusters/*' --scheduler tcp://10.0.0.1:8786

    Identical clusters are compiled once, and results are cached. Clusters with the same outcome are shown together.
    """,
)
