"""What commands that look at a compilation have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from olmc.api import Compilation, compile
from olmc.cli.exits import BAD_INPUT
from olmc.cli.idle import given_of, tell_idle
from olmc.cli.options import given_version
from olmc.cli.proposed import given_fields, with_proposed
from olmc.cli.talk import progress, tell, tell_approvals
from olmc.model.diagnostic import Severity
from olmc.model.left_out import LeftOut
from olmc.model.options import Options
from olmc.settle.rest import Settled

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
) -> tuple[Compilation, Settled]:  # fmt: skip
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
