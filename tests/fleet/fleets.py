"""Fleets for tests: the fixture in a git repository of its own, and the command with an empty cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import forks

CLUSTERS = 12


class FleetRun(NamedTuple):
    """What a command has printed, and its exit code."""

    code: int
    out: str
    told: str


class Fleet(NamedTuple):
    """A repository, and the folder for the cache of its runs."""

    root: Path
    cache: Path

    def run(self, *arguments: str, stdin: str = "", path: str = "", beside: bool = True) -> FleetRun:
        _, _, _, *words = self.command(*arguments, beside=beside)
        environment = self.environment(path)
        if any(name.startswith("OLMC_LIMIT_") for name in environment):  # olmc reads some limits while it starts
            command = [sys.executable, "-m", "olmc", *words]
            started = subprocess.run(
                command, cwd=self.root, env=environment, input=stdin, timeout=300, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            return FleetRun(started.returncode, started.stdout, started.stderr)
        done = forks.run_text(words, cwd=self.root, env=environment, stdin=stdin, timeout=300)
        return FleetRun(done.returncode, done.stdout, done.stderr)

    def command(self, *arguments: str, beside: bool = True) -> list[str]:
        more = ["--beside", "operators"] if beside else []
        return [sys.executable, "-m", "olmc", "fleet", *arguments, *more]

    def environment(self, path: str = "") -> dict[str, str]:
        place = Path(__file__).resolve().parent.parent.parent
        return {
            **os.environ, "XDG_CACHE_HOME": os.fspath(self.cache), "PYTHONPATH": os.fspath(place), "NO_COLOR": "1",
            "OLMC_NO_CACHE": "",
            "PATH": f"{path}{os.pathsep}{os.environ['PATH']}" if path else os.environ["PATH"],
        }  # fmt: skip

    def cluster(self, name: str) -> Path:
        return self.root / "clusters" / name

    def commit(self) -> None:
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "state")


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=tests", "-c", "user.email=tests@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


def fleet_at(place: Path, fixture: Path) -> Fleet:
    """The fixture as a repository: what is committed is the state before, in the work tree is the one after."""
    root = place / "repository"
    shutil.copytree(fixture / "before", root)
    git(place, "init", "-q", os.fspath(root))
    fleet = Fleet(root, place / "cache")
    fleet.commit()
    shutil.copytree(fixture / "after", root, dirs_exist_ok=True)
    return fleet


def compiled(run: FleetRun) -> int:
    """How many tasks a run has compiled, as it says itself."""
    return int(run.told.rpartition("cache, ")[2].partition(" compiled")[0].replace(",", ""))


TOOL = """#!{python}
import os, signal, sys, time
folder = sys.argv[-1]
slow = [name for name in ("slow", "killed-while-slow") if os.path.exists(folder + "/" + name)]
if slow:
    begun = os.path.join(os.path.dirname(sys.argv[0]), "begun")
    os.makedirs(begun, exist_ok=True)
    open(os.path.join(begun, str(os.getpid())), "w").close()
    if slow == ["killed-while-slow"]:
        os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
if os.path.exists(folder + "/deadly"):
    os.kill(os.getppid(), signal.SIGKILL)
for name in sorted(os.listdir(folder)):
    if name.endswith("rs.yaml") or name.endswith("er.yaml"):
        print("---")
        print(open(folder + "/" + name).read())
"""


def fake_kustomize(place: Path) -> str:
    """A folder with a kustomize that prints the files of a folder, does not end where there is a file `slow`, kills
    whoever calls it where there is a file `deadly`, and does both where there is one `killed-while-slow`. Of those that
    do not end, the folder `begun` has the numbers of their processes."""
    folder = place / "tools"
    folder.mkdir()
    tool = folder / "kustomize"
    tool.write_text(TOOL.format(python=sys.executable))
    tool.chmod(0o755)
    return os.fspath(folder)


def make_kustomization(fleet: Fleet, name: str, mark: str = "") -> None:
    """Have a cluster built by kustomize, which does as a mark says."""
    files = ("cluster.yaml", "operators.yaml")
    (fleet.cluster(name) / "kustomization.yaml").write_text(f"resources: [{', '.join(files)}]\n")
    if mark:
        (fleet.cluster(name) / mark).touch()
