"""Where a bundle by itself is installed and what it watches: the options of every command that looks into one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olmc.cli.completing import namespaces
from olmc.cli.declared import option
from olmc.cli.options import as_option, watched

if TYPE_CHECKING:
    import click


def _namespace(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    watched(value, None, all_namespaces=False)
    return value


def _everywhere(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    ctx.meta[_ALL_NAMESPACES] = value


def _scope(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:  # noqa: ARG001
    return watched("", value, ctx.meta.get(_ALL_NAMESPACES, False))


_ALL_NAMESPACES = "olmc.all_namespaces"
# What a bundle by itself is given, as with `olmc render`; the values have the names of fields of Options.
SCOPE = (
    option("-n", "--namespace", "install_namespace", default="", metavar="NS", callback=_namespace,
                 shell_complete=namespaces, help="For a bundle: the namespace to install it in."),
    option("--watch", metavar="NS,NS", callback=_scope, help="For a bundle: the namespaces that it watches."),
    # Its callback comes first, since that of --watch asks for it.
    option("--all-namespaces", "watch_all", is_flag=True, is_eager=True, expose_value=False, callback=_everywhere,
                 help="For a bundle: watch all namespaces."),
)  # fmt: skip
scope_options = as_option(*SCOPE)
