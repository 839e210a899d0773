"""What was probably meant by a misspelt name."""

from __future__ import annotations

from difflib import get_close_matches

import pytest
from cpu_time import measure
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.diagnostics import LIKELY, POSSIBLE, close_matches, closest, did_you_mean, join_limited


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


_PARTS = st.sampled_from(["operator", "cert", "manager", "kafka", "-", ".", "v1", "2", "alpha", "Stable", "fast", "é"])
_NAMES = st.lists(_PARTS, max_size=6).map("".join) | st.text("abcAB-1", max_size=14)


@given(_NAMES, st.sets(_NAMES, max_size=30), st.integers(1, 3), st.sampled_from([POSSIBLE, LIKELY, 0.8]))
def test_names_as_people_write_them_are_suggested_as_difflib_does(
    name: str, names: set[str], most: int, cutoff: float
) -> None:
    by_lower = {other.lower(): other for other in sorted(names)}
    expected = [by_lower[lower] for lower in get_close_matches(name.lower(), by_lower, most, cutoff)]
    assert close_matches(name, names, most, cutoff) == expected


@pytest.mark.slow
@pytest.mark.parametrize("length", [30, 190])
def test_long_lists_of_long_names_cost_little(length: int) -> None:
    """As many as a file of 200 kB has: all pairs of them, compared by difflib, take minutes."""
    names = [f"{'a' * (length - 4)}{number:04}" for number in range(400)]
    seconds = measure()
    found = [close_matches(f"b{name}", names, 1, POSSIBLE) for name in names]
    assert seconds() < 5
    assert found == [[name] for name in names]


def test_a_name_that_no_api_server_takes_is_like_nothing() -> None:
    assert close_matches("a" * 253, ["a" * 252], 1) == ["a" * 252]
    assert close_matches("a" * 254, ["a" * 253], 1) == []
    assert close_matches("a" * 253, ["a" * 254], 1) == []
