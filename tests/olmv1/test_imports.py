"""A run that has nothing of OLM v1 imports nothing of it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from shown_pages import PROJECT

SITE = "{tmp_path}/site"
COMMANDS = (
    "render fixtures/own-namespace/bundles/beacon-1.0.0 -n tools -o name",
    "render fixtures/review-upgrade/after -o name",
    "check fixtures/review-upgrade/after",
    "status fixtures/review-upgrade/after",
    "resolve fixtures/review-upgrade/after",
    "diff fixtures/review-upgrade/before fixtures/review-upgrade/after",
    "plan fixtures/review-upgrade/after --from fixtures/review-upgrade/before",
    "rbac fixtures/review-upgrade/after",
    "why lantern fixtures/review-upgrade/after",
    "graph lantern fixtures/review-upgrade/after",
    "vendor fixtures/review-upgrade/after --check",
    f"report fixtures/review-upgrade/after -o {SITE}",
)


def imported(command: str) -> str:
    """The modules of OLM v1 that a command imports, as a process of its own."""
    arguments = [sys.executable, "-X", "importtime", "-m", "olmc", *command.split()]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=PROJECT)
    lines = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert len(lines) > 20
    return " ".join(name for name in lines if name.startswith("olmc.targets.v1"))


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_it_is_imported(command: str, tmp_path: object) -> None:
    assert imported(command.replace("{tmp_path}", str(tmp_path))) == ""


def test_what_has_some_of_it_imports_it() -> None:
    assert "olmc.targets.v1.extensions" in imported("status fixtures/olmv1/extension")
