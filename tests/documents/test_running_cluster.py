"""Statements of the documents about a cluster that runs already: a transition each, in `running/`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_cases import Case
from transition_cases import run_transition, transition_cases

CASES = transition_cases(Path(__file__).parent / "running")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_running(case: Case, tmp_path: Path) -> None:
    """The statement holds from an empty cluster (`before.expect`) and from the cluster that this leaves."""
    problems = run_transition(case, tmp_path)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
