"""`olmc resolve`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from olmc.api import Compilation, compile
from olmc.cli.common import given_of, tell_idle
from olmc.cli.console import progress, tell, tell_approvals, writing
from olmc.cli.options import GivenPath, compile_options, given_fields, given_version, output_option, with_proposed
from olmc.cli.process import BAD_INPUT, DONE, FINDINGS
from olmc.model.diagnostics import LockFault, Report, Severity
from olmc.model.options import Options
from olmc.output.unicode import json_text


@click.command()
@click.argument("path", type=GivenPath(path_type=Path), default=Path(), metavar="[PATH]")
@output_option(["table", "json"], "A table for people, or JSON for machines (schemas/resolution.schema.json).")
@click.option("--update", is_flag=True, help="Choose anew and write the choice to olmc.lock.")
@click.option("--locked", is_flag=True, help="Fail if olmc.lock no longer holds, and say what moved.")
@click.option(
    "--pin",
    metavar="PACKAGE=VERSION",
    help="Set startingCSV and manual approval on the package's Subscription, in its file.",
)
@compile_options
@click.pass_context
def resolve(
    ctx: click.Context, /, path: Path, output: str, update: bool, locked: bool, pin: str | None,
    approve: tuple[str, ...], olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Say what OLM would install in a workspace, and why.

    \b
    Examples:
      olmc resolve                     what is installed and upgraded, hop by hop
      olmc resolve -o json             the same for machines
      olmc resolve --update            write olmc.lock, which olmc render obeys
      olmc resolve --locked            does the lock still hold? (for CI)
      olmc resolve --pin kettle=1.2.0  stay at this version; comments in the file are kept

    Exit codes: 0 done, 1 findings (something can't be resolved, or the lock no longer holds), 2 wrong usage,
    3 input that can't be compiled, or a pin that is not possible.
    """
    if sum((update, locked, pin is not None)) > 1:
        raise click.UsageError("--update, --locked and --pin exclude each other.")
    if pin is not None and not all(pin.partition("=")):
        raise click.UsageError("--pin takes PACKAGE=VERSION.")
    given = frozenset({"approve"} if approve else ()) | given_version(ctx) | given_fields(ctx, proposed)
    options = with_proposed(Options(approve=approve, olm_version=olm_version), proposed)
    with progress() as doing:
        doing(f"resolving {path}")
        done = compile(path, options, given=given, obey_lock=not update and pin is None)
    tell(done.diagnostics)
    tell_idle(ctx, given_of([done]))
    if done.failed or done.settled is None:
        ctx.exit(FINDINGS if locked and _lock_broken(done) else BAD_INPUT)
    tell_approvals(approve, [done.settled.cluster])
    if pin is not None:
        ctx.exit(_pin(path, done, pin))
    if update:
        _write_lock(path, done)
    if locked:
        code = _check_lock(done)
        if output == "json" and code != BAD_INPUT:
            _print(done, output)
        ctx.exit(code)
    _print(done, output)
    ctx.exit(FINDINGS if done.findings else DONE)


def _lock_broken(done: Compilation) -> bool:
    return all(d.cause is LockFault.UNMET for d in done.diagnostics if d.severity is Severity.ERROR)


def _print(done: Compilation, output: str) -> None:
    from olmc.explain.resolution import as_data, as_table, hops, operator_hops, operators_as_data, resolutions

    if done.settled is None:
        return
    if output == "json":
        data = as_data(resolutions(done.settled))
        if done.operators:
            data["operators"] = operators_as_data(done.operators)
        click.echo(json_text(data))
    else:
        rows = (*hops(done.settled), *operator_hops(done.operators))
        if not rows:
            click.echo("olmc: nothing here asks for an operator (no Subscription)", err=True)
        click.echo(as_table(rows), nl=False)


def _write_lock(path: Path, done: Compilation) -> None:
    from olmc.load.config import LOCK_FILE, lock_text
    from olmc.model.workspace import Lock
    from olmc.output.directory import put

    if done.lock is None and not (path / LOCK_FILE).exists():
        click.echo("There is nothing to lock: the workspace has no Subscription.", err=True)
        return
    images = done.workspace.images if done.workspace is not None else ()
    with writing(path / LOCK_FILE):
        put(path / LOCK_FILE, lock_text(done.lock or Lock({}), images))
    click.echo(f"{path / LOCK_FILE} written", err=True)


def _check_lock(done: Compilation) -> int:
    if done.workspace is None or done.workspace.lock is None:
        click.echo("There is no olmc.lock; write one with olmc resolve --update.", err=True)
        return BAD_INPUT
    if any(diagnostic.cause is LockFault.CHANGED for diagnostic in done.diagnostics):
        return FINDINGS
    click.echo("olmc.lock holds", err=True)
    return FINDINGS if done.findings else DONE


def _pin(path: Path, done: Compilation, pin: str) -> int:
    from olmc.explain.resolution import PinError, pinned
    from olmc.load.config import read_lock
    from olmc.output.directory import rewrite

    package, _, version = pin.partition("=")
    if done.settled is None:
        return BAD_INPUT
    try:
        edited = pinned(done.settled.beginning, package, version)
    except PinError as error:
        tell([error.diagnostic])
        return BAD_INPUT
    texts = {path / source.path: source.text for source in edited}
    with writing(*texts):
        rewrite(texts)
    for changed in texts:
        click.echo(f"{changed}: {package} is pinned to {version}", err=True)
    if read_lock(path, Report()).operators is not None:
        click.echo("olmc.lock has what was chosen before; olmc resolve --update writes it anew.", err=True)
    return DONE
