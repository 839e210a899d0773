"""docs/security-model.md: every promise names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

_ROW = re.compile(r"^\| (?P<promise>[^|]+) \| (?P<tests>\[test_[^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"\[(test_\w+)\]\(\.\./(tests/[\w/]+\.py)\)")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def test_promises_are_held_by_tests(project: Path) -> None:
    page = (project / "docs/security-model.md").read_text()
    table = page.partition("## What is promised")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "|---" not in line][1:]
    promises = list(_ROW.finditer(table))
    assert len(promises) == len(rows) > 15
    for promise in promises:
        tests = _TEST.findall(promise["tests"])
        assert len(tests) == promise["tests"].count("["), promise["promise"]
        for name, path in tests:
            assert f"\ndef {name}(" in (project / path).read_text(), f"{path}: {name}"


def test_links_lead_somewhere(project: Path) -> None:
    for page in ("docs/security-model.md", "docs/provenance.md", "SECURITY.md"):
        for link in _LINK.findall((project / page).read_text()):
            assert ((project / page).parent / link).resolve().exists(), f"{page}: {link}"
