"""What all commands of `olmc fleet` do: find clusters, have their tasks done, show progress, and print the report."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmc.cli.console import say, tell
from olmc.cli.options import given_fields, given_version
from olmc.cli.process import BAD_INPUT, DONE, FINDINGS, STREAM
from olmc.diagnostics.rules.workspace import too_large
from olmc.diff.git import GitError, as_revision, revision_files, top_of
from olmc.fleet.closures import reader_of
from olmc.fleet.entries import FleetEntry, TooDeepError, entries_of
from olmc.fleet.pool import TaskEnd, default_jobs, fleet_worker, run_tasks
from olmc.fleet.results import FleetReport, report_of
from olmc.fleet.run import FleetCount, FleetOrder, Runner, results_of, tasks_of
from olmc.fleet.trees import FileTree, revision_tree, work_tree
from olmc.lean import NamedTuple
from olmc.load.files import MAX_FILE_BYTES, read_bounded
from olmc.model.diagnostics import Location, Report
from olmc.model.limits import DEPTH

if TYPE_CHECKING:
    from olmc.cache import Cache


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
    from olmc.cache import user_cache

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
            from olmc.fleet.dask_runner import SchedulerError, run_on_dask
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
    from olmc.fleet import outputs

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
