"""What a process of the command line has: exit codes, what it is given, and streams that depend on no locale."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from olmc.lean import NamedTuple
from olmc.output.unicode import ESCAPED, register

if TYPE_CHECKING:
    from olmc.load.beside import Beside
    from olmc.load.releases import Release

DONE = 0
FINDINGS = 1  # an operator would fail, or a check differs
USAGE = 2  # wrong usage; click's own
BAD_INPUT = 3  # input that can't be compiled
INTERRUPTED = 130  # Ctrl-C; as shells count what SIGINT ended
UNREAD = 141  # whoever read the output has gone; as shells count what SIGPIPE ended


STREAM = "-"
"""The PATH that stands for stdin."""


def is_single(path: Path) -> bool:
    """Whether a path is a file or a stream."""
    return str(path) == STREAM or path.is_file() or path.is_fifo()


class Input(NamedTuple):
    """What is compiled at once: a directory, and another one whose files count as well, if there are any.

    `is_staged`: the directory is not the user's, but made of what there is of files and streams. `release`: how the
    directory is installed, which is a Helm chart then.
    """

    root: Path
    beside: Beside | None = None
    is_staged: bool = False
    release: Release | None = None


def wrong_usage(message: str) -> NoReturn:
    """End the command with what click says of wrong usage."""
    import click  # with how the command is used; few runs get here

    raise click.UsageError(message)


def bad_value(message: str, hint: str | None = None) -> NoReturn:
    """As `wrong_usage`, about the value of an option, that of `hint` if there is one."""
    import click

    raise click.BadParameter(message, param_hint=hint)


def no_cluster(name: str, option: str) -> NoReturn:
    """End because what is called by a name is a bundle where a cluster is asked for."""
    bad_value(f"{name} is a bundle by itself, and no cluster; `olmc diff` compares bundles.", option)


def interrupted() -> NoReturn:
    """End as programs end by Ctrl-C: by the signal itself, so that a loop of the shell ends as well."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)
    raise SystemExit(INTERRUPTED)  # where a signal does not end a process


def prepare() -> None:
    """Have all three streams, and what is written depend neither on the locale nor on the system.

    What a process lacks is opened in this order, so that each gets its own number and no file that is written later is
    taken for it: an empty stdin, a stdout that can't be written, which is found out when there is something to say,
    and a stderr that nobody reads.
    """
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    register()
    for stream, newline in ((sys.stdout, "\n"), (sys.stderr, None)):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=ESCAPED, newline=newline)


def give_up(stream: TextIO) -> None:
    """Forget what is left in a stream that can't be written: Python would try once more at its end, and complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
