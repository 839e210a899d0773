"""Every rule about the proposed APIs has a case or a test that names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rule_cases import cases

HERE = Path(__file__).parent
_RULE = re.compile(r"^(R-(?:OPERATOR|INSTALL|DESCOPE)-[0-9]+)\b", re.MULTILINE)


def rules_of(spec: Path) -> Iterator[str]:
    """The ids of the rules."""
    yield from _RULE.findall((spec / "catalog.md").read_text(encoding="utf-8"))


def test_every_rule_has_a_case(shared: Path) -> None:
    known = set(rules_of(shared / "spec"))
    assert len(known) == 44
    assert sorted(known - {case.rule for case in cases(HERE / "cases")}) == []


def test_cases_name_rules(shared: Path) -> None:
    """No case is about a rule that does not exist."""
    known = set(rules_of(shared / "spec"))
    assert sorted({case.rule for case in cases(HERE / "cases")} - known) == []
