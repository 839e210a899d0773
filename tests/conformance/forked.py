"""Run a comparison of the shared data with olmc in copies of this process, which imports it once.

    forked.py SCRIPT ARGUMENT ...

SCRIPT starts olmc with `subprocess.run`, by itself or through one of the scripts beside this one. Each start becomes a
fork, which runs the command line as `python -m olmc` does. Most starts of Python take longer than their work.
"""

from __future__ import annotations

import math
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from as_release import with_release
from click.testing import CliRunner
from from_observed import with_observed
from unordered import ordered_output

from olmc.__main__ import run
from olmc.cli.main import main as command_line

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
IMPORTING = (
    ("upgrade",),
    ("transitions/approval-changed/after", "--from", str(FIXTURES / "transitions/approval-changed/before")),
    ("olmv1/extension",),
)
"""Renderings of fixtures that import nearly all that a rendering imports."""


def run_in_copy(command: Sequence[str], *, timeout: float | None = None, text: bool = False, **_: Any) -> Any:
    """Do as `subprocess.run` with captured output does, in a fork."""
    words = list(map(str, command))
    script = Path(words[1]).name if words[0] == sys.executable else ""
    arguments = words[{"": 1, "as_release.py": 4}.get(script, 3) :]
    if script == "as_release.py":
        arguments = with_release(words[2], arguments)
    elif script == "from_observed.py":
        arguments = list(with_observed(arguments))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as told:
        sys.stdout.flush()
        sys.stderr.flush()
        if not (process := os.fork()):
            _run_olmc(arguments, timeout, out.fileno(), told.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(words, timeout or 0.0)
        out.seek(0)
        told.seek(0)
        printed, said = out.read(), told.read()
    printed = ordered_output(printed) if script == "unordered.py" else printed
    found = (printed.decode(), said.decode()) if text else (printed, said)
    return subprocess.CompletedProcess(words, status, *found)


def _run_olmc(arguments: Sequence[str], timeout: float | None, out: int, told: int) -> NoReturn:
    """Run the command line in this process, which is a copy and ends here."""
    os.dup2(out, 1)
    os.dup2(told, 2)
    if timeout is not None:
        signal.alarm(math.ceil(timeout))
    sys.argv = ["olmc", *arguments]
    code: object = 70
    try:
        run()
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0)


def main() -> None:
    for path, *rest in IMPORTING:
        CliRunner().invoke(command_line, ["render", str(FIXTURES / path), *rest, "--for", "review", "-o", "json"])
    subprocess.run = run_in_copy  # type: ignore[assignment]
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
