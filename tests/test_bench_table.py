"""The table of `make bench` says of each missed target which floor was hit, with the shares of the profile."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def test_shares_are_of_packages_and_c_counts_for_its_caller(benchmark: Callable[[str], ModuleType]) -> None:
    profiled = benchmark("profiled")
    reader, importing = ("/x/olmc/k8s/yaml/lines.py", 1, "read"), ("<frozen importlib._bootstrap>", 1, "load")
    stats: dict[tuple[str, int, str], Any] = {
        reader: (1, 1, 2.0, 9.0, {}),
        importing: (1, 1, 1.0, 1.0, {}),
        ("/x/olmc/k8s/semver.py", 1, "parse"): (1, 1, 0.1, 0.1, {}),
        ("/lib/json/decoder.py", 1, "decode"): (1, 1, 1.9, 1.0, {}),
        ("~", 0, "<sorted>"): (2, 2, 5.0, 5.0, {reader: (1, 1, 4.0, 4.0), importing: (1, 1, 1.0, 1.0)}),
    }
    shares = profiled.shares_of(stats)
    assert {name: round(share, 2) for name, share in shares.items()} == {
        "yaml": 0.6, "imports": 0.2, "Python": 0.19, "semver": 0.01,
    }  # fmt: skip
    assert profiled.in_words(shares) == "yaml 60 %, imports 20 %, Python 19 %"


@pytest.mark.process
def test_a_real_profile(benchmark: Callable[[str], ModuleType], project: Path) -> None:
    words = benchmark("profiled").profile_of(["render", str(project / "fixtures" / "own-namespace")], {})
    assert "imports " in words


def test_a_line_that_misses_says_why(benchmark: Callable[[str], ModuleType]) -> None:
    table = benchmark("table")
    work = table.Work("work", ["olmc"], seconds=1, held=100, reason="all of it is needed")

    def line(seconds: float, held: float, empty: float = table.QUIET) -> str:
        text: str = table.line_of(work, table.Cost(seconds, held, 0.0, empty), lambda _: ("0.9 P", "yaml 60 %"))
        return text.split(" | ")[-1]

    assert line(0.5, 50) == "ok |"
    assert line(2, 50) == "misses ≤ 1.00 s; floor 0.9 P: all of it is needed (yaml 60 %) |"
    assert line(0.5, 200) == "misses ≤ 100 MB: all of it is needed |"
    assert line(2, 200) == "misses ≤ 1.00 s, ≤ 100 MB; floor 0.9 P: all of it is needed (yaml 60 %) |"
    assert line(1.9, 50, 2 * table.QUIET) == "ok |", "a machine that takes twice as long for everything"


def test_a_peer_is_compared_with_olmc(benchmark: Callable[[str], ModuleType]) -> None:
    table = benchmark("table")
    cost = table.Cost(0.2, 50, 0.0, 0.01)

    def line(share: float, olmc: float) -> list[str]:
        work = table.Work("peer", ["peer"], share=share)
        cells: list[str] = table.line_of(work, cost, lambda _: ("", ""), olmc).strip("| ").split(" | ")
        return cells[5:]

    assert line(0.75, 15.0) == ["olmc ≤ 0.75 of it", "ok, olmc takes 0.75 of it"]
    assert line(0.75, 16.0) == ["olmc ≤ 0.75 of it", "misses it, olmc takes 0.80 of it"]
    assert line(float("inf"), 16.0) == ["", "olmc takes 0.80 of it"]


@pytest.mark.process
def test_peers_do_the_same_work(benchmark: Callable[[str], ModuleType], project: Path, tmp_path: Path) -> None:
    """Each gets all manifests of the bundle, and Helm renders the braces that a bundle has as they are."""
    peers = benchmark("peers")
    bundle = min((project / "fixtures" / "own-namespace" / "bundles").iterdir())
    files = peers.yaml_files(bundle / "manifests")
    built = peers.write_kustomization(bundle, tmp_path / "kustomization")
    assert len(json.loads((built / "kustomization.yaml").read_text())["resources"]) == len(files) > 0
    assert peers.read_with_pyyaml(files) == len(files)
    chart = peers.write_chart(bundle, tmp_path / "chart")
    assert len(peers.yaml_files(chart / "templates")) == len(files)
    if peers.has_helm():
        assert peers.render_with_helm(chart) == len(files)


def test_the_floor_of_a_command_has_a_file_with_all_names(
    benchmark: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    floors, given = benchmark("floors"), tmp_path / "given"
    command = floors.least(["json"], given, documents=[Path("a folder/a.yaml")], texts=[Path("b.yaml")])
    assert command[-1] == str(given)
    assert given.read_text() == "json\n\na folder/a.yaml\n\nb.yaml"


@pytest.mark.process
def test_the_floor_of_a_command_loads_its_modules_and_reads(
    benchmark: Callable[[str], ModuleType], project: Path, tmp_path: Path
) -> None:
    floors = benchmark("floors")
    fixture = project / "fixtures" / "own-namespace"
    modules = floors.modules_of(["render", str(fixture)], {})
    assert {"olmc", "olmc.cli.render", "olmc.k8s.yaml.lines"} <= set(modules)
    assert not {"__main__", "threading"} & set(modules)

    def exit_code(*documents: Path) -> int:
        command = floors.least(modules, tmp_path / "given", documents=documents)
        return subprocess.run(command, capture_output=True, check=False).returncode

    files = benchmark("peers").yaml_files(fixture)
    assert exit_code(*files) == 0
    assert exit_code(*files, tmp_path / "missing.yaml") == 1


@pytest.mark.process
def test_the_repository_of_entries_has_as_many_as_it_says(
    benchmark: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    entries = benchmark("entries")
    if not any(map(shutil.which, ("kustomize", "kubectl"))):
        pytest.skip("neither kustomize nor kubectl is installed")
    entries.write_repository(tmp_path, 8)
    cost = entries.cost_of(sys.executable, ["check"], tmp_path)
    assert entries._counted(cost.printed) == (3, 8)
    assert len(list(tmp_path.glob("components/*/*/kustomization.yaml"))) == 2 + 6
    assert cost.own > 0
    assert cost.others > 0, "kubectl runs in processes of its own"
