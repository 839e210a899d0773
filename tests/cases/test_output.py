"""What is printed depends on the input alone, and says where."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from scenarios import write

import olmc

TEXT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: ns}\ndata: {text: Gr\u00fc\u00dfe \u2019}\n"


@pytest.mark.process
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_output_is_utf_8_whatever_the_locale(encoding: str, form: str, tmp_path: Path) -> None:
    """As under LC_ALL=POSIX without coercion, under ISO-8859 locales and on Windows: stdout is written as text."""
    command = [sys.executable, "-m", "olmc", "render", str(write(tmp_path, {"a.yaml": TEXT})), "-o", form]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Gr\u00fc\u00dfe \u2019".encode() in done.stdout


def test_a_step_that_fails_says_where(project: Path, tmp_path: Path) -> None:
    """OLMC310 of a bundle by itself has no place, though the step knows its file."""
    bundle = project / "fixtures/bare-bundle"
    files = {path.relative_to(bundle).as_posix(): path.read_text() for path in bundle.rglob("*") if path.is_file()}
    monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\nspec: {}\n"
    made = olmc.compile(write(tmp_path, files | {"manifests/monitor.yaml": monitor}))
    (found,) = (each for each in made.diagnostics if each.code == "OLMC310")
    assert found.location is not None
    assert found.location.path == "manifests/monitor.yaml"
