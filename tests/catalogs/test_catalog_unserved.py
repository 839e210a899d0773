"""Catalogs that OLM can't serve: its text, and our diagnostics with their places."""

from __future__ import annotations

from typing import Any

import pytest
from catalog_workshop import cases, loaded, place

from olmc.k8s.diagnostics import Severity


@pytest.mark.parametrize("case", cases("fbc.yaml"))
def test_a_catalog_is_refused_with_olms_text(case: dict[str, Any]) -> None:
    """R-CAT-120 … R-CAT-127, R-CAT-400 (each case names its rules)."""
    catalog, report = loaded(case["files"])
    assert not catalog.packages
    assert catalog.problem
    if "begins" in case:
        assert catalog.problem.startswith(case["begins"])
    else:
        assert catalog.problem == case["problem"]
    assert sorted(map(place, report)) == case["found"]
    assert {each.severity for each in report} == {Severity.FAILURE}
    assert all(each.hint for each in report)
