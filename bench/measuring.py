"""Measures the CPU time of commands."""

from __future__ import annotations

import os
import resource
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence


def measured(command: Sequence[str], runs: int, *, fine: tuple[int, ...] = (0,)) -> tuple[float, int]:
    """The median of the user and system time of a command in seconds, and how many bytes it prints.

    Ends the program when the command's exit code is not among `fine`.
    """
    times, size = [], 0
    # Else modules would be compiled in every run, which nobody's are.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, check=False, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in fine:
            told = done.stderr.decode(errors="replace")[-2000:]
            sys.exit(f"bench: {shlex.join(command[:3])} … exited with {done.returncode}:\n{told}")
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        size = len(done.stdout)
    return statistics.median(times), size
