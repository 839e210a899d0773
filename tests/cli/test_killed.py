"""A process that is killed leaves nothing half: what it wrote is whole, and the next run brings the rest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from building import write_workspace

pytestmark = pytest.mark.process

NAMESPACES = 300


def files_in(folder: Path) -> dict[str, bytes]:
    """What others see in a folder: names with a dot in front are not whole yet."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.mark.parametrize("enough", [1, 60, 250])
def test_a_directory_is_never_half_written(enough: int, tmp_path: Path) -> None:
    names = [f"team-{number:03}" for number in range(NAMESPACES)]
    case = {"namespaces": dict.fromkeys(names), "groups": {"ns/og": []}, "operators": ["a.v1.0.0"]}
    write_workspace(tmp_path / "workspace", case)
    command = [sys.executable, "-m", "olmc", "render", os.fspath(tmp_path / "workspace"), "--output-dir"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, whole], check=True, capture_output=True)
    expected = files_in(whole)
    assert len(expected) > NAMESPACES
    with subprocess.Popen([*command, killed], stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (killed.is_dir() and len(files_in(killed)) >= enough):
            pass
        process.send_signal(signal.SIGKILL)
    seen = files_in(killed)
    assert len(seen) >= enough
    assert seen.items() <= expected.items()
    subprocess.run([*command, killed], check=True, capture_output=True)
    assert files_in(killed) == expected
