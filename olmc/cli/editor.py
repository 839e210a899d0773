"""`olmc lsp`: a server for editors, on stdin and stdout."""

from __future__ import annotations

import click

from olmc.cli.console import BAD_INPUT
from olmc.k8s.diagnostics import Severity


@click.command()
@click.option("-v", "--all", "everything", is_flag=True, help="Also show findings of severity info.")
@click.option("--stdio", is_flag=True, help="Ignored: stdio is always used. Many editors pass it.")
@click.pass_context
def lsp(ctx: click.Context, /, everything: bool, stdio: bool) -> None:  # noqa: ARG001
    """Run the language server for your editor.

    A server of the Language Server Protocol on stdin and stdout, started by the editor (see docs/editor.md): findings
    of `olmc check` while you type, unsaved changes included, hover, completion, and go to definition. It opens no port.
    Needs pip install 'olmc[lsp]'.

    \b
    Examples:
      olmc lsp                          what an editor starts
      olmc lsp --all                    with findings of severity info

    Exit codes: 0 ended by the editor, 1 lost the editor, 2 wrong usage, 3 a library is missing.
    """
    from olmc.cli.console import tell
    from olmc.targets.proposed.rules import NO_SERVER

    try:
        from olmc.integrations.lsp.server import serve
    except ModuleNotFoundError as error:
        tell([NO_SERVER.finding(None, command="lsp", cause=error)])
        ctx.exit(BAD_INPUT)
    ctx.exit(serve(least=Severity.INFO if everything else Severity.WARNING))
