"""`olmc graph`: what it answers, and with which exit code (docs/graph.md)."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from commands import olmc
from cpu_time import measure
from jsonschema import Draft202012Validator

from olmc.resources import schema

REVIEW = Path(__file__).resolve().parent.parent / "graph"
CASES = yaml.safe_load((REVIEW / "commands.yaml").read_text(encoding="utf-8"))
FORMATS = ("mermaid", "dot", "json", "svg")


@pytest.fixture(autouse=True)
def inside_review(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in messages are then the same everywhere; options come from the command line alone."""
    monkeypatch.chdir(REVIEW)
    for name in [name for name in os.environ if name.startswith("OLMC_GRAPH")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["title"]) for case in CASES])
def test_command(case: dict[str, Any]) -> None:
    """Each case names its rules."""
    result = olmc("graph", *shlex.split(case["run"]))
    assert (result.exit_code, result.stdout) == (case["exit"], case["stdout"])
    said = " ".join(result.stderr.split())
    assert case.get("stderr", "") in said
    assert "stderr" in case or said == ""


@pytest.mark.parametrize("output", FORMATS)
def test_the_catalog_of_a_workspace_and_its_folder_are_drawn_alike(output: str) -> None:
    """Only one catalog of the workspace has the package; nothing else is said."""
    inside = olmc("graph", "kettle", ".", "-o", output, "--catalog", "kettle")
    folder = olmc("graph", "kettle", "catalogs/kettle", "-o", output)
    assert (inside.exit_code, folder.exit_code, folder.stderr) == (0, 0, "")
    assert inside.stdout == folder.stdout


def test_mermaid_unless_told_otherwise() -> None:
    result = olmc("graph", "kettle", "catalogs/kettle")
    assert result.stdout == (REVIEW / "expected" / "kettle.mmd").read_text(encoding="utf-8")


def test_channels_can_be_chosen() -> None:
    result = olmc("graph", "sink", "catalogs/missing", "-o", "json", "--channel", "4.2", "--channel", "all")
    assert [channel["name"] for channel in json.loads(result.stdout)["channels"]] == ["4.2", "all"]


@pytest.mark.parametrize("output", FORMATS)
def test_a_catalog_that_olm_does_not_serve_is_drawn_all_the_same(output: str) -> None:
    """R-CAT-400: with OLM's reasons on stderr, and exit code 1."""
    result = olmc("graph", "door", "catalogs/two-heads", "-o", output)
    assert result.exit_code == 1
    assert "multiple channel heads found in graph" in result.stderr
    assert "2.1.0" in result.stdout


def test_the_way_as_data() -> None:
    """R-CAT-410: `path` beside the graph."""
    result = olmc("graph", "kettle", "catalogs/kettle", "--from", "1.1.0", "--to", "1.2.0", "-o", "json")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert list(Draft202012Validator(schema("graph")).iter_errors(data)) == []
    assert data["path"] == {
        "from": "kettle.v1.1.0",
        "to": "kettle.v1.2.0",
        "reached": False,
        "channel": "stable",
        "hops": [{"from": "kettle.v1.1.0", "to": "kettle.v1.3.0", "kind": "skipRange"}],
        "circles": False,
        "others": [
            {
                "channel": "fast",
                "hops": [{"from": "kettle.v1.1.0", "to": "kettle.v1.2.0", "kind": "replaces"}],
                "circles": False,
            }
        ],
    }


def test_options_from_the_environment() -> None:
    result = olmc("graph", "kettle", "catalogs/kettle", env={"OLMC_GRAPH_FROM": "1.0.0", "OLMC_GRAPH_CHANNEL": "fast"})
    assert result.stderr == ""
    assert result.stdout.startswith("kettle 1.0.0 in channel fast: no hop")


def test_a_package_in_several_catalogs(tmp_path: Path) -> None:
    text = (REVIEW / "catalogs" / "kettle" / "catalog.yaml").read_text(encoding="utf-8")
    for name in ("one", "two"):
        folder = tmp_path / "catalogs" / name
        folder.mkdir(parents=True)
        (folder / "catalog.yaml").write_text(text, encoding="utf-8")
    result = olmc("graph", "kettle", tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "kettle is in several catalogs; choose one with --catalog: one, two." in result.stderr
    chosen = olmc("graph", "kettle", tmp_path, "--catalog", "two", "-o", "json")
    assert (chosen.exit_code, json.loads(chosen.stdout)["catalog"]) == (0, "two")


def test_a_catalog_that_cant_be_read(tmp_path: Path) -> None:
    """R-CAT-121: what can't be read has no packages; that is not the user's misspelling."""
    (tmp_path / "catalog.yaml").write_text("schema: olm.package\nname: [\n", encoding="utf-8")
    result = olmc("graph", "kettle", tmp_path)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "There is no package kettle." in result.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("olmc.yaml", "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {ignores: []}\n"),
        ("broken.yaml", "x: [{apiVersion: v1, kind: Pod},\n"),
    ],
)
def test_nothing_is_drawn_of_a_workspace_with_errors(name: str, text: str, tmp_path: Path) -> None:
    """What could not be read might have been part of the catalog."""
    catalog = (REVIEW / "catalogs" / "kettle" / "catalog.yaml").read_text(encoding="utf-8")
    for path, content in ((tmp_path / name, text), (tmp_path / "catalogs" / "kettle" / "catalog.yaml", catalog)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    result = olmc("graph", "kettle", tmp_path)
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"{name}:" in result.stderr


@pytest.fixture(scope="module")
def bench(benchmark: Callable[[str], ModuleType]) -> ModuleType:
    """The benchmark, which makes the packages of the figure."""
    return benchmark("graph")


def test_all_skip_ranges(bench: ModuleType, tmp_path: Path) -> None:
    """R-CAT-410: also the edges that OLM would take if it did not take another one first."""
    (tmp_path / "catalog.yaml").write_text(bench.catalog("ranges", 5), encoding="utf-8")
    some = olmc("graph", "bench", tmp_path).stdout
    every = olmc("graph", "bench", tmp_path, "--skip-ranges").stdout
    assert len(re.findall(r"v\d --> ", some)) == len(re.findall(r"v\d --> ", every)) == 4
    assert (len(re.findall(r"v\d ==> ", some)), len(re.findall(r"v\d ==> ", every))) == (3, 6)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["skips", "dense", "ranges"])
def test_a_package_with_500_versions(shape: str, bench: ModuleType, tmp_path: Path) -> None:
    """The figure is 1 s of CPU (`bench/graph.py`); four times that leaves room for a slow and busy machine."""
    (tmp_path / "catalog.yaml").write_text(bench.catalog(shape, 500), encoding="utf-8")
    seconds = measure()
    result = olmc("graph", "bench", tmp_path, "-o", "svg")
    spent = seconds()
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("<g>") == 500
    assert spent < 4
