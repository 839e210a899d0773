"""`--timings`: how much there was to do is counted; how long it took is there, and nothing is said about how long."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import forks
import pytest

pytestmark = pytest.mark.process

WORKSPACE = Path(__file__).parent.parent.parent / "fixtures" / "own-namespace"
STAGES = ["start", "read", "settle", "render"]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return forks.run(arguments, cwd=folder, env=os.environ)


def told(done: subprocess.CompletedProcess[bytes]) -> tuple[list[str], dict[str, int]]:
    """The stages that are told, and the counts."""
    lines = [line.removeprefix("olmc: ") for line in done.stderr.decode().splitlines() if line.startswith("olmc: ")]
    start = lines.index("stage         CPU       time")
    rows = [re.fullmatch(r"(\w+) +\d+\.\d{3} s(?: +\d+\.\d{3} s)?", line) for line in lines[start + 1 : -1]]
    counts = [part.partition(" ")[::2] for part in lines[-1].split(", ")]
    return [row[1] for row in rows if row], {name: int(number.replace(",", "")) for number, name in counts}


def test_what_is_compiled_and_written_is_counted() -> None:
    plain, done = run(WORKSPACE, "render"), run(WORKSPACE, "render", "--timings")
    assert done.stdout == plain.stdout
    assert done.stderr.startswith(plain.stderr)
    stages, counts = told(done)
    assert stages == [*STAGES, "report", "write"]
    # What says how a bundle is read is nothing that is compiled.
    files = [path for path in WORKSPACE.rglob("*.yaml") if path.parent.name != "metadata"]
    assert counts == {
        "files": len(files),
        "bytes": sum(path.stat().st_size for path in files),
        "bundles": 1,
        "catalog entries": 1,
        "objects": plain.stdout.count(b"\n---\n") + 1,
        "bytes written": len(plain.stdout),
    }


@pytest.mark.parametrize(
    ("command", "further", "times"),
    [
        ("resolve", ["report"], 1), ("check", ["report", "check"], 1), ("status", ["report"], 1),
        ("plan --from .", ["report", "plan"], 1), ("diff . .", ["report"], 2), ("status . .", ["report"], 2),
        ("rbac", ["report"], 1),
    ],
)  # fmt: skip
def test_every_command_that_compiles_has_them(command: str, further: list[str], times: int) -> None:
    stages, counts = told(run(WORKSPACE, *command.split(), "--timings"))
    assert stages == [*STAGES, *further]
    assert counts["bundles"] == times
    assert counts["bytes written"] == 0


def test_of_a_folder_the_bytes_are_those_of_its_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    _, counts = told(run(WORKSPACE, "render", "--timings", "--output-dir", str(out)))
    assert counts["bytes written"] == sum(path.stat().st_size for path in out.iterdir())
    _, again = told(run(WORKSPACE, "render", "--timings", "--output-dir", str(out)))
    assert again["bytes written"] == 0


def test_they_are_told_of_what_fails_as_well(tmp_path: Path) -> None:
    broken = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nspec: ["
    (tmp_path / "broken.yaml").write_text(broken, encoding="utf-8")
    done = run(tmp_path, "render", "--timings")
    assert done.returncode == 3
    assert told(done)[1]["objects"] == 0
