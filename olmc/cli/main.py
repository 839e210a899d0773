"""The command `olmc`: one subcommand a module."""

from __future__ import annotations

from importlib import import_module

import click

CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "OLMC", "max_content_width": 110}

# The command NAME is the function NAME in olmc/cli/NAME.py.
COMMANDS = ("check", "explain", "graph", "rbac", "render", "resolve", "status", "version", "why")


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
