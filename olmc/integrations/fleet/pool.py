"""Workers: processes that do one task after the other. Who takes too long is killed; one that dies costs its task."""

from __future__ import annotations

import gc
import os
import pickle
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from olmc.k8s.lean import NamedTuple

try:
    import resource
except ImportError:  # not on every system
    resource = None  # type: ignore[assignment]

_LENGTH = 8
_POLL = 0.2
WORKER = "olmc.cli.fleet_worker"
FUNCTION_WORKER = "olmc.integrations.fleet.pool"
"""The modules that run as workers: the second one is this module."""
_HELD = 400 * 1024 * 1024
"""The bytes of memory that a worker may use after a task before another one replaces it."""

STAYS, LEAVES = b"+", b"-"
"""The start of an answer: of a worker that takes another task, and of one that has grown too large for that."""


class TaskEnd(NamedTuple):
    """The end of a task: its result, or None and the reason. `seconds`: how long it took."""

    number: int
    result: bytes | None
    problem: str = ""
    seconds: float = 0.0


class Worker:
    """A process, the task that it does, since when, and what it has answered so far."""

    def __init__(self, arguments: Sequence[str]) -> None:
        # -P: a worker must not import a module of the current folder. It has a session of its own, so that the tools
        # which it starts end with it.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment(),
            start_new_session=True,
        )  # fmt: skip
        self.number: int | None = None
        self.since = 0.0
        self.answer = bytearray()

    @property
    def out(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def begin(self, number: int, task: bytes) -> None:
        assert self.process.stdin is not None
        self.number, self.since, self.answer = number, time.monotonic(), bytearray()
        with suppress(OSError):  # one that is dead is found out when its answer is read
            write_frame(self.process.stdin, task)

    def whole_answer(self) -> bytes | None:
        """Return its answer once that is whole."""
        if len(self.answer) < _LENGTH:
            return None
        end = _LENGTH + int.from_bytes(self.answer[:_LENGTH], "big")
        return bytes(self.answer[_LENGTH:end]) if len(self.answer) >= end else None

    def do(self, task: bytes, seconds: float) -> TaskEnd:
        """Do one task and wait for it; the caller ends a worker whose task gave no result."""
        self.begin(0, task)
        with selectors.DefaultSelector() as selector:
            selector.register(self.out, selectors.EVENT_READ)
            while (answer := self.whole_answer()) is None:
                left = seconds - (time.monotonic() - self.since)
                if left < 0:
                    return TaskEnd(0, None, too_long(seconds))
                if selector.select(left):
                    data = os.read(self.out.fileno(), 1 << 20)
                    if not data:
                        self.end()
                        return TaskEnd(0, None, _death(self))
                    self.answer += data
        return TaskEnd(0, answer)

    def end(self) -> None:
        """Kill it with all that it has started."""
        with suppress(OSError):
            os.killpg(self.process.pid, 9) if hasattr(os, "killpg") else self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                stream and stream.close()


def fleet_worker(folder: Path, blobs: Path) -> tuple[str, ...]:
    """The module and the arguments of a worker of a fleet: `blobs` has the contents that its tasks need, and `folder`
    is for its files."""
    return WORKER, os.fspath(blobs), os.fspath(folder)


def run_tasks(
    tasks: Sequence[bytes], jobs: int, seconds: float, worker_at: Callable[[int], Sequence[str]]
) -> Iterator[TaskEnd]:
    """Do the tasks in `jobs` processes, each for so many seconds at most; yield how each ended, as soon as it does.

    `worker_at` gives the module and the arguments of the worker with a number. Ctrl-C or a caller that stops iterating
    ends the workers.
    """
    waiting = deque(enumerate(tasks))
    workers: list[Worker] = []
    selector = selectors.DefaultSelector()

    def started(place: int) -> Worker:
        worker = Worker(worker_at(place))
        selector.register(worker.out, selectors.EVENT_READ, place)
        return worker

    def given(place: int) -> None:
        if waiting:
            workers[place].begin(*waiting.popleft())

    def replaced(place: int) -> None:
        selector.unregister(workers[place].out)
        workers[place].end()
        workers[place] = started(place)
        given(place)

    try:
        for place in range(min(jobs, len(tasks))):
            workers.append(started(place))
            given(place)
        while any(worker.number is not None for worker in workers):
            for key, _ in selector.select(_POLL):
                place = int(key.data)
                worker = workers[place]
                data = os.read(worker.out.fileno(), 1 << 20)
                worker.answer += data
                answer, number = worker.whole_answer(), worker.number
                took = time.monotonic() - worker.since
                if answer is not None and number is not None:
                    worker.number = None
                    if answer.startswith(STAYS):
                        given(place)
                    else:
                        replaced(place)
                    yield TaskEnd(number, answer[1:], seconds=took)
                elif not data:
                    replaced(place)
                    if number is not None:
                        yield TaskEnd(number, None, _death(worker), took)
            for place, worker in enumerate(workers):
                took = time.monotonic() - worker.since
                if worker.number is not None and took > seconds:
                    number = worker.number
                    replaced(place)
                    yield TaskEnd(number, None, too_long(seconds), took)
    finally:
        selector.close()
        for worker in workers:
            worker.end()


def too_long(seconds: float) -> str:
    """Return the text about a task that was stopped."""
    return f"took longer than {seconds:g} s and was stopped"


def _death(worker: Worker) -> str:
    code = worker.process.returncode
    return f"its worker was ended by signal {-code}" if code is not None and code < 0 else f"its worker ended ({code})"


def _environment() -> dict[str, str]:
    """The environment of a worker, which finds olmc where this process has it."""
    here = Path(__file__).resolve().parents[3]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([os.fspath(here), *filter(None, sys.path)])}


def write_frame(stream: IO[bytes], content: bytes) -> None:
    """Write a content with its length before it."""
    stream.write(len(content).to_bytes(_LENGTH, "big"))
    stream.write(content)
    stream.flush()


def read_frames(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the contents of frames until the stream ends."""
    while len(head := stream.read(_LENGTH)) == _LENGTH:
        yield stream.read(int.from_bytes(head, "big"))


def serve_tasks(work: Callable[[bytes], bytes]) -> None:
    """As a worker, do the tasks that come on stdin and write their results to stdout, until stdin ends."""
    # As for every run (olmc.__main__): what a task leaves behind is hardly ever a cycle.
    gc.set_threshold(200_000, 50, 50)
    # Other output must not get among the results.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for task in read_frames(sys.stdin.buffer):
        result = work(task)
        stays = _held() < _HELD
        write_frame(out, (STAYS if stays else LEAVES) + result)
        if not stays:
            return


def _held() -> int:
    """The bytes that this process holds; elsewhere than on Linux the most that it has held."""
    try:
        # The most that was held would count what the process held that started this one.
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        pass
    if resource is None:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def default_jobs(count: int) -> int:
    """Return how many workers pay for so many tasks: all processors that this process may use."""
    affinity: Iterable[int] = (
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    return max(1, min(len(list(affinity)), count))


# Work that is a function of a module. Only the own workers read the pickles.


def run_each(
    work: Callable[..., object], order: object, inputs: Sequence[object], jobs: int
) -> Generator[TaskEnd, None, None]:
    """Yield the ends of `work(order, input)` for each input, in any order; workers die when the generator is closed."""
    tasks = [pickle.dumps((work, order, one)) for one in inputs]
    yield from run_tasks(tasks, jobs, float("inf"), lambda _: (FUNCTION_WORKER,))


def result_in(data: bytes) -> Any:
    """Return the result that a worker sent."""
    return pickle.loads(data)


def do_task(task: bytes) -> bytes:
    """Do some work with an input, and return its result; b"" if it raises: the process that asks does it again."""
    work, order, one = pickle.loads(task)
    try:
        return pickle.dumps(work(order, one))
    except Exception:
        return b""


if __name__ == "__main__":
    serve_tasks(do_task)
