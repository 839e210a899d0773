"""docs/installed.md: every command of it gives what the page shows, in one session of a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from registry_servers import free_port
from serve_processes import needs_kubectl
from shown_pages import is_as_shown, shown

pytestmark = pytest.mark.process

PORT = "5443"
MARK = "=== end of the command ==="


@needs_kubectl
def test_the_page_shows_what_happens(project: Path, tmp_path: Path) -> None:
    """With another port, for nobody knows who else uses that of the page."""
    commands = shown("docs/installed.md")
    assert len(commands) >= 25
    shutil.copytree(project / "fixtures" / "installed", tmp_path / "fixtures" / "installed")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "olmc").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m olmc "$@"\n', encoding="utf-8")
    (tmp_path / "bin" / "olmc").chmod(0o755)
    port = str(free_port())
    script = ["exec 2>&1", "trap 'kill $(jobs -p)' EXIT"]
    for command, _ in commands:
        script += [re.sub(rf"--port {PORT}\b", f"--port {port}", command), f"echo '{MARK}'"]
    environment = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash"], input="\n".join(script), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    outputs = done.stdout.split(f"{MARK}\n")
    assert len(outputs) == len(commands) + 1, done.stdout[-2000:]
    for (command, output), got in zip(commands, outputs, strict=False):
        assert is_as_shown(output, got), f"$ {command}\n{got}"
