"""What the tests of pipelines share: olmc as a process of its own, tools that may be missing, workspaces to copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
FIXTURES = PROJECT / "fixtures"
SCRIPTS = Path(sys.executable).parent

Object = dict[str, Any]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of this process without olmc's own variables, `olmc` on its path, and some more."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OLMC_", "ARGOCD_", "KUBE_"))}
    return {**kept, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}", **(extra or {})}


def run(
    command: Sequence[str | Path], cwd: Path, *, stdin: str = "", extra: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command run to its end."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment(extra),
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def tool(name: str) -> str:
    """The path of a program; the test is skipped where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}, which is not installed")
    return found


def copied(name: str, target: Path) -> Path:
    """A copy of a fixture."""
    return Path(shutil.copytree(FIXTURES / name, target))


def stream(text: str) -> list[Object]:
    """The objects of a YAML stream."""
    return [document for document in yaml.safe_load_all(text) if document is not None]


def name_of(obj: Object) -> str:
    """`Kind/namespace/name`."""
    metadata = obj["metadata"]
    return "/".join(part for part in (obj["kind"], metadata.get("namespace"), metadata["name"]) if part)
