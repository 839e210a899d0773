"""What is shipped: data files are found in a checkout, and the wheel works far from any checkout."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

from olmc.resources import schema, spec_pages, template_text
from olmc.version import __version__

# How pip says that it found no index to ask.
NO_INDEX = re.compile("No matching distribution|Could not find a version|NewConnectionError|timed out")

# Reads every schema, template and page named on the command line, through the installed package.
READ_ALL = """\
import sys
from pathlib import Path
import olmc
from olmc.resources import schema, spec_pages, template_text
assert Path(olmc.__file__).is_relative_to(sys.prefix), olmc.__file__
for name in sys.argv[1:]:
    kind, _, rest = name.partition("/")
    if kind == "docs":
        read = spec_pages()[rest.removeprefix("spec/")]
    else:
        read = schema(rest.removesuffix(".schema.json")) if kind == "schemas" else template_text(rest)
    print(name, bool(read))
"""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that knows nothing of the checkout."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def succeed(*command: str | Path, cwd: Path) -> str:
    """Run a command that must work, and return what it prints."""
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def data_files(project: Path) -> list[str]:
    """The files below schemas/, templates/ and docs/spec/, relative to the project."""
    files = (path for folder in ("schemas", "templates", "docs/spec") for path in (project / folder).rglob("*"))
    return sorted(path.relative_to(project).as_posix() for path in files if path.is_file())


def test_schema_and_template_in_a_checkout(project: Path) -> None:
    assert schema("operatorgroup")["title"] == "OperatorGroup"
    assert schema("operatorgroup") is schema("operatorgroup")
    for name in data_files(project):
        if name.startswith("templates/"):
            text = (project / name).read_text(encoding="utf-8")
            assert template_text(name.removeprefix("templates/")) == text
    pages = [name.removeprefix("docs/spec/") for name in data_files(project) if name.startswith("docs/")]
    assert sorted(spec_pages()) == pages


@pytest.mark.parametrize("read", [schema, template_text])
def test_data_file_that_does_not_exist(read: object) -> None:
    assert callable(read)
    with pytest.raises(FileNotFoundError):
        read("no-such-thing")


@pytest.fixture(scope="module")
def wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    isolation = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
    done = run(sys.executable, "-m", "build", "--wheel", *isolation, "--outdir", folder, project, cwd=folder)
    if done.returncode and not isolation and NO_INDEX.search(done.stdout + done.stderr):
        pytest.skip("hatchling is not installed, and pip reaches no index to get it from")
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(project: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of a fresh virtual environment with the wheel and its dependencies, nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", symlinks=os.name != "nt")
    scripts = folder / "venv" / "bin"
    pip: Sequence[str | Path] = (sys.executable, "-m", "pip", "--python", scripts / "python", "--no-input")
    pyproject = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    done = run(*pip, "install", "--quiet", *pyproject["project"]["dependencies"], cwd=folder)
    if done.returncode and NO_INDEX.search(done.stderr):
        pytest.skip("pip reaches no index to get the dependencies from")
    assert done.returncode == 0, done.stderr
    succeed(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=folder)
    succeed(*pip, "check", cwd=folder)
    return scripts


@pytest.mark.process
def test_wheel_carries_its_data(project: Path, installed: Path, tmp_path: Path) -> None:
    names = data_files(project)
    assert succeed(installed / "python", "-c", READ_ALL, *names, cwd=tmp_path).splitlines() == [
        f"{name} True" for name in names
    ]


@pytest.mark.process
def test_wheel_runs_anywhere(project: Path, installed: Path, tmp_path: Path) -> None:
    """`olmc` and `python -m olmc`, from a directory that has nothing to do with the checkout."""
    assert __version__ in succeed(installed / "olmc", "version", cwd=tmp_path)
    fixture = project / "fixtures" / "own-namespace"
    names = succeed(installed / "olmc", "render", fixture, "-o", "name", cwd=tmp_path)
    explained = succeed(installed / "olmc", "explain", "R-DEP-1", cwd=tmp_path)
    assert explained.startswith("R-DEP-1: How a Deployment is built\n")
    assert "\nNamed in: olmc/compiler/reconcile/" in explained
    assert "beacon-controller" in names
    assert succeed(installed / "python", "-m", "olmc", "render", fixture, "-o", "name", cwd=tmp_path) == names
