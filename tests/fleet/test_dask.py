"""Fleets on a real Dask cluster: a scheduler and two workers on the loopback interface, three where workers die."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from fleets import Fleet, FleetRun, compiled, fake_kustomize, make_kustomization
from processes import wait_until

pytestmark = pytest.mark.process

pytest.importorskip("distributed")

PLAN = ("plan", "clusters/*", "--from", "git:HEAD", "-o", "json")


class DaskCluster(NamedTuple):
    """A scheduler, its address, and its workers."""

    address: str
    folder: Path
    environment: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]]

    def start(self, name: str) -> None:
        """Start the scheduler, or a worker."""
        port = self.address.rpartition(":")[2]
        arguments = {
            "scheduler": ["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"],
        }.get(name, ["worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--local-directory",
                     os.fspath(self.folder / name), "--host", "127.0.0.1"])  # fmt: skip
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{arguments[0]}", *arguments[1:]], env=self.environment,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def wait_for_workers(self, count: int) -> None:
        """Wait until the scheduler knows so many workers, as its log says."""
        log = self.folder / "scheduler.log"
        wait_until(lambda: log.read_text(encoding="utf-8").count("Register worker") >= count)


@pytest.fixture
def dask(tmp_path: Path, fleet: Fleet) -> Iterator[DaskCluster]:
    """A cluster whose kustomize is the one for tests."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path / "dask"
    folder.mkdir()
    environment = fleet.environment(fake_kustomize(tmp_path))
    cluster = DaskCluster(f"tcp://127.0.0.1:{port}", folder, environment, {})
    try:
        for name in ("scheduler", "worker-1", "worker-2"):
            cluster.start(name)
        cluster.wait_for_workers(2)
        yield cluster
    finally:
        for name in list(cluster.processes):
            cluster.kill(name)


class TcpProxy:
    """A port that leads to another one, until it is cut: closed, or open and silent."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ends: list[socket.socket] = []
        self._is_open = True
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._ends.append(near)
                if self._is_open:
                    far = socket.create_connection(("127.0.0.1", self._port))
                    self._ends.append(far)
                    for source, target in ((near, far), (far, near)):
                        threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if self._is_open:
                    target.sendall(data)
            if self._is_open:
                target.shutdown(socket.SHUT_WR)

    def cut(self, *, is_silent: bool = False) -> None:
        self._is_open = False
        for end in () if is_silent else (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _started(fleet: Fleet, dask: DaskCluster, address: str = "", **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        fleet.command(*PLAN, "--scheduler", address or dask.address), cwd=fleet.root,
        env={**dask.environment, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _ended(run: subprocess.Popen[str]) -> FleetRun:
    out, told = run.communicate(timeout=200)
    return FleetRun(run.returncode, out, told)


def _wait_until_kept(fleet: Fleet, count: int, run: subprocess.Popen[str]) -> None:
    """Wait until so many results are in the cache."""
    deadline = time.monotonic() + 120
    while len([path for path in (fleet.cache / "olmc").glob("??/*") if not path.name.startswith("partial")]) < count:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _end_tools(dask: DaskCluster, run: subprocess.Popen[str]) -> None:
    """End the tools that would keep a worker busy for the whole time that a task has, until a run ends."""
    begun = Path(dask.environment["PATH"].partition(os.pathsep)[0], "begun")
    while run.poll() is None:
        for path in begun.iterdir():
            with suppress(ProcessLookupError):
                os.kill(int(path.name), signal.SIGKILL)
            path.unlink()
        time.sleep(0.2)


def test_the_same_bytes_as_with_one_process(fleet: Fleet, dask: DaskCluster) -> None:
    """Whoever does the tasks, and also where a worker is killed while the work goes on."""
    here = fleet.run(*PLAN, "--jobs", "1", "--no-cache")
    there = fleet.run(*PLAN, "--scheduler", dask.address, "--no-cache")
    assert (there.code, there.out, compiled(there)) == (here.code, here.out, 4), there.told


@pytest.mark.parametrize("killed", [1, 3], ids=["one", "all"])
def test_a_worker_that_is_killed_costs_its_tasks_only(fleet: Fleet, dask: DaskCluster, killed: int) -> None:
    """SIGKILL for the worker that is busy, or for one after the other: others do their tasks; the report is whole."""
    for number in range(12):  # each with a name of its own, so that none is like another
        shutil.copytree(fleet.cluster("kiel"), fleet.cluster(f"more-{number}"))
        with (fleet.cluster(f"more-{number}") / "cluster.yaml").open("a") as stream:
            stream.write(f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: more-{number}}}\n")
    dask.start("worker-3")
    dask.wait_for_workers(3)
    run = _started(fleet, dask)
    _wait_until_kept(fleet, 3, run)
    if killed == 3:
        dask.start("worker-4")  # has nothing yet of what all others had
    for number in range(1, killed + 1):
        dask.kill(f"worker-{number}")
    there = _ended(run)
    here = fleet.run(*PLAN, "--jobs", "2", "--no-cache")
    assert (there.code, there.out) == (here.code, here.out), there.told


def test_what_takes_too_long_is_stopped_there(fleet: Fleet, dask: DaskCluster) -> None:
    """--entry-timeout counts on every machine, and what is stopped is one outcome among others."""
    make_kustomization(fleet, "kiel", "slow")
    done = fleet.run(*PLAN, "--scheduler", dask.address, "--entry-timeout", "6", "--no-cache")
    assert done.code == 3
    assert "took longer than 6 s and was stopped" in done.out
    assert '"total": 12' in done.out


@pytest.mark.parametrize("again", [False, True], ids=["lost", "restarted"])
def test_without_its_scheduler_it_ends_with_a_clear_error(fleet: Fleet, dask: DaskCluster, again: bool) -> None:
    """A scheduler that goes, or that begins again, ends the run with what to do; the next run goes on where it was."""
    make_kustomization(fleet, "kiel", "slow")
    run = _started(fleet, dask)
    _wait_until_kept(fleet, 4, run)
    dask.kill("scheduler")
    if again:
        dask.start("scheduler")
    there = _ended(run)
    assert (there.code, there.out) == (3, "")
    assert f"the connection to the scheduler at {dask.address} was lost; 4 of 5 tasks were done" in there.told
    assert "Traceback" not in there.told
    (fleet.cluster("kiel") / "slow").unlink()
    rest = fleet.run(*PLAN, path=dask.environment["PATH"].partition(os.pathsep)[0])
    assert compiled(rest) == 1


@pytest.mark.parametrize(
    ("is_silent", "problem"), [(False, "was lost"), (True, "does not answer any more")], ids=["closed", "silent"]
)
def test_a_connection_that_is_cut_ends_with_a_clear_error(
    fleet: Fleet, dask: DaskCluster, is_silent: bool, problem: str
) -> None:
    """The scheduler goes on, the way to it is gone: what was done is kept, nothing is printed, a new run ends it."""
    make_kustomization(fleet, "kiel", "slow")
    proxy = TcpProxy(int(dask.address.rpartition(":")[2]))
    run = _started(fleet, dask, proxy.address, DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP="15s")
    _wait_until_kept(fleet, 4, run)
    proxy.cut(is_silent=is_silent)
    there = _ended(run)
    proxy.cut()
    assert (there.code, there.out) == (3, "")
    assert problem in there.told
    assert "4 of 5 tasks were done, and what is done is kept" in there.told
    assert "Traceback" not in there.told
    (fleet.cluster("kiel") / "slow").unlink()
    again = _started(fleet, dask)
    _end_tools(dask, again)
    rest = _ended(again)
    assert (rest.code, compiled(rest)) == (1, 1)
    assert rest.out == fleet.run(*PLAN, "--no-cache", path=dask.environment["PATH"].partition(os.pathsep)[0]).out
