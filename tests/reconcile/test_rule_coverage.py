"""Every rule of the specification has a case, or a reason why it can have none."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from rule_cases import cases

from olmc.compiler.rules.rulebook import spec_rules

HERE = Path(__file__).parent
FOLDERS = (HERE / "cases", HERE.parent / "render" / "cases")

_ASKED = re.compile(
    r"R-(?:OG|CSV|SA|REQ|DEP|CERT|API|WH|CR|SING|TEN|PERM|COPY|COMP|OC)-[0-9]+[a-h]?|Q-[0-9]+|R-CAT-[67][0-9]{2}"
)
# What the proposed APIs ask of the compiler; tests/proposed holds that each of their rules has a case.


def asked() -> set[str]:
    """The ids of the rules about groups, phases, objects and plans, and of the facts about settled clusters."""
    return {rule.id for rule in spec_rules().values() if _ASKED.fullmatch(rule.id) or rule.page == "observed.md"}


def covered() -> set[str]:
    """The rules that cases name."""
    return {case.rule for folder in FOLDERS for case in cases(folder)}


def without_cases() -> dict[str, str]:
    """The rules that can't have one, each with its reason."""
    found: dict[str, str] = yaml.safe_load((HERE / "not-static.yaml").read_text(encoding="utf-8"))
    return found


def test_every_rule_has_a_case_or_a_reason() -> None:
    assert len(asked()) > 200
    assert sorted(asked() - covered() - without_cases().keys()) == []


def test_cases_and_reasons_name_rules() -> None:
    """Neither a case nor a reason is about a rule that does not exist."""
    known = {rule.id for rule in spec_rules().values()}
    assert sorted((covered() | without_cases().keys()) - known) == []


def test_reasons_are_needed() -> None:
    """A rule that has a case needs no reason for having none, and every reason says something."""
    assert sorted(covered() & without_cases().keys()) == []
    assert all(len(reason) > 20 for reason in without_cases().values())
