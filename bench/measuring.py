"""Measures the CPU time of commands, and counts the lines that they run."""

from __future__ import annotations

import os
import resource
import shlex
import statistics
import subprocess
import sys
from collections.abc import Collection, Sequence
from types import FrameType
from typing import Any


def measured(command: Sequence[str], runs: int, *, fine: tuple[int, ...] = (0,)) -> tuple[float, int]:
    """The median of the user and system time of a command in seconds, and how many bytes it prints.

    Ends the program when the command's exit code is not among `fine`.
    """
    times, size = [], 0
    # Otherwise Python compiles modules in every run, which it does not do for users.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, check=False, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in fine:
            messages = done.stderr.decode(errors="replace")[-2000:]
            sys.exit(f"bench: {shlex.join(command[:3])} … exited with {done.returncode}:\n{messages}")
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        size = len(done.stdout)
    return statistics.median(times), size


def lines_of(command: Sequence[str], *, below: str = "", fine: Collection[int] = ()) -> int:
    """How many lines of Python a command of olmc runs in this process, of files whose path begins with `below`.

    They are the same on every machine. Raises ValueError for an exit code that is not in `fine`, if that has any.
    """
    from click.testing import CliRunner

    from olmc.cli.main import main

    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:  # noqa: ARG001 - of a call
        return line if frame.f_code.co_filename.startswith(below) else None

    def line(frame: FrameType, event: str, _: Any) -> Any:  # noqa: ARG001 - often, so it does nothing else
        nonlocal count
        if event == "line":
            count += 1
        return line

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = CliRunner().invoke(main, list(command))
    finally:
        sys.settrace(before)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if fine and result.exit_code not in fine:
        raise ValueError(f"exit code {result.exit_code}: {result.output}")
    return count
