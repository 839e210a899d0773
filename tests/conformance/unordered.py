"""Compare lists as sets that older releases of OLM write in the order of a Go map.

    unordered.py CMD ARGUMENT ...

runs `CMD ARGUMENT ...` and puts the parts of `constraints not satisfiable` in its output in order. The comparison of
the shared data takes it in place of a command, with cases whose recordings `ordered_case` has treated likewise.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

_CONFLICT = "constraints not satisfiable: "
OBSERVED = "observed.json"


def ordered(value: Any) -> Any:
    """JSON in which every such message has its parts in order."""
    if isinstance(value, dict):
        return {key: ordered(item) for key, item in value.items()}
    if isinstance(value, list):
        return [ordered(item) for item in value]
    if isinstance(value, str) and value.startswith(_CONFLICT):
        return _CONFLICT + ", ".join(sorted(value.removeprefix(_CONFLICT).split(", ")))
    return value


def ordered_case(case: Path, folder: Path) -> Path:
    """A copy of a case below a folder, with its recording in order; all else are links."""
    copy = folder / case.name
    copy.mkdir()
    for path in case.iterdir():
        if path.name == OBSERVED:
            (copy / OBSERVED).write_text(json.dumps(ordered(json.loads(path.read_text(encoding="utf-8")))))
        else:
            (copy / path.name).symlink_to(path.resolve())
    return copy


def ordered_output(output: bytes) -> bytes:
    """Return the output of olmc in order; as it is where it is no JSON."""
    try:
        return json.dumps(ordered(json.loads(output))).encode()
    except ValueError:
        return output


def main() -> int:
    command, *arguments = sys.argv[1:]
    done = subprocess.run([*shlex.split(command), *arguments], check=False, stdout=subprocess.PIPE)
    sys.stdout.buffer.write(ordered_output(done.stdout))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
