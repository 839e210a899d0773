"""Real bundles compile, whatever they hold; and what is printed depends on the input alone.

The bundles are those of the corpus beside the specification: the newest of 164 operators, and older ones of 30 of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import olmc

BUNDLES = 224
SAMPLE = 12


@pytest.mark.parametrize("purpose", ["review", "apply"])
def test_every_bundle_compiles(purpose: str, corpus: list[Path], compiled: Callable[..., olmc.Compilation]) -> None:
    """Each gives objects; none of them is unreadable."""
    assert len(corpus) == BUNDLES
    for bundle in corpus:
        made = compiled(bundle) if purpose == "review" else compiled(bundle, olmc.Options(purpose="apply"))
        kinds = [rendered.object["kind"] for rendered in made.objects]
        assert not made.failed, (bundle, made.diagnostics)
        assert len(made.phases) == 1, bundle
        assert kinds[0] == "Namespace", bundle
        assert ("ClusterServiceVersion" in kinds) == (purpose == "review"), bundle
        assert made.findings or "Deployment" in kinds, bundle
        assert all(found.hint for found in made.diagnostics), bundle


def test_hardly_any_bundle_fails_by_itself(corpus: list[Path], compiled: Callable[..., olmc.Compilation]) -> None:
    """What fails needs an API or an operator that is not in the bundle; those that were published install."""
    reasons: dict[str, set[str]] = {}
    for bundle in corpus[::4]:
        made = compiled(bundle)
        failed = {reason for phase, reason in made.phases.values() if phase != "Succeeded"}
        if failed:
            reasons["/".join(bundle.parts[-2:])] = failed
    assert set().union(*reasons.values()) <= {"RequirementsNotMet", "RequirementsUnknown"}, reasons
    assert len(reasons) < len(corpus[::4]) / 4, reasons


# Each as a machine of its own: hash order, time zone, locale, home, width of the terminal.
MACHINES = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LANG": "de_DE.UTF-8", "HOME": "/nowhere", "COLUMNS": "20"},
    {"PYTHONHASHSEED": "4242", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8", "LANG": "C", "PYTHONUTF8": "1"},
)
UNSET = {"SOURCE_DATE_EPOCH", "LC_ALL", "LANG", "LANGUAGE", "TZ", "COLUMNS"}


def printed(machine: int, arguments: Sequence[str | Path], cwd: Path) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr of `olmc` as a process of its own."""
    kept = {key: value for key, value in os.environ.items() if key not in UNSET and not key.startswith("OLMC_")}
    command = [sys.executable, "-m", "olmc", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=kept | MACHINES[machine], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def folders(project: Path, tmp_path: Path) -> list[Path]:
    """Where the machines work."""
    (tmp_path / "elsewhere").mkdir()
    return [project, tmp_path / "elsewhere", Path("/")]


@pytest.mark.process
@pytest.mark.parametrize("purpose", ["review", "apply"])
def test_a_sample_is_the_same_everywhere(purpose: str, corpus: list[Path], project: Path, tmp_path: Path) -> None:
    sample = corpus[:: len(corpus) // SAMPLE][:SAMPLE]
    assert len({bundle.parent.name for bundle in sample}) == SAMPLE
    arguments: list[str | Path] = ["render", *sample, "--for", purpose, "--keep-going"]
    outcomes = [printed(number, arguments, cwd) for number, cwd in enumerate(folders(project, tmp_path))]
    code, stdout, stderr = outcomes[0]
    assert code in (0, 1), stderr
    assert len(stdout) > 100_000
    assert b"Traceback" not in stderr
    assert outcomes[1] == outcomes[0]
    assert outcomes[2] == outcomes[0]


def workspaces(project: Path) -> list[Path]:
    """All fixtures; of those that hold workspaces, these."""
    # A repository has several entries, of which none is compiled by itself (tests/cli/test_repository_kustomize.py).
    found = sorted(
        path
        for path in (project / "fixtures").iterdir()
        if path.is_dir() and path.name not in ("fleet", "olmv1", "repos", "transitions")
    )
    several = project / "fixtures/several-workspaces"
    return [path for path in found if path != several] + sorted(path for path in several.iterdir() if path.is_dir())


def check_paths(project: Path, given: Sequence[Path], stdout: bytes, stderr: bytes) -> None:
    """Output that is committed must not tell where it was made; messages name the workspaces as they were given."""
    assert str(project).encode() not in stdout
    for root in sorted(map(str, given), key=len, reverse=True):
        stderr = stderr.replace(f"{root}/".encode(), b"").replace(f" {root}".encode(), b"")
    assert str(project).encode() not in stderr


@pytest.mark.process
@pytest.mark.parametrize(
    "options",
    [
        ("--for", "review", "-v"),
        ("--for", "apply", "--certs", "cert-manager", "--keep-going"),
        ("-o", "json", "--approve", "all"),
    ],
    ids=" ".join,
)
def test_fixtures_are_the_same_everywhere(options: Sequence[str], project: Path, tmp_path: Path) -> None:
    given = workspaces(project)
    arguments: list[str | Path] = ["render", *given, *options]
    outcomes = [printed(number, arguments, cwd) for number, cwd in enumerate(folders(project, tmp_path))]
    assert outcomes[0][0] == 1
    assert len(outcomes[0][1]) > 50_000
    assert outcomes[1] == outcomes[0]
    assert outcomes[2] == outcomes[0]
    if "-v" in options:
        check_paths(project, given, *outcomes[0][1:])


@pytest.mark.process
@pytest.mark.parametrize("name", ["dependency", "upgrade", "two-groups", "manual-approval"])
def test_resolutions_are_the_same_everywhere(name: str, project: Path, tmp_path: Path) -> None:
    arguments: list[str | Path] = ["resolve", project / "fixtures" / name, "-o", "json"]
    outcomes = [printed(number, arguments, cwd) for number, cwd in enumerate(folders(project, tmp_path))]
    assert outcomes[0][1].startswith(b'{\n  "version": 1')
    assert outcomes[1] == outcomes[0]
    assert outcomes[2] == outcomes[0]
