"""The entry point of the command line, `olmc` and `python -m olmc`."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import NoReturn

from olmc.cli.console import BAD_INPUT, interrupted


def run() -> None:
    """Run the command line, and say so when olmc itself is at fault.

    A run is short and leaves hardly any cycles behind: looking for them while modules are imported, all the time, and
    once more at the end, would take a fifth of it.
    """
    gc.set_threshold(200_000, 50, 50)
    try:
        from olmc.cli.console import prepare

        prepare()
        from olmc.cli.running import exit_code  # nothing is collected while modules are imported

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
    """End the process. Taking apart all that it holds would take a tenth of a short run, and longer the more it has
    read; nobody needs that who has no threads and does not watch the interpreter."""
    if "threading" in sys.modules or sys.gettrace() or sys.getprofile() or sys.flags.inspect or sys.flags.dev_mode:
        gc.freeze()
        raise SystemExit(code)
    atexit._run_exitfuncs()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
