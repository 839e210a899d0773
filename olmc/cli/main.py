"""The command `olmc`: one subcommand a module."""

from __future__ import annotations

import gc
import os

import click

from olmc.cli.check import check
from olmc.cli.exits import BAD_INPUT
from olmc.cli.explain import explain
from olmc.cli.graph import graph
from olmc.cli.render import render
from olmc.cli.resolve import resolve
from olmc.cli.version import version

CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "OLMC", "max_content_width": 110}


@click.group(context_settings=CONTEXT)
def main() -> None:
    """See what the Operator Lifecycle Manager would leave in your cluster, before it does.

    \b
    Examples:
      olmc render .                      everything OLM would create from this workspace
      olmc render my-bundle/ -n tools    one bundle, installed in namespace tools
      olmc render . --for apply          what to apply on a cluster without OLM
    """


main.add_command(check)
main.add_command(explain)
main.add_command(graph)
main.add_command(render)
main.add_command(resolve)
main.add_command(version)


def run() -> None:
    """The entry point of the command line.

    A run is short and leaves hardly any cycles behind; looking for them all the time, and once more at the end, would
    take a fifth of it.
    """
    gc.set_threshold(200_000, 50, 50)
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
