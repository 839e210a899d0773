"""--jobs: what several processes print is what one prints, and what becomes of a worker is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from commands import BROKEN, olmc
from processes import PATIENCE, started, wait_until

from olmc.cli.console import BAD_INPUT, UNTIMED, Input, Timings
from olmc.cli.jobs import do_each, jobs_of
from olmc.integrations.fleet.pool import default_jobs

WORKSPACES = (
    "own-namespace",
    "dependency",
    "upgrade",
    "unresolvable",
    "permissions",
    "bare-csv",
    "fleet",
    "conversion-webhook",
)
COMMANDS = (
    "render",
    "render -v",
    "render -o json",
    "render -o name --include deployments",
    "render --include nonsense",
    "render --for apply",
    "render --for apply --flux --keep-going --certs cert-manager",
    "render --approve here/not-there.v1.0.0 --phase 1",
    "render --include Namespace --exclude Namespace",
    "check",
    "check -o json --all",
    "check -o sarif --select OLMC2",
    "check --statistics --approve here/not-there.v1.0.0",
)


def endings(command: str, *paths: Path | str) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr with one process and with two."""
    runs = [olmc(*command.split(), *paths, "--jobs", jobs) for jobs in ("1", "2")]
    return [(run.exit_code, run.stdout, run.stderr) for run in runs]


@pytest.mark.process
@pytest.mark.parametrize("command", COMMANDS)
def test_two_processes_say_what_one_says(command: str, project: Path) -> None:
    one, two = endings(command, *(project / "fixtures" / name for name in WORKSPACES))
    assert one == two
    assert one[1] or one[2]


@pytest.mark.process
@pytest.mark.parametrize("command", ["render", "check"])
def test_one_that_is_broken_among_others(command: str, project: Path, tmp_path: Path) -> None:
    for name, text in BROKEN.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    fixtures = project / "fixtures"
    one, two = endings(command, fixtures / "upgrade", tmp_path, fixtures / "own-namespace")
    assert one == two
    assert one[0] == BAD_INPUT
    assert "b.yaml:1:4" in one[1] + one[2]
    assert command == "check" or one[1] == ""


def same_bytes(command: str, paths: Sequence[Path]) -> bytes:
    """What the command prints for many paths, with two processes as with one."""
    line = [sys.executable, "-m", "olmc", *command.split(), *map(os.fspath, paths)]
    one, two = (subprocess.run([*line, "--jobs", jobs], capture_output=True, check=False) for jobs in "12")
    # Megabytes, whose difference pytest would look for till tomorrow.
    are_same = (one.returncode, one.stdout, one.stderr) == (two.returncode, two.stdout, two.stderr)
    assert are_same, command
    return one.stdout


@pytest.mark.process
def test_all_fixtures(project: Path) -> None:
    """Those that can't be compiled keep all others from being printed, so they are rendered by themselves."""
    folders = [path for path in sorted((project / "fixtures").iterdir()) if path.is_dir()]
    assert same_bytes("check -o json", folders)
    sound = [path for path in folders if olmc("render", "--keep-going", path).exit_code != BAD_INPUT]
    assert len(sound) > len(folders) // 2
    assert same_bytes("render --keep-going", sound).count(b"\nkind: ClusterServiceVersion\n") >= len(sound) // 2
    same_bytes("render --keep-going", [path for path in folders if path not in sound])


def test_conformance_inputs(shared: Path) -> None:
    roots = sorted((shared / "conformance" / "cases").rglob("input"))
    assert same_bytes("render --keep-going", roots).count(b"\nkind: ClusterServiceVersion\n") >= len(roots) // 2


@pytest.mark.parametrize("command", ["render", "check -o json"])
def test_the_corpus(command: str, corpus: list[Path]) -> None:
    """Each bundle goes through one of the commands: both hand their work to the same processes."""
    bundles = sorted(corpus)[command == "render" :: 2]
    printed = same_bytes(command, bundles)
    assert command != "render" or printed.count(b"\nkind: ClusterServiceVersion\n") >= len(bundles)


@pytest.mark.process
def test_a_statement_does_not_say_how_many(project: Path, tmp_path: Path) -> None:
    """It says what came of what, which is the same."""
    paths = [project / "fixtures" / name for name in WORKSPACES[:3]]
    for jobs in ("1", "2"):
        assert olmc("render", *paths, "--jobs", jobs, "--provenance", tmp_path / jobs).exit_code in (0, 1)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_where_it_pays() -> None:
    """Few paths, and what only this process has, are for one process."""
    few, many = [Input(Path("a"))] * 15, [Input(Path("a"))] * 4000
    assert jobs_of(None, few, UNTIMED) == 1
    assert jobs_of(None, many, UNTIMED) == default_jobs(500)
    assert jobs_of(3, few, UNTIMED) == 3
    assert jobs_of(30, few, UNTIMED) == 15
    assert jobs_of(3, few, UNTIMED, alone=True) == 1
    assert jobs_of(3, [*few, Input(Path("a"), is_staged=True)], UNTIMED) == 1
    assert jobs_of(None, many, Timings(*UNTIMED[:2], print)) == 1


def test_times_are_of_one_process(project: Path) -> None:
    paths = [project / "fixtures" / name for name in WORKSPACES[:2]]
    done = olmc("render", *paths, "--jobs", "2", "--timings")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--jobs 1" in done.stderr
    assert olmc("render", *paths, "--jobs", "1", "--timings").exit_code in (0, 1)


def name_of(order: str, one: Input, timings: Timings = UNTIMED) -> str:
    """A task: the process that does it, and its path."""
    assert timings is UNTIMED
    return f"{order}{os.getpid()} {one.root.name}"


def fail(_order: Any, one: Input, _timings: Timings = UNTIMED) -> str:
    """A task that raises."""
    raise ValueError(one.root.name)


def die(_order: Any, one: Input, _timings: Timings = UNTIMED) -> str:
    """A task that ends as one does for which there is no memory."""
    if one.root.name == "b":
        os.kill(os.getpid(), signal.SIGKILL)
    return one.root.name


def wait(order: Path, one: Input, _timings: Timings = UNTIMED) -> None:
    """A task that says who does it, and does not end."""
    (order / one.root.name).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(600)


INPUTS = [Input(Path(name)) for name in "abcdefgh"]


@pytest.mark.process
def test_workers_are_other_processes_and_no_more_than_asked_for() -> None:
    taken: dict[int, str] = {}
    do_each(name_of, "by ", INPUTS, 2, taken.__setitem__, lambda _: None)
    assert [taken[number].split()[2] for number in range(len(INPUTS))] == list("abcdefgh")
    workers = {text.split()[1] for text in taken.values()}
    assert len(workers) <= 2
    assert str(os.getpid()) not in workers


@pytest.mark.process
def test_an_exception_is_that_of_one_process() -> None:
    for jobs in (1, 2):
        with pytest.raises(ValueError, match=r"^[ab]$"):
            do_each(fail, None, INPUTS[:2], jobs, lambda *_: None, lambda _: None)


@pytest.mark.process
def test_a_worker_that_is_killed_ends_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        do_each(die, None, INPUTS[:3], 2, lambda *_: None, lambda _: None)
    assert end.value.code == BAD_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: b: its worker was ended by signal 9, so nothing is printed or written.\n")
    assert "--jobs 1" in told.err


def is_running(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_is_left(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C ends the workers; of a process that is killed they find out once they have done what they do."""
    code = """
import sys
from pathlib import Path
from test_jobs import INPUTS, do_each, quick, wait
do_each(wait if sys.argv[2] == "2" else quick, Path(sys.argv[1]), INPUTS, 2, print, lambda _: None)
"""
    task = "2" if number is signal.SIGINT else "9"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code, tmp_path, task]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as run:
        wait_until(lambda: all((tmp_path / name).is_file() and (tmp_path / name).read_text() for name in "ab"))
        workers = [int((tmp_path / name).read_text(encoding="utf-8")) for name in "ab"]
        run.send_signal(number)
        out, _ = run.communicate(timeout=PATIENCE)
    assert out == b""
    wait_until(lambda: not any(map(is_running, workers)))


def quick(order: Path, one: Input, _timings: Timings = UNTIMED) -> None:
    """A task that says who does it, and ends by itself."""
    (order / one.root.name).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(2)


@pytest.mark.process
def test_a_folder_that_one_stands_in_is_not_imported(project: Path, tmp_path: Path) -> None:
    """Workers read a workspace and run none of it, as this process."""
    (tmp_path / "pickle.py").write_text("raise SystemExit('run by a worker')", encoding="utf-8")
    paths = [project / "fixtures" / name for name in WORKSPACES[:2]]
    code = "import sys; sys.path[0] = sys.argv.pop(1); from olmc.__main__ import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, os.fspath(project), "render", *paths, "--jobs", "2", "-o", "name"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout == olmc("render", *paths, "-o", "name").stdout
