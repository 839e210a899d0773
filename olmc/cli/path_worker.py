"""The workers of `--jobs`: each does some work with a path, whose result goes back as bytes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Sequence
from typing import Any

from olmc.cli.console import UNTIMED
from olmc.integrations.fleet.pool import TaskEnd, run_tasks, serve_tasks


def run_each(work: Callable[..., Any], order: Any, inputs: Sequence[Any], jobs: int) -> Generator[TaskEnd, None, None]:
    """Yield the ends of the work with each input, in any order; workers die when the generator is closed."""
    # Only the own workers read the pickles.
    tasks = [pickle.dumps((work, order, one)) for one in inputs]
    yield from run_tasks(tasks, jobs, float("inf"), lambda _: ("olmc.cli.path_worker",))


def result_in(data: bytes) -> Any:
    """Return the result that a worker sent."""
    return pickle.loads(data)


def do_task(task: bytes) -> bytes:
    """Do some work with a path, and return its result; b"" if it raises: the process that asks does it again."""
    work, order, one = pickle.loads(task)
    try:
        return pickle.dumps(work(order, one, UNTIMED))
    except Exception:
        return b""


if __name__ == "__main__":
    serve_tasks(do_task)
