"""The libraries that olmc needs, with the hashes of their wheels: what scaffolds give to `pip --require-hashes`.

`python -m olmc.integrations.pipelines.requirements FOLDER… > templates/requirements.txt` writes it from wheels,
and with `--development` constraints.txt, which has all libraries of olmc's development as well;
`make pins` fetches these.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

_HEAD = """\
# What olmc needs, for CPython 3.13 on Linux (x86_64, aarch64). To pin olmc itself, add its line:
#     olmc==VERSION --hash=sha256:…    (pip download --no-deps olmc==VERSION, then pip hash on the file)
"""
_DEVELOPMENT = """\
# All libraries of olmc and of its development, for CPython 3.11 to 3.13 on Linux (x86_64, aarch64). make pins
# writes it, make venv installs by it.
"""


def requirements(wheels: Iterable[Path], head: str = _HEAD) -> str:
    """The lines of a requirements file for wheels: each library with its version and the hashes of all its files."""
    hashes: dict[str, set[str]] = {}
    for wheel in wheels:
        name, version, *_ = wheel.name.split("-")
        library = f"{name.lower().replace('_', '-')}=={version}"
        hashes.setdefault(library, set()).add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    lines = (
        " \\\n    ".join((library, *(f"--hash=sha256:{digest}" for digest in sorted(digests))))
        for library, digests in sorted(hashes.items())
    )
    return head + "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    is_development = sys.argv[1:2] == ["--development"]
    folders = sys.argv[2:] if is_development else sys.argv[1:]
    found = (wheel for folder in folders for wheel in Path(folder).glob("*.whl"))
    sys.stdout.write(requirements(found, _DEVELOPMENT if is_development else _HEAD))
