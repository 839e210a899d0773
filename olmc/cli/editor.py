"""`olmc lsp`: a server for editors, on stdin and stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olmc.cli.console import BAD_INPUT, tell
from olmc.cli.declared import command, flag
from olmc.k8s.diagnostics import Severity
from olmc.k8s.lean import NamedTuple
from olmc.targets.proposed.rules import NO_SERVER

if TYPE_CHECKING:
    import click


class LspOptions(NamedTuple):
    """The options of `olmc lsp`."""

    everything: bool = flag("-v", "--all", help="Also show findings of severity info.")
    stdio: bool = flag("--stdio", help="Ignored: stdio is always used. Many editors pass it.")


@command(LspOptions)
def lsp(_: click.Context, opts: LspOptions) -> None:
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
    try:
        from olmc.integrations.lsp.server import serve
    except ModuleNotFoundError as error:
        tell([NO_SERVER.finding(None, command="lsp", cause=error)])
        raise SystemExit(BAD_INPUT) from error
    raise SystemExit(serve(least=Severity.INFO if opts.everything else Severity.WARNING))
