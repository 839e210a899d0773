"""`olmc lsp`: a server for editors, on stdin and stdout."""

from __future__ import annotations

import click

from olmc.cli.process import BAD_INPUT
from olmc.model.diagnostics import Severity


@click.command()
@click.option("-v", "--all", "everything", is_flag=True, help="Show remarks (severity info) as well.")
@click.option("--stdio", is_flag=True, help="What it does in any case; many editors say so.")
@click.pass_context
def lsp(ctx: click.Context, /, everything: bool, stdio: bool) -> None:  # noqa: ARG001
    """Tell an editor what is wrong and what names resolve to.

    A server of the Language Server Protocol on stdin and stdout, which editors start: see the page Editor of the docs.
    It compiles the workspace of every open document with what is not saved yet, as `olmc check` does with olmc.yaml,
    and listens nowhere. Needs pip install 'olmc[lsp]'.

    \b
    Examples:
      olmc lsp                          what an editor is configured to start
      olmc lsp --all                    with remarks

    Exit codes: 0 the editor has ended it, 1 the editor is gone, 2 wrong usage, 3 a library is missing.
    """
    from olmc.cli.console import tell
    from olmc.diagnostics.rules.proposed import NO_SERVER

    try:
        from olmc.lsp.server import serve
    except ModuleNotFoundError as error:
        tell([NO_SERVER.finding(None, command="lsp", cause=error)])
        ctx.exit(BAD_INPUT)
    ctx.exit(serve(least=Severity.INFO if everything else Severity.WARNING))
