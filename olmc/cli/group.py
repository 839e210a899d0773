"""The group of all commands: imported one by one, and alike in what they offer besides their own options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from typing import Any

import click

from olmc.cli.color import color_option
from olmc.model.suggestions import POSSIBLE, close_matches, did_you_mean

_EXAMPLES = re.compile(r"\n\n(\s*\x08\n\s*Examples?:\n(?:.*\S.*(?:\n|$))+)")


class Commands(click.Group):
    """Imports the module of a command when it is asked for: a run needs one of them, and each costs its start-up.

    The command NAME is the function NAME in `olmc/cli/NAME.py`.
    """

    def __init__(self, *args: Any, names: Sequence[str] = (), **values: Any) -> None:
        super().__init__(*args, **values)
        self.names = tuple(sorted(names))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.names:
            return None
        command: click.Command = getattr(import_module(f"olmc.cli.{cmd_name}"), cmd_name)
        if not any(each.name == "color" for each in command.params):
            _fit_out(command, cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """As click does, but what is wrong with a variable is not blamed on the option that it stands for."""
        try:
            return super().invoke(ctx)
        except click.BadParameter as error:
            _blame_variable(error)
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but a name that there is not is answered with those that are like it."""
        name = args[0]
        if name not in self.names and not name.startswith("-") and not ctx.resilient_parsing:
            near = close_matches(name, self.names, 2, POSSIBLE)
            hint = did_you_mean(*near) or f"There is {', '.join(self.names)}."
            raise click.UsageError(f"No such command '{name}'. {hint}", ctx)
        return super().resolve_command(ctx, args)


def variable(command: str, option: click.Option) -> str:
    """The environment variable that stands for an option of a command."""
    long = max(option.opts, key=len).lstrip("-")
    return f"OLMC_{command}_{long}".upper().replace("-", "_")


def _blame_variable(error: click.BadParameter) -> None:
    option, ctx = error.param, error.ctx
    if not isinstance(option, click.Option) or ctx is None:
        return
    if ctx.get_parameter_source(option.name or "") is click.core.ParameterSource.ENVIRONMENT:
        error.param_hint = f"the variable {option.envvar} ({max(option.opts, key=len)})"


def _fit_out(command: click.Command, name: str) -> None:
    """Give a command, and those below it, what all have: --color, an environment variable for each option, examples
    first in its help."""
    options = [each for each in command.params if isinstance(each, click.Option)]
    for option in options:
        option.envvar = option.envvar or variable(name, option)
    if options:
        shown = max(options[0].opts, key=len)
        command.epilog = command.epilog or f"Options are environment variables, too: {options[0].envvar} is {shown}."
    command.help = examples_first(command.help or "")
    command.params.append(color_option())
    nested: Mapping[str, click.Command] = getattr(command, "commands", {})
    for word, below in nested.items():
        _fit_out(below, f"{name}_{word}")


def examples_first(text: str) -> str:
    """A help text with its examples right behind the first paragraph, wherever they stand."""
    text = cleandoc(text)
    found = _EXAMPLES.search(text)
    if found is None:
        return text
    rest = text[: found.start()] + "\n\n" + text[found.end() :].lstrip("\n")
    first, _, more = rest.partition("\n\n")
    return f"{first}\n\n{found[1].rstrip()}\n\n{more.strip()}".rstrip()
