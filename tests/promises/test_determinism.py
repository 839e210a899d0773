"""The same input gives the same bytes: whatever the version of Python, the hash seed, time zone, locale, umask,
clock and order of files."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from running import PROJECT, READING, Outcome, run, tree

pytestmark = pytest.mark.process

# What git has to say depends on nothing that is varied here, and starting it takes longer than all the rest.
COMMANDS = [command for command in READING if "version" not in command and not any("git:" in word for word in command)]
WRITING = [["render", "w", "--output-dir", "out"], ["resolve", "w", "--pin"], ["migrate", "w", "--to", "descoped"]]
# Each varies several things at once: where none of them changes a byte, none of them does by itself.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "hash seed, time zone, locale, umask, order of files": {
        "environment": {
            "PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8",
            "PYTHONUTF8": "0",
        },
        "umask": 0o077, "shuffle": 7,
    },
    "another hash seed, no locale, a clock that jumps, another home": {
        "environment": {
            "PYTHONHASHSEED": "4242", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "HOME": "/nowhere",
            "USER": "somebody", "COLUMNS": "20", "XDG_CONFIG_HOME": "/x",
        },
        "clock": True,
    },
}  # fmt: skip


def outcome_of(repository: Path, **variant: Any) -> tuple[list[tuple[int, str]], dict[str, bytes]]:
    """What the commands print in a repository, and what it holds after those that write."""
    done: list[Outcome] = run([*COMMANDS, *WRITING], repository, **variant)
    return [(one.code, one.output) for one in done], tree(repository)


@pytest.fixture(scope="module")
def usual(original: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[tuple[int, str]], dict[str, bytes]]:
    """What comes out in the usual surroundings."""
    copy = tmp_path_factory.mktemp("usual") / "repository"
    shutil.copytree(original, copy)
    return outcome_of(copy, environment={"PYTHONHASHSEED": "0", "TZ": "UTC"})


def check_same(
    original: Path, copy: Path, usual: tuple[list[tuple[int, str]], dict[str, bytes]], **variant: Any
) -> None:
    shutil.copytree(original, copy)
    printed, files = outcome_of(copy, **variant)
    for command, one, other in zip([*COMMANDS, *WRITING], printed, usual[0], strict=True):
        assert one == other, command
    assert files == usual[1]


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_surroundings_change_no_byte(variant: Mapping[str, Any], original: Path, usual: Any, tmp_path: Path) -> None:
    assert sum(len(output) for _, output in usual[0]) > 50_000
    check_same(original, tmp_path / "repository", usual, **variant)


@functools.cache
def other_pythons() -> tuple[Path, ...]:
    """Interpreters of other versions that have what olmc needs: those that OLMC_OTHER_PYTHONS names, and those of the
    system."""
    named = [Path(one) for one in os.environ.get("OLMC_OTHER_PYTHONS", "").split(os.pathsep) if one]
    on_path = [shutil.which(f"python3.{minor}") for minor in range(11, 16)]
    names = [*named, *(Path(one) for one in on_path if one), *sorted(PROJECT.glob(".venv-*/bin/python"))]
    needs = "import sys, click, ruamel.yaml, semver, pysat, jsonschema, jinja2, pathspec; print(sys.version_info[:2])"
    versions: dict[str, Path] = {}
    for name in names:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run([name, "-c", needs], capture_output=True, text=True, check=False, env=environment)
        if done.returncode == 0:
            versions.setdefault(done.stdout.strip(), name)
    versions.pop(str(sys.version_info[:2]), None)
    return tuple(versions.values())


def test_the_version_of_python_changes_no_byte(original: Path, usual: Any, tmp_path: Path) -> None:
    if not other_pythons():
        pytest.skip("needs another Python with what olmc needs (OLMC_OTHER_PYTHONS or .venv-*/; .ci/run makes them)")
    for number, python in enumerate(other_pythons()):
        check_same(original, tmp_path / str(number) / "repository", usual, python=str(python))
