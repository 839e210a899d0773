"""`bench/serve.py`, for ten seconds instead of five minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_two_hundred_clients_and_fifty_watches(project: Path) -> None:
    """No request fails, every watch hears of every change, and the memory does not run away."""
    olmc = f"{sys.executable} -m olmc"
    command = [sys.executable, "bench/serve.py", "--seconds", "10", "--clients", "200", "--watches", "50"]
    done = subprocess.run([*command, "--olmc", olmc], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": ok\n") == 4
