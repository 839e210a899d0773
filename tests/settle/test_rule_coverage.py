"""Every rule of the specification has a case, or a reason why it can have none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from rule_cases import cases

HERE = Path(__file__).parent
FOLDERS = (HERE / "cases", HERE.parent / "generate" / "cases")

_OPERATOR = re.compile(
    r"\b(?:R-(?:OG|CSV|SA|REQ|DEP|CERT|API|WH|CR|SING|TEN|PERM|COPY|COMP|OC)-[0-9]+[a-h]?|Q-[0-9]+)\b"
)
_CATALOG = re.compile(r"^(R-CAT-[67][0-9]{2})\b", re.MULTILINE)
# What the proposed APIs ask of the compiler; tests/proposed holds that each of their rules has a case.
_PROPOSED = re.compile(r"\b(R-(?:INST|OPERATOR|INSTALL|DESCOPE)-[0-9]+)\b")
_OBSERVED = re.compile(r"^([0-9]+)\. ", re.MULTILINE)


def rules_of(spec: Path) -> Iterator[str]:
    """The ids of the rules about groups, phases, objects and plans, and `observed-N` for each fact."""
    yield from _OPERATOR.findall((spec / "olm-operator.md").read_text(encoding="utf-8"))
    yield from _CATALOG.findall((spec / "catalog.md").read_text(encoding="utf-8"))
    for number in _OBSERVED.findall((spec / "observed.md").read_text(encoding="utf-8")):
        yield f"observed-{number}"


def covered() -> set[str]:
    """The rules that cases name."""
    return {case.rule for folder in FOLDERS for case in cases(folder)}


def without_cases() -> dict[str, str]:
    """The rules that can't have one, each with its reason."""
    found: dict[str, str] = yaml.safe_load((HERE / "not-static.yaml").read_text(encoding="utf-8"))
    return found


def test_every_rule_has_a_case_or_a_reason(shared: Path) -> None:
    known = set(rules_of(shared / "spec"))
    assert len(known) > 200
    assert sorted(known - covered() - without_cases().keys()) == []


def test_cases_and_reasons_name_rules(shared: Path) -> None:
    """Neither a case nor a reason is about a rule that does not exist."""
    catalog = (shared / "spec" / "catalog.md").read_text(encoding="utf-8")
    changes = _OBSERVED.findall((shared / "spec" / "transitions.md").read_text(encoding="utf-8"))
    known = {*rules_of(shared / "spec"), *_PROPOSED.findall(catalog), *(f"observed-{number}" for number in changes)}
    assert sorted((covered() | without_cases().keys()) - known) == []


def test_reasons_are_needed() -> None:
    """A rule that has a case needs no reason for having none, and every reason says something."""
    assert sorted(covered() & without_cases().keys()) == []
    assert all(len(reason) > 20 for reason in without_cases().values())
