"""The rules about catalogs as a whole."""

from __future__ import annotations

import re
from pathlib import Path

from olmc.compiler.rules.findings import catalogs
from olmc.k8s.diagnostics import Rule

RULES = [each for each in vars(catalogs).values() if isinstance(each, Rule)]


def test_codes_are_unique_and_in_their_range() -> None:
    """Codes OLMC200 … OLMC259 belong to catalogs."""
    codes = [rule.code for rule in RULES]
    assert len(codes) == len(set(codes))
    assert all("OLMC200" <= code <= "OLMC259" for code in codes)


def test_every_rule_says_what_to_do_and_why() -> None:
    """A diagnostic has a next step, its explanation the rule of the specification."""
    for rule in RULES:
        assert rule.title and rule.message and rule.hint.endswith("."), rule.code
        assert re.search(r"R-CAT-\d{3}", rule.explanation), rule.code


def test_every_rule_is_tested() -> None:
    """Each code is expected somewhere in these tests."""
    folder = Path(__file__).parent
    expected = "".join(
        path.read_text(encoding="utf-8")
        for path in [*folder.glob("*.py"), *folder.glob("data/*.yaml")]
        if path.name != Path(__file__).name
    )
    assert [rule.code for rule in RULES if rule.code not in expected] == []
