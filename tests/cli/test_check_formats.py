"""`olmc check -o …`: what goes where, and whose paths; what is accepted, and what is left to say about it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from commands import olmc

GROUP = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: tea}\n"
EMPTY = GROUP + "spec:\n  targetNamespaces: []\n"
CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n  suppress:\n"


def paths(text: str) -> set[str]:
    """The paths in a SARIF file."""
    results = json.loads(text)["runs"][0]["results"]
    return {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results}


def test_annotations_go_to_stderr() -> None:
    """stdout stays free for data; the exit code is that of the text."""
    result = olmc("check", "two-groups", "-o", "github")
    assert (result.exit_code, result.stdout) == (1, "")
    first = result.stderr.splitlines()[0]
    assert first.startswith("::error file=two-groups/cluster.yaml,line=")
    assert "title=Two OperatorGroups in a namespace (OLMC306)::" in first


def test_paths_are_those_of_the_repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the current directory, or below GITHUB_WORKSPACE, whatever the argument looks like."""
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    here = {"two-groups/cluster.yaml", "two-groups/tide.csv.yaml"}
    for argument in ("two-groups", "./two-groups/", project / "fixtures" / "two-groups"):
        assert paths(olmc("check", argument, "-o", "sarif").stdout) <= here
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project))
    assert paths(olmc("check", "two-groups", "-o", "sarif").stdout) <= {f"fixtures/{path}" for path in here}
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project / "docs"))
    assert "cluster.yaml" in paths(olmc("check", "two-groups", "-o", "sarif").stdout)


def test_rules_in_sarif_link_to_what_can_be_read() -> None:
    """Each to its place on the page of rules, and the rules of OLM that its explanation names to theirs."""
    rules = json.loads(olmc("check", "bare-bundle", "-o", "sarif").stdout)["runs"][0]["tool"]["driver"]["rules"]
    assert [(rule["id"], rule["helpUri"]) for rule in rules] == [
        ("OLMC270", "https://olmc.dev/docs/rules/OLMC270.html"),
        ("OLMC272", "https://olmc.dev/docs/rules/OLMC272.html"),
    ]
    assert "(R-CAT-211)" in rules[0]["help"]["text"]
    assert "([R-CAT-211](https://olmc.dev/docs/spec/validation.html#r-cat-211))" in rules[0]["help"]["markdown"]


def test_a_report_of_test_cases() -> None:
    result = olmc("check", "two-groups", "bare-bundle", "-o", "junit", "--ignore", "OLMC270")
    assert result.exit_code == 1
    root = Xml.fromstring(result.stdout)
    csv = "bare-bundle/manifests/beacon.clusterserviceversion.yaml"
    assert {"two-groups/cluster.yaml", csv} <= {suite.get("name") for suite in root}
    assert {each.get("type") for each in root.iter("failure")} == {"OLMC301", "OLMC306"}
    strict = Xml.fromstring(olmc("check", "bare-bundle", "-o", "junit", "--strict").stdout)
    assert {each.get("type") for each in strict.iter("failure")} == {"OLMC270", "OLMC272"}


def test_what_is_accepted_is_counted(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(EMPTY, encoding="utf-8")
    assert olmc("check", tmp_path, "--strict").exit_code == 1
    (tmp_path / "olmc.yaml").write_text(f"{CONFIG}  - code: OLMC401\n    reason: all of them\n", encoding="utf-8")
    result = olmc("check", tmp_path, "--strict")
    assert (result.exit_code, result.stdout) == (0, "no findings (0 bundles validated, 1 suppressed)\n")


def test_an_entry_of_the_configuration_that_is_of_no_use(tmp_path: Path) -> None:
    """It is told with the place of the entry; a comment would do the same."""
    (tmp_path / "g.yaml").write_text(EMPTY, encoding="utf-8")
    entries = "  - {code: OLMC401, reason: so}\n  - {code: OLMC402, reason: so}\n  - {code: OLMC999, reason: so}\n"
    (tmp_path / "olmc.yaml").write_text(CONFIG + entries, encoding="utf-8")
    found = json.loads(olmc("check", tmp_path, "-o", "json").stdout)["findings"]
    assert [(each["code"], each["path"], each["line"]) for each in found] == [
        ("OLMC440", "olmc.yaml", 6), ("OLMC442", "olmc.yaml", 7),
    ]  # fmt: skip


@pytest.mark.parametrize("entry", ["{code: OLMC401}", "{code: OLMC401, reason: ''}", "{code: OLMC4, reason: so}"])
def test_an_entry_needs_a_code_and_a_reason(entry: str, tmp_path: Path) -> None:
    (tmp_path / "olmc.yaml").write_text(f"{CONFIG}  - {entry}\n", encoding="utf-8")
    result = olmc("check", tmp_path)
    assert result.exit_code == 3
    assert "[OLMC138]" in result.stdout


def test_only_what_was_looked_for_can_be_missed(tmp_path: Path) -> None:
    """A suppression for an optional validator, or for another command, is not called unused."""
    comments = "".join(f"# olmc: ignore[{code}] so\n" for code in ("OLMC287", "OLMC320", "OLMC401"))
    (tmp_path / "g.yaml").write_text(f"{comments}{GROUP}", encoding="utf-8")
    found = json.loads(olmc("check", tmp_path, "-o", "json").stdout)["findings"]
    assert [each["message"] for each in found] == ["this place has no finding OLMC401"]
    everything = json.loads(olmc("check", tmp_path, "-o", "json", "--optional", "all").stdout)["findings"]
    assert len(everything) == 2


@pytest.mark.parametrize(
    ("flags", "missed"),
    [
        ("", ["OLMC620"]),
        ("--descoped", ["OLMC620", "OLMC661"]),
        ("--enable-v2alpha1", ["OLMC620", "OLMC672"]),
        ("--enable-v2alpha1 --as jane", ["OLMC620", "OLMC671", "OLMC672"]),
    ],
)
def test_what_is_proposed_is_looked_for_when_it_is_compiled(flags: str, missed: list[str], tmp_path: Path) -> None:
    codes = ("OLMC602", "OLMC620", "OLMC661", "OLMC671", "OLMC672", "OLMC695")
    entries = "".join(f"  - {{code: {code}, reason: so}}\n" for code in codes)
    (tmp_path / "g.yaml").write_text(GROUP, encoding="utf-8")
    (tmp_path / "olmc.yaml").write_text(CONFIG + entries, encoding="utf-8")
    found = json.loads(olmc("check", tmp_path, "-o", "json", *flags.split()).stdout)["findings"]
    assert {each["code"] for each in found} == {"OLMC440"}
    assert [each["message"].rpartition(" ")[2] for each in found] == missed


def test_other_commands_obey(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(EMPTY + "---\n" + EMPTY.replace("name: g", "name: h"), encoding="utf-8")
    assert olmc("render", tmp_path).exit_code == 1
    (tmp_path / "olmc.yaml").write_text(f"{CONFIG}  - code: OLMC306\n    reason: on purpose\n", encoding="utf-8")
    result = olmc("render", tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")


def test_graphs_obey_as_well(tmp_path: Path) -> None:
    """What is wrong with a catalog is told where it is drawn, unless somebody has accepted it."""
    catalog = tmp_path / "catalogs" / "tea" / "catalog.yaml"
    catalog.parent.mkdir(parents=True)
    catalog.write_text("schema: olm.package\nname: tea\n", encoding="utf-8")
    assert "[OLMC233]" in olmc("graph", "tea", tmp_path).stderr
    entries = "  - {code: OLMC233, reason: so}\n  - {code: OLMC234, reason: so}\n"
    (tmp_path / "olmc.yaml").write_text(CONFIG + entries, encoding="utf-8")
    assert "[OLMC23" not in olmc("graph", "tea", tmp_path).stderr
