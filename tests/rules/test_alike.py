"""What was probably meant by a misspelt name."""

from __future__ import annotations

import pytest

from olmc.model.alike import closest


@pytest.mark.parametrize(
    ("name", "names", "meant"),
    [
        ("subscripton", ("Subscription", "OperatorGroup"), "Subscription"),
        ("KIND", ("name", "kind"), "kind"),
        ("approval", ("installPlanApproval", "config"), "installPlanApproval"),
        ("deploy", ("deploymentName", "deploymentSpecs"), ""),
        ("name", ("displayName", "deploymentName"), ""),
        ("own", ("unknown",), ""),
        ("group", ("name", "version", "kind"), ""),
        ("anything", (), ""),
    ],
)
def test_closest(name: str, names: tuple[str, ...], meant: str) -> None:
    assert closest(name, names) == meant
    assert closest("approval", ("installPlanApproval",), parts=False) == ""
