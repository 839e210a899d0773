"""CPU time that means the same on a busy machine: in seconds of a machine at rest."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time

AT_REST = 0.003
"""The CPU seconds of `loop_seconds` on the machine that budgets are written for, when it has nothing else to do."""


def loop_seconds() -> float:
    """Return the CPU seconds that this machine takes for a loop right now, the median of five."""
    taken = []
    for _ in range(5):
        start = process_time()
        sum(number & 1 for number in range(60_000))
        taken.append(process_time() - start)
    return median(taken)


def measure() -> Callable[[], float]:
    """Begin to measure; the function that is returned gives the seconds of this process since then.

    A core that two processes share does less in a second, and so does an old machine: the loop tells how much less.
    """
    before = loop_seconds()
    start = process_time()

    return lambda: at_rest(process_time() - start, max(before, loop_seconds()))


def at_rest(spent: float, loop: float) -> float:
    """Return the seconds that a machine at rest needs for what took so many while the loop took so many."""
    return spent * min(1.0, AT_REST / loop)
