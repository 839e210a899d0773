"""Run olmc for another release of OLM v1: as_release.py RELEASE OLMC ARGUMENT ...

The comparison of OLM v1 asks for the profile `v1` or `v1-experimental`; RELEASE takes the place of `v1` in both.
"""

from __future__ import annotations

import shlex
import subprocess
import sys


def main() -> int:
    release, olmc, *arguments = sys.argv[1:]
    at = arguments.index("--olm-version") + 1
    arguments[at] = release + arguments[at].removeprefix("v1")
    return subprocess.run([*shlex.split(olmc), *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
