"""The entry point of the command line, `olmc` and `python -m olmc`."""

from __future__ import annotations

import gc
import io
import os
import sys

from olmc.cli.exits import BAD_INPUT


def run() -> None:
    """Run the command line, and say so when olmc itself is at fault.

    A run is short and leaves hardly any cycles behind: looking for them while modules are imported, all the time, and
    once more at the end, would take a fifth of it.
    """
    gc.set_threshold(200_000, 50, 50)
    _write_utf_8()
    try:
        from olmc.cli.main import main  # with click: nothing is collected while they are imported

        main()
    except Exception as error:
        if os.environ.get("OLMC_DEBUG"):
            raise
        print(f"olmc: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print("  This is a bug in olmc. Run again with OLMC_DEBUG=1 and report what it prints.", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from error
    finally:
        gc.freeze()


def _write_utf_8() -> None:
    """What is written doesn't depend on the locale, nor its line ends on the system."""
    for stream, newline in ((sys.stdout, "\n"), (sys.stderr, None)):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline=newline)


if __name__ == "__main__":
    run()
