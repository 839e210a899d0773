"""The conditions that OLM observes of an OperatorCondition (R-OC-3)."""

from __future__ import annotations

from typing import Any

from olmc.compiler.reconcile.phases import observed_conditions


def condition(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": "True", **more}


def test_only_a_condition_that_was_taken_back_is_outdated_r_oc_3() -> None:
    """One that the spec never had stays as it is in the status, and one that the status lacks does not appear."""
    before = {"spec": {"conditions": [condition("Upgradeable"), condition("Brewing")]}}
    now = {
        "spec": {"conditions": [condition("Ready", status="False")]},
        "status": {"conditions": [
            condition("Upgradeable", observedGeneration=3), condition("Steeping", observedGeneration=3),
            condition("Ready", observedGeneration=3),
        ]},
    }  # fmt: skip
    assert observed_conditions(now, before) == [
        condition("Upgradeable"),
        condition("Steeping", observedGeneration=3),
        condition("Ready", status="False", observedGeneration=3),
    ]
