"""Measure the CPU time of drawing a package with 500 versions, and hold it against the limit.

    graph.py [--olmc CMD] [--versions N] [--runs N]

The packages are made from the number of versions alone, so they are the same on every machine:

- skips: minor releases of 25 patches; a patch skips all earlier ones of its minor release, its first replaces the
  last one before it;
- dense: every version skips all versions before it;
- ranges: every version has a skipRange over all versions before it.

Each is drawn by `olmc graph` in a process of its own; user and system time of the whole process count. Exits 1 when a
drawing takes longer than the limit.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import measured

PROJECT = Path(__file__).resolve().parent.parent

LIMIT = 1.0  # seconds of CPU
PATCHES = 25
FORMATS = ("svg", "mermaid", "dot", "json")


def versions_of(count: int) -> list[str]:
    return [f"1.{number // PATCHES}.{number % PATCHES}" for number in range(count)]


def entries(shape: str, count: int) -> Iterator[dict[str, Any]]:
    """The entries of the channel of a shape."""
    versions = versions_of(count)
    for number, version in enumerate(versions):
        entry: dict[str, Any] = {"name": f"bench.v{version}"}
        if number:
            entry["replaces"] = f"bench.v{versions[number - 1]}"
        first = number - number % PATCHES
        if shape == "skips":
            if number > first:
                entry["replaces"] = f"bench.v{versions[first - 1]}" if first else ""
            entry["skips"] = [f"bench.v{each}" for each in versions[first:number]]
        elif shape == "dense":
            entry["skips"] = [f"bench.v{each}" for each in versions[:number]]
        elif shape == "ranges":
            entry["skipRange"] = f">={versions[0]} <{version}"
        yield entry


def catalog(shape: str, count: int) -> str:
    """A file-based catalog with one package."""
    documents: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": "bench", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "bench", "name": "stable", "entries": list(entries(shape, count))},
    ]
    for version in versions_of(count):
        value = {"packageName": "bench", "version": version}
        bundle = {"schema": "olm.bundle", "name": f"bench.v{version}", "package": "bench"}
        image = f"registry.example.com/bench:v{version}"
        documents.append({**bundle, "image": image, "properties": [{"type": "olm.package", "value": value}]})
    return "".join(f"---\n{json.dumps(document, indent=1)}\n" for document in documents)


def main() -> int:
    olmc = PROJECT / ".venv" / "bin" / "olmc"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(olmc), help="the command to measure")
    parser.add_argument("--versions", type=int, default=500)
    parser.add_argument("--runs", type=int, default=3, help="runs of each drawing; their median counts")
    args = parser.parse_args()
    command = shlex.split(args.olmc)
    measured([*command, "version"], 1)  # once unmeasured: modules are compiled, files come from memory
    ok = True
    with tempfile.TemporaryDirectory() as folder:
        for shape in ("skips", "dense", "ranges"):
            root = Path(folder, shape)
            root.mkdir()
            text = catalog(shape, args.versions)
            (root / "catalog.yaml").write_text(text, encoding="utf-8")
            print(f"{shape}: {args.versions} versions, a catalog of {len(text) / 1e6:.1f} MB")
            for name in FORMATS:
                seconds, size = measured([*command, "graph", "bench", os.fspath(root), "-o", name], args.runs)
                verdict = "ok" if seconds <= LIMIT else f"more than {LIMIT:.1f} s"
                ok &= seconds <= LIMIT
                print(f"  {name:8} {seconds:6.2f} s CPU  {size / 1e6:6.2f} MB  {verdict}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
