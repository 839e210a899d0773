"""Score olmc against what a real OLM did, and fail below the floor.

    score.py [--olmc CMD | --forked] [--shared FOLDER] [-v]

Runs the comparison of the shared data several times: on the recordings that wait; on those of each older release of
OLM; on all cases except those listed in waiting.txt; on the transitions, which begin with the cluster that their
`before/` leaves; and on the transitions once more, which begin with what was observed of that cluster. Compares the two
totals of each with its floor*.txt: the share of objects that are equal, of all objects observed or rendered, and the
share of statuses that are equal. Then runs the comparison of OLM v1 for each recorded release of it. Exits 1 when a
total is below its floor or a case failed. Without the shared data (OLMC_SHARED, or the folder `shared` beside the
checkout) it reports that and exits 0.

With --forked the comparisons run olmc of this Python in forks of a process (`forked.py`), as many at once as there are
processors; else they start CMD each time. Both print the same.

What unknown.txt lists of a recording does not count: a race decides it, or the cluster alone knows it.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from unordered import ordered_case

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent


class Round(NamedTuple):
    """A run of the comparison: what it is called, its cases, the command for them, and the file with its floor.

    `release` is the OLM that was recorded, "" for the newest.
    """

    name: str
    cases: Sequence[Path]
    olmc: str
    floor: Path
    release: str = ""


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


def without_unknown(results: Sequence[dict[str, Any]], unknown: Collection[tuple[str, str]]) -> list[dict[str, Any]]:
    """The results without the differences that `unknown` lists, by case and object; equal objects count as before."""
    return [_without_unknown(result, {name for case, name in unknown if case == result["case"]}) for result in results]


def _without_unknown(result: dict[str, Any], names: set[str]) -> dict[str, Any]:
    objects = len(names & result.get("different", {}).keys())
    statuses = len(names & result.get("status_different", {}).keys())
    fewer = {"observed": objects, "status_total": statuses}
    return {**result, **{key: result.get(key, 0) - number for key, number in fewer.items() if number}}


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def compare(shared: Path, run: Round, args: argparse.Namespace, out: TextIO) -> list[dict[str, Any]]:
    """Run compare.py on the cases, its report going to `out`, and return its results."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "results.json")
        options = ["--olmc", run.olmc, "--json", str(output), *(["-v"] if args.verbose else [])]
        options += ["-j", "1"] if args.forked else []  # rounds run beside each other
        cases, environment = run.cases, dict(os.environ)
        if run.release:
            # Before 0.33 some lists are in the order of a Go map.
            environment |= {"OLMC_RENDER_OLM_VERSION": run.release, "COMPARE_UNORDERED_SELECTORS": "1"}
            cases = [ordered_case(case, Path(folder)) for case in run.cases]
        script = shared / "conformance" / "compare.py"
        report(script, [*options, *cases], args, out, environment)
        results: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))
        return results


def report(
    script: Path, options: Sequence[Path | str], args: argparse.Namespace, out: TextIO, environment: dict[str, str]
) -> None:
    """Run a script of the shared data, and write its report to `out`."""
    through = [HERE / "forked.py"] if args.forked else []
    command = [sys.executable, *through, script, *options]
    done = subprocess.run(command, check=False, env=environment, stdout=subprocess.PIPE, text=True)
    out.write(done.stdout)
    if done.returncode:
        print(done.stdout, end="", flush=True)
        done.check_returncode()


def rounds(args: argparse.Namespace) -> list[Round]:
    """The runs; of cases in waiting.txt that do not exist stderr says so."""
    observed = args.shared.glob("conformance/cases/*/*/observed.json")
    cases = {path.parent.name: path.parent for path in observed}
    waiting = set(lines(args.waiting))
    if unknown := sorted(waiting - set(cases)):
        print(f"{args.waiting.name} names cases that do not exist: {', '.join(unknown)}", file=sys.stderr)
    transitions = sorted(path.parent for path in args.shared.glob("conformance/transitions/*/observed.json"))
    seen = [path for path in transitions if (path / "observed-before.json").is_file()]
    again = shlex.join([sys.executable, str(HERE / "from_observed.py"), args.olmc])
    unordered = shlex.join([sys.executable, str(HERE / "unordered.py"), args.olmc])
    later = sorted(path.parent for path in args.shared.glob("waiting/*/*/observed.json"))
    releases = sorted(path for path in args.shared.glob("older/*") if path.is_dir())
    older = {path.name: sorted(found.parent for found in path.glob("*/observed.json")) for path in releases}
    return [
        Round("waiting", later, args.olmc, args.floors / "floor-waiting.txt"),
        *(
            Round(f"OLM {name}", found, unordered, args.floors / "floor-older.txt", name)
            for name, found in older.items()
        ),
        Round("cases", [cases[name] for name in sorted(set(cases) - waiting)], args.olmc, args.floors / "floor.txt"),
        Round("transitions", transitions, args.olmc, args.floors / "floor-transitions.txt"),
        Round("transitions from what was observed", seen, again, args.floors / "floor-observed.txt"),
    ]


def judged(run: Round, args: argparse.Namespace, out: TextIO) -> list[str]:
    """Compare and write the report; return the problems, [] for a run that reaches its floor."""
    lowest = floor(run.floor)
    results = compare(args.shared, run, args, out)
    listed = [line.split() for line in lines(args.unknown)]
    reached = score(without_unknown(results, {(case, name) for case, name in listed}))
    failed = [result["case"] for result in results if "error" in result]
    print(
        f"conformance, {run.name}: objects {reached.objects:.2f} % (floor {lowest.objects:.2f} %), "
        f"statuses {reached.statuses:.2f} % (floor {lowest.statuses:.2f} %), {len(run.cases)} cases",
        file=out,
    )
    is_reached = reached.objects >= lowest.objects and reached.statuses >= lowest.statuses
    return [
        *([f"failed: {', '.join(failed)}"] if failed else []),
        *([] if is_reached else [f"the score of {run.name} is below the floor"]),
    ]


def judged_v1(release: str, args: argparse.Namespace, out: TextIO) -> list[str]:
    """Do the same for the recordings of a release of OLM v1.

    A case whose outcome depends on something that no input shows does not count.
    """
    lowest = {key: float(value) for key, value in (line.split() for line in lines(args.floors / "floor-v1.txt"))}
    # The folder `main` was recorded on the commit that the profile `v1` models.
    olmc = args.olmc
    if release != "main":
        olmc = shlex.join([sys.executable, str(HERE / "as_release.py"), release, args.olmc])
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "results.json")
        options = ["--olmc", olmc, "--json", str(output), *(["-v"] if args.verbose else [])]
        script = args.shared / "v1" / "compare_v1.py"
        report(script, [*options, args.shared / "v1" / release], args, out, dict(os.environ))
        results = [result for result in json.loads(output.read_text(encoding="utf-8")) if not result["outside"]]
    reached = {key: percent(sum(r[f"{key}_equal"] for r in results), sum(r[key] for r in results)) for key in lowest}
    shown = ", ".join(f"{key} {reached[key]:.2f} % (floor {lowest[key]:.2f} %)" for key in lowest)
    print(f"conformance, OLM v1 {release}: {shown}, {len(results)} states", file=out)
    is_reached = all(reached[key] >= lowest[key] for key in lowest)
    return [] if is_reached else [f"the score of OLM v1 {release} is below the floor"]


def judge_all(steps: Sequence[Callable[[TextIO], list[str]]], jobs: int) -> bool:
    """Take all steps, `jobs` at a time, and print their reports in order; whether all reach their floors.

    All of them run, however the first ends: one report says everything.
    """

    def taken(step: Callable[[TextIO], list[str]]) -> tuple[str, list[str]]:
        out = io.StringIO()
        problems = step(out)
        return out.getvalue(), problems

    reached = True
    with ThreadPoolExecutor(jobs) as pool:
        for text, problems in pool.map(taken, steps):
            print(text, end="", flush=True)
            for problem in problems:
                print(problem, file=sys.stderr)
            reached = reached and not problems
    return reached


def main() -> int:
    shared = Path(os.environ.get("OLMC_SHARED", PROJECT.parent / "shared"))
    olmc = PROJECT / ".venv" / "bin" / "olmc"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--olmc", default=str(olmc), help="the command to score")
    parser.add_argument("--forked", action="store_true", help="score the olmc of this Python, without a start for each")
    parser.add_argument("--shared", type=Path, default=shared, help="the folder with the shared data")
    parser.add_argument("--waiting", type=Path, default=HERE / "waiting.txt")
    parser.add_argument("--unknown", type=Path, default=HERE / "unknown.txt")
    parser.add_argument("--floors", type=Path, default=HERE, help="the folder with floor*.txt")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every difference")
    args = parser.parse_args()

    if not (args.shared / "conformance" / "compare.py").is_file():
        print(f"conformance: skipped, because {args.shared} holds no conformance data (set OLMC_SHARED)")
        return 0
    recorded = sorted(path.name for path in args.shared.glob("v1/*") if path.is_dir())
    steps = [
        *(partial(judged, run, args) for run in rounds(args) if run.cases),
        *(partial(judged_v1, release, args) for release in recorded),
    ]
    return 0 if judge_all(steps, (os.cpu_count() or 1) if args.forked else 1) else 1


if __name__ == "__main__":
    sys.exit(main())
