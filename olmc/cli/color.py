"""Color in what people read: the option --color, and the variables that programs have agreed on."""

from __future__ import annotations

import os

import click


def color_option() -> click.Option:
    """The option --color, which holds for its command and for those below it."""
    return click.Option(
        ["--color"],
        type=click.Choice(["auto", "always", "never"]),
        envvar="OLMC_COLOR",
        expose_value=False,
        is_eager=True,
        callback=_choose,
        help="Color for people to read: auto is yes on terminals, unless NO_COLOR is set.",
    )


def _choose(ctx: click.Context, param: click.Parameter, value: str | None) -> None:  # noqa: ARG001
    """Decide for this command; without a word here, what was decided above holds."""
    if value is not None:
        ctx.color = {"always": True, "never": False}.get(value, _from_environment())
    elif ctx.parent is None:
        ctx.color = _from_environment()


def _from_environment() -> bool | None:
    """What NO_COLOR and FORCE_COLOR say; None leaves it to whether the output is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None
