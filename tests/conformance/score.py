"""Score olmc against what a real OLM did, and fail below the floor.

    score.py [--olmc CMD] [--shared FOLDER] [-v]

Runs the comparison of the shared data on all conformance cases except those listed in waiting.txt, and holds
the two totals against floor.txt: the share of objects that are equal, of all objects observed or rendered,
and the share of statuses that are equal. Exits 1 when a total is below its floor or a case failed. Without the
shared data (OLMC_SHARED, or the folder `shared` beside the checkout) it says so and exits 0.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent


class Score(NamedTuple):
    """Percentages of objects and of statuses that are equal."""

    objects: float
    statuses: float


def lines(path: Path) -> list[str]:
    """The lines of a text file without comments and blank ones."""
    stripped = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in stripped if line]


def floor(path: Path) -> Score:
    """The floor as floor.txt has it: `objects PERCENT` and `statuses PERCENT`."""
    values = dict(line.split() for line in lines(path))
    return Score(float(values["objects"]), float(values["statuses"]))


def score(results: Sequence[dict[str, Any]]) -> Score:
    """The score over the results that compare.py writes; of a failed case no object counts as equal."""

    def total(key: str) -> int:
        return sum(result.get(key, 0) for result in results)

    extra = sum(len(result.get("extra", ())) for result in results)
    objects = percent(total("equal"), total("observed") + extra)
    return Score(objects, percent(total("status_equal"), total("status_total")))


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def compare(shared: Path, cases: Sequence[Path], olmc: str, *, verbose: bool) -> list[dict[str, Any]]:
    """Run compare.py on the cases, its report going to stdout, and return its results."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "results.json")
        options = ["--olmc", olmc, "--json", str(output), *(["-v"] if verbose else [])]
        subprocess.run([sys.executable, shared / "conformance" / "compare.py", *options, *cases], check=True)
        results: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))
        return results


def main() -> int:
    shared = Path(os.environ.get("OLMC_SHARED", PROJECT.parent / "shared"))
    olmc = PROJECT / ".venv" / "bin" / "olmc"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(olmc), help="the command to score")
    parser.add_argument("--shared", type=Path, default=shared, help="the folder with the shared data")
    parser.add_argument("--waiting", type=Path, default=HERE / "waiting.txt")
    parser.add_argument("--floor", type=Path, default=HERE / "floor.txt")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every difference")
    args = parser.parse_args()

    if not (args.shared / "conformance" / "compare.py").is_file():
        print(f"conformance: skipped, because {args.shared} holds no conformance data (set OLMC_SHARED)")
        return 0
    observed = args.shared.glob("conformance/cases/*/*/observed.json")
    cases = {path.parent.name: path.parent for path in observed}
    waiting = set(lines(args.waiting))
    if unknown := sorted(waiting - set(cases)):
        print(f"{args.waiting.name} names cases that do not exist: {', '.join(unknown)}", file=sys.stderr)
    lowest = floor(args.floor)

    chosen = [cases[name] for name in sorted(set(cases) - waiting)]
    sys.stdout.flush()
    results = compare(args.shared, chosen, args.olmc, verbose=args.verbose)
    reached = score(results)
    failed = [result["case"] for result in results if "error" in result]
    print(
        f"conformance: objects {reached.objects:.2f} % (floor {lowest.objects:.2f} %), "
        f"statuses {reached.statuses:.2f} % (floor {lowest.statuses:.2f} %), "
        f"{len(chosen)} cases, {len(cases) - len(chosen)} waiting"
    )
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    if reached.objects < lowest.objects or reached.statuses < lowest.statuses:
        print("the score is below the floor", file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
