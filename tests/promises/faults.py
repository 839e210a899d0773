"""Runs a command of olmc again and again, each time with a fault at the next moment at which it changes a file.

    python faults.py < REQUEST > ANSWER

A request (JSON) has the `command`, the folder to start with (`before`), a folder for the copies that it runs in
(`work`), and the `kind` of the fault: SIGKILL, an errno (from then on everything fails with it; of a full disk only
what takes room), or FSIZE, where files can't get larger than so many bytes. The answer is a list of
`[step, status, output]`; each copy is WORK/step. The last one is the first that the fault did not reach, FSIZE aside.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from watched import event_of

_SIZES = (0, 1, 200, 600, 1500, 4096, 20_000)


def main() -> None:
    request = json.load(sys.stdin)
    import_all(request)
    json.dump(list(steps(request)), sys.stdout)


def import_all(request: dict[str, Any]) -> None:
    """Run the command once without a fault, so that none of the forks has to import anything."""
    from click.testing import CliRunner

    from olmc.cli.main import main as olmc

    folder = Path(request["work"], "importing")
    shutil.copytree(request["before"], folder, symlinks=True)
    place = Path.cwd()
    os.chdir(folder)
    CliRunner().invoke(olmc, request["command"])
    os.chdir(place)


def steps(request: dict[str, Any]) -> Iterator[tuple[int, int, str]]:
    # The first changes one by one; of hundreds of files the later ones are alike.
    numbers = (*range(1, 12), *(int(12 * 1.35**power) for power in range(20)))
    for step in _SIZES if request["kind"] == "FSIZE" else numbers:
        folder = Path(request["work"], str(step))
        shutil.copytree(request["before"], folder, symlinks=True)
        log = Path(request["work"], f"{step}.log")
        process = os.fork()
        if process == 0:
            with log.open("wb") as stream:
                os.dup2(stream.fileno(), 1)
                os.dup2(stream.fileno(), 2)
            os.chdir(folder)
            os._exit(run(request["command"], request["kind"], step))
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        yield step, status, log.read_text(errors="replace")
        if request["kind"] != "FSIZE" and not Path(f"{folder}.reached").exists():
            return


def run(command: list[str], kind: str, step: int) -> int:
    """The exit code of a command with a fault; whether that was reached is left as a file beside its folder."""
    from olmc.__main__ import exit_code

    if kind == "FSIZE":
        resource.setrlimit(resource.RLIMIT_FSIZE, (step, step))
    else:
        inject(kind, step, Path(f"{Path.cwd()}.reached"))
    sys.argv = ["olmc", *command]
    try:
        code = exit_code()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException as error:
        print(f"Traceback: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        code = 70
    try:
        sys.stdout.flush()
    except OSError:
        code = code or 3
    return code


def inject(kind: str, step: int, reached: Path) -> None:
    """Have the step-th change of a file fail; that it came to this is told by the file `reached`."""
    count, is_marking = 0, False

    def hook(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count, is_marking
        gives_room = name in ("os.remove", "os.rmdir", "shutil.rmtree")
        event = event_of(name, arguments)
        if is_marking or event is None or event[0] != "change" or event[1] == os.devnull:
            return
        if kind == "ENOSPC" and gives_room:
            return
        count += 1
        if count == step:
            is_marking = True
            reached.touch()
            is_marking = False
        if count >= step:
            if kind == "SIGKILL":
                os.kill(os.getpid(), signal.SIGKILL)
            code = getattr(errno, kind)
            raise OSError(code, os.strerror(code), event[1])

    sys.addaudithook(hook)


if __name__ == "__main__":
    main()
