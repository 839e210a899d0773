"""The tasks of a fleet on a Dask cluster: its scheduler says who does what, and does again what a dead worker had.

Contents that several tasks need go to the workers once, in packs; what only one task needs goes along with it. A pack
is a task by itself, so that the scheduler can make it again where the only worker that had it died.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask
from dask.utils import parse_timedelta
from distributed import Client, WorkerPlugin, as_completed, get_worker

from olmc.integrations.fleet.pool import LEAVES, TaskEnd, Worker, fleet_worker
from olmc.integrations.fleet.trees import put_blob
from olmc.version import __version__

_CONNECT = 15
_PATIENCE = 60
"""Seconds that a cluster may be without any worker before that is an error."""

_POLL, _ASK = 0.1, 3.0
"""After how many seconds it is looked for results, and the scheduler is asked whether it has workers."""

_PACK = 8 * 1024 * 1024
_PLUGIN = "olmc-fleet"
_LOST = "the connection to the scheduler at {} was lost"
_KILLED = "each worker that had it died"


class SchedulerError(Exception):
    """The scheduler can't be reached, or the connection to it was lost; the message says what to do."""


class FleetPlugin(WorkerPlugin):
    """The resources of a Dask worker for tasks: a folder with contents, and processes of its own, one for each
    thread."""

    name = _PLUGIN
    idempotent = True

    def setup(self, worker: Any) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="olmc-fleet-", dir=worker.local_directory))
        self.blobs = self.folder / "blobs"
        self.blobs.mkdir()
        self.idle: list[Worker] = []
        self.started = 0

    def teardown(self, worker: Any) -> None:  # noqa: ARG002
        for process in self.idle:
            process.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def done(self, task: bytes, seconds: float) -> TaskEnd:
        """Return how a task ended whose contents are there."""
        try:
            process = self.idle.pop()  # atomic: threads ask at the same time
        except IndexError:
            self.started += 1
            folder = self.folder / f"worker-{self.started}-{time.monotonic_ns()}"
            process = Worker(fleet_worker(folder, self.blobs))
        end = process.do(task, seconds)
        if end.result is None or end.result.startswith(LEAVES):
            process.end()
        else:
            self.idle.append(process)
        return end


def work(task: bytes, own: Mapping[str, bytes], packs: Sequence[Mapping[str, bytes]], seconds: float) -> TaskEnd:
    """Do a task on a Dask worker, with the contents that it needs."""
    plugin: Any = get_worker().plugins[_PLUGIN]
    for pack in (own, *packs):
        for digest, content in pack.items():
            put_blob(plugin.blobs, digest, content)
    end: TaskEnd = plugin.done(task, seconds)
    return end


def run_on_dask(address: str, seconds: float, tasks: Sequence[bytes], blobs: Path, folder: Path) -> Iterator[TaskEnd]:
    """As `olmc.integrations.fleet.pool.run_tasks`, by the scheduler at an address. Raises SchedulerError."""
    del folder  # workers have their own
    logging.disable(logging.CRITICAL)  # what distributed has to say of lost connections is reported here in a line
    try:
        client: Any = Client(  # type: ignore[no-untyped-call]
            address, timeout=_CONNECT, set_as_default=False, name="olmc-fleet"
        )
    except (OSError, ValueError) as error:
        raise SchedulerError(f"no Dask scheduler answers at {address}: {error}") from error
    try:
        _check(client, address)
        client.register_plugin(FleetPlugin(), name=_PLUGIN)
        futures = _submitted(client, tasks, blobs, seconds)
        yield from _ends(client, futures, address)
    finally:
        with suppress(Exception):  # an error of a lost connection has no effect any more
            client.close(timeout=5)


def _check(client: Any, address: str) -> None:
    """Refuse a cluster without workers, and one whose workers have another olmc."""
    try:
        client.wait_for_workers(1, timeout=_CONNECT)
        versions = set(client.run(_version).values())
    except TimeoutError as error:
        raise SchedulerError(f"the scheduler at {address} has no workers") from error
    except Exception as error:
        raise SchedulerError(f"the workers at {address} can't run olmc: {error}") from error
    if versions != {__version__}:
        others = ", ".join(sorted(versions - {__version__}))
        raise SchedulerError(f"the workers at {address} have olmc {others}, here it is {__version__}")


def _as_is(pack: Mapping[str, bytes]) -> Mapping[str, bytes]:
    return pack


def _version() -> str:
    return __version__


def _submitted(client: Any, tasks: Sequence[bytes], blobs: Path, seconds: float) -> dict[Any, int]:
    needs = [_contents(task, blobs) for task in tasks]
    counts = Counter(digest for need in needs for digest in need)
    packs = _packed(sorted(digest for digest, count in counts.items() if count > 1), blobs)
    place = {digest: number for number, pack in enumerate(packs) for digest in pack}
    held = [client.submit(_as_is, pack, pure=False) for pack in packs]
    futures: dict[Any, int] = {}
    for number, (task, need) in enumerate(zip(tasks, needs, strict=True)):
        own = {digest: (blobs / digest).read_bytes() for digest in need if counts[digest] == 1}
        wanted = [held[at] for at in sorted({place[digest] for digest in need if digest in place})]
        futures[client.submit(work, task, own, wanted, seconds, pure=False)] = number
    return futures


def _contents(task: bytes, blobs: Path) -> list[str]:
    values = json.loads(task)
    digests: dict[str, None] = {}
    for name in ("before", "after"):
        digests |= dict.fromkeys(file[2] for file in values.get(name) or () if file[2])
        listed = values.get(f"{name}Beside")
        if listed:
            files = json.loads((blobs / listed).read_bytes())
            digests |= dict.fromkeys([listed, *(file[2] for file in files if file[2])])
    return list(digests)


def _packed(digests: Sequence[str], blobs: Path) -> list[dict[str, bytes]]:
    packs: list[dict[str, bytes]] = [{}]
    size = 0
    for digest in digests:
        content = (blobs / digest).read_bytes()
        if size + len(content) > _PACK and packs[-1]:
            packs.append({})
            size = 0
        packs[-1][digest] = content
        size += len(content)
    return [pack for pack in packs if pack]


def _ends(client: Any, futures: dict[Any, int], address: str) -> Iterator[TaskEnd]:
    with client.as_current():
        waiting: Any = as_completed(list(futures))  # type: ignore[no-untyped-call]
    done, quiet, alone = 0, 0.0, 0.0
    while done < len(futures):
        known = done
        for future in waiting.next_batch(block=False):
            if future.status == "cancelled":
                raise SchedulerError(_LOST.format(address))
            end = _end_of(future, futures[future])
            if end is None:
                waiting.add(future)
                continue
            done += 1
            future.release()
            yield end
        if client.status != "running":
            raise SchedulerError(_LOST.format(address))
        if done > known:
            quiet = alone = 0.0
            continue
        time.sleep(_POLL)
        quiet += _POLL
        if quiet > _ASK:
            quiet = 0.0
            alone = 0.0 if _has_workers(client, address) else alone + _ASK
        if alone > _PATIENCE:
            raise SchedulerError(f"the scheduler at {address} has no workers any more")


def _has_workers(client: Any, address: str) -> bool:
    """Return whether the scheduler has any worker; raises SchedulerError where it does not answer."""
    # Twice what a peer may be silent: a connection that is silent is not closed by anybody if a proxy holds it.
    patience = 2 * parse_timedelta(dask.config.get("distributed.comm.timeouts.tcp"))
    try:
        identity = client.sync(client.scheduler.identity, n_workers=1, callback_timeout=patience)
    except TimeoutError as error:
        raise SchedulerError(f"the scheduler at {address} does not answer any more") from error
    except OSError as error:
        raise SchedulerError(_LOST.format(address)) from error
    return bool(identity["workers"])


def _end_of(future: Any, number: int) -> TaskEnd | None:
    """Return how a task ended, None where that is on a worker that died: the scheduler has it done again."""
    try:
        if future.status == "lost":
            return None
        if future.status == "error":
            error = future.exception(timeout=_CONNECT)
            name = type(error).__name__
            return TaskEnd(number, None, _KILLED if name == "KilledWorker" else f"{name}: {error}")
        end: TaskEnd = future.result(timeout=_CONNECT)
    except (OSError, TimeoutError, CancelledError):
        return None  # what became of it is asked again
    result = end.result[1:] if end.result is not None else None
    return TaskEnd(number, result, end.problem, end.seconds)
