"""Measure what it takes to load a real catalog of 15 MB and to resolve a Subscription to it.

    catalog.py [--olmc CMD] [--shared FOLDER] [--runs N]

One `olmc resolve` in a process of its own; its user and system time count, and the memory that it holds at most. Exits
1 when a limit is exceeded. Without the catalog (OLMC_SHARED, or the folder `shared` beside the checkout) it says so and
exits 0.
"""

from __future__ import annotations

import argparse
import resource
import shlex
import shutil
import tempfile
from pathlib import Path

from corpus import SHARED, unpacked
from measuring import measured

PROJECT = Path(__file__).resolve().parent.parent

SECONDS = 1.0  # of CPU
MEGABYTES = 250

MANIFESTS = """\
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: tools, namespace: tools}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: infinispan, namespace: tools}
spec: {name: infinispan, source: v4.20, sourceNamespace: olm}
"""
RESOLVED = (0, 1)  # 1: the bundles themselves are not there


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(PROJECT / ".venv" / "bin" / "olmc"), help="the command to measure")
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder with the shared data")
    parser.add_argument("--runs", type=int, default=3, help="runs; their median counts")
    args = parser.parse_args()
    archive = args.shared / "corpus" / "catalog-v4.20.tar.xz"
    if not archive.is_file():
        print(f"bench: skipped, because {archive} does not exist (set OLMC_SHARED)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(unpacked(archive), root, dirs_exist_ok=True)  # it holds catalogs/v4.20
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        (root / "manifests.yaml").write_text(MANIFESTS, encoding="utf-8")
        seconds, _ = measured([*shlex.split(args.olmc), "resolve", str(root)], args.runs, fine=RESOLVED)
    held = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    ok = seconds <= SECONDS and held <= MEGABYTES
    limit = f"limit {SECONDS:.1f} s and {MEGABYTES} MB: {'ok' if ok else 'TOO MUCH'}"
    print(f"a catalog of {size / 1e6:.0f} MB: {seconds:.2f} s of CPU, {held:.0f} MB at most, {limit}")
    return 0 if ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
