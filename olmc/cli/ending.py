"""How a run of the command line ends: with the code of its command, or with what no command can know of."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress

import click

from olmc.cli.exits import BAD_INPUT, DONE, UNREAD
from olmc.cli.main import main
from olmc.cli.streams import give_up


def exit_code() -> int:
    """Run the command line, and write out all that it prints.

    That the output can't be written, or a file that no command expected to be unreadable can't be read, is said in a
    line. Raises KeyboardInterrupt, and what olmc itself is to blame for.
    """
    out = sys.stdout
    try:
        code = main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return error.exit_code
    except click.Abort as end:  # click's word for Ctrl-C
        raise end.__cause__ or KeyboardInterrupt from None
    except SystemExit:
        if sys.stdout is out:
            raise
        return _unread()  # click has seen a closed pipe first, and put something else in the place of stdout
    except BrokenPipeError:
        return _unread()
    except OSError as error:
        if os.environ.get("OLMC_DEBUG"):
            raise
        return _refused(error)
    return code if isinstance(code, int) else DONE


def _unread() -> int:
    for stream in (sys.stdout, sys.stderr):
        give_up(stream)
    return UNREAD


def _refused(error: OSError) -> int:
    """Say what the system refuses; what has no name is a stream."""
    cause = "stdout is closed" if error.errno == errno.EBADF else error.strerror or str(error)
    what = f"{os.fsdecode(error.filename)}: {cause}" if error.filename else f"the output can't be written: {cause}"
    if not error.filename:
        give_up(sys.stdout)
    try:
        click.echo(f"Error: {what}", err=True)
    except OSError:
        give_up(sys.stderr)
    return BAD_INPUT
