"""`olmc fleet`: plan, status, check and render for many clusters at once, and parts of that for several machines."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmc.cli.as_click import GivenPath
from olmc.cli.console import writing
from olmc.cli.fleet_runs import finish, read_fleet, run_command
from olmc.cli.options import approve_option, as_option, kube_version_option, olm_version_option, output_option
from olmc.fleet.entries import as_pattern, shard
from olmc.fleet.results import GRAVITIES, merged
from olmc.output.unicode import clean

if TYPE_CHECKING:
    from olmc.cli.declared import F

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
    from olmc.output.directory import link_below, write

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
    from olmc.fleet.outputs import from_json
    from olmc.load.files import read_bounded

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
