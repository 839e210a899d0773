"""`olmc graph`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, say, tell, wrong_usage
from olmc.cli.declared import Choice, PathOf, argument, command, flag, option, packages
from olmc.compiler.load.config import read_config
from olmc.compiler.load.suppressions import apply_suppressions
from olmc.compiler.output.messages import QueryError, clean, not_found
from olmc.k8s.diagnostics import Report, Severity
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import name_of
from olmc.review.graph.catalogs import catalog_with, catalogs_at, is_about_dropped
from olmc.review.graph.output import describe_route, draw_package
from olmc.targets.pipeline import compile

if TYPE_CHECKING:
    import click

_EXTENSION = "ClusterExtension/"


class GraphOptions(NamedTuple):
    """The options of `olmc graph`."""

    package: str = argument(shell_complete=packages)
    path: Path = argument(type=PathOf(), default=Path(), metavar="[PATH]")
    output: str | None = option(
        "-o", "--output", type=Choice(("mermaid", "dot", "json", "svg")),
        help="The format. [default: mermaid; with --from: text]",
    )  # fmt: skip
    channels: tuple[str, ...] = option(
        "--channel", multiple=True, metavar="NAME", envvar="OLMC_GRAPH_CHANNEL",
        help="Only this channel (may be repeated).",
    )  # fmt: skip
    catalog: str = option("--catalog", default="", metavar="NAME", help="The catalog, if several have the package.")
    skip_ranges: bool = flag("--skip-ranges", help="Draw all skipRange edges, not only those that OLM prefers.")
    start: str | None = option(
        "--from", metavar="VERSION", envvar="OLMC_GRAPH_FROM",
        help="The start of the upgrade: a version or the name of a CSV.",
    )  # fmt: skip
    goal: str | None = option(
        "--to", metavar="VERSION", envvar="OLMC_GRAPH_TO", help="The end of the upgrade. [default: where OLM stops]",
    )  # fmt: skip


@command(GraphOptions)
def graph(_: click.Context, opts: GraphOptions) -> None:
    """Draw a package's upgrade graph, or print an upgrade path.

    PATH is a workspace or the folder of one catalog; the default is the current directory. The graph marks channel
    heads, and versions that are skipped, deprecated, missing, or stranded (no upgrade path leads to the head).

    \b
    Examples:
      olmc graph kettle                              for a README
      olmc graph kettle -o svg > kettle.svg          a picture
      olmc graph kettle -o json catalogs/acme        for machines
      olmc graph kettle --from 1.0.0 --to 1.4.2      the hops between versions
      olmc graph kettle --from 1.0.0 --channel fast  where an upgrade ends
      olmc graph ClusterExtension/kettle             how OLM v1 upgrades it

    Exit codes: 0 done, 1 findings (the version can't be reached, or OLM can't serve the catalog), 2 wrong usage, 3
    input that can't be read.
    """
    package, path, output, channels, catalog, skip_ranges, start, goal = opts
    if goal is not None and start is None:
        wrong_usage("--to needs --from.")
    if start is not None and (output not in (None, "json") or skip_ranges):
        wrong_usage("--from prints a text, or with -o json JSON; it draws nothing.")
    if start is not None and len(channels) > 1:
        wrong_usage("--from walks in one channel; give --channel once.")
    if package.startswith(_EXTENSION):
        if output is not None or start is not None or channels or catalog or skip_ranges:
            wrong_usage("the way of a ClusterExtension is a text, and follows from what that asks for.")
        raise SystemExit(_walk_extension(package.removeprefix(_EXTENSION), path))
    report = Report()
    catalogs = catalogs_at(path, report)
    kept = apply_suppressions(path, report, read_config(path, Report())).kept
    tell(kept, path, least=Severity.FAILURE)
    # Of what only could be better, a graph is about the versions that it does not have.
    tell((each for each in kept if is_about_dropped(each, package)), path)
    if report.failed:
        raise SystemExit(BAD_INPUT)
    if not catalogs:
        wrong_usage(
            f"{path} has no catalog and no bundle. Give the directory that contains them; `olmc vendor` fetches the "
            "content of a CatalogSource."
        )
    try:
        chosen = catalog_with(catalogs, package, catalog)
        if start is None:
            answer = draw_package(chosen, package, channels, output or "mermaid", all_ranges=skip_ranges)
        else:
            answer = describe_route(chosen, package, "".join(channels), start, goal, as_data=output == "json")
    except QueryError as error:
        if any(each.problem and not each.packages for each in catalogs):
            say(f"olmc: {error}")
            raise SystemExit(BAD_INPUT) from error
        wrong_usage(str(error))
    if answer.remark:
        say(f"olmc: {answer.remark}")
    say(answer.text, nl=False, out=True)
    raise SystemExit(DONE if answer.holds and not chosen.problem else FINDINGS)


def _walk_extension(name: str, path: Path) -> int:
    """Print where the controller takes a ClusterExtension, and give the exit code."""
    from olmc.targets.v1.extensions import extension_route, route_lines

    done = compile(path)
    tell(done.diagnostics, path, least=Severity.ERROR)
    if done.failed or done.workspace is None:
        return BAD_INPUT
    found = extension_route(done.workspace, name, done.options)
    if found is None:
        known = [name_of(manifest.object) for manifest in done.workspace.extensions]
        wrong_usage(str(not_found(f"There is no ClusterExtension {name}", name, known)))
    say("\n".join(map(clean, route_lines(*found))), out=True)
    return FINDINGS if found[1][-1].resolution.error else DONE
