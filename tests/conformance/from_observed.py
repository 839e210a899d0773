"""Run olmc on a transition with what was observed of its first cluster.

    from_observed.py CMD render AFTER --from BEFORE ...

runs `CMD render AFTER --from BEFORE --from OBSERVED ...`, where OBSERVED lies beside BEFORE: BEFORE says what was
applied, OBSERVED what the cluster holds. The comparison of the shared data takes it in place of a command.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

OBSERVED = "observed-before.json"


def with_observed(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments, with the observed state behind the workspace that `--from` names."""
    words = iter(arguments)
    for word in words:
        yield word
        if word == "--from":
            before = next(words)
            yield from (before, "--from", str(Path(before).parent / OBSERVED))


def main() -> int:
    command, *arguments = sys.argv[1:]
    return subprocess.run([*shlex.split(command), *with_observed(arguments)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
