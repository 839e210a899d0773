"""`olmc serve` as a process of its own, and kubectl beside it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
ADDRESS = re.compile(r"on (https?)://([0-9a-z.:\[\]]+):([0-9]+), read-only")
PATIENCE = 30.0
"""Seconds to wait for what takes no time, unless the machine has a lot to do."""


@dataclass
class Served:
    """A server that runs: its process, what it says, its port, and the kubeconfig that leads to it."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int
    kubeconfig: Path

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def stop(self) -> int:
        """End it as a service manager would; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kubectl(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["kubectl", *arguments], env=self.environment, input=given, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        """kubectl keeps what it has discovered in the home folder: a new one for each server."""
        return {"PATH": os.environ["PATH"], "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.kubeconfig.parent)}


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, but not for ever."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.02)


@contextmanager
def serving(workspace: Path, folder: Path, *options: str) -> Iterator[Served]:
    """A server of a workspace on a free port; its files are in `folder`."""
    log, kubeconfig = folder / "log", folder / "kubeconfig"
    command = [sys.executable, "-m", "olmc", "serve", str(workspace), "--port", "0", "--kubeconfig", str(kubeconfig)]
    with log.open("wb") as stream:
        process = subprocess.Popen([*command, *options], stderr=stream, stdout=subprocess.DEVNULL)
    try:
        until(lambda: process.poll() is not None or ADDRESS.search(log.read_text(encoding="utf-8")) is not None)
        found = ADDRESS.search(log.read_text(encoding="utf-8"))
        assert found is not None, log.read_text(encoding="utf-8")
        yield Served(process, log, int(found[3]), kubeconfig)
    finally:
        process.kill()
        process.wait()
