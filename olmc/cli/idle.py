"""Options of the command line that have no effect on what was compiled, which is said: nobody gives one for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import click

from olmc.api import Compilation
from olmc.model.options import Options


class Given(NamedTuple):
    """What options have an effect on: the options that hold, with what olmc.yaml says, and whether it is a bundle."""

    options: Options
    is_bundle: bool = False


class Need(NamedTuple):
    """What an option needs, and whether that is given."""

    text: str
    is_met: Callable[[Given], bool]


_V2ALPHA1 = Need("--enable-v2alpha1", lambda given: given.options.v2alpha1)
_APPLY = Need("--for apply", lambda given: given.options.purpose == "apply")
_BUNDLE = Need("the directory of a bundle as PATH", lambda given: given.is_bundle)

# By the names of parameters; the first need that is not met is told.
PROPOSED: Mapping[str, Sequence[Need]] = {
    "shared_apis": [Need("--descoped", lambda given: given.options.descoped)],
    "approve_installs": [_V2ALPHA1],
    "user": [_V2ALPHA1],
    "user_groups": [_V2ALPHA1, Need("--as", lambda given: bool(given.options.user))],
    "migrate_subscriptions": [_V2ALPHA1],
    "component_label": [_V2ALPHA1],
    "olm_namespace": [_V2ALPHA1],
}
RENDERED: Mapping[str, Sequence[Need]] = {
    "certs": [_APPLY],
    "phase": [_APPLY],
    "keep_going": [_APPLY],
    "namespace": [_BUNDLE],
    "watch": [_BUNDLE],
    "all_namespaces": [_BUNDLE],
    **PROPOSED,
}


def given_of(made: Iterable[Compilation]) -> list[Given]:
    """What compilations that did not fail were given."""
    return [Given(each.options, is_bundle=each.workspace is None) for each in made if not each.failed]


def tell_idle(ctx: click.Context, given: Sequence[Given], needs: Mapping[str, Sequence[Need]] = PROPOSED) -> None:
    """Say on stderr which options have no effect on anything that was given, and what they need.

    Only those of the command line: variables of the environment and olmc.yaml are meant for several commands.
    """
    for text in _idle(ctx, given, needs) if given else ():
        click.echo(f"olmc: {text}", err=True)


def _idle(ctx: click.Context, given: Sequence[Given], needs: Mapping[str, Sequence[Need]]) -> Iterator[str]:
    for option in ctx.command.params:
        name = option.name or ""
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            continue
        if ctx.params.get(name) == option.get_default(ctx):
            continue
        missing = [need for need in needs.get(name, ()) if not any(map(need.is_met, given))]
        if missing:
            yield f"{max(option.opts, key=len)} has no effect, it needs {missing[0].text}"
