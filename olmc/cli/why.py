"""`olmc why`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from olmc.cli.compiled import compiled, tell_left_out
from olmc.cli.exits import DONE, FINDINGS
from olmc.cli.options import output_option
from olmc.cli.paths import GivenPath
from olmc.cli.proposed import compile_options
from olmc.emit.names import json_text
from olmc.model.diagnostic import Severity


@click.command()
@click.argument("target")
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@output_option(["text", "json"], "Text for people, or JSON for machines (schemas/why.schema.json).")
@compile_options
@click.pass_context
def why(
    ctx: click.Context, /, target: str, path: Path, output: str, approve: tuple[str, ...], olm_version: str,
    **proposed: Any,
) -> None:  # fmt: skip
    """Say where an object comes from, or what prevents it.

    TARGET is Kind/namespace/name or Kind/name, the name of a CSV, or a package. Kinds may be plurals or short names, in
    any case. PATH is a workspace or a bundle; without it it is the current directory.

    \b
    Examples:
      olmc why Deployment/harbour/beacon-controller     file and line, pass, rule, who asked for it
      olmc why deploy/beacon-controller my-workspace    short names will do
      olmc why beacon.v1.2.0                            why is this version (not) installed?
      olmc why beacon                                   everything about a package

    Exit codes: 0 it is there and works, 1 it is absent or fails, 2 nobody knows it, 3 input that can't be compiled.
    """
    from olmc.emit.query_errors import QueryError
    from olmc.explain.targets import Scene
    from olmc.explain.why import PRESENT, as_data, as_text
    from olmc.explain.why import why as answers_to

    done, settled = compiled(ctx, path, olm_version, proposed, approve=approve, least=Severity.ERROR)
    left = tell_left_out(path, done)
    scene = Scene(done.objects, settled, diagnostics=done.diagnostics, operators=done.operators, left_out=left)
    if done.workspace is not None:
        scene = scene._replace(bundles=done.workspace.bundles, manifests=done.workspace.manifests)
    try:
        answers = answers_to(target, scene)
    except QueryError as error:
        raise click.UsageError(str(error)) from error
    if output == "json":
        click.echo(json_text(as_data(target, answers)))
    else:
        click.echo(as_text(answers), nl=False)
    ctx.exit(DONE if all(answer.state == PRESENT for answer in answers) else FINDINGS)
