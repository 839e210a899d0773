"""The exit codes of all commands, in one place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

DONE = 0
FINDINGS = 1  # an operator would fail, or a check differs
USAGE = 2  # wrong usage; click's own
BAD_INPUT = 3  # input that can't be compiled
INTERRUPTED = 130  # Ctrl-C; as shells count what SIGINT ended
UNREAD = 141  # whoever read the output has gone; as shells count what SIGPIPE ended


def is_command() -> bool:
    """Whether this process is for the command line, asked before the module that runs it is imported."""
    return Path(sys.argv[0] if sys.argv else "").stem in ("olmc", "-m")


def interrupted() -> NoReturn:
    """End as programs end by Ctrl-C: by the signal itself, so that a loop of the shell ends as well."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)
    raise SystemExit(INTERRUPTED)  # where a signal does not end a process
