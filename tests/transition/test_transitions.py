"""What comes of a cluster when something changes: a case of `cases/` each (see README.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from rule_cases import Case
from transition_cases import run_transition, transition_cases

from olmc.compiler.rules.rulebook import spec_rules

HERE = Path(__file__).parent
CASES = transition_cases(HERE / "cases")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_transition(case: Case, tmp_path: Path) -> None:
    """The case's fact holds when its first workspace becomes its second."""
    problems = run_transition(case, tmp_path)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def test_every_fact_has_a_case_or_a_reason() -> None:
    facts = {rule.id for rule in spec_rules().values() if rule.page == "transitions.md"}
    reasons = yaml.safe_load((HERE / "not-static.yaml").read_text(encoding="utf-8"))
    covered = {case.rule for case in CASES}
    assert len(facts) > 40
    assert sorted(covered - facts) == []
    assert sorted(facts - covered - reasons.keys()) == []
    assert sorted(covered & reasons.keys()) == []
    assert all(len(reason) > 20 for reason in reasons.values())
