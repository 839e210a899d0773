"""The command `olmc`: one subcommand a module."""

from __future__ import annotations

import gc
import io
import os
import sys
from importlib import import_module

import click

from olmc.cli.exits import BAD_INPUT

CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "OLMC", "max_content_width": 110}

# The command NAME is the function NAME in olmc/cli/NAME.py.
COMMANDS = ("check", "explain", "graph", "render", "resolve", "version")


class Commands(click.Group):
    """Imports the module of a command when it is asked for: a run needs one of them, and each costs its start-up."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"olmc.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=Commands, context_settings=CONTEXT)
def main() -> None:
    """See what the Operator Lifecycle Manager would leave in your cluster, before it does.

    \b
    Examples:
      olmc render .                      everything OLM would create from this workspace
      olmc render my-bundle/ -n tools    one bundle, installed in namespace tools
      olmc render . --for apply          what to apply on a cluster without OLM
    """



def run() -> None:
    """The entry point of the command line.

    A run is short and leaves hardly any cycles behind; looking for them all the time, and once more at the end, would
    take a fifth of it.
    """
    gc.set_threshold(200_000, 50, 50)
    _write_utf_8()
    try:
        main()
    except Exception as error:
        if os.environ.get("OLMC_DEBUG"):
            raise
        place = f"{type(error).__name__}: {error}"
        click.echo(f"olmc: internal error: {place}", err=True)
        click.echo("  This is a bug in olmc. Run again with OLMC_DEBUG=1 and report what it prints.", err=True)
        raise SystemExit(BAD_INPUT) from error
    finally:
        gc.freeze()


def _write_utf_8() -> None:
    """What is written doesn't depend on the locale, nor its line ends on the system."""
    for stream, newline in ((sys.stdout, "\n"), (sys.stderr, None)):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline=newline)
