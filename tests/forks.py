"""Runs `olmc` in forks of a process that has imported it, for tests of a command whose start is not the subject.

A start of Python takes longer than most commands. The process starts once for each worker of the tests and forks for
each command. A fork has the working directory, environment, streams and limits that the test gives it. All forks share
the hash seed and the imported modules of that process: a test of either starts Python by itself.

    python forks.py DESCRIPTOR     answers at a socket, for `run`
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

PROJECT = Path(__file__).resolve().parent.parent
FIXTURES = PROJECT / "fixtures"
NO_LIMITS: Mapping[str, int] = MappingProxyType({})
_SIZE = 1 << 17


class Parent(NamedTuple):
    """The process that forks, and the socket at which it answers."""

    process: subprocess.Popen[bytes]
    requests: socket.socket


_parents: list[Parent] = []
_spent: list[float] = []


def seconds_of_forks() -> float:
    """Return the CPU seconds of all forks, which are no children of the tests' process."""
    return sum(_spent)


def run(
    arguments: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b"", timeout: int = 0,
    limits: Mapping[str, int] = NO_LIMITS,
) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    """Run `olmc` as `subprocess.run` runs the installed command, and return its exit code and all that it prints.

    `limits` are those of the system by name (RLIMIT_CPU). Raises subprocess.TimeoutExpired.
    """
    assert not any(name.startswith("OLMC_LIMIT_") for name in env), "some limits are read while olmc is imported"
    words = [os.fspath(each) for each in arguments]
    sys.audit("subprocess.Popen", sys.executable, [sys.executable, "-m", "olmc", *words], os.fspath(cwd), env)
    with contextlib.ExitStack() as stack:
        given, out, told = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        asked = {"words": words, "cwd": os.fspath(cwd), "env": dict(env), "timeout": timeout, "limits": dict(limits)}
        request = json.dumps(asked).encode()
        assert len(request) < _SIZE
        requests = _parent().requests
        socket.send_fds(requests, [request], [given.fileno(), out.fileno(), told.fileno()])
        status, seconds = json.loads(requests.recv(_SIZE))
        _spent.append(seconds)
        if status == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(words, timeout)
        out.seek(0)
        told.seek(0)
        return subprocess.CompletedProcess(words, status, out.read(), told.read())


def run_text(
    arguments: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], stdin: str = "", timeout: int = 0,
    limits: Mapping[str, int] = NO_LIMITS,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run `olmc` as `run` does, with text for bytes."""
    done = run(arguments, cwd=cwd, env=env, stdin=stdin.encode(), timeout=timeout, limits=limits)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _parent() -> Parent:
    """Start the process that forks, once; it ends with the socket, whatever ends the tests."""
    if not _parents:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far:
            process = subprocess.Popen(
                [sys.executable, __file__, str(far.fileno())], pass_fds=[far.fileno()], cwd=PROJECT,
                env={**os.environ, "PYTHONPATH": os.fspath(PROJECT)}, start_new_session=True,
            )  # fmt: skip
        _parents.append(Parent(process, near))
        atexit.register(_end)
        _spent.append(json.loads(near.recv(_SIZE)))
    return _parents[0]


def _end() -> None:
    parent = _parents.pop()
    parent.requests.close()
    parent.process.wait()


def main() -> None:
    """Import all that commands import, then fork for each request."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    sys.path[0] = os.fspath(PROJECT)
    _import_all()
    requests.send(json.dumps(time.process_time()).encode())
    while True:
        request, streams, _, _ = socket.recv_fds(requests, _SIZE, 3)
        if not request:
            return
        if not (process := os.fork()):
            requests.close()
            _run_olmc(json.loads(request), streams)
        for stream in streams:
            os.close(stream)
        _, status, spent = os.wait4(process, 0)
        requests.send(json.dumps([os.waitstatus_to_exitcode(status), spent.ru_utime + spent.ru_stime]).encode())


def _import_all() -> None:
    import importlib

    from click.testing import CliRunner

    from olmc.cli.main import main as command_line
    from olmc.cli.running import REGISTRY

    importlib.import_module("olmc.integrations.lsp.server")
    for entry in REGISTRY.values():
        importlib.import_module(f"olmc.cli.{entry.module}")
    one, transition = str(FIXTURES / "own-namespace"), str(FIXTURES / "transitions" / "approval-changed")
    for words in (
        ["render", one, "--for", "review"],
        ["check", one],
        ["status", one, "-o", "json"],
        ["plan", f"{transition}/after", "--from", f"{transition}/before"],
        ["fleet", "status", one],
    ):
        CliRunner().invoke(command_line, words)


def _run_olmc(request: dict[str, Any], streams: Sequence[int]) -> NoReturn:
    """Run the command line in this process, which is a fork and ends here."""
    code: object = 70
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        time.tzset()
        signal.alarm(request["timeout"])
        for name, limit in request["limits"].items():
            resource.setrlimit(getattr(resource, name), (limit, limit))
        sys.argv = ["olmc", *request["words"]]
        from olmc.__main__ import run as run_olmc

        run_olmc()
    except SystemExit as end:
        code = end.code
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
