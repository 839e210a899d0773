"""What commands say to people on stderr: diagnostics, progress, and the color of it."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from olmc.cli.process import BAD_INPUT
from olmc.model.cluster import Cluster
from olmc.model.diagnostics import Diagnostic, Severity, did_you_mean
from olmc.output.messages import SHOWN_FROM, as_text
from olmc.output.places import seen_from


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


PATIENCE = 0.7
"""Seconds before anything is said: most work is done by then."""

_EVERY = 0.2
_ERASE = "\r\x1b[K"


def folder_from_here(root: Path | None) -> str:
    """The folder of a workspace as the user names it: "" for the current directory and for what is no folder of the
    user's (None); what was given as an absolute path stays one, so that it reads the same wherever one stands."""
    if root is None:
        return ""
    there = root.as_posix() if root.is_absolute() else Path(os.path.relpath(root)).as_posix()
    return "" if there == os.curdir else there


def tell(diagnostics: Iterable[Diagnostic], root: Path | None = None, *, least: Severity = SHOWN_FROM) -> None:
    """Print diagnostics on stderr, in color on a terminal, and in a line what is left aside and not among them.

    `root` is the workspace that their places are relative to, None where they are relative to where the user stands.
    """
    listed = list(seen_from(folder_from_here(root), diagnostics))
    click.echo(as_text(listed, least=least, color=True), err=True, nl=False)
    tell_aside(listed, least=least)


def tell_aside(diagnostics: Iterable[Diagnostic], *, least: Severity) -> None:
    """Say on stderr how much is left aside as no input, of which `least` shows nothing by itself."""
    remarks = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.INFO < least]
    if not remarks:
        return
    from olmc.diagnostics.rules.foreign import aside

    line = aside(remarks)
    if line:
        click.echo(f"olmc: left aside: {line} (olmc check --all lists them)", err=True)


def tell_approvals(approve: Sequence[str], clusters: Iterable[Cluster]) -> None:
    """Say on stderr which approvals approve nothing, and what was probably meant."""
    if not approve:
        return
    from olmc.reconcile.misspelling import unknown_approvals

    for name, meant in unknown_approvals(approve, clusters):
        hint = did_you_mean(meant)
        click.echo(f"olmc: --approve {name}: there is no such InstallPlan. {hint}".rstrip(), err=True)


def write_parts(parts: Iterable[bytes]) -> None:
    """Write a text in UTF-8 to stdout, of which nothing is held a second time."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(parts)


@contextmanager
def writing(*paths: Path) -> Iterator[None]:
    """Say what could not be written if it can't, and end the command."""
    try:
        yield
    except OSError as error:
        where = error.filename if error.filename in map(os.fspath, paths) else ", ".join(map(os.fspath, paths))
        click.echo(f"Error: {where} can't be written: {error.strerror or error}", err=True)
        raise click.exceptions.Exit(BAD_INPUT) from error


@contextmanager
def progress(stream: TextIO | None = None, *, patience: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Say on a terminal what is being done and for how long, until it is done; anything else hears nothing.

    Gives a function that takes what is being done from now on.
    """
    out = stream if stream is not None else sys.stderr
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _: None
        return
    doing, done = [""], threading.Event()

    def shown() -> None:
        begin = time.monotonic()
        wait = patience
        said = False
        while not done.wait(wait):
            wait = _EVERY
            if not doing[0]:
                continue
            said = True
            out.write(f"{_ERASE}olmc: {doing[0]} … {time.monotonic() - begin:.0f} s")
            out.flush()
        if said:
            out.write(_ERASE)
            out.flush()

    thread = threading.Thread(target=shown, daemon=True)
    thread.start()
    try:
        yield lambda text: doing.__setitem__(0, text)
    finally:
        done.set()
        thread.join()
