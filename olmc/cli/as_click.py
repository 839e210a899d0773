"""What click makes of declared commands, and what only commands of click have."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path
from typing import Any

import click

from olmc.cli.console import color_from_environment
from olmc.cli.declared import Choice, Declared, DeclaredOption, F, PathOf, Whole


class GivenPath(click.Path):
    """A path that is not empty: one made of a variable that is not set would be the current directory unasked for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty; write . for the current directory.", param, ctx)
        return super().convert(value, param, ctx)


def decorated(param: DeclaredOption, function: F) -> F:
    """A function with an option or an argument, for a command of click."""
    # What is not given is click's to decide: of some values None is another one than none.
    values: dict[str, Any] = {
        name: value for name, value in param._asdict().items() if value != DeclaredOption._field_defaults.get(name)
    }
    names = values.pop("names")
    if param.denied:
        values["default"] = param.default  # to click, no word is a no
    if param.type is not None:
        values["type"] = _type_of(param.type)
    if not param.is_argument:
        return click.option(*names, **values)(function)
    if values.pop("multiple", False):
        values["nargs"] = -1
    return click.argument(*names, **values)(function)


def _type_of(kind: Choice | Whole | PathOf) -> click.ParamType[Any]:
    if isinstance(kind, Whole):
        return click.IntRange(kind.low, kind.high)
    if isinstance(kind, Choice):
        return click.Choice(kind.words)
    path_type = None if kind.as_text else Path
    return GivenPath(kind.exists, kind.file_okay, kind.dir_okay, path_type=path_type)


def command_of(declared: Declared) -> click.Command:
    """The command of click for a declared one."""

    @click.pass_context
    @wraps(declared.function)
    def call(ctx: click.Context, /, **values: Any) -> Any:
        if isinstance(ctx.obj, click.UsageError):
            raise ctx.obj  # found out without click, which knows how to say it
        return declared.function(ctx, **values)

    function: Any = call
    for param in reversed(declared.params):
        function = decorated(param, function)
    return click.command()(function)


def color_option() -> click.Option:
    """The option --color, which holds for its command and for those below it."""
    return click.Option(
        ["--color"],
        type=click.Choice(["auto", "always", "never"]),
        envvar="OLMC_COLOR",
        expose_value=False,
        is_eager=True,
        callback=_choose,
        help="Use colors; auto does on terminals, unless NO_COLOR is set.",
    )


def cache_option() -> click.Option:
    """The option --no-cache of the commands that read catalogs."""
    return click.Option(
        ["--no-cache"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_without_cache,
        help="Neither read nor write the cache of catalogs (see olmc cache).",
    )


def _without_cache(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    """Turn the cache off for the rest of the command."""
    if not value:
        return
    from olmc.compiler.cache import NO_CACHE, is_off  # with OpenSSL

    if not is_off():
        os.environ[NO_CACHE] = "1"
        ctx.call_on_close(lambda: os.environ.pop(NO_CACHE))


def _choose(ctx: click.Context, param: click.Parameter, value: str | None) -> None:  # noqa: ARG001
    """Decide for this command; without a word here, what was decided above holds."""
    if value is not None:
        ctx.color = {"always": True, "never": False}.get(value, color_from_environment())
    elif ctx.parent is None:
        ctx.color = color_from_environment()
