"""The rules about the objects that OLM writes: a case of `cases/` each (see ../settle/README.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_cases import Case, cases, run


@pytest.mark.parametrize("case", cases(Path(__file__).parent / "cases"), ids=lambda case: case.id)
def test_rule(case: Case, case_folder: Path) -> None:
    """The case's rule holds on its workspace."""
    problems = run(case, case_folder)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
