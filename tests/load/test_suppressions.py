"""Suppressions in comments and in olmc.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import olmc
from olmc.compiler.load.suppressions import apply_suppressions, comments, entries
from olmc.k8s.diagnostics import Diagnostic, Location, Severity

FINDING = Diagnostic("OLMC401", Severity.WARNING, "empty", Location("a/b.yaml", 3, 3))


def spoken_of(text: str) -> list[tuple[str, int, str]]:
    """Code, line and reason of the suppressions of a text."""
    return [(each.code, each.line, each.reason) for each in comments("a.yaml", text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1  # olmc: ignore[OLMC401] why not", [("OLMC401", 1, "why not")]),
        ("# olmc: ignore[OLMC401] why not\na: 1", [("OLMC401", 2, "why not")]),
        ("# olmc: ignore[OLMC401]\n# more\n\n---\na: 1", [("OLMC401", 5, "")]),
        ("a:\n  #olmc:ignore[olmc401, OLMC402]  both\n  b: 1", [("OLMC401", 3, "both"), ("OLMC402", 3, "both")]),
        ("# olmc: ignore everything\na: 1", [("", 2, "everything")]),
        ("# olmc: ignore[OLMC401] crlf\r\n# more\r\na: 1\r\n", [("OLMC401", 3, "crlf")]),
        ("a: b# olmc: ignore[OLMC401] no comment", []),
        ("# olmc: ignored", []),
        ("a: 1", []),
    ],
)
def test_comments(text: str, expected: list[tuple[str, int, str]]) -> None:
    """On the line, or above it with other comments, empty lines and the beginning of a document between."""
    assert spoken_of(text) == expected


def left(root: Path, config: Mapping[str, Any], *found: Diagnostic) -> list[Diagnostic]:
    return list(apply_suppressions(root, found, config).kept)


@pytest.mark.parametrize(
    ("entry", "applies"),
    [
        ({}, True),
        ({"path": "a/"}, True),
        ({"path": "*.yaml"}, True),
        ({"path": "a/b.yaml"}, True),
        ({"path": "/b.yaml"}, False),
        ({"path": "c/"}, False),
        ({"code": "OLMC402"}, False),
    ],
)
def test_entries_of_the_configuration(entry: dict[str, str], applies: bool, tmp_path: Path) -> None:
    config = {"suppress": [{"code": "OLMC401", "reason": "so", **entry}]}
    done = apply_suppressions(tmp_path, [FINDING], config)
    assert (len(done.kept), len(done.suppressed)) == ((0, 1) if applies else (1, 0))
    assert done.used == (frozenset(entries(config)) if applies else frozenset())


def test_a_pattern_does_not_speak_of_what_has_no_place(tmp_path: Path) -> None:
    nowhere = FINDING._replace(location=None)
    assert left(tmp_path, {"suppress": [{"code": "OLMC401", "reason": "so"}]}, nowhere) == []
    assert left(tmp_path, {"suppress": [{"code": "OLMC401", "reason": "so", "path": "*"}]}, nowhere) == [nowhere]


def test_a_comment_counts_in_its_file_only(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.yaml").write_text("x: 1\n# olmc: ignore[OLMC401] so\ny: 2\n", encoding="utf-8")
    other = FINDING._replace(location=Location("a/c.yaml", 3, 3))
    below = FINDING._replace(location=Location("a/b.yaml", 4, 3))
    assert left(tmp_path, {}, FINDING, other, below) == [other, below]


def test_errors_are_never_suppressed(tmp_path: Path) -> None:
    error = FINDING._replace(severity=Severity.ERROR)
    assert left(tmp_path, {"suppress": [{"code": "OLMC401", "reason": "so"}]}, error) == [error]


def test_compiling_obeys(tmp_path: Path) -> None:
    """What is suppressed does not count, but is there for whoever asks."""
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: NAME, namespace: tea}\n"
    comment = "# olmc: ignore[OLMC306] one of them goes away tomorrow\n"
    text = comment + group.replace("NAME", "a") + "---\n" + group.replace("NAME", "b")
    (tmp_path / "groups.yaml").write_text(text, encoding="utf-8")
    made = olmc.compile(tmp_path)
    assert not made.findings
    assert [each.code for each in made.suppressed] == ["OLMC306"]
    assert "OLMC306" not in {each.code for each in made.diagnostics}
