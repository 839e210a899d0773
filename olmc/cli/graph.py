"""`olmc graph`."""

from __future__ import annotations

from pathlib import Path

import click

from olmc.cli.exits import BAD_INPUT, DONE, FINDINGS
from olmc.cli.paths import GivenPath
from olmc.cli.talk import tell
from olmc.model.diagnostic import Report, Severity


@click.command()
@click.argument("package")
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["mermaid", "dot", "json", "svg"]),
    help="The format; mermaid by default, with --from a text or json.",
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
@click.option("--skip-ranges", is_flag=True, help="Draw all edges by skipRange, not just those that OLM takes first.")
@click.option(
    "--from",
    "start",
    metavar="VERSION",
    envvar="OLMC_GRAPH_FROM",
    help="Where an upgrade starts: a version, or the name of a CSV.",
)
@click.option(
    "--to",
    "goal",
    metavar="VERSION",
    envvar="OLMC_GRAPH_TO",
    help="Where it should lead; without it, to where OLM rests.",
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
    """Draw the upgrades of a package, or print one's way.

    PATH is a workspace, or the folder of one catalog; without it it is the current directory. Marked are the heads of
    channels, and versions that are skipped, deprecated, missing, or stranded (their upgrades never lead to the head).

    \b
    Examples:
      olmc graph kettle                              for a README or a pull request
      olmc graph kettle -o svg > kettle.svg          a picture
      olmc graph kettle -o json catalogs/acme        for machines (schemas/graph.schema.json)
      olmc graph kettle --from 1.0.0 --to 1.4.2      the hops from one version to another
      olmc graph kettle --from 1.0.0 --channel fast  where an upgrade ends

    Exit codes: 0 done, 1 findings (the version is not reached, or OLM can't serve the catalog), 2 wrong usage,
    3 input that can't be read.
    """
    if goal is not None and start is None:
        raise click.UsageError("--to needs --from.")
    if start is not None and (output not in (None, "json") or skip_ranges):
        raise click.UsageError("--from prints a text, or with -o json JSON; it draws nothing.")
    if start is not None and len(channels) > 1:
        raise click.UsageError("--from walks in one channel; give --channel once.")
    from olmc.emit.query_errors import QueryError
    from olmc.graph.catalogs import catalog_with, catalogs_at
    from olmc.graph.output import describe_route, draw_package  # takes long to import, as all that reads catalogs does
    from olmc.load.config import read_config
    from olmc.load.suppressions import obeyed

    report = Report()
    catalogs = catalogs_at(path, report)
    tell(obeyed(path, report, read_config(path, Report())).kept, least=Severity.FAILURE)
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
