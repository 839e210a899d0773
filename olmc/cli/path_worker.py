"""What a worker of `--jobs` does: work with a path, whose result goes back as bytes."""

from __future__ import annotations

import pickle

from olmc.cli.console import UNTIMED
from olmc.integrations.fleet.pool import serve_tasks


def do_task(task: bytes) -> bytes:
    """The result of some work with a path; b"" if it raises, which the process that asks finds out by itself."""
    work, order, one = pickle.loads(task)
    try:
        return pickle.dumps(work(order, one, UNTIMED))
    except Exception:
        return b""


if __name__ == "__main__":
    serve_tasks(do_task)
