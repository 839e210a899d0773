"""The command `olmc`: one subcommand a module."""

from __future__ import annotations

import click

from olmc.cli.color import color_option
from olmc.cli.group import Commands

CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "OLMC", "max_content_width": 110}

# The command NAME is the function NAME in olmc/cli/NAME.py.
COMMANDS = (
    "argocd",
    "check",
    "completion",
    "diff",
    "explain",
    "fn",
    "get",
    "graph",
    "migrate",
    "init",
    "rbac",
    "render",
    "resolve",
    "serve",
    "status",
    "vendor",
    "version",
    "why",
)


def _tell_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    if value and not ctx.resilient_parsing:
        from olmc.cli.version import version

        ctx.invoke(version)
        ctx.exit()


_VERSION = click.Option(
    ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_tell_version,
    help="The same as olmc version.",
)  # fmt: skip


@click.group(cls=Commands, names=COMMANDS, params=[color_option(), _VERSION], context_settings=CONTEXT)
def main() -> None:
    """See what the Operator Lifecycle Manager would leave in your cluster, before it does.

    \b
    Examples:
      olmc render .                      everything OLM would create from this workspace
      olmc render my-bundle/ -n tools    one bundle, installed in namespace tools
      olmc render . --for apply          what to apply on a cluster without OLM
      olmc check .                       what is wrong with it
    """
