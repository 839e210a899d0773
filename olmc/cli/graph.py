"""`olmc graph`."""

from __future__ import annotations

from pathlib import Path

import click

from olmc.cli import declared as completing
from olmc.cli.as_click import GivenPath
from olmc.cli.console import BAD_INPUT, DONE, FINDINGS, tell
from olmc.k8s.diagnostics import Report, Severity
from olmc.targets.pipeline import compile

_EXTENSION = "ClusterExtension/"


@click.command()
@click.argument("package", shell_complete=completing.packages)
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["mermaid", "dot", "json", "svg"]),
    help="The format. [default: mermaid; with --from: text]",
)
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="NAME",
    envvar="OLMC_GRAPH_CHANNEL",
    help="Only this channel (may be repeated).",
)
@click.option("--catalog", default="", metavar="NAME", help="The catalog, if several have the package.")
@click.option("--skip-ranges", is_flag=True, help="Draw all skipRange edges, not only those that OLM prefers.")
@click.option(
    "--from",
    "start",
    metavar="VERSION",
    envvar="OLMC_GRAPH_FROM",
    help="The start of the upgrade: a version or the name of a CSV.",
)
@click.option(
    "--to", "goal", metavar="VERSION", envvar="OLMC_GRAPH_TO", help="The end of the upgrade. [default: where OLM stops]"
)
@click.pass_context
def graph(
    ctx: click.Context,
    package: str,
    path: Path,
    output: str | None,
    channels: tuple[str, ...],
    catalog: str,
    skip_ranges: bool,
    start: str | None,
    goal: str | None,
) -> None:
    """Draw a package's upgrade graph, or print an upgrade path.

    PATH is a workspace or the folder of one catalog; the default is the current directory. The graph marks channel
    heads, and versions that are skipped, deprecated, missing, or stranded (no upgrade path leads to the head).

    \b
    Examples:
      olmc graph kettle                              for a README or a pull request
      olmc graph kettle -o svg > kettle.svg          a picture
      olmc graph kettle -o json catalogs/acme        for machines (schemas/graph.schema.json)
      olmc graph kettle --from 1.0.0 --to 1.4.2      the hops from one version to another
      olmc graph kettle --from 1.0.0 --channel fast  where an upgrade ends
      olmc graph ClusterExtension/kettle             how OLM v1 upgrades it, resolution by resolution

    Exit codes: 0 done, 1 findings (the version can't be reached, or OLM can't serve the catalog), 2 wrong usage, 3
    input that can't be read.
    """
    if goal is not None and start is None:
        raise click.UsageError("--to needs --from.")
    if start is not None and (output not in (None, "json") or skip_ranges):
        raise click.UsageError("--from prints a text, or with -o json JSON; it draws nothing.")
    if start is not None and len(channels) > 1:
        raise click.UsageError("--from walks in one channel; give --channel once.")
    if package.startswith(_EXTENSION):
        if output is not None or start is not None or channels or catalog or skip_ranges:
            raise click.UsageError("the way of a ClusterExtension is a text, and follows from what that asks for.")
        ctx.exit(_walk_extension(package.removeprefix(_EXTENSION), path))
    from olmc.compiler.load.config import read_config
    from olmc.compiler.load.suppressions import apply_suppressions
    from olmc.compiler.output.messages import QueryError
    from olmc.review.graph.catalogs import catalog_with, catalogs_at, is_about_dropped
    from olmc.review.graph.output import (  # takes long to import, as all that reads catalogs does
        describe_route,
        draw_package,
    )

    report = Report()
    catalogs = catalogs_at(path, report)
    kept = apply_suppressions(path, report, read_config(path, Report())).kept
    tell(kept, path, least=Severity.FAILURE)
    # Of what only could be better, a graph is about the versions that it does not have.
    tell((each for each in kept if is_about_dropped(each, package)), path)
    if report.failed:
        ctx.exit(BAD_INPUT)
    if not catalogs:
        click.echo(f"olmc: no catalog and no bundle in {path}", err=True)
        ctx.exit(BAD_INPUT)
    try:
        chosen = catalog_with(catalogs, package, catalog)
        if start is None:
            answer = draw_package(chosen, package, channels, output or "mermaid", all_ranges=skip_ranges)
        else:
            answer = describe_route(chosen, package, "".join(channels), start, goal, as_data=output == "json")
    except QueryError as error:
        if any(each.problem and not each.packages for each in catalogs):
            click.echo(f"olmc: {error}", err=True)
            ctx.exit(BAD_INPUT)
        raise click.UsageError(str(error)) from error
    if answer.remark:
        click.echo(f"olmc: {answer.remark}", err=True)
    click.echo(answer.text, nl=False)
    ctx.exit(DONE if answer.holds and not chosen.problem else FINDINGS)


def _walk_extension(name: str, path: Path) -> int:
    """Print where the controller takes a ClusterExtension, and give the exit code."""
    from olmc.compiler.output.messages import clean, not_found
    from olmc.k8s.objects import name_of
    from olmc.targets.v1.extensions import extension_route, route_lines

    done = compile(path)
    tell(done.diagnostics, path, least=Severity.ERROR)
    if done.failed or done.workspace is None:
        return BAD_INPUT
    found = extension_route(done.workspace, name, done.options)
    if found is None:
        known = [name_of(manifest.object) for manifest in done.workspace.extensions]
        raise click.UsageError(str(not_found(f"There is no ClusterExtension {name}", name, known)))
    click.echo("\n".join(map(clean, route_lines(*found))))
    return FINDINGS if found[1][-1].resolution.error else DONE
