"""What the reader refuses or warns of, with the place and a way out (OLMC100-OLMC112)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from olmc.k8s.diagnostics import Diagnostic, Report, Rule, Severity
from olmc.k8s.yaml import read

REFUSED = sorted((Path(__file__).parent / "refused").glob("*.yaml"))


def shown(diagnostic: Diagnostic) -> str:
    """A diagnostic as the expected files have it."""
    lines = [
        f"{diagnostic.location} {diagnostic.code} {diagnostic.severity}: {diagnostic.message}",
        f"  hint: {diagnostic.hint}",
        *(f"  also: {place} {text}" for text, place in diagnostic.related),
    ]
    return "".join(f"{line}\n" for line in lines)


def findings(text: str, path: str = "test.yaml", *, pure: bool = False) -> list[Diagnostic]:
    report = Report()
    read(path, text, report, pure=pure)
    return list(report)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.stem)
def test_refuses_with_place_and_hint(case: Path) -> None:
    report = Report()
    assert read("refused.yaml", case.read_bytes().decode(), report) == []
    assert report.worst() is Severity.ERROR
    assert "".join(map(shown, report)) == case.with_suffix(".txt").read_text(encoding="utf-8")


# The reader in Python notices these a little earlier or later.
OTHER_PLACES = {"unknown-escape", "version"}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.stem)
def test_the_reader_in_python_refuses_alike(case: Path) -> None:
    text = case.read_bytes().decode()
    ours, theirs = findings(text), findings(text, pure=True)
    if case.stem in OTHER_PLACES:
        assert [(f.code, f.message) for f in ours] == [(f.code, f.message) for f in theirs]
    else:
        assert ours == theirs


def test_every_rule_has_a_refused_case_or_a_test_of_its_own() -> None:
    declared = {rule.code for rule in vars(import_module("olmc.k8s.yaml.rules")).values() if isinstance(rule, Rule)}
    covered = {code for case in REFUSED for code in declared if code in case.with_suffix(".txt").read_text()}
    # The tests of JSON and of limits have these two.
    assert declared - covered == {"OLMC101", "OLMC124"}
    assert all("OLMC100" <= code <= "OLMC119" for code in declared - {"OLMC124"})


def test_a_key_that_stands_twice_is_a_warning_with_both_places() -> None:
    report = Report()
    text = "a: 1\nb:\n  c: x\n  'c': z\na: {d: 1}\na: 2\n"
    (document,) = read("dup.yaml", text, report)
    assert document.value == {"a": 2, "b": {"c": "z"}}
    assert list(document.value) == ["a", "b"]
    assert [(str(f.location), f.code, f.severity, [str(place) for _, place in f.related]) for f in report] == [
        ("dup.yaml:4:3", "OLMC102", Severity.WARNING, ["dup.yaml:3:3"]),
        ("dup.yaml:5:1", "OLMC102", Severity.WARNING, ["dup.yaml:1:1"]),
        ("dup.yaml:6:1", "OLMC102", Severity.WARNING, ["dup.yaml:1:1"]),
    ]


def test_keys_that_become_the_same_text_stand_twice() -> None:
    (finding,) = findings("1: a\n'1': b\n")
    assert (str(finding.location), finding.code) == ("test.yaml:2:1", "OLMC102")


def test_different_documents_and_merged_keys_are_no_duplicates() -> None:
    assert findings("a: 1\n---\na: 2\n") == []
    assert findings("x: &x {a: 1}\ny: {<<: *x, a: 2}\nz: {a: 3, <<: *x, <<: *x}\n") == []


def test_a_duplicate_in_a_repeated_value_is_reported_once() -> None:
    assert len(findings("x: &x {a: 1, a: 2}\ny: [*x, *x, *x]\n")) == 1


def test_the_bound_of_aliases_is_that_of_go_yaml() -> None:
    """99 % of 400,000 nodes may come out of aliases; a list of one alias more per node is refused."""
    items = ", ".join(["*a"] * 80)
    assert findings(f"a: &a [{', '.join(['x'] * 80)}]\nb: [{items}]\n") == []
    assert [f.code for f in findings(f"a: &a [{', '.join(['x'] * 800)}]\nb: [{', '.join(['*a'] * 800)}]\n")] == [
        "OLMC108"
    ]


@pytest.mark.parametrize("opening", ["[", "{", "- ", "? ", "{a: ", "[{"])
def test_depth_without_end_is_refused_quickly(opening: str) -> None:
    assert [f.code for f in findings(opening * 50_000)] == ["OLMC107"]


def test_a_lone_surrogate_is_refused() -> None:
    for pure in (False, True):
        (finding,) = findings("a: 1\nb: x\ud800\n", pure=pure)
        assert (str(finding.location), finding.code) == ("test.yaml:2:5", "OLMC100")


def test_lines_are_counted_as_editors_do() -> None:
    for text in ("a: 1\r\nb: 2\r\nc: 'x\r\n", "\ufeffa: 1\nb: 2\nc: 'x\n", "a: 1\rb: 2\rc: 'x\r"):
        (finding,) = findings(text)
        assert str(finding.location) == "test.yaml:3:4"
