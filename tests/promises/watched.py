"""Runs commands of olmc one after the other in a process of its own, and tells what each printed and asked the system
for.

    python watched.py < REQUEST > ANSWER

Both are JSON. A request has the `commands` and, for what must not matter, a number to `shuffle` the entries of folders
with, and a `clock` that jumps. An answer is a list of what came of each: its exit code, all that it printed, and the
`events` that Python's audit hooks tell of: sockets, programs, and paths that were changed. It runs in any Python that
has what olmc needs, and needs nothing else.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from typing import Any

SOCKETS = (
    "socket.connect",
    "socket.bind",
    "socket.sendto",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.__new__",
)
PROGRAMS = (
    "subprocess.Popen",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
)
CHANGES = (
    "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate",
    "os.utime", "os.setxattr", "shutil.rmtree", "shutil.move", "shutil.copyfile",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def event_of(name: str, arguments: tuple[Any, ...]) -> list[str] | None:
    """What a test wants to know of an event; None for nothing."""
    if name in SOCKETS:
        return ["socket", name]
    if name in PROGRAMS:
        return ["program", arguments[0] if arguments and isinstance(arguments[0], str) else name]
    if name == "open":
        # What is opened as a folder is a file that never has a name.
        writes = not isinstance(arguments[0], int) and arguments[2] & _WRITING and not os.path.isdir(arguments[0])  # noqa: PTH112
        return ["change", os.fsdecode(arguments[0])] if writes else None
    # What is removed by a handle of its folder is below one of which shutil.rmtree has told by its path.
    if name in CHANGES and not (name in ("os.remove", "os.rmdir") and arguments[1] != -1):
        paths = [os.fsdecode(one) for one in arguments[:2] if isinstance(one, (str, bytes, os.PathLike))]
        return ["change", *paths]
    return None


def shuffled_scandir(seed: int) -> Any:
    """os.scandir with its entries in another order, as another file system has them."""
    ordered, rng = os.scandir, random.Random(seed)

    class Entries(list):  # type: ignore[type-arg]
        def __enter__(self) -> Entries:
            return self

        def __exit__(self, *_: object) -> None:
            return None

    def scandir(path: Any = ".") -> Any:
        with ordered(path) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        rng.shuffle(found)
        return Entries(found)

    return scandir


def main() -> None:
    request = json.load(sys.stdin)
    if request.get("shuffle") is not None:
        os.scandir = shuffled_scandir(request["shuffle"])
        listed, rng = os.listdir, random.Random(request["shuffle"])
        os.listdir = lambda path=".": rng.sample(names := listed(path), len(names))  # type: ignore[assignment]
    if request.get("clock"):
        rng = random.Random(1)
        time.time = lambda: rng.uniform(-1e9, 4e9)
    events: list[list[str]] = []
    watching = False

    def hook(name: str, arguments: tuple[Any, ...]) -> None:
        if watching and (event := event_of(name, arguments)) is not None:
            events.append(event)

    sys.addaudithook(hook)
    tempfile.gettempdir()  # Python tries once whether it can write there
    from click.testing import CliRunner

    from olmc.cli.main import main as olmc

    done = []
    for command in request["commands"]:
        events.clear()
        watching = True
        result = CliRunner().invoke(olmc, command)
        watching = False
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        done.append({"code": result.exit_code, "output": result.output, "events": list(events)})
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main()
