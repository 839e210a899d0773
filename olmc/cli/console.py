"""What commands say to people on stderr: diagnostics, progress, and the color of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from olmc.cli.process import BAD_INPUT
from olmc.lean import NamedTuple, regex
from olmc.model.diagnostics import Diagnostic, Severity, did_you_mean
from olmc.output.messages import SHOWN_FROM, as_text
from olmc.output.places import seen_from

if TYPE_CHECKING:
    from olmc.api import Compilation
    from olmc.model.cluster import Cluster

_ESCAPE = regex(r"\033\[[0-?]*[ -/]*[@-~]")


def say(text: str, *, nl: bool = True, out: bool = False) -> None:
    """Print a text on stderr, or stdout, as click.echo does: at once, and in color where color is."""
    stream = sys.stdout if out else sys.stderr
    text = f"{text}\n" if nl else text
    if text and "\x1b" in text:
        color = _chosen_color()
        text = text if color or (color is None and stream.isatty()) else _ESCAPE.sub("", text)
    stream.write(text)
    stream.flush()


def say_table(text: str, *, wide: bool) -> None:
    """Print a table on stdout. On a terminal its lines end where the terminal does, unless it is asked for wide: what
    follows a line that went on would be read as another row."""
    if not wide and sys.stdout.isatty():
        from shutil import get_terminal_size

        columns = get_terminal_size().columns
        lines = text.splitlines()
        if any(len(line) > columns for line in lines):
            text = "".join(f"{line if len(line) <= columns else f'{line[: columns - 1]}…'}\n" for line in lines)
            say(text, nl=False, out=True)
            say("olmc: cut to the width of the terminal; -o wide has all of it")
            return
    say(text, nl=False, out=True)


def _chosen_color() -> bool | None:
    """What --color says, which only click hears, else the environment; None leaves it to whether this is a terminal."""
    click = sys.modules.get("click")
    ctx = click.get_current_context(silent=True) if click is not None else None
    return ctx.color if ctx is not None else color_from_environment()


def color_from_environment() -> bool | None:
    """What NO_COLOR and FORCE_COLOR say; None leaves it to whether the output is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


class Timings(NamedTuple):
    """Who hears that a stage begins, what was compiled in a folder, and how many bytes are written: `--timings`."""

    stage: Callable[[str], object]
    compiled: Callable[[Path, Compilation], object]
    written: Callable[[int], object]


UNTIMED = Timings(lambda _: None, lambda _, __: None, lambda _: None)
"""Nobody listens."""

PATIENCE = 0.7
"""Seconds before anything is shown: most work is done by then."""

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
    say(diagnostics_text(diagnostics, root, least), nl=False)


def diagnostics_text(diagnostics: Iterable[Diagnostic], root: Path | None, least: Severity) -> str:
    """What `tell` prints."""
    listed = list(seen_from(folder_from_here(root), diagnostics))
    return as_text(listed, least=least, color=True) + _aside(listed, least)


def tell_aside(diagnostics: Iterable[Diagnostic], *, least: Severity) -> None:
    """Say on stderr how much is left aside as no input, of which `least` shows nothing by itself."""
    say(_aside(diagnostics, least), nl=False)


def _aside(diagnostics: Iterable[Diagnostic], least: Severity) -> str:
    remarks = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.INFO < least]
    if not remarks:
        return ""
    from olmc.diagnostics.rules.foreign import aside

    line = aside(remarks)
    return f"olmc: left aside: {line} (olmc check --all lists them)\n" if line else ""


def tell_approvals(approve: Sequence[str], clusters: Iterable[Cluster]) -> None:
    """Say on stderr which approvals approve nothing, and what was probably meant."""
    tell_unknown(approve, (name for cluster in clusters for name in approvals_in(cluster)) if approve else ())


def approvals_in(cluster: Cluster) -> tuple[str, ...]:
    """What can be approved in a cluster."""
    from olmc.reconcile.misspelling import approvable  # most runs approve nothing

    return tuple(approvable(cluster))


def tell_unknown(approve: Sequence[str], approvals: Iterable[str]) -> None:
    """Say on stderr which approvals approve none of what can be approved."""
    if not approve:
        return
    from olmc.reconcile.misspelling import unknown_approvals

    for name, meant in unknown_approvals(approve, approvals):
        hint = did_you_mean(meant)
        say(f"olmc: --approve {name}: there is no such InstallPlan. {hint}".rstrip())


def write_parts(parts: Iterable[bytes]) -> int:
    """Write a text in UTF-8 to stdout, of which nothing is held a second time; how many bytes it has."""
    sys.stdout.flush()
    # And not writelines, which click's test runner does not see.
    return sum(sys.stdout.buffer.write(part) for part in parts)


@contextmanager
def writing(*paths: Path) -> Iterator[None]:
    """Say what could not be written if it can't, and end the command."""
    try:
        yield
    except OSError as error:
        where = error.filename if error.filename in map(os.fspath, paths) else ", ".join(map(os.fspath, paths))
        say(f"Error: {where} can't be written: {error.strerror or error}")
        raise SystemExit(BAD_INPUT) from error


@contextmanager
def progress(stream: TextIO | None = None, *, patience: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Say on a terminal what is being done and for how long, until it is done; anything else hears nothing.

    Gives a function that takes what is being done from now on.
    """
    out = stream if stream is not None else sys.stderr
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _: None
        return
    import threading  # for terminals, which most runs have none of

    doing, done = [""], threading.Event()

    def shown() -> None:
        begin = time.monotonic()
        wait = patience
        printed = False
        while not done.wait(wait):
            wait = _EVERY
            if not doing[0]:
                continue
            printed = True
            out.write(f"{_ERASE}olmc: {doing[0]} … {time.monotonic() - begin:.0f} s")
            out.flush()
        if printed:
            out.write(_ERASE)
            out.flush()

    thread = threading.Thread(target=shown, daemon=True)
    thread.start()
    try:
        yield lambda text: doing.__setitem__(0, text)
    finally:
        done.set()
        thread.join()
