"""`olmc get`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from olmc.cli.exits import DONE, FINDINGS
from olmc.cli.options import output_option
from olmc.cli.paths import GivenPath
from olmc.cli.proposed import compile_options, given_fields


@click.command()
@click.argument("resource")
@click.argument("name", default="")
@click.option(
    "-n", "--namespace", default="default", show_default=True, metavar="NS", help="The namespace to look into."
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Look into all namespaces.")
@output_option(
    ["table", "wide", "yaml", "json", "name"], "A table, one with more columns, the objects, or their names."
)
@click.option(
    "-C",
    "--workspace",
    type=GivenPath(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The workspace; the current directory by default.",
)
@click.option("--icons", is_flag=True, help="Show the icons of packages.")
@compile_options
@click.pass_context
def get(
    ctx: click.Context, /, resource: str, name: str, namespace: str, all_namespaces: bool, output: str, workspace: Path,
    icons: bool, approve: tuple[str, ...], olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Show the operators or packages of a namespace.

    That is which operators watch it, or which packages it can install.

    RESOURCE is `installed` (the operators that are installed and configured to watch the namespace) or
    `packagemanifests` (the packages of the catalogs). NAME shows one of them.

    \b
    Examples:
      olmc get installed -n harbour                    the operators that watch a namespace
      olmc get installed -A                            and those of all namespaces
      olmc get installed beacon.v1.0.0 -n harbour -o yaml
      olmc get packagemanifests -o wide -C fixtures/upgrade

    Exit codes: 0 done, 1 findings (an operator would fail, or nothing has this name), 2 wrong usage,
    3 input that can't be compiled.
    """
    from olmc.proposed.resources import RESOURCES, resource_called

    found = resource_called(resource)
    if found is None:
        raise click.BadParameter(f"choose one of {', '.join(each.plural for each in RESOURCES)}", param_hint="RESOURCE")
    if name and all_namespaces:
        raise click.UsageError("a resource can't be looked up by NAME in all namespaces; give -n NS.")
    from olmc.cli.compiled import compiled
    from olmc.cli.talk import tell
    from olmc.model.diagnostic import Severity
    from olmc.model.options import Options
    from olmc.proposed.asked import Asked, answer, elsewhere
    from olmc.proposed.texts import as_text
    from olmc.proposed.view import list_version, view_of, viewing

    given, options = given_fields(ctx, proposed), Options(kube_version=proposed["kube_version"])
    done, settled = compiled(ctx, workspace, olm_version, proposed, approve=approve, least=Severity.WARNING)
    view = view_of(settled, done.objects, done.workspace, viewing(workspace, options, given), icons=icons)
    asked = Asked(found, None if all_namespaces else namespace, name)
    got = answer(view, asked)
    tell(got.findings)
    click.echo(as_text(asked, got, list_version(view, found), output), nl=False)
    others = elsewhere(view, asked) if not got.items else ""
    if others:
        click.echo(f"olmc: there are some in {others}; choose with -n, or take all with -A", err=True)
    missing = bool(name) and not got.items
    ctx.exit(FINDINGS if done.findings or missing else DONE)
