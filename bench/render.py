"""Measure the CPU time of rendering, and hold it against the limits.

    render.py [--olmc CMD] [--shared FOLDER] [--runs N]

Two figures, both user and system time of the whole process: one bundle of the usual size (100 kB), and all
bundles of the corpus side by side in one process. Exits 1 when a limit is exceeded. Without the corpus
(OLMC_SHARED, or the folder `shared` beside the checkout) it says so and exits 0.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from corpus import SHARED, unpacked
from measuring import measured

PROJECT = Path(__file__).resolve().parent.parent

MEDIAN_SIZE = 100_000  # bytes: half of the operators have a larger newest bundle
MEDIAN_LIMIT = 90.0  # ms of CPU for the process that renders one bundle of that size
CORPUS_LIMIT = 40.0  # ms of CPU a bundle, for the process that renders the corpus

# What `olmc render` may exit with: done, or done with findings.
RENDERED = (0, 1)


def main() -> int:
    olmc = PROJECT / ".venv" / "bin" / "olmc"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(olmc), help="the command to measure")
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder with the shared data")
    parser.add_argument("--runs", type=int, default=7, help="runs of the median bundle; their median counts")
    args = parser.parse_args()

    archive = args.shared / "corpus" / "bundles.tar.xz"
    if not archive.is_file():
        print(f"bench: skipped, because {archive} does not exist (set OLMC_SHARED)")
        return 0
    command = [*shlex.split(args.olmc), "render"]
    bundles = bundles_in(unpacked(archive))
    median = min(bundles, key=lambda bundle: abs(size(bundle) - MEDIAN_SIZE))
    # Once unmeasured: the files come from memory and modules are compiled.
    measured([*command, str(median)], 1, fine=RENDERED)

    one = 1000 * measured([*command, str(median)], args.runs, fine=RENDERED)[0]
    every = 1000 * measured([*command, *map(str, bundles)], 1, fine=RENDERED)[0] / len(bundles)
    name = "/".join(median.parts[-2:])
    ok = report(f"one bundle ({name}, {size(median) / 1000:.0f} kB), whole process", one, MEDIAN_LIMIT)
    ok &= report(f"corpus ({len(bundles)} bundles in one process), a bundle", every, CORPUS_LIMIT)
    return 0 if ok else 1


def bundles_in(folder: Path) -> list[Path]:
    """The bundle directories below a folder, sorted."""
    return sorted(path.parent for path in folder.rglob("manifests") if (path.parent / "metadata").is_dir())


def size(bundle: Path) -> int:
    """The bytes of a bundle's manifests."""
    return sum(path.stat().st_size for path in (bundle / "manifests").iterdir())


def report(what: str, milliseconds: float, limit: float) -> bool:
    """Print a figure beside its limit; whether it is within."""
    ok = milliseconds <= limit
    print(f"{what}: {milliseconds:.1f} ms of CPU, limit {limit:.0f} ms: {'ok' if ok else 'TOO SLOW'}")
    return ok


if __name__ == "__main__":
    sys.exit(main())
