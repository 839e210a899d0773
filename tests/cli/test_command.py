"""The command as a whole: as a module, its version, its help."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from commands import olmc

from olmc.version import __version__


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`python -m olmc` as a process of its own."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OLMC_RENDER")}
    command = [sys.executable, "-m", "olmc", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_python_m_olmc(project: Path, tmp_path: Path) -> None:
    fixtures = project / "fixtures"
    done = run("render", str(fixtures / "own-namespace"), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == olmc("render", "own-namespace").stdout
    assert run("render", "unsupported-mode", cwd=fixtures).returncode == 1
    assert run("render", "--nope", cwd=tmp_path).returncode == 2
    assert run("render", "nothing-here", cwd=tmp_path).returncode == 3


def test_the_version_says_what_it_runs_on() -> None:
    lines = olmc("version").stdout.splitlines()
    assert lines[0] == f"olmc {__version__}"
    assert lines[1] == "OLM v0.46.0"
    assert lines[2].startswith("OLM v1: operator-controller ")
    assert lines[3] == "Python " + ".".join(str(part) for part in sys.version_info[:3])
    assert lines[4].startswith(f"ruamel.yaml {version('ruamel.yaml')} (C reader ")


@pytest.mark.parametrize("command", [[], ["render"], ["resolve"], ["version"]])
def test_help_says_what_a_command_does(command: list[str]) -> None:
    for flag in ("-h", "--help"):
        result = olmc(*command, flag)
        assert result.exit_code == 0
        assert result.stdout.startswith("Usage: ")
        assert all(len(line) <= 110 for line in result.stdout.splitlines())


def test_a_command_that_does_not_exist() -> None:
    result = olmc("rendre")
    assert result.exit_code == 2
    assert "No such command 'rendre'" in result.stderr
