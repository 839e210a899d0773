"""Measure starts as multiples of an empty run of Python, and hold them against their targets.

    cold.py [--olmc CMD] [--shared FOLDER] [--runs N]

User and system time of whole processes; each round runs an empty Python and every command once, so that what else the
machine does falls on all of them. Exits 1 when a target is missed; without the corpus the bundles are left out.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
from pathlib import Path

from corpus import SHARED, unpacked
from measuring import measured
from render import MEDIAN_SIZE, PROJECT, RENDERED, bundles_in, size

LARGE_SIZE = 1_600_000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(PROJECT / ".venv" / "bin" / "olmc"), help="the command to measure")
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder with the shared data")
    parser.add_argument("--runs", type=int, default=7, help="rounds; the median of each command counts")
    args = parser.parse_args()

    olmc = shlex.split(args.olmc)
    commands: list[tuple[str, list[str], float]] = [("olmc version", [*olmc, "version"], 5.0)]
    archive = args.shared / "corpus" / "bundles.tar.xz"
    if archive.is_file():
        bundles = bundles_in(unpacked(archive))
        median, large = (
            str(min(bundles, key=lambda bundle: abs(size(bundle) - target))) for target in (MEDIAN_SIZE, LARGE_SIZE)
        )
        for options in ("", "-n tools", "-n tools --watch a,b", "--for apply", "-o json", "--include Deployment"):
            words = [*olmc, "render", median, *options.split()]
            commands.append((f"median bundle {options}".rstrip(), words, 5.5))
        commands.append(("1.6 MB bundle", [*olmc, "render", large], 9.0))
    empty = [sys.executable, "-c", "pass"]
    rounds = [
        [measured(words, 1, fine=RENDERED)[0] for words in (empty, *(words for _, words, _ in commands))]
        for _ in range(args.runs + 1)
    ][1:]  # the first compiles modules and brings files into memory
    unit, *times = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"an empty run of Python: {1000 * unit:.1f} ms of CPU")
    missed = 0
    for (name, _, target), time in zip(commands, times, strict=True):
        missed += time > target * unit
        verdict = "ok" if time <= target * unit else "MISSED"
        print(f"{name}: {time / unit:.1f} times that, target {target:.1f}: {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
