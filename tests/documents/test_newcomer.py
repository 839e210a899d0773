"""Somebody new: a clean clone, an empty environment, and the README's commands one after the other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shown_pages import is_as_shown, shown

pytestmark = pytest.mark.process

NOT_COMPILED = {"PIP_NO_COMPILE": "1"}
"""Most modules of the libraries are never imported here, and compiling all of them takes a third of the time."""
README_COMMAND = re.compile(r"^    (make demo|\.venv/bin/olmc .*?)\s+#", re.MULTILINE)


@pytest.fixture(scope="module")
def clone(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a clone as they would be committed now, and nothing that a checkout gathers."""
    folder = tmp_path_factory.mktemp("newcomer") / "olmc"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=project, capture_output=True, check=False,
    )  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("this is no clone")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (project / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, folder / name)
    return folder


def as_newcomer(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """What a shell says in the clone, without anything of this environment; olmc is the one of the clone."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "OLMC", "VIRTUAL_ENV", "MAKE", "MFLAGS"))
    }
    path = f"{folder / '.venv' / 'bin'}{os.pathsep}{kept['PATH']}"
    return subprocess.run(
        command, shell=True, cwd=folder, env={**kept, "PATH": path, "PYTHON": sys.executable, **NOT_COMPILED},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip


def test_the_commands_of_the_readme_in_order(clone: Path, project: Path) -> None:
    """`make demo` installs olmc and tells the story; every command then prints what the README shows."""
    text = (project / "README.md").read_text(encoding="utf-8")
    first, *others = README_COMMAND.findall(text)
    assert first == "make demo"
    before = {path.name for path in clone.iterdir()}
    demo = as_newcomer(clone, first)
    if demo.returncode != 0 and re.search("No matching distribution|ConnectionError|Temporary failure", demo.stdout):
        pytest.skip("there is no index of packages to install from")
    assert demo.returncode == 0, demo.stdout
    story = demo.stdout[demo.stdout.index("$ olmc") :]  # behind whatever pip has to say
    assert story.count("\n") <= 40
    for picture in ("build/tide.svg", "build/demo/index.html"):
        assert (clone / picture).stat().st_size > 1000
        assert picture in demo.stdout
    for command in others:
        done = as_newcomer(clone, command)
        assert (done.returncode in (0, 1), done.stdout != "") == (True, True), done.stdout
    for command, output in shown("README.md"):
        done = as_newcomer(clone, command)
        assert is_as_shown(output, done.stdout), f"$ {command}\n{done.stdout}"
    assert {path.name for path in clone.iterdir()} - before <= {".venv", "build"}
