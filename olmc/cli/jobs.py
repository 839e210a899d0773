"""`--jobs`: several paths are compiled by as many processes, with the results that one process has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, TypeVar

from olmc.cli.console import BAD_INPUT, UNTIMED, Input, Timings, say, wrong_usage
from olmc.cli.declared import Whole, option

_PAYS = 8
"""The number of paths that a process must have: the start of a worker takes as long as three bundles of the usual
size."""

jobs_option = option(
    "--jobs", type=Whole(1, 1024), metavar="N",
    help=f"Processes for several PATHs.  [default: all processors from {2 * _PAYS} PATHs on]",
)  # fmt: skip

T = TypeVar("T")
Work = Callable[..., T]
"""A function of a module that processes a path, or a part of one, given the common input, the path, and the timings,
which a worker leaves out."""


def jobs_of(jobs: int | None, inputs: Sequence[Input], timings: Timings, *, alone: bool = False) -> int:
    """Return how many processes compile the inputs: as many as are asked for, else all that pay. With `alone` it is
    one, as for --timings, which are of one process, and for what only this process has."""
    if timings is not UNTIMED and jobs is not None and jobs > 1:
        wrong_usage("--timings says where the time of one process goes; leave --jobs out, or give --jobs 1.")
    return jobs_for(jobs, len(inputs), timings, alone=alone or not all(one.is_plain for one in inputs))


def jobs_for(jobs: int | None, number: int, timings: Timings, *, alone: bool = False) -> int:
    """Return how many processes do a number of equal tasks."""
    if alone or timings is not UNTIMED or (jobs is None and number < 2 * _PAYS):
        return 1
    if jobs is not None:
        return max(1, min(jobs, number))
    from olmc.integrations.fleet.pool import default_jobs  # few commands have so many paths

    return default_jobs(number // _PAYS)


def do_each(
    work: Work[T], order: Any, inputs: Sequence[Any], jobs: int, take: Callable[[int, T], object],
    doing: Callable[[str], None], timings: Timings = UNTIMED,
) -> None:  # fmt: skip
    """Do some work with each input, which has a `root`, in `jobs` processes.

    `take` gets the number of an input and its result, in any order. If an exception stops a worker's task, this process
    repeats it, so that it ends as with one process.

    Ends the command if a worker dies, as the same input could end this process, too.
    """
    if jobs == 1:
        for number, one in enumerate(inputs):
            doing(f"compiling {one.root}")
            take(number, work(order, one, timings))
        return
    from olmc.integrations.fleet.pool import result_in, run_each  # most runs have one path

    done = 0
    doing(f"compiling {len(inputs)} paths")
    with closing(run_each(work, order, inputs, jobs)) as ends:
        for end in ends:
            one = inputs[end.number]
            if end.result is None:
                say(f"error: {one.root}: {end.problem}, so nothing is printed or written.")
                say("  It may need more memory than there is for all; run again with --jobs 1.")
                raise SystemExit(BAD_INPUT)
            done += 1
            doing(f"compiled {done} of {len(inputs)} paths")
            take(end.number, result_in(end.result) if end.result else work(order, one, timings))
