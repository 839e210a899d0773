"""What was probably meant by a misspelt name."""

from __future__ import annotations

import pytest

from olmc.model.alike import POSSIBLE, close, closest


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


def test_close_names_come_in_the_order_of_their_likeness() -> None:
    channels = {"stable-v1", "stable-v2", "Stable", "fast"}
    assert close("STABEL", channels, 2, POSSIBLE) == ["Stable", "stable-v2"]
    assert close("STABEL", channels, 2) == ["Stable"]
