"""Every rule about the proposed APIs has a case or a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

from rule_cases import cases

from olmc.compiler.rules.rulebook import spec_rules

HERE = Path(__file__).parent
_RULE = re.compile(r"R-(?:OPERATOR|INSTALL|DESCOPE)-[0-9]+")


def rules() -> set[str]:
    """The ids of the rules."""
    return {rule_id for rule_id in spec_rules() if _RULE.fullmatch(rule_id)}


def test_every_rule_has_a_case() -> None:
    assert len(rules()) == 44
    assert sorted(rules() - {case.rule for case in cases(HERE / "cases")}) == []


def test_cases_name_rules() -> None:
    """No case is about a rule that does not exist."""
    assert sorted({case.rule for case in cases(HERE / "cases")} - rules()) == []
