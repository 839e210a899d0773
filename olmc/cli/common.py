"""What commands that look at a compilation have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from olmc.api import Compilation, compile
from olmc.cli.console import progress, tell, tell_approvals
from olmc.cli.options import given_fields, given_version, with_proposed
from olmc.cli.process import BAD_INPUT
from olmc.model.diagnostics import Severity
from olmc.model.options import Options
from olmc.model.workspace import LeftOut
from olmc.reconcile.loop import SettledCluster

# A workspace's olmc.yaml may choose what is printed of the cluster, but not what there is to look at.
_EVERYTHING = frozenset({"purpose", "include", "exclude"})


def tell_left_out(root: Path, done: Compilation, where: str = "") -> tuple[LeftOut, ...]:
    """Say on stderr what is left out of a directory that was compiled, and give it; `where` stands before the paths."""
    from olmc.explain.left_out import left_out_of, note  # reviews need it, and what only prints does not

    found = left_out_of(root, done)
    click.echo(note(found, where), err=True, nl=False)
    return found


def compiled(
    ctx: click.Context, path: Path, olm_version: str, proposed: dict[str, Any], *, approve: tuple[str, ...] = (),
    least: Severity,
) -> tuple[Compilation, SettledCluster]:  # fmt: skip
    """The compilation of a path and its cluster at rest; findings from `least` on are told on stderr, and what has no
    effect.

    `proposed` are the values of the options of the proposed APIs.

    Ends the command if the path can't be compiled.
    """
    given = _EVERYTHING | given_version(ctx) | given_fields(ctx, proposed) | ({"approve"} if approve else frozenset())
    options = with_proposed(Options(approve=approve, olm_version=olm_version), proposed)
    with progress() as doing:
        doing(f"compiling {path}")
        done = compile(path, options, given=given)
    tell(done.diagnostics, least=least)
    tell_idle(ctx, given_of([done]))
    if done.failed or done.settled is None:
        ctx.exit(BAD_INPUT)
    tell_approvals(approve, [done.settled.cluster])
    return done, done.settled


class GivenInput(NamedTuple):
    """What options have an effect on: the options that hold, with what olmc.yaml says, and whether it is a bundle."""

    options: Options
    is_bundle: bool = False


class OptionNeed(NamedTuple):
    """What an option needs, and whether that is given."""

    text: str
    is_met: Callable[[GivenInput], bool]


_V2ALPHA1 = OptionNeed("--enable-v2alpha1", lambda given: given.options.v2alpha1)
_APPLY = OptionNeed("--for apply", lambda given: given.options.purpose == "apply")
_BUNDLE = OptionNeed("the directory of a bundle as PATH", lambda given: given.is_bundle)

# By the names of parameters; the first need that is not met is told.
PROPOSED: Mapping[str, Sequence[OptionNeed]] = {
    "shared_apis": [OptionNeed("--descoped", lambda given: given.options.descoped)],
    "approve_installs": [_V2ALPHA1],
    "user": [_V2ALPHA1],
    "user_groups": [_V2ALPHA1, OptionNeed("--as", lambda given: bool(given.options.user))],
    "migrate_subscriptions": [_V2ALPHA1],
    "component_label": [_V2ALPHA1],
    "olm_namespace": [_V2ALPHA1],
}
RENDERED: Mapping[str, Sequence[OptionNeed]] = {
    "certs": [_APPLY],
    "phase": [_APPLY],
    "keep_going": [_APPLY],
    "namespace": [_BUNDLE],
    "watch": [_BUNDLE],
    "all_namespaces": [_BUNDLE],
    **PROPOSED,
}


def given_of(made: Iterable[Compilation]) -> list[GivenInput]:
    """What compilations that did not fail were given."""
    return [GivenInput(each.options, is_bundle=each.workspace is None) for each in made if not each.failed]


def tell_idle(
    ctx: click.Context, given: Sequence[GivenInput], needs: Mapping[str, Sequence[OptionNeed]] = PROPOSED
) -> None:
    """Say on stderr which options have no effect on anything that was given, and what they need.

    Only those of the command line: variables of the environment and olmc.yaml are meant for several commands.
    """
    for text in _idle(ctx, given, needs) if given else ():
        click.echo(f"olmc: {text}", err=True)


def _idle(ctx: click.Context, given: Sequence[GivenInput], needs: Mapping[str, Sequence[OptionNeed]]) -> Iterator[str]:
    for option in ctx.command.params:
        name = option.name or ""
        if ctx.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            continue
        if ctx.params.get(name) == option.get_default(ctx):
            continue
        missing = [need for need in needs.get(name, ()) if not any(map(need.is_met, given))]
        if missing:
            yield f"{max(option.opts, key=len)} has no effect, it needs {missing[0].text}"
