"""A cluster that is wrong, slow or deadly is an outcome of its own, and all others are done."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from building import pigeonhole
from fleets import CLUSTERS, Fleet, compiled, fake_kustomize, make_kustomization
from processes import PATIENCE, started, wait_until

from olmc.cli.fleet_worker import run_task
from olmc.integrations.fleet.outputs import unpacked
from olmc.integrations.fleet.run import task_bytes
from olmc.integrations.fleet.trees import WorkerFolders

pytestmark = pytest.mark.process

BROKEN = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nspec: [\n"
PLAN = ("plan", "clusters/*", "--from", "git:HEAD")


def _errors(out: str) -> dict[str, str]:
    """The clusters that could not be compiled, and why."""
    outcomes = json.loads(out)["outcomes"]
    return {
        name: f"{one['headline']} {one['problem']['problem']}"
        for one in outcomes for name in one["clusters"] if one["severity"] == "error"
    }  # fmt: skip


def test_what_is_wrong_is_named_and_the_rest_is_done(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty clusters: broken YAML, a file of a gigabyte, a tool that never ends, one that kills its worker, and a
    resolution that has no end."""
    tools = fake_kustomize(tmp_path)
    for number in range(20 - CLUSTERS):
        shutil.copytree(fleet.cluster("kiel"), fleet.cluster(f"new-{number}"))
    (fleet.cluster("new-0") / "operators.yaml").write_text(BROKEN)
    with (fleet.cluster("new-1") / "operators.yaml").open("wb") as stream:
        stream.truncate(1 << 30)
    make_kustomization(fleet, "new-2", "slow")
    make_kustomization(fleet, "new-3", "deadly")
    shutil.rmtree(fleet.cluster("new-4"))
    pigeonhole(fleet.cluster("new-4"), 10, 9)
    monkeypatch.setenv("OLMC_LIMIT_CONFLICTS", "1000")
    done = fleet.run(*PLAN, "-o", "json", "--entry-timeout", "8", "--jobs", "2", path=tools)
    errors = _errors(done.out)
    assert done.code == 3
    assert errors.keys() == {f"clusters/new-{number}" for number in range(5)}
    assert "operators.yaml" in errors["clusters/new-0"]
    assert "256" in errors["clusters/new-1"] or "268,435,456" in errors["clusters/new-1"]
    assert "took longer than 8 s" in errors["clusters/new-2"]
    assert "signal 9" in errors["clusters/new-3"]
    assert "OLMC504" in errors["clusters/new-4"]
    assert "1,000 conflicts" in errors["clusters/new-4"]
    counts = [one["count"] for one in json.loads(done.out)["outcomes"] if one["severity"] != "error"]
    assert sum(counts) == 15


def test_a_tool_goes_with_its_worker(fleet: Fleet, tmp_path: Path) -> None:
    """What a worker has started ends with it: when it is stopped for its time, and when somebody kills it."""
    tools = fake_kustomize(tmp_path)
    make_kustomization(fleet, "kiel", "slow")
    make_kustomization(fleet, "hull", "killed-while-slow")
    done = fleet.run(*PLAN, "-o", "json", "--entry-timeout", "8", "--jobs", "1", path=tools)
    errors = _errors(done.out)
    assert "took longer than 8 s" in errors["clusters/kiel"]
    assert "signal 9" in errors["clusters/hull"]
    begun = [int(path.name) for path in (tmp_path / "tools" / "begun").iterdir()]
    assert len(begun) == 2
    assert not set(begun) & _processes().keys()


def test_what_failed_is_tried_again(fleet: Fleet, tmp_path: Path) -> None:
    """That a worker died, or a cluster took too long, is kept in no cache."""
    tools = fake_kustomize(tmp_path)
    make_kustomization(fleet, "kiel", "deadly")
    assert "clusters/kiel" in _errors(fleet.run(*PLAN, "-o", "json", path=tools).out)
    again = fleet.run(*PLAN, "-o", "json", path=tools)
    assert ("clusters/kiel" in _errors(again.out), compiled(again)) == (True, 1)


def test_what_no_input_brings_about_is_not_kept(fleet: Fleet, tmp_path: Path) -> None:
    """A worker whose disk is full, say, gives a result of this run alone; what is wrong with an entry is kept."""
    folders = WorkerFolders(tmp_path / "blobs", tmp_path / "not-there" / "deeper")
    (tmp_path / "not-there").write_text("a file in the place of the folder")
    task = task_bytes("status", entry="kiel", options={}, given=[], after=[])
    result = unpacked(run_task(task, folders, {}))
    assert result is not None
    assert (result["gravity"], result["passing"]) == ("error", True)
    (fleet.cluster("kiel") / "operators.yaml").write_text(BROKEN)
    first = fleet.run(*PLAN, "-o", "json", "--jobs", "1")
    assert _errors(first.out).keys() == {"clusters/kiel"}, first
    again = fleet.run(*PLAN, "-o", "json", "--jobs", "1")
    assert compiled(again) == 0


def kept(folder: Path) -> int:
    """How many results are in the cache."""
    return len([path for path in folder.glob("??/*") if not path.name.startswith("partial")])


def test_after_ctrl_c_it_goes_on(fleet: Fleet, tmp_path: Path) -> None:
    """What was done before is not done again, no worker is left, and the report is the one of an undisturbed run."""
    tools = fake_kustomize(tmp_path)
    make_kustomization(fleet, "kiel", "slow")
    command = fleet.command(*PLAN, "-o", "json", "--jobs", "2")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    folder = fleet.cache / "olmc"
    with started(command, cwd=fleet.root, env=fleet.environment(tools), **pipes) as run:
        wait_until(lambda: kept(folder) >= 4 or run.poll() is not None)
        run.send_signal(signal.SIGINT)
        out, told = run.communicate(timeout=PATIENCE)
    assert run.returncode in (-signal.SIGINT, 130), told
    assert out == b""
    (fleet.cluster("kiel") / "slow").unlink()
    again = fleet.run(*PLAN, "-o", "json", path=tools)
    assert compiled(again) == 1
    assert again.out == fleet.run(*PLAN, "-o", "json", "--no-cache", path=tools).out


def test_no_worker_outlives_who_started_it(fleet: Fleet) -> None:
    """SIGKILL for the command: its workers find out by themselves."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    workers: list[int] = []
    with started(fleet.command(*PLAN, "--no-cache"), cwd=fleet.root, env=fleet.environment(), **quiet) as run:
        while not workers and run.poll() is None:
            workers = [pid for pid, parent in _processes().items() if parent == run.pid]
        run.kill()
    assert workers
    wait_until(lambda: not any(pid in _processes() for pid in workers))


def _processes() -> dict[int, int]:
    """The processes that run, each with its parent."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            found[int(status.parent.name)] = int(fields[1])
    return found


def test_what_is_no_file_is_not_waited_for(fleet: Fleet) -> None:
    os.mkfifo(fleet.cluster("hull") / "pipe.yaml")
    assert fleet.run(*PLAN).code == 1


@contextmanager
def folders_without_end(folder: Path, depth: int) -> Iterator[None]:
    """Make a chain of folders, and remove it again: pytest's own clean-up would exceed Python's recursion limit."""
    inner = os.open(folder, os.O_RDONLY)
    for _ in range(depth):  # a name of all of them together is longer than the system takes
        os.mkdir("d", dir_fd=inner)
        below = os.open("d", os.O_RDONLY, dir_fd=inner)
        os.close(inner)
        inner = below
    os.close(os.open("a.yaml", os.O_WRONLY | os.O_CREAT, dir_fd=inner))
    os.close(inner)
    try:
        yield
    finally:
        outer = folder / "d"
        while (outer / "d").exists():
            (outer / "d").rename(folder / "rest")
            outer.rmdir()
            (folder / "rest").rename(outer)
        (outer / "a.yaml").unlink()
        outer.rmdir()


@pytest.mark.parametrize("depth", [150, 1500])
def test_folders_without_end_are_named(fleet: Fleet, depth: int) -> None:
    with folders_without_end(fleet.cluster("hull"), depth):
        done = fleet.run(*PLAN, "-o", "json")
    worst = json.loads(done.out)["outcomes"][0]
    assert (done.code, worst["headline"], worst["clusters"]) == (
        3, "can't be compiled (OLMC124)", ["clusters/hull"],
    )  # fmt: skip
    assert "OLMC_LIMIT_DEPTH" in worst["text"]
