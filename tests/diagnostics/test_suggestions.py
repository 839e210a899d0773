"""What was probably meant by a misspelt name."""

from __future__ import annotations

import pytest

from olmc.model.diagnostics import POSSIBLE, close_matches, closest, did_you_mean, join_limited


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
    assert close_matches("STABEL", channels, 2, POSSIBLE) == ["Stable", "stable-v2"]
    assert close_matches("STABEL", channels, 2) == ["Stable"]


@pytest.mark.parametrize(
    ("names", "question"),
    [((), ""), (("",), ""), (("kind",), "id you mean kind?"), (("kind", "name"), "id you mean kind or name?")],
)
def test_the_question_is_worded_the_same_everywhere(names: tuple[str, ...], question: str) -> None:
    assert did_you_mean(*names) == (f"D{question}" if question else "")
    assert did_you_mean(*names, inside=True) == (f"d{question}" if question else "")


def test_long_lists_are_cut() -> None:
    assert join_limited(["a", "b", "c"], 3) == "a, b, c"
    assert join_limited(["a", "b", "c", "d"], 2) == "a, b and 2 more"
