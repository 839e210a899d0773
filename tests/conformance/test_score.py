"""The conformance score: how it is computed, and when it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from from_observed import with_observed
from score import without_unknown

pytestmark = pytest.mark.process

SCRIPT = Path(__file__).with_name("score.py")
SCRIPTS = [str(SCRIPT.with_name(f"{name}.py")) for name in ("from_observed", "unordered", "as_release")]

# Stands in for the comparison: writes the results that lie beside it, and the cases that it was given.
COMPARE = """\
import json, pathlib, shutil, sys
here = pathlib.Path(__file__).parent
options, cases = sys.argv[1:5], sys.argv[5:]
assert options[::2] == ["--olmc", "--json"], options
kind = "transitions" if "/transitions/" in cases[0] else "cases"
results = here / ("observed.json" if "from_observed" in options[1] else kind + ".json")
shutil.copy(results, options[3])
with (here / "given.jsonl").open("a") as file:
    print(json.dumps([options[1], *(pathlib.Path(case).name for case in cases)]), file=file)
"""

GOOD = {"case": "a", "observed": 8, "equal": 8, "extra": [], "status_total": 4, "status_equal": 3}
EXTRA = {"case": "b", "observed": 1, "equal": 1, "extra": ["Role/x"], "status_total": 0, "status_equal": 0}
FAILED = {"case": "b", "observed": 2, "error": "exit 3"}


def run(
    tmp_path: Path,
    results: list[dict[str, Any]],
    floor: str,
    waiting: str = "",
    transitions: list[dict[str, Any]] | None = None,
    observed: list[dict[str, Any]] | None = None,
) -> subprocess.CompletedProcess[str]:
    conformance = tmp_path / "conformance"
    for name in ("real/a", "synthetic/b", "synthetic/c"):
        (conformance / "cases" / name).mkdir(parents=True)
        (conformance / "cases" / name / "observed.json").touch()
    for name in ("1-removed", "2-added") if transitions is not None else ():
        (conformance / "transitions" / name).mkdir(parents=True)
        (conformance / "transitions" / name / "observed.json").touch()
    if observed is not None:
        (conformance / "transitions" / "1-removed" / "observed-before.json").touch()
    (conformance / "compare.py").write_text(COMPARE)
    for name, content in (("cases", results), ("transitions", transitions), ("observed", observed)):
        (conformance / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "floor.txt").write_text(floor)
    for name in ("transitions", "observed"):
        (tmp_path / f"floor-{name}.txt").write_text("objects 100\nstatuses 75\n")
    (tmp_path / "waiting.txt").write_text(waiting)
    files = ["--floors", str(tmp_path), "--waiting", str(tmp_path / "waiting.txt")]
    return score("--olmc", "olmc -v", "--shared", str(tmp_path), *files)


def given(tmp_path: Path) -> list[list[str]]:
    """The command and the cases of each comparison that has run."""
    text = (tmp_path / "conformance" / "given.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def score(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=False)


def test_totals_and_cases(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD, EXTRA], "objects 90 # of ten\nstatuses 75\n", "# later\nc\n")
    assert "objects 90.00 % (floor 90.00 %), statuses 75.00 % (floor 75.00 %)" in done.stdout
    assert "conformance, cases:" in done.stdout
    assert "2 cases\n" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")
    assert given(tmp_path) == [["olmc -v", "a", "b"]]


@pytest.mark.parametrize("floor", ["objects 90.01\nstatuses 75\n", "objects 90\nstatuses 75.01\n"])
def test_below_the_floor(tmp_path: Path, floor: str) -> None:
    done = run(tmp_path, [GOOD, EXTRA], floor)
    assert (done.returncode, done.stderr) == (1, "the score of cases is below the floor\n")


WHOLE = {"case": "1-removed", "observed": 4, "equal": 4, "extra": [], "status_total": 4, "status_equal": 3}
PART = {"case": "1-removed", "observed": 4, "equal": 3, "extra": [], "status_total": 4, "status_equal": 4}


def test_transitions_have_floors_of_their_own(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD], "objects 0\nstatuses 0\n", transitions=[WHOLE], observed=[WHOLE])
    assert (done.returncode, done.stderr) == (0, "")
    assert "conformance, transitions: objects 100.00 % (floor 100.00 %), statuses 75.00 %" in done.stdout
    assert "conformance, transitions from what was observed: objects 100.00 %" in done.stdout
    _, from_before, from_observed = given(tmp_path)
    assert from_before == ["olmc -v", "1-removed", "2-added"]
    assert from_observed[1:] == ["1-removed"]


def test_what_was_observed_is_below_its_floor(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD], "objects 0\nstatuses 0\n", transitions=[WHOLE], observed=[PART])
    assert (done.returncode, done.stderr) == (1, "the score of transitions from what was observed is below the floor\n")


def test_later_comparisons_run_after_one_below_its_floor(tmp_path: Path) -> None:
    done = run(tmp_path, [EXTRA], "objects 100\nstatuses 0\n", transitions=[WHOLE])
    assert (done.returncode, done.stderr) == (1, "the score of cases is below the floor\n")
    assert "conformance, transitions: objects 100.00 %" in done.stdout


def test_observed_state_beside_what_was_applied() -> None:
    arguments = ["render", "x/after", "--from", "x/before", "-o", "json"]
    assert list(with_observed(arguments)) == [
        *("render", "x/after", "--from", "x/before", "--from", "x/observed-before.json", "-o", "json")
    ]


V1 = """\
import json, pathlib, sys
options, folder = sys.argv[1:-1], pathlib.Path(sys.argv[-1])
assert options[::2] == ["--olmc", "--json"], options
state = {"objects": 4, "statuses": 2, "catalogs": 1, "objects_equal": 4, "statuses_equal": 2, "catalogs_equal": 1}
if "as_release" in options[1]:
    assert " v1.11 " in options[1], options
    state["catalogs_equal"] = 0
outside = {**dict.fromkeys(state, 9), "objects_equal": 0, "outside": "what no input tells"}
pathlib.Path(options[3]).write_text(json.dumps([{**state, "outside": None}, outside]))
"""


def test_releases_of_olm_v1(tmp_path: Path) -> None:
    """Each is compared by itself, and a state that depends on what no input tells does not count."""
    for release in ("main", "v1.11"):
        (tmp_path / "v1" / release).mkdir(parents=True)
    (tmp_path / "v1" / "compare_v1.py").write_text(V1)
    (tmp_path / "floor-v1.txt").write_text("objects 100\nstatuses 98\ncatalogs 98\n")
    done = run(tmp_path, [GOOD], "objects 0\nstatuses 0\n")
    assert "conformance, OLM v1 main: objects 100.00 % (floor 100.00 %), statuses 100.00 %" in done.stdout
    assert (done.returncode, done.stderr) == (1, "the score of OLM v1 v1.11 is below the floor\n")


def test_another_release_takes_the_place_of_the_profile(tmp_path: Path) -> None:
    printing = tmp_path / "print.py"
    printing.write_text("import sys; print(sys.argv[1:])")
    script = str(SCRIPT.with_name("as_release.py"))
    for rest in ("", "-experimental+BoxcutterRuntime=false"):
        arguments = ("render", "x", "--olm-version", f"v1{rest}")
        command = [sys.executable, script, "v1.11", f"{sys.executable} {printing}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout == f"['render', 'x', '--olm-version', 'v1.11{rest}']\n"


FORKED = """\
import json, subprocess, sys
for command in json.loads(sys.argv[1]):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    print(json.dumps([done.returncode, done.stdout, done.stderr]))
"""


def test_a_copy_prints_what_a_process_prints(tmp_path: Path, project: Path) -> None:
    """With each of the scripts between the comparison and olmc, and where olmc fails."""
    (tmp_path / "script.py").write_text(FORKED)
    transition = project / "fixtures" / "transitions" / "approval-changed"
    before, observed = (str(transition / name) for name in ("before", "observed-before.json"))
    render = ["render", str(transition / "after"), "--for", "review", "-o"]
    python, (again, unordered, release) = sys.executable, SCRIPTS
    commands = [
        (["olmc", *render, "json"], [*render, "json"]),
        (["olmc", "render", f"{tmp_path}/nowhere"], ["render", f"{tmp_path}/nowhere"]),
        ([python, unordered, "olmc", *render, "name"], [*render, "name"]),
        ([python, again, "olmc", *render, "name", "--from", before],
         [*render, "name", "--from", before, "--from", observed]),
        ([python, release, "v1.11", "olmc", *render, "json", "--olm-version", "v1"],
         [*render, "json", "--olm-version", "v1.11"]),
    ]  # fmt: skip
    given = json.dumps([command for command, _ in commands])
    forked = [python, str(SCRIPT.with_name("forked.py")), str(tmp_path / "script.py"), given]
    done = subprocess.run(forked, capture_output=True, text=True, check=True)
    for line, (_, arguments) in zip(done.stdout.splitlines(), commands, strict=True):
        alone = subprocess.run([python, "-m", "olmc", *arguments], capture_output=True, text=True, check=False)
        assert json.loads(line) == [alone.returncode, alone.stdout, alone.stderr], arguments


def test_failed_case(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD, FAILED], "objects 80\nstatuses 75\n")
    assert "objects 80.00 %" in done.stdout
    assert (done.returncode, done.stderr) == (1, "failed: b\n")


def test_waiting_for_a_case_that_does_not_exist(tmp_path: Path) -> None:
    done = run(tmp_path, [GOOD], "objects 0\nstatuses 0\n", "d\nb\n")
    assert (done.returncode, done.stderr) == (0, "waiting.txt names cases that do not exist: d\n")
    assert "2 cases\n" in done.stdout


def test_without_the_shared_data(tmp_path: Path) -> None:
    done = score("--shared", str(tmp_path))
    assert done.returncode == 0
    assert done.stdout.startswith("conformance: skipped, because ")


def test_what_nothing_can_tell_does_not_count() -> None:
    different = {"Role/a": ["- x"], "Role/b": ["- x"]}
    result = {"case": "a", "observed": 4, "equal": 2, "different": different, "status_total": 3, "status_equal": 2,
              "status_different": {"Role/a": ["- y"]}}  # fmt: skip
    listed = {("a", "Role/a"), ("a", "Role/equal"), ("other", "Role/b")}
    (counted,) = without_unknown([result], listed)
    assert (counted["observed"], counted["equal"], counted["status_total"]) == (3, 2, 2)
    assert without_unknown([{"case": "a", "error": "exit 3"}], listed) == [{"case": "a", "error": "exit 3"}]
