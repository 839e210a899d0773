"""A fork prints what a process of its own prints, and ends as it does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import forks
import pytest

pytestmark = pytest.mark.process

SCRIPT = "import sys; sys.argv[0] = 'olmc'; from olmc.__main__ import run; run()"


@pytest.mark.parametrize(
    ("command", "stdin"),
    [
        ("render own-namespace --timings -o name", ""), ("check unsupported-mode", ""), ("render nowhere", ""),
        ("render --nope", ""), ("status port", ""), ("check - -o json", "kind: Namespace\nmetadata: {name: 3}\n"),
    ],
)  # fmt: skip
def test_a_fork_does_as_a_process_does(command: str, stdin: str, project: Path) -> None:
    """With the folder, environment and stdin that it is given."""
    here, environment = project / "fixtures", {**os.environ, "COLUMNS": "40", "OLMC_OUTPUT": "json"}
    alone = subprocess.run(
        [sys.executable, "-c", SCRIPT, *command.split()], cwd=here, env=environment, input=stdin.encode(),
        capture_output=True, check=False,
    )  # fmt: skip
    forked = forks.run(command.split(), cwd=here, env=environment, stdin=stdin.encode())
    if "--timings" in command:
        assert b"read " in forked.stderr
        assert (forked.returncode, forked.stdout) == (alone.returncode, alone.stdout)
    else:
        assert (forked.returncode, forked.stdout, forked.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_limits_of_time_hold(project: Path) -> None:
    """A command that waits is ended, and its CPU time is counted."""
    before = forks.seconds_of_forks()
    with pytest.raises(subprocess.TimeoutExpired):
        forks.run(["serve", ".", "--port", "0"], cwd=project / "fixtures" / "own-namespace", env=os.environ, timeout=2)
    assert forks.seconds_of_forks() > before
