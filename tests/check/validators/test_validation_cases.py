"""Every check of the validators, bad and good: the good bundle with something changed, and what is said about it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from bundle_workshop import GOOD, HERE, cases, findings, patched_bundle, place, settings_of

from olmc.k8s.diagnostics import Rule
from olmc.review.check.validators.findings import OPTIONAL

RULES = {
    value.code: value
    for value in vars(import_module("olmc.compiler.rules.findings.validation")).values()
    if isinstance(value, Rule) and "OLMC260" <= value.code <= "OLMC299"
}
"""The rules of the validators; those of other checks of bundles are beside them."""


@pytest.mark.parametrize("case", cases())
def test_findings(case: dict[str, Any], tmp_path: Path) -> None:
    """Code, severity, text and place of everything that is found in a bundle."""
    root = patched_bundle(tmp_path, case.get("files", {}))
    found = findings(root, settings_of(case.get("optional", ()), case.get("values")))
    told = [{"code": each.code, "text": each.message, "at": place(root, each)} for each in found]
    order = sorted(told, key=lambda each: (each["code"], each["text"], each["at"]))
    assert order == sorted(case["expect"], key=lambda each: (each["code"], each["text"], each["at"]))
    assert [each.severity for each in found] == [RULES[each.code].severity for each in found]


def test_nothing_is_said_of_the_good_bundle() -> None:
    """The good case of every check, the optional ones included."""
    assert findings(GOOD, settings_of(set(OPTIONAL) - {"operatorhub"})) == []


def test_every_rule_has_a_case() -> None:
    """Each code is expected somewhere, each rule of the specification named somewhere."""
    data = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("cases/*.yaml"))
    tests = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    assert [code for code in RULES if code not in data + tests] == []
    named = {number for rule in RULES.values() for number in re.findall(r"R-CAT-\d+", rule.explanation)}
    assert sorted(number for number in named if number not in data + tests) == []


def test_rules_are_complete() -> None:
    """Each finding says what to do, each rule what it implements."""
    assert RULES
    for rule in RULES.values():
        assert rule.message == "{text}"
        assert rule.hint.endswith("."), rule.code
        assert re.search(r"R-CAT-2\d\d", rule.explanation), rule.code
