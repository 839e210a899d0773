"""`olmc why`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from olmc.cli.common import compiled, tell_left_out
from olmc.cli.options import (
    GivenPath,
    approve_option,
    compile_options,
    kube_version_option,
    olm_version_option,
    output_option,
    proposed_options,
)
from olmc.cli.process import DONE, FINDINGS
from olmc.model.diagnostics import Severity
from olmc.output.messages import as_text
from olmc.output.unicode import json_text


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
    from olmc.explain.targets import ExplainContext
    from olmc.explain.why import PRESENT, as_data, as_text
    from olmc.explain.why import why as answers_to
    from olmc.output.messages import QueryError

    done, settled = compiled(ctx, path, olm_version, proposed, approve=approve, least=Severity.ERROR)
    left = tell_left_out(path, done)
    scene = ExplainContext(done.objects, settled, diagnostics=done.diagnostics, operators=done.operators, left_out=left)
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


@click.command()
@click.argument("paths", nargs=-1, type=GivenPath(path_type=Path), metavar="[PATH]...")
@output_option(
    ["table", "wide", "json", "prometheus"],
    "A table, one with all names and causes, JSON (schemas/status.schema.json), or metrics.",
)
@approve_option
@click.option("--all-metrics", is_flag=True, help="For prometheus: also what OLM exports without documenting it.")
@click.option("--legacy-metrics", is_flag=True, help="For prometheus: the labels that OLM's documents name.")
@kube_version_option
@olm_version_option
@proposed_options
@click.pass_context
def status(
    ctx: click.Context, /, paths: tuple[Path, ...], output: str, approve: tuple[str, ...], all_metrics: bool,
    legacy_metrics: bool, olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Say how every operator would be, and what it lacks.

    One row an operator and namespace, with what comes next. PATH is a workspace or a bundle; several are shown below
    each other, without PATH it is the current directory. olmc why NAME says more about a row.

    \b
    Examples:
      olmc status                      this workspace
      olmc status -o wide              with the names of CSVs and everything that is missing
      olmc status prod staging         two workspaces
      olmc status -o prometheus        the metrics that OLM would export

    Exit codes: 0 done, 1 an operator would fail or can't be upgraded, 2 wrong usage, 3 input that can't be compiled.
    """
    roots = paths or (Path(),)
    if output == "prometheus" and len(roots) > 1:
        raise click.UsageError("-o prometheus takes one PATH: metrics have no label for workspaces.")
    if output != "prometheus" and (all_metrics or legacy_metrics):
        raise click.UsageError("--all-metrics and --legacy-metrics need -o prometheus.")
    from olmc.explain.metrics import as_prometheus
    from olmc.explain.status import as_data, as_table, operators, untold

    done = [compiled(ctx, path, olm_version, proposed, approve=approve, least=Severity.ERROR) for path in roots]
    found = [
        (path.as_posix() if len(roots) > 1 else "", operator)
        for path, (one, settled) in zip(roots, done, strict=True)
        for operator in operators(settled, one.operators)
    ]
    if output == "json":
        click.echo(json_text(as_data(found)))
    elif output == "prometheus":
        click.echo(as_prometheus(done[0][1], legacy=legacy_metrics, everything=all_metrics), nl=False)
    else:
        click.echo(as_table(found, wide=output == "wide"), nl=False)
        if not found:
            click.echo("olmc: no operators here", err=True)
    for path, (one, settled) in zip(roots, done, strict=True):
        tell_left_out(path, one, f"{path.as_posix()}/" if len(roots) > 1 else "")
        click.echo(as_text(untold(one.diagnostics, operators(settled, one.operators))), err=True, nl=False)
    fails = any(operator.fails for _, operator in found) or any(one.findings for one, _ in done)
    ctx.exit(FINDINGS if fails else DONE)
