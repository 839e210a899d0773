"""The entry point of the command line, `olmc` and `python -m olmc`."""

from __future__ import annotations

try:
    import atexit
    import errno
    import gc
    import os
    import sys
    from collections.abc import Callable
    from typing import TYPE_CHECKING, NoReturn

    from olmc.cli.console import BAD_INPUT, DONE, UNREAD, give_up, interrupted, prepare
except KeyboardInterrupt:  # Ctrl-C before `run` is there to hear it
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)

if TYPE_CHECKING:
    from olmc.cli.running import Call

# The libraries that an installation may lack, by the names of their modules, with what pip installs.
_LIBRARIES = {
    "cel_expr_python": ("cel-expr-python", "'olmc[cel]'"), "click": ("click", "click"), "jinja2": ("jinja2", "jinja2"),
    "jsonschema": ("jsonschema", "jsonschema"), "pathspec": ("pathspec", "pathspec"),
    "pysat": ("python-sat", "python-sat"), "re2": ("google-re2", "google-re2"),
    "ruamel": ("ruamel.yaml", "'ruamel.yaml[oldlibyaml]'"), "semver": ("semver", "semver"),
}  # fmt: skip


def run() -> None:
    """Run the command line, and say so when olmc itself is at fault.

    A run is short and leaves hardly any cycles behind: looking for them while modules are imported, all the time, and
    once more at the end, would take a fifth of it.
    """
    gc.set_threshold(200_000, 50, 50)
    try:
        prepare()
        code = exit_code()
    except KeyboardInterrupt:
        interrupted()
    except Exception as error:
        if os.environ.get("OLMC_DEBUG"):
            raise
        print(f"olmc: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print("  This is a bug in olmc. Run again with OLMC_DEBUG=1 and report what it prints.", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from error
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End the process without a teardown of its objects. The teardown takes a tenth of a short run, and longer after
    more input. A process without threads and without observers of the interpreter does not need it."""
    if "threading" in sys.modules or sys.gettrace() or sys.getprofile() or sys.flags.inspect or sys.flags.dev_mode:
        gc.freeze()
        raise SystemExit(code)
    atexit._run_exitfuncs()
    sys.stderr.flush()
    os._exit(code)


def _run(call: Call) -> int:
    """Run a command; the exit code of one that does not end itself. Wrong usage is shown as click does."""
    try:
        assert call.command.function is not None
        with call.resources:
            call.command.function(call, call.options)
    except Exception as error:
        click = sys.modules.get("click")
        if click is None or not isinstance(error, click.UsageError):
            raise
        return _clicked(error)
    return 0


def _clicked(wrong: Exception | None = None) -> int:
    """Let click run the command line, or show what is wrong with it. Few runs need click."""
    from olmc.cli.main import clicked

    return clicked(wrong)


def exit_code() -> int:
    """Run the command line, and write out all that it prints.

    That the output can't be written, or a file that no command expected to be unreadable can't be read, is reported in
    a line. Raises KeyboardInterrupt, and what olmc itself is to blame for.
    """
    from olmc.cli.running import quick_call  # here, so that nothing is collected while modules are imported

    try:
        call = quick_call(sys.argv[1:])
        code = _ended(lambda: _run(call)) if call is not None else _ended(_clicked)
        sys.stdout.flush()
    except BrokenPipeError:
        return _unread()
    except OSError as error:
        if os.environ.get("OLMC_DEBUG"):
            raise
        return _refused(error)
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _LIBRARIES or os.environ.get("OLMC_DEBUG"):
            raise
        library, wanted = _LIBRARIES[module]
        print(f"error: this needs the library {library}, which is not installed", file=sys.stderr)
        print(f"  pip install {wanted}; docs/install.md says where there are wheels of it.", file=sys.stderr)
        return BAD_INPUT
    except Exception as error:
        click = sys.modules.get("click")
        if click is None or not isinstance(error, click.ClickException):
            raise
        try:
            error.show()
        except OSError:
            give_up(sys.stderr)
        code = error.exit_code
    return code


def _ended(command: Callable[[], int]) -> int:
    """The exit code of a command, whether it gives one or ends by it."""
    try:
        return command()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else DONE


def _unread() -> int:
    for stream in (sys.stdout, sys.stderr):
        give_up(stream)
    return UNREAD


def _refused(error: OSError) -> int:
    """Say what the system refuses; what has no name is a stream."""
    cause = "stdout is closed" if error.errno == errno.EBADF else error.strerror or str(error)
    name = _printable(os.fsdecode(error.filename)) if error.filename else ""
    what = f"{name}: {cause}" if name else f"the output can't be written: {cause}"
    if not error.filename:
        give_up(sys.stdout)
    try:
        print(f"error: {what}", file=sys.stderr, flush=True)
    except OSError:
        give_up(sys.stderr)
    return BAD_INPUT


def _printable(name: str) -> str:
    """A name out of a repository, which can't do anything to a terminal."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)


if __name__ == "__main__":
    run()
