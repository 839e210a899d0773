"""Click's commands for declared ones, and the options that all of them have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from olmc.cli.console import color_from_environment
from olmc.cli.declared import Choice, Decimal, Declared, DeclaredOption, Kind, Whole, filled


class GivenPath(click.Path):
    """A path that is not empty: one made of a variable that is not set would be the current directory unasked for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty; write . for the current directory.", param, ctx)
        return super().convert(value, param, ctx)


class _CurrentOption(click.Option):
    """An option whose help does not show its old names."""

    def __init__(self, names: list[str], old_names: tuple[str, ...], **values: Any) -> None:
        super().__init__(names, **values)
        self.old_names = old_names

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        every = self.opts
        if set(every) <= set(self.old_names):
            return None
        self.opts = [name for name in every if name not in self.old_names]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = every


class _CommandAbove(click.Command):
    """A command, or one of those below it if its name comes first: `rbac` and `rbac who-can`. A workspace with such a
    name is `./who-can`."""

    def __init__(self, *args: Any, commands: Mapping[str, click.Command], **values: Any) -> None:
        super().__init__(*args, **values)
        self.commands = commands

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        below = self.commands.get(args[0]) if args else None
        if below is None:
            return super().make_context(info_name, args, parent, **extra)
        words = f"{info_name} {args[0]}"
        extra.setdefault("auto_envvar_prefix", f"OLMC_{words.upper()}".replace(" ", "_").replace("-", "_"))
        return below.make_context(words, args[1:], parent, **extra)


def command_of(declared: Declared, name: str) -> click.Command:
    """Return click's command for a declared one."""
    below = {word: command_of(each, word) for word, each in declared.commands.items()}
    function, options = declared.function, declared.options
    if function is None:
        return click.Group(name, commands=below, help=declared.help)

    @click.pass_context
    def call(ctx: click.Context, /, **values: Any) -> None:
        if isinstance(ctx.obj, click.UsageError):
            raise ctx.obj  # found out without click, which knows how to say it
        function(ctx, filled(options, values))

    params = list(map(_param_of, declared.params))
    if below:
        return _CommandAbove(name, callback=call, params=params, help=declared.help, commands=below)
    return click.Command(name, callback=call, params=params, help=declared.help)


def _param_of(param: DeclaredOption) -> click.Parameter:
    # What is not given is click's to decide: of some values None is another one than none.
    values: dict[str, Any] = {
        name: value for name, value in param._asdict().items() if value != DeclaredOption._field_defaults.get(name)
    }
    old_names = values.pop("old_names", ())
    names = [*values.pop("spellings", ()), *old_names, values.pop("name")]
    if param.denied:
        values["default"] = param.default  # to click, no word is a no
    if param.type is not None:
        values["type"] = _type_of(param.type)
    if not param.is_argument:
        return _CurrentOption(names, old_names, **values)
    if values.pop("multiple", False):
        values["nargs"] = -1
    return click.Argument(names, **values)


def _type_of(kind: Kind) -> click.ParamType[Any]:
    if isinstance(kind, Whole):
        return click.IntRange(kind.low, kind.high)
    if isinstance(kind, Decimal):
        return click.FloatRange(kind.low)
    if isinstance(kind, Choice):
        return click.Choice(kind.words)
    path_type = None if kind.as_text else Path
    return GivenPath(kind.exists, kind.file_okay, kind.dir_okay, path_type=path_type)


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
