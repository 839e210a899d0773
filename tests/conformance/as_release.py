"""Run olmc for another release of OLM v1: as_release.py RELEASE OLMC ARGUMENT ...

The comparison of OLM v1 asks for the profile `v1` or `v1-experimental`; RELEASE takes the place of `v1` in both.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence


def with_release(release: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments with a release in the place of `v1`."""
    changed = list(arguments)
    at = changed.index("--olm-version") + 1
    changed[at] = release + changed[at].removeprefix("v1")
    return changed


def main() -> int:
    release, olmc, *arguments = sys.argv[1:]
    return subprocess.run([*shlex.split(olmc), *with_release(release, arguments)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
