"""The conformance score: how it is computed, and when it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("score.py")

# Stands in for the comparison: writes the results that lie beside it, and the cases that it was given.
COMPARE = """\
import json, pathlib, shutil, sys
here = pathlib.Path(__file__).parent
options, cases = sys.argv[1:5], sys.argv[5:]
assert options[::2] == ["--olmc", "--json"], options
shutil.copy(here / "results.json", options[3])
(here / "given.json").write_text(json.dumps([options[1], *(pathlib.Path(case).name for case in cases)]))
"""

GOOD = {"case": "a", "observed": 8, "equal": 8, "extra": [], "status_total": 4, "status_equal": 3}
EXTRA = {"case": "b", "observed": 1, "equal": 1, "extra": ["Role/x"], "status_total": 0, "status_equal": 0}
FAILED = {"case": "b", "observed": 2, "error": "exit 3"}


def run(
    tmp_path: Path, results: list[dict[str, Any]], floor: str, waiting: str = ""
) -> subprocess.CompletedProcess[str]:
    conformance = tmp_path / "conformance"
    for name in ("real/a", "synthetic/b", "synthetic/c"):
        (conformance / "cases" / name).mkdir(parents=True)
        (conformance / "cases" / name / "observed.json").touch()
    (conformance / "compare.py").write_text(COMPARE)
    (conformance / "results.json").write_text(json.dumps(results))
    (tmp_path / "floor.txt").write_text(floor)
    (tmp_path / "waiting.txt").write_text(waiting)
    files = ["--floor", str(tmp_path / "floor.txt"), "--waiting", str(tmp_path / "waiting.txt")]
    return score("--olmc", "olmc", "--shared", str(tmp_path), *files)


def score(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=False)


def test_totals_and_cases(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD, EXTRA], "objects 90 # of ten\nstatuses 75\n", "# later\nc\n")
    assert "objects 90.00 % (floor 90.00 %), statuses 75.00 % (floor 75.00 %)" in done.stdout
    assert "2 cases, 1 waiting" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "conformance" / "given.json").read_text()) == ["olmc", "a", "b"]


@pytest.mark.parametrize("floor", ["objects 90.01\nstatuses 75\n", "objects 90\nstatuses 75.01\n"])
def test_below_the_floor(tmp_path: Path, floor: str) -> None:
    done = run(tmp_path, [GOOD, EXTRA], floor)
    assert (done.returncode, done.stderr) == (1, "the score is below the floor\n")


def test_failed_case(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD, FAILED], "objects 80\nstatuses 75\n")
    assert "objects 80.00 %" in done.stdout
    assert (done.returncode, done.stderr) == (1, "failed: b\n")


def test_waiting_for_a_case_that_does_not_exist(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD], "objects 0\nstatuses 0\n", "d\nb\n")
    assert (done.returncode, done.stderr) == (0, "waiting.txt names cases that do not exist: d\n")
    assert "2 cases, 1 waiting" in done.stdout


def test_without_the_shared_data(tmp_path: Path) -> None:
    done = score("--shared", str(tmp_path))
    assert done.returncode == 0
    assert done.stdout.startswith("conformance: skipped, because ")
