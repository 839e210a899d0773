"""Processes that tests start: they hear Ctrl-C, and none of them outlives its test."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

PATIENCE = 120.0
"""Seconds to wait for what takes no time, unless the machine has a lot to do."""


def hear_interrupts() -> None:
    """Have a process hear Ctrl-C: a shell starts what runs in its background with interrupts ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def started(command: Sequence[Any], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process that hears Ctrl-C, and kill it at the end if it still runs."""
    with subprocess.Popen(command, preexec_fn=hear_interrupts, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until something holds, but not for ever."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.02)
