"""The tutorials, run as a user does: each page from its first command to its last, in a shell and an empty folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shown_pages import is_as_shown, shown

pytestmark = pytest.mark.process

PAGES = ("docs/first-upgrade.md", "docs/first-bundle.md")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("page", PAGES)
def test_a_tutorial_works_word_for_word(page: str, tmp_path: Path) -> None:
    """Every command prints what the page shows; `...` stands for any number of lines."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "olmc").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m olmc "$@"\n', encoding="utf-8")
    (programs / "olmc").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OLMC_", "GIT_"))}
    environment = {**kept, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path / "home")}
    folder = tmp_path / "work"
    folder.mkdir()
    for command, output in shown(page):
        word, _, rest = command.partition(" ")
        if word == "cd":
            folder /= rest
            continue
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert is_as_shown(output, done.stdout), f"$ {command}\n{done.stdout}"


def test_the_example_is_the_same_everywhere(tmp_path: Path) -> None:
    """Names and dates are those of the example, so that commits have the same names for everybody."""
    heads = []
    for name in ("one", "two"):
        made = subprocess.run(
            [sys.executable, "-m", "olmc", "init", "example", tmp_path / name],
            check=False,
            env={**os.environ, "TZ": name},
        )
        assert made.returncode == 0
        heads.append((tmp_path / name / ".git" / "refs" / "heads" / "main").read_text(encoding="utf-8"))
    assert heads[0] == heads[1]
    again = subprocess.run([sys.executable, "-m", "olmc", "init", "example", tmp_path / "one"], check=False)
    assert again.returncode == 1
