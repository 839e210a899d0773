"""Every rule of OLM v1 that says what is chosen, checked and reported is named by the test that covers it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SECTIONS = {"CE": 3, "CC": 3, "COS": 1, "FG": 4, "SV": 5, "RES": 15, "CRD": 5, "PERM": 2, "CND": 2, "SA": 2, "LIM": 4}
ELSEWHERE = {
    "R-V1-CE-3": "olmc writes no finalizers, so there is nothing to test",
    "R-V1-SA-2": "who impersonates whom changes nothing that is installed",
    "R-V1-LIM-1": "each of these is refused by a rule of its own: R-V1-RES-13, R-V1-LOAD-6, R-V1-VAL-2",
}
_NAMED = re.compile(r"R-V1-([A-Z]+)-(\d+)(?: … (?:R-V1-[A-Z]+-)?(\d+))?")


def _named() -> set[str]:
    rules = set()
    for path in TESTS.glob("test_*.py"):
        if path.name == Path(__file__).name:
            continue
        for kind, first, last in _NAMED.findall(path.read_text(encoding="utf-8")):
            rules |= {f"R-V1-{kind}-{number}" for number in range(int(first), int(last or first) + 1)}
    return rules


@pytest.mark.parametrize("rule", [f"R-V1-{kind}-{n}" for kind, last in SECTIONS.items() for n in range(1, last + 1)])
def test_a_test_names_the_rule(rule: str) -> None:
    named = rule in _named()
    assert named != (rule in ELSEWHERE), f"{rule} needs a test, or a reason why it has none"
