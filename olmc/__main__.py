"""The entry point of the command line, `olmc` and `python -m olmc`."""

from __future__ import annotations

import gc
import os
import sys

from olmc.cli.process import BAD_INPUT, interrupted


def run() -> None:
    """Run the command line, and say so when olmc itself is at fault.

    A run is short and leaves hardly any cycles behind: looking for them while modules are imported, all the time, and
    once more at the end, would take a fifth of it.
    """
    gc.set_threshold(200_000, 50, 50)
    try:
        from olmc.cli.process import prepare

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
    finally:
        gc.freeze()
    raise SystemExit(code)


if __name__ == "__main__":
    run()
