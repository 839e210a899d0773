"""Running the commands of a test in a process that tells what they did."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from olmc.cli.main import main

PROJECT = Path(__file__).resolve().parents[2]

# Everything that only looks; w is a workspace, v what it is compared with, both in a repository.
READING = tuple(
    command.split()
    for command in """
    render w
    render w -o json --for apply --keep-going --certs cert-manager
    render w --olm-version 0.17.0 -o name
    check w --all --optional all
    check w -o sarif
    check w -o github --since HEAD
    diff v w
    diff v w -o html
    diff git:HEAD w -o json
    diff git:HEAD w -o markdown --for apply
    plan w --from v
    plan w
    plan w -o html
    status w -o wide
    status w -o prometheus
    why Deployment/harbour/tide-controller w
    rbac w
    rbac w -o json
    resolve w -o json
    graph tide w -o svg
    graph tide w -o json
    get installed -A -C w
    get packagemanifests -A -C w -o yaml
    import w/cluster.yaml
    migrate w --to descoped --dry-run
    migrate w --to v2alpha1 --dry-run
    migrate w --to olm-v1 --dry-run
    migrate w --to olm-v1 --steps
    explain OLMC301
    version
    """.strip().splitlines()
)


BYTECODE = {key: os.environ[key] for key in ("PYTHONPYCACHEPREFIX",) if key in os.environ}
"""Where the modules of olmc lie compiled: without them each process compiles all that it imports."""


class Outcome(NamedTuple):
    """What a command came to: exit code, all that it printed, and what it asked the system for."""

    code: int
    output: str
    events: tuple[tuple[str, ...], ...]


def run(
    commands: Sequence[Sequence[str]], folder: Path, *, python: str = sys.executable, umask: int = -1,
    environment: Mapping[str, str] | None = None, **request: Any,
) -> list[Outcome]:  # fmt: skip
    """What each command comes to, in a process of its own with `environment` besides this one's."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OLMC_", "LC_", "LANG"))}
    path = (
        os.pathsep.join(filter(None, (str(PROJECT), kept.get("PYTHONPATH")))) if python == sys.executable else PROJECT
    )
    given = {**kept, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
    done = subprocess.run(
        [python, str(Path(__file__).with_name("watched.py"))], cwd=folder, env=given, umask=umask, check=False,
        input=json.dumps({"commands": list(map(list, commands)), **request}), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    return [Outcome(one["code"], one["output"], tuple(map(tuple, one["events"]))) for one in answers]


def run_here(command: Sequence[str], folder: Path) -> Outcome:
    """What a command comes to in this process, which asks the system for nothing that the test looks at."""
    with contextlib.chdir(folder):
        result = CliRunner().invoke(main, list(command))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.output, ())


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder by path, but for what git keeps for itself."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
