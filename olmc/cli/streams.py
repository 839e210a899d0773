"""stdin, stdout and stderr as all commands may rely on them, whatever the process was given."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from olmc.emit.names import ESCAPED, register


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
