"""The output of commands on stderr: diagnostics, progress, and its color."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from olmc.compiler.output.messages import ESCAPED, SHOWN_FROM, advice_from, as_text, clean, register, seen_from
from olmc.k8s.diagnostics import Diagnostic, Severity, did_you_mean
from olmc.k8s.lean import NamedTuple, regex

if TYPE_CHECKING:
    from collections.abc import Callable

    from olmc.compiler.api import Compilation
    from olmc.compiler.load.releases import Release
    from olmc.compiler.load.repository import ClusterPart
    from olmc.compiler.load.request import Beside, CompileRequest
    from olmc.compiler.model.cluster import Cluster
    from olmc.compiler.model.options import Options

# The common parts of a process of the command line: exit codes, inputs, and streams that depend on no locale.

DONE = 0
FINDINGS = 1  # an operator would fail, or a check differs
USAGE = 2  # wrong usage; click's own
BAD_INPUT = 3  # input that can't be compiled
INTERRUPTED = 130  # Ctrl-C; as shells count what SIGINT ended
UNREAD = 141  # the reader of the output is closed; shells count SIGPIPE like this


STREAM = "-"
"""The PATH that stands for stdin."""


def is_single(path: Path) -> bool:
    """Return whether a path is a file or a stream."""
    return str(path) == STREAM or path.is_file() or path.is_fifo()


class Input(NamedTuple):
    """What is compiled at once: a directory, and another one whose files count as well, if there are any.

    `is_staged`: the directory is not the user's, but made of what there is of files and streams. `release`: how the
    directory is installed, which is a Helm chart then. `part`: what is compiled of a repository at the directory.
    """

    root: Path
    beside: Beside | None = None
    is_staged: bool = False
    release: Release | None = None
    part: ClusterPart | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether it is a folder of the user's with nothing beside it."""
        return self.beside is None and self.release is None and self.part is None and not self.is_staged

    def request(self, options: Options, fixed: frozenset[str], stage: Callable[[str], object] = str) -> CompileRequest:
        """Return the request to compile it."""
        from olmc.compiler.load.request import CompileRequest  # `olmc version` compiles nothing

        return CompileRequest(
            self.root, options, fixed, beside=self.beside, release=self.release, stage=stage, part=self.part
        )


def wrong_usage(message: str, *, of_value: bool = False, hint: str | None = None) -> NoReturn:
    """End the command with what click says of wrong usage, or of the value of an option."""
    import click  # with how the command is used; few runs get here

    raise click.BadParameter(message, param_hint=hint) if of_value else click.UsageError(message)


def bad_value(message: str, hint: str | None = None) -> NoReturn:
    """End the command as `wrong_usage`, about the value of an option, that of `hint` if there is one."""
    wrong_usage(message, of_value=True, hint=hint)


def interrupted() -> NoReturn:
    """End as programs end by Ctrl-C: by the signal itself, so that a loop of the shell ends as well."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)
    raise SystemExit(INTERRUPTED)  # where a signal does not end a process


def prepare() -> None:
    """Make all three streams and their contents independent of the locale and the system.

    Open missing streams in this order, so that each gets its own number and a file that is written later does not take
    it: an empty stdin, a stdout that rejects output, and a stderr that discards it.
    """
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    register()
    for stream, newline in ((sys.stdout, "\n"), (sys.stderr, None)):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=ESCAPED, newline=newline)


def give_up(stream: TextIO) -> None:
    """Forget what is left in a stream that can't be written: Python would try once more at its end, and complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


_ESCAPE = regex(r"\033\[[0-?]*[ -/]*[@-~]")


def say(text: str, *, nl: bool = True, out: bool = False) -> None:
    """Print a text on stderr, or stdout, as click.echo does: at once, and in color where color is."""
    stream = sys.stdout if out else sys.stderr
    text = f"{text}\n" if nl else text
    if text and "\x1b" in text:
        color = _chosen_color()
        text = text if color or (color is None and stream.isatty()) else _ESCAPE.sub("", text)
    stream.write(text)
    stream.flush()


_LEAST = 16
"""The number of characters of a name that stay in a table for a narrow terminal."""
_COLUMN = regex(r"(?:^|(?<=  ))\S")


def fitted(lines: Sequence[str], columns: int) -> list[str]:
    """Return the lines of a table with shorter names in its first two columns, as far as its rows need it to fit.

    The columns behind them, such as PHASE, matter more than the end of a name. Indented lines are no rows.
    """
    plain = [_ESCAPE.sub("", line) for line in lines]
    starts = [match.start() for match in _COLUMN.finditer(plain[0])] if plain else []
    excess = max((len(line) for line in plain if not line.startswith("    ")), default=0) - columns
    if len(starts) < 3 or excess <= 0:
        return list(lines)
    first, second = (starts[at + 1] - starts[at] - 2 for at in (0, 1))
    while excess > 0 and max(first, second) > _LEAST:
        first, second = (first - 1, second) if first >= second else (first, second - 1)
        excess -= 1

    def shorter(line: str) -> str:
        names = (line[starts[0] : starts[1]].rstrip(), line[starts[1] : starts[2]].rstrip())
        cells = (
            f"{name[: width - 1]}…" if len(name) > width else name.ljust(width)
            for name, width in zip(names, (first, second), strict=True)
        )
        return f"{'  '.join(cells)}  {line[starts[2] :]}"

    ends = (starts[1] - 2, starts[2] - 2)
    return [
        shorter(line if line.startswith(bare[: starts[2]]) else bare)
        if all(bare[end : end + 2] == "  " for end in ends) and not bare.startswith("    ") else line
        for line, bare in zip(lines, plain, strict=True)
    ]  # fmt: skip


def say_table(text: str, *, wide: bool) -> None:
    """Print a table on stdout. On a terminal its lines end where the terminal does, unless it is asked for wide: what
    follows a line that went on would be read as another row."""
    if not wide and sys.stdout.isatty():
        from shutil import get_terminal_size

        columns = get_terminal_size().columns
        given = text.splitlines()
        lines = fitted(given, columns)
        # An indented line belongs to the row above, and continues in the next line of the terminal.
        wide_rows = {line for line in lines if len(_ESCAPE.sub("", line)) > columns and not line.startswith("    ")}
        if wide_rows or lines != given:
            text = "".join(
                f"{_ESCAPE.sub('', line)[: columns - 1]}…\n" if line in wide_rows else f"{line}\n" for line in lines
            )
            say(text, nl=False, out=True)
            say("olmc: cut to the width of the terminal; -o wide has all of it")
            return
    say(text, nl=False, out=True)


def _chosen_color() -> bool | None:
    """Return the value of --color, which only click reads, else that of the environment; None for the terminal's
    default."""
    click = sys.modules.get("click")
    ctx = click.get_current_context(silent=True) if click is not None else None
    return ctx.color if ctx is not None else color_from_environment()


def color_from_environment() -> bool | None:
    """Return the value of NO_COLOR and FORCE_COLOR; None for the terminal's default."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


class Timings(NamedTuple):
    """The listener for stages, compiled folders and written bytes: `--timings`."""

    stage: Callable[[str], object]
    compiled: Callable[[Path, Compilation], object]
    written: Callable[[int], object]


UNTIMED = Timings(lambda _: None, lambda _, __: None, lambda _: None)
"""Timings that are not used."""

PATIENCE = 0.7
"""Seconds before anything is shown: most work is done by then."""

_EVERY = 0.2
_AT_ONCE = 256 * 1024
"""Bytes that are worth a call of the system."""

_ERASE = "\r\x1b[K"


def folder_from_here(root: Path | None) -> str:
    """The folder of a workspace as the user names it: "" for the current directory and for what is no folder of the
    user's (None); what was given as an absolute path stays one, so that it reads the same wherever one stands."""
    if root is None:
        return ""
    there = root.as_posix() if root.is_absolute() else Path(os.path.relpath(root)).as_posix()
    return "" if there == os.curdir else there


def folder_for_others(root: Path | None) -> str:
    """The same for pages and comments that others read: of a folder that is not below the current one only its name,
    since the others need not know the folders of its author."""
    there = folder_from_here(root)
    return Path(os.path.realpath(there)).name if there.startswith("..") or Path(there).is_absolute() else there


def folder_of_patch(root: Path) -> str:
    """The folder of a workspace in a patch that is applied where the user stands; "" also for one that is not below."""
    there = Path(os.path.relpath(root)).as_posix()
    return "" if there == os.curdir or there.startswith("..") else there


def tell(diagnostics: Iterable[Diagnostic], root: Path | None = None, *, least: Severity = SHOWN_FROM) -> None:
    """Print diagnostics on stderr, in color on a terminal, and in a line what is left aside and not among them.

    `root` is the workspace that their places are relative to, None where they are relative to where the user stands.
    """
    say(diagnostics_text(diagnostics, root, least), nl=False)


def diagnostics_text(diagnostics: Iterable[Diagnostic], root: Path | None, least: Severity) -> str:
    """Return the text that `tell` prints."""
    listed = list(seen_from(folder_from_here(root), diagnostics))
    # Findings that leave an operator unknown appear among failures: a reader has to know them as well.
    shown = [each for each in listed if each.severity >= least or (each.is_open and least <= Severity.FAILURE)]
    return as_text(shown, least=Severity.INFO, color=True) + _aside(listed, least, folder_from_here(root))


def tell_aside(diagnostics: Iterable[Diagnostic], folder: str, *, least: Severity) -> None:
    """Say on stderr how much is left aside as no input, of which `least` shows nothing by itself."""
    say(_aside(diagnostics, least, folder), nl=False)


def _aside(diagnostics: Iterable[Diagnostic], least: Severity, folder: str) -> str:
    remarks = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.INFO < least]
    if not remarks:
        return ""
    from olmc.compiler.rules.findings.workspace import aside

    line = aside(remarks)
    check = advice_from(folder, "`olmc check --all`").strip("`")
    return f"olmc: left aside: {line} ({check} lists them)\n" if line else ""


def tell_approvals(approve: Sequence[str], clusters: Iterable[Cluster]) -> None:
    """Say on stderr which approvals approve nothing, and what was probably meant."""
    tell_unknown(approve, (name for cluster in clusters for name in approvals_in(cluster)) if approve else ())


def approvals_in(cluster: Cluster) -> tuple[str, ...]:
    """Return the plans that can be approved in a cluster."""
    from olmc.compiler.reconcile.misspelling import approvable  # most runs approve nothing

    return tuple(approvable(cluster))


def tell_unknown(approve: Sequence[str], approvals: Iterable[str]) -> None:
    """Say on stderr which approvals approve none of what can be approved."""
    if not approve:
        return
    from olmc.compiler.reconcile.misspelling import unknown_approvals

    for name, meant in unknown_approvals(approve, approvals):
        hint = did_you_mean(meant)
        say(clean(f"olmc: --approve {name}: there is no such InstallPlan. {hint}".rstrip()))


def write_parts(parts: Iterable[bytes]) -> int:
    """Write a text in UTF-8 to stdout, of which little is held a second time; how many bytes it has."""
    sys.stdout.flush()
    total, waiting, size = 0, list[bytes](), 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= _AT_ONCE:
            total += _write_whole(b"".join(waiting))
            waiting, size = [], 0
    return total + _write_whole(b"".join(waiting))


def _write_whole(text: bytes) -> int:
    """Write some bytes to stdout, also where it is not buffered (PYTHONUNBUFFERED) and takes a part of them, as a disk
    does that is going to be full."""
    # And not writelines, which click's test runner does not see.
    left = memoryview(text)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    return len(text)


@contextmanager
def writing(*paths: Path) -> Iterator[None]:
    """Say what could not be written if it can't, and end the command."""
    try:
        yield
    except OSError as error:
        where = error.filename if error.filename in map(os.fspath, paths) else ", ".join(map(os.fspath, paths))
        say(f"error: {where} can't be written: {error.strerror or error}")
        raise SystemExit(BAD_INPUT) from error


@contextmanager
def progress(stream: TextIO | None = None, *, patience: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Say on a terminal what is being done and for how long, until it is done; anything else hears nothing.

    Gives a function that takes what is being done from now on.
    """
    out = stream if stream is not None else sys.stderr
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _: None
        return
    import threading  # for terminals, which most runs have none of

    doing, done = [""], threading.Event()

    def shown() -> None:
        begin = time.monotonic()
        wait = patience
        printed = False
        while not done.wait(wait):
            wait = _EVERY
            if not doing[0]:
                continue
            printed = True
            out.write(f"{_ERASE}olmc: {doing[0]} … {time.monotonic() - begin:.0f} s")
            out.flush()
        if printed:
            out.write(_ERASE)
            out.flush()

    thread = threading.Thread(target=shown, daemon=True)
    thread.start()
    try:
        yield lambda text: doing.__setitem__(0, text)
    finally:
        done.set()
        thread.join()
