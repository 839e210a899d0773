"""What olmc is made of and with: pinned, listed, and built the same each time."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

LINE = re.compile(r"^([a-z0-9.-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.lower())


def test_constraints_pin_everything_with_hashes(project: Path) -> None:
    """What olmc and its extras need, in versions that pyproject.toml allows; nothing without hashes."""
    text = (project / "constraints.txt").read_text()
    pins = {normal(name): version for name, version, _ in LINE.findall(text)}
    assert len(pins) == sum(not line.startswith(("#", " ")) for line in text.splitlines())
    table = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    extras = table["optional-dependencies"]
    wanted = [*table["dependencies"], *extras["dev"], *extras["serve"], *extras["cel"]]
    for needed in map(Requirement, wanted):
        if needed.name != "olmc":
            assert needed.specifier.contains(pins[normal(needed.name)], prereleases=True), needed


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_what_is_pinned_needs_nothing_that_is_not(python: str, project: Path) -> None:
    """Else pip refuses all of it, and what is installed is what the day brings."""
    pins = {normal(name) for name, _, _ in LINE.findall((project / "constraints.txt").read_text())}
    installed = [one for one in distributions() if normal(one.name) in pins]
    assert len(installed) > len(pins) / 2
    environment = {"python_version": python, "python_full_version": f"{python}.9", "extra": ""}
    needed = {
        normal(needed.name)
        for one in installed
        for needed in map(Requirement, one.requires or ())
        if needed.marker is None or needed.marker.evaluate(environment)
    }
    assert needed - pins == set()


def test_what_olmc_is_built_with_is_pinned(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the build asks for while it runs stands in no metadata; pip installs it only where nothing is pinned."""
    build = pytest.importorskip("hatchling.build", reason="needs hatchling, which make venv installs")
    monkeypatch.chdir(project)
    pins = {normal(name): version for name, version, _ in LINE.findall((project / "constraints.txt").read_text())}
    asked = map(Requirement, [*build.get_requires_for_build_editable(), *build.get_requires_for_build_wheel()])
    for needed in asked:
        assert needed.specifier.contains(pins[normal(needed.name)], prereleases=True), needed


def test_scaffolds_have_what_development_has(project: Path) -> None:
    """A library is tested in the version that scaffolds install, with hashes that both know."""
    pins = {normal(name): (version, hashes) for name, version, hashes in
            LINE.findall((project / "constraints.txt").read_text())}  # fmt: skip
    for name, version, hashes in LINE.findall((project / "templates/requirements.txt").read_text()):
        assert pins[normal(name)][0] == version, name
        assert set(re.findall("sha256:[0-9a-f]+", hashes)) <= set(re.findall("sha256:[0-9a-f]+", pins[normal(name)][1]))


def test_libraries_that_broke_have_an_upper_bound(project: Path) -> None:
    """ruamel.yaml has taken its own names away between minor versions; those before 1.0 promise nothing."""
    table = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    wanted = [*table["dependencies"], *table["optional-dependencies"]["serve"], *table["optional-dependencies"]["cel"]]
    bounds = {normal(needed.name): str(needed.specifier) for needed in map(Requirement, wanted)}
    for name in ("cel-expr-python", "ruamel-yaml", "python-sat", "pathspec", "starlette", "uvicorn", "zstandard"):
        assert "<" in bounds[name], name


def test_the_bill_of_materials_names_what_is_pinned(project: Path) -> None:
    text = (project / "templates/requirements.txt").read_text()
    base = "docker.io/library/python:3.13-slim@sha256:" + "0" * 64
    spec = importlib.util.spec_from_file_location("bill_of_materials", project / ".ci/bill_of_materials.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    first, again = (script.bill_of_materials(text, base) for _ in range(2))
    assert first == again != script.bill_of_materials(text)
    bill = json.loads(first)
    pins = {(name, version) for name, version, _ in LINE.findall(text)}
    assert {(one["name"], one["version"]) for one in bill["components"] if one["type"] == "library"} == pins
    assert all(one["hashes"] for one in bill["components"] if one["type"] == "library")
    (image,) = (one for one in bill["components"] if one["type"] == "container")
    assert (image["name"], image["version"]) == tuple(base.split("@"))
    refs = {one["bom-ref"] for one in (*bill["components"], bill["metadata"]["component"])}
    assert {one["ref"] for one in bill["dependencies"]} == refs
    assert set(bill["dependencies"][0]["dependsOn"]) == refs - {bill["metadata"]["component"]["bom-ref"]}


@pytest.mark.process
def test_the_wheel_is_reproducible(project: Path, tmp_path: Path) -> None:
    """From another folder, at another time, with other rights: the same bytes."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("needs hatchling, which make venv installs")
    wheels = []
    for number, (umask, zone) in enumerate(((0o022, "UTC"), (0o077, "Pacific/Kiritimati"))):
        source, out = tmp_path / str(number) / "source", tmp_path / str(number) / "out"
        for name in ("olmc", "schemas", "templates", "docs/spec"):
            shutil.copytree(project / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(project / name, source / name)
        if number:
            for path in source.rglob("*.py"):
                os.utime(path, (1e9, 1e9))
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            out,
            source,
        ]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            command, umask=umask, env={**kept, "TZ": zone}, capture_output=True, text=True, check=False, cwd=source
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (wheel,) = out.glob("*.whl")
        wheels.append(wheel.read_bytes())
    assert wheels[0] == wheels[1]
