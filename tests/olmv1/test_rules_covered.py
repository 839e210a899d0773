"""Every rule of OLM v1 is named by a test that covers it, or there is a reason why none does."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from olmc.compiler.rules.rulebook import spec_rules

TESTS = Path(__file__).resolve().parents[1]
RULES = sorted(rule for rule in spec_rules() if rule.startswith("R-V1-"))
ELSEWHERE = {
    "R-V1-CE-3": "olmc writes no finalizers, so there is nothing to test",
    "R-V1-HELM-3": "the Secrets of Helm's releases are not written: they say nothing that the objects do not",
    "R-V1-HELM-5": "a bundle that is a Helm chart is not compiled",
    "R-V1-SA-2": "who impersonates whom changes nothing that is installed",
}
_NAMED = re.compile(r"R-V1-([A-Z]+)-(\d+[a-z]?)(?: … (?:R-V1-[A-Z]+-)?(\d+))?")


@functools.cache
def _named() -> set[str]:
    """The rules that tests name, one by one or as the first and the last of several."""
    rules = set()
    for path in TESTS.rglob("test_*.py"):
        if path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        rules |= set(re.findall(r"R-V1-[A-Z]+(?![-A-Z\d])", text))
        for kind, first, last in _NAMED.findall(text):
            rules.add(f"R-V1-{kind}-{first}")
            rules |= {f"R-V1-{kind}-{number}" for number in range(int(first), int(last) + 1)} if last else set()
    return rules


def test_there_are_rules() -> None:
    assert len(RULES) > 90
    assert ELSEWHERE.keys() < set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_test_names_the_rule(rule: str) -> None:
    named = rule in _named()
    assert named != (rule in ELSEWHERE), f"{rule} needs a test, or a reason why it has none"
