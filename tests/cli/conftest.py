"""Fixtures for the commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ELSEWHERE = ("GITHUB_WORKSPACE", "OPERATOR_BUNDLE_CATEGORIES", "NO_COLOR", "FORCE_COLOR")


@pytest.fixture(autouse=True)
def inside_fixtures(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in messages are then the same everywhere; options come from the command line alone."""
    monkeypatch.chdir(project / "fixtures")
    for name in os.environ:
        if (name.startswith("OLMC_") and name != "OLMC_SHARED") or name in _ELSEWHERE:
            monkeypatch.delenv(name)
