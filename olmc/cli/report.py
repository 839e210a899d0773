"""`olmc report`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmc.cli.as_click import GivenPath
from olmc.cli.console import BAD_INPUT, DONE, progress
from olmc.cli.options import (
    as_option,
    compile_options,
    compiled,
    entry_option,
    given_fields,
    given_version,
    inputs_of,
    scope_options,
    tell_left_out,
)
from olmc.compiler.model.options import Options
from olmc.k8s.diagnostics import Severity

if TYPE_CHECKING:
    from olmc.compiler.api import Compilation
    from olmc.compiler.model.cluster import CatalogSource
    from olmc.review.report.operators import ReportExtensions


@click.command()
@click.argument("paths", nargs=-1, type=GivenPath(path_type=Path), metavar="[PATH]")
@click.option(
    "-o",
    "--output-dir",
    "folder",
    type=GivenPath(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="The folder to write to; stale pages of an earlier report are removed.",
)
@as_option(entry_option)
@scope_options
@compile_options
@click.pass_context
def report(
    ctx: click.Context, /, paths: tuple[Path, ...], folder: Path, entries: tuple[str, ...], approve: tuple[str, ...],
    olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Write a static HTML report of a workspace.

    An overview of all operators, a page for each (versions, permissions, images, CRDs, objects and their origin), a
    matrix of operators and namespaces, the catalogs, and all findings. Pages are self-contained, and their addresses
    are stable. PATH is a workspace; the default is the current directory.

    \b
    Examples:
      olmc report -o site                          this workspace; open site/index.html
      olmc report clusters/prod -o site            another one
      olmc report --from git:main -o site          the cluster after a change, with its plan

    Exit codes: 0 done, with or without findings, 2 wrong usage, 3 input that can't be compiled, or a folder that is not
    writable.
    """
    from olmc.cli.plan import name_for_others, plan_of
    from olmc.review.check.check import CheckInput, check_directory
    from olmc.review.check.validators.findings import ValidatorSettings
    from olmc.review.explain.left_out import left_out_of
    from olmc.review.plan.outputs import as_html as plan_html
    from olmc.review.report.folder import ForeignFileError, write_site
    from olmc.review.report.operators import INDEX, operator_pages, overview, pages

    inputs = inputs_of(ctx, paths, entries)
    if len(inputs) > 1:
        raise click.UsageError("a report is of one workspace; give one PATH, or one --entry.")
    root, beside, _, release = inputs[0]
    done, settled = compiled(
        ctx, root, olm_version, proposed, approve=approve, least=Severity.ERROR, beside=beside, release=release
    )
    with progress() as doing:
        doing(f"checking {root}")
        left = left_out_of(root, done)
        compilation = CheckInput(done.workspace, settled, done.diagnostics, done.suppressed, left)
        given = given_version(ctx) | given_fields(ctx, proposed)
        settings = ValidatorSettings(frozenset(), modes_optional=done.options.descoped)
        findings = check_directory(root, compilation, settings, done.options, given).diagnostics
        name = name_for_others(paths[0].as_posix()) if paths else Path.cwd().name
        plan = None
        if proposed.get("from_"):
            doing("planning")
            plan = partial(
                plan_html, plan_of(ctx, inputs[0], name, Options(approve=approve, olm_version=olm_version), proposed)
            )
        doing("writing")
        of_v1, served = _extensions(done)
        operators = operator_pages(settled, done.objects, findings, done.operators, of_v1)
        made = pages(overview(name, operators, findings, settled, served), plan)
        try:
            write_site(folder, made)
        except ForeignFileError as error:
            click.echo(f"error: {error}; give an empty folder to --output-dir, or remove the file.", err=True)
            ctx.exit(BAD_INPUT)
    tell_left_out(root, done)
    several = "" if len(operators) == 1 else "s"
    click.echo(f"{(folder / INDEX).as_posix()}: {len(operators)} operator{several}, {len(made)} pages")
    ctx.exit(DONE)


def _extensions(done: Compilation) -> tuple[ReportExtensions, tuple[CatalogSource, ...]]:
    """What there is to say of ClusterExtensions, and the ClusterCatalogs."""
    from olmc.review.report.operators import ReportExtensions, report_extensions, served_catalogs

    if done.workspace is None or not done.workspace.has_extensions:
        return ReportExtensions(), ()
    return report_extensions(done.workspace, done.extensions), tuple(served_catalogs(done.workspace))
