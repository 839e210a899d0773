"""The least that a command of olmc takes: a process that loads the same modules, and reads the same files once.

The table has it beside a missed target: the start of Python, the imports and the reading, without any work on what has
been read, and without an output.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from profiled import PROJECT

_MODULES = """\
import sys, threading
given = sys.argv[1]
sys.argv[:2] = ["olmc"]
try:
    from olmc.__main__ import run
    run()
finally:
    # Libraries in C add modules under other names, and some that nothing can import.
    specs = ((name, getattr(module, "__spec__", None)) for name, module in sys.modules.items())
    names = (name for name, spec in specs if spec is not None and spec.name == name)
    with open(given, "w") as file:
        print(*names, sep="\\n", file=file)
"""  # threading: without it a run ends at once, and the names are not written

_LEAST = """\
import gc, os, sys
gc.disable()
sys.path.insert(0, sys.argv[1])
with open(sys.argv[2]) as file:
    modules, documents, texts = (part.splitlines() for part in file.read().split("\\n\\n"))
for name in modules:
    __import__(name)
contents = {}
for path in dict.fromkeys(texts + documents):
    with open(path, encoding="utf-8", newline="") as file:
        contents[path] = file.read()
if documents:
    from olmc.k8s.diagnostics import Report
    from olmc.k8s.yaml.reader import reader_of
    read = reader_of({}, {})
    for path in documents:
        read(path, contents[path], Report())
os._exit(0)
"""


def modules_of(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The modules that `olmc` with these arguments loads, in the order in which they begin to load."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "modules")
        done = subprocess.run(
            [sys.executable, "-c", _MODULES, path, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            check=False, env={**environment, "PYTHONPATH": os.fspath(PROJECT)},
        )  # fmt: skip
        if done.returncode not in (0, 1):
            sys.exit(f"bench: olmc {arguments[0]} exited with {done.returncode}:\n{done.stderr[-2000:]!r}")
        names = path.read_text(encoding="utf-8").split()
    return [name for name in names if name != "threading" and "__editable__" not in name]


def least(
    modules: Iterable[str], given: Path, *, documents: Iterable[Path] = (), texts: Iterable[Path] = ()
) -> list[str]:
    """A command that loads modules, reads `documents` as olmc reads YAML, each line once, and reads `texts` without
    taking them apart. It writes the file `given`, from which the command takes all names."""
    parts = ("\n".join(map(str, part)) for part in (modules, documents, texts))
    given.write_text("\n\n".join(parts), encoding="utf-8")
    return [sys.executable, "-c", _LEAST, os.fspath(PROJECT), os.fspath(given)]
