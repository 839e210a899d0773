"""Where a bundle by itself is installed and what it watches: the options of every command that looks into one."""

from __future__ import annotations

import click

from olmc.cli.completing import namespaces
from olmc.cli.declared import F
from olmc.cli.options import watched


def _namespace(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    watched(value, None, all_namespaces=False)
    return value


def _everywhere(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    ctx.meta[_ALL_NAMESPACES] = value


def _scope(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:  # noqa: ARG001
    return watched("", value, ctx.meta.get(_ALL_NAMESPACES, False))


_ALL_NAMESPACES = "olmc.all_namespaces"
_SCOPE = (
    click.option("-n", "--namespace", "install_namespace", default="", metavar="NS", callback=_namespace,
                 shell_complete=namespaces, help="For a bundle: the namespace to install it in."),
    click.option("--watch", metavar="NS,NS", callback=_scope, help="For a bundle: the namespaces that it watches."),
    # Comes first, since the callback of --watch asks for it.
    click.option("--all-namespaces", "watch_all", is_flag=True, is_eager=True, expose_value=False, callback=_everywhere,
                 help="For a bundle: watch all namespaces."),
)  # fmt: skip


def scope_options(function: F) -> F:
    """Adds what a bundle by itself is told as with `olmc render`; the values have the names of fields of Options."""
    for option in reversed(_SCOPE):
        function = option(function)
    return function
