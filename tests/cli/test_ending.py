"""How a run ends when it is interrupted, or when what it prints can't be written."""

from __future__ import annotations

import fcntl
import io
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from processes import PATIENCE, started, wait_until

from olmc.cli.console import write_parts

pytestmark = pytest.mark.process

OLMC = (sys.executable, "-m", "olmc")
FULL = Path("/dev/full")
NO_SPACE = "error: the output can't be written: No space left on device\n"
CLOSED = "error: the output can't be written: stdout is closed\n"

# Stops itself by Ctrl-C at the import of a module of olmc, as somebody quick would.
STOPPED_AT = """\
import signal, sys
class Stop:
    def find_spec(self, name, *_):
        if name == module:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Stop())
module = sys.argv[2]
sys.argv = [sys.argv[1], *sys.argv[3:]]
from olmc.__main__ import run
run()
"""


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """What a shell makes of a line in which `olmc` is the command; its own exit code is that of the command."""
    line = command.replace("olmc", " ".join(OLMC))
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


def stopped(command: Sequence[str], given: bytes = b"") -> tuple[int, str]:
    """Exit code and stderr of a process that stops itself by SIGINT, or once it has read what it is given."""
    pipe = subprocess.PIPE
    with started(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        if given:
            assert process.stdin is not None
            descriptor = process.stdin.fileno()
            process.stdin.write(given)
            process.stdin.flush()
            wait_until(lambda: unread(descriptor) == 0)
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
        told = process.communicate(timeout=PATIENCE)[1].decode()
    return process.returncode, told


def unread(pipe: int) -> int:
    """How many bytes of a pipe its reader has not read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.parametrize("argument", ["olmc", "-m", "/usr/local/bin/olmc"])
@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("olmc.cli.running", "version"), ("olmc.cli.reference", "version"), ("olmc.compiler.api", "render x"),
        ("click", "render --nope"), ("olmc.cli.main", "--help"),
        ("olmc.compiler.reconcile.loop", "check own-namespace"), ("typing", "version"), ("contextlib", "version"),
    ],
)  # fmt: skip
def test_ctrl_c_while_modules_are_imported(module: str, command: str, argument: str) -> None:
    """Most of a short run: it ends by the signal, with nothing to read; 1 would mean findings."""
    code, told = stopped([sys.executable, "-c", STOPPED_AT, argument, module, *command.split()])
    assert (code, told.strip()) == (-signal.SIGINT, "")


def test_ctrl_c_while_a_program_imports_olmc() -> None:
    """That is for the program to handle."""
    program = STOPPED_AT.replace("from olmc.__main__ import run\nrun()", "import olmc\nolmc.compile")
    code, told = stopped([sys.executable, "-c", program, "program.py", "olmc.compiler.api"])
    assert code == -signal.SIGINT
    assert told.endswith("KeyboardInterrupt\n")


def test_ctrl_c_while_a_command_works() -> None:
    """olmc fn waits for the rest of its input here."""
    code, told = stopped([*OLMC, "fn"], b"apiVersion: ")
    assert (code, told.strip()) == (-signal.SIGINT, "")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["render own-namespace", "version", "check own-namespace -o json", "--help"])
def test_no_space_for_the_output(command: str) -> None:
    done = shell(f"olmc {command} > {FULL}")
    assert (done.returncode, done.stderr) == (3, NO_SPACE)


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_no_space_for_what_is_said() -> None:
    """The exit code says it still."""
    assert shell(f"olmc render --nope 2> {FULL}").returncode == 2


@pytest.mark.parametrize("command", ["render own-namespace", "version", "check own-namespace", "init github --dry-run"])
def test_a_closed_stdout(command: str) -> None:
    """Not 0, for what there is to say is lost."""
    done = shell(f"olmc {command} >&-")
    assert (done.returncode, done.stderr) == (3, CLOSED)


def test_a_closed_stdout_and_nothing_to_say(tmp_path: Path) -> None:
    done = shell(f"olmc render own-namespace --output-dir {tmp_path / 'out'} >&-")
    assert (done.returncode, done.stderr.count(" new, 0 changed")) == (0, 1)
    assert "stdout" not in (tmp_path / "out" / "namespace_harbour.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "code"), [("check nowhere", 3), ("render --nope", 2), ("version", 0), ("render nowhere >&-", 3)]
)
def test_a_closed_stderr(command: str, code: int) -> None:
    """Nobody is there to read; the exit code is the same."""
    done = shell(f"olmc {command} 2>&-")
    assert (done.returncode, done.stderr) == (code, "")


def test_a_closed_stdin() -> None:
    done = shell("olmc fn <&-")
    assert done.returncode == 3
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("command", ["render own-namespace", "version"])
def test_a_closed_pipe_is_quiet(command: str) -> None:
    """141, as of a program that SIGPIPE ended; 1 would mean findings."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*OLMC, *command.split()], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_what_the_system_refuses_is_no_bug() -> None:
    """Here a link that leads to itself, which no command expects."""
    done = shell("cd $(mktemp -d) && ln -s loop loop && olmc diff loop loop/x")
    assert (done.returncode, done.stdout) == (3, "")
    assert "internal error" not in done.stderr


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/gr\xfcn"
    render, diff = ("render", "own-namespace", "--output-dir", folder), ("diff", "bare-bundle", folder, "-o", "json")
    done = subprocess.run([*OLMC, *render], capture_output=True, check=False)
    assert (done.returncode, rb"gr\xfcn: " in done.stderr) == (0, True)
    done = subprocess.run([*OLMC, *diff], capture_output=True, check=False)
    assert (done.returncode, rb'gr\\xfcn"' in done.stdout) == (0, True)


def test_a_stdout_that_takes_a_part_gets_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one without a buffer (PYTHONUNBUFFERED) does, of a disk that is going to be full."""

    class Unbuffered(io.BytesIO):
        def write(self, text: Any) -> int:
            return super().write(memoryview(text)[:1000])

    written = Unbuffered()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written))
    parts = [bytes([number]) * (number * 300) for number in range(100)]
    assert write_parts(iter(parts)) == len(b"".join(parts)) > 1_000_000
    assert written.getvalue() == b"".join(parts)
