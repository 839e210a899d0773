"""Fleets on a real Dask cluster: a scheduler and three workers on the loopback interface."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from fleets import Fleet, FleetRun, compiled, fake_kustomize, make_kustomization

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
        """Wait until the scheduler knows so many workers."""
        wanted = (
            "import sys; from distributed import Client\n"
            "with Client(sys.argv[1], timeout=60) as client: client.wait_for_workers(int(sys.argv[2]), timeout=60)"
        )
        command = [sys.executable, "-c", wanted, self.address, str(count)]
        subprocess.run(command, env=self.environment, check=True, capture_output=True, timeout=120)


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
        for name in ("scheduler", "worker-1", "worker-2", "worker-3"):
            cluster.start(name)
        cluster.wait_for_workers(3)
        yield cluster
    finally:
        for name in list(cluster.processes):
            cluster.kill(name)


def _started(fleet: Fleet, dask: DaskCluster, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        fleet.command(*PLAN, "--scheduler", dask.address, *more), cwd=fleet.root, env=dask.environment,
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


def test_the_same_bytes_as_with_one_process(fleet: Fleet, dask: DaskCluster) -> None:
    """Whoever does the tasks, and also where a worker is killed while the work goes on."""
    here = fleet.run(*PLAN, "--jobs", "1", "--no-cache")
    there = fleet.run(*PLAN, "--scheduler", dask.address, "--no-cache")
    assert (there.code, there.out, compiled(there)) == (here.code, here.out, 4), there.told


def test_a_worker_that_is_killed_costs_its_tasks_only(fleet: Fleet, dask: DaskCluster) -> None:
    """SIGKILL for the worker that is busy: another one does its task; the report is whole."""
    for number in range(12):  # each with a name of its own, so that none is like another
        shutil.copytree(fleet.cluster("kiel"), fleet.cluster(f"more-{number}"))
        with (fleet.cluster(f"more-{number}") / "cluster.yaml").open("a") as stream:
            stream.write(f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: more-{number}}}\n")
    run = _started(fleet, dask)
    _wait_until_kept(fleet, 3, run)
    dask.kill("worker-1")
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
    """A scheduler that goes, or that begins anew, ends the run with what to do; the next run goes on where it was."""
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
