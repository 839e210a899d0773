"""`olmc resolve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from olmc.api import Compilation, compile
from olmc.cli.console import progress, say, say_table, tell, tell_approvals, writing
from olmc.cli.declared import PathOf, argument, command, option
from olmc.cli.options import (
    COMPILE,
    entry_option,
    given_fields,
    given_of,
    given_version,
    inputs_of,
    output_option,
    tell_idle,
    timings_of,
    with_proposed,
)
from olmc.cli.process import BAD_INPUT, DONE, FINDINGS, Input, wrong_usage
from olmc.model.diagnostics import LockFault, Report, Severity
from olmc.model.options import Options
from olmc.output.unicode import json_text

if TYPE_CHECKING:
    import click


@command(
    argument("paths", multiple=True, type=PathOf(), metavar="[PATH]..."),
    output_option(
        ["table", "wide", "json"],
        "A table, one that no terminal cuts, or JSON for machines (schemas/resolution.schema.json).",
    ),
    option("--update", is_flag=True, help="Choose anew and write the choice to olmc.lock."),
    option("--locked", is_flag=True, help="Fail if olmc.lock no longer holds, and say what moved."),
    option(
        "--pin",
        metavar="PACKAGE=VERSION",
        help="Set startingCSV and manual approval on the package's Subscription, in its file.",
    ),
    entry_option,
    *COMPILE,
)
def resolve(
    ctx: click.Context, /, paths: tuple[Path, ...], output: str, update: bool, locked: bool, pin: str | None,
    entries: tuple[str, ...], approve: tuple[str, ...], olm_version: str, **proposed: Any,
) -> None:  # fmt: skip
    """Say what OLM would install in a workspace, and why.

    PATH is a directory; files, and - for stdin, count beside it. Without PATH it is the current directory.

    \b
    Examples:
      olmc resolve                     what is installed and upgraded, hop by hop
      olmc resolve -o json             the same for machines
      olmc resolve --update            write olmc.lock, which olmc render follows
      olmc resolve --locked            does the lock still hold? (for CI)
      olmc resolve --pin kettle=1.2.0  stay at this version; comments in the file are kept

    Exit codes: 0 done, 1 findings (something can't be resolved, or the lock no longer holds), 2 wrong usage,
    3 input that can't be compiled, or a pin that is not possible.
    """
    if sum((update, locked, pin is not None)) > 1:
        wrong_usage("--update, --locked and --pin exclude each other.")
    if pin is not None and not all(pin.partition("=")):
        wrong_usage("--pin takes PACKAGE=VERSION.")
    timings = timings_of(ctx, proposed)
    path, beside, is_staged, release = _one_input(ctx, paths, entries)
    if is_staged and (update or pin is not None):
        wrong_usage("--update and --pin write into a workspace; give its directory as PATH.")
    given = frozenset({"approve"} if approve else ()) | given_version(ctx) | given_fields(ctx, proposed)
    options = with_proposed(Options(approve=approve, olm_version=olm_version), proposed, ctx)
    with progress() as doing:
        doing(f"resolving {path}")
        obey_lock = not update and pin is None
        done = compile(
            path, options, given=given, obey_lock=obey_lock, beside=beside, release=release, stage=timings.stage
        )
        timings.compiled(path, done)
    tell(done.diagnostics, None if is_staged else path)
    tell_idle(ctx, given_of([done]))
    if done.failed or done.settled is None:
        raise SystemExit(FINDINGS if locked and _lock_broken(done) else BAD_INPUT)
    tell_approvals(approve, [done.settled.cluster])
    if pin is not None:
        raise SystemExit(_pin(path, done, pin))
    if update:
        _write_lock(path, done)
    if locked:
        code = _check_lock(done)
        if output == "json" and code != BAD_INPUT:
            _print(done, output)
        raise SystemExit(code)
    _print(done, output)
    raise SystemExit(FINDINGS if done.findings else DONE)


def _one_input(ctx: click.Context, paths: tuple[Path, ...], entries: tuple[str, ...]) -> Input:
    """What the paths are together: one directory, with files and streams beside it."""
    first, *others = inputs_of(ctx, paths, entries)
    if others:
        wrong_usage("one workspace is resolved at a time; give one directory.")
    return first


def _lock_broken(done: Compilation) -> bool:
    return all(d.cause is LockFault.UNMET for d in done.diagnostics if d.severity is Severity.ERROR)


def _print(done: Compilation, output: str) -> None:
    from olmc.explain.resolution import as_data, as_table, hops, operator_hops, resolutions

    if done.settled is None:
        return
    if output == "json":
        of_extensions = []
        if done.extensions:
            from olmc.explain.extensions import resolutions_data  # most workspaces have none

            of_extensions = resolutions_data(done.extensions)
        say(json_text(as_data(resolutions(done.settled), done.operators, of_extensions)), out=True)
    else:
        rows = (*hops(done.settled), *operator_hops(done.operators))
        if done.extensions:
            from olmc.explain.extensions import extension_hops  # most workspaces have none

            rows = (*rows, *extension_hops(done.extensions))
        if not rows:
            asking = "no Subscription and no Operator" if done.options.v2alpha1 else "no Subscription"
            say(f"olmc: nothing here asks for an operator ({asking})")
        say_table(as_table(rows), wide=output == "wide")


def _write_lock(path: Path, done: Compilation) -> None:
    from olmc.load.config import LOCK_FILE, lock_text
    from olmc.model.workspace import Lock
    from olmc.output.directory import put

    if done.lock is None and not (path / LOCK_FILE).exists():
        say("There is nothing to lock: the workspace has no Subscription.")
        return
    images = done.workspace.images if done.workspace is not None else ()
    with writing(path / LOCK_FILE):
        put(path / LOCK_FILE, lock_text(done.lock or Lock({}), images))
    say(f"{path / LOCK_FILE} written")


def _check_lock(done: Compilation) -> int:
    if done.workspace is None or done.workspace.lock is None:
        say("There is no olmc.lock; write one with olmc resolve --update.")
        return BAD_INPUT
    if any(diagnostic.cause is LockFault.CHANGED for diagnostic in done.diagnostics):
        return FINDINGS
    say("olmc.lock holds")
    return FINDINGS if done.findings else DONE


def _pin(path: Path, done: Compilation, pin: str) -> int:
    from olmc.explain.resolution import PinError, pinned
    from olmc.load.config import read_lock
    from olmc.output.directory import rewrite

    package, _, version = pin.partition("=")
    if done.settled is None:
        return BAD_INPUT
    try:
        edited = pinned(done.settled.beginning, package, version, is_built=bool(done.inputs.built))
    except PinError as error:
        tell([error.diagnostic], path)
        return BAD_INPUT
    texts = {path / source.path: source.text for source in edited}
    with writing(*texts):
        rewrite(texts)
    for changed in texts:
        say(f"{changed}: {package} is pinned to {version}")
    if read_lock(path, Report()).operators is not None:
        say("olmc.lock has what was chosen before; olmc resolve --update writes it anew.")
    return DONE
