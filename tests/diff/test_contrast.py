"""Values of both sides are shortened where they are equal alone (docs/diff.md)."""

from __future__ import annotations

import pytest
from tiers import sampled

from olmc.review.diff.crd_kinds import ABSENT, contrasted, contrasted_lists, shown

_LONG = "a" * 200


@pytest.mark.parametrize(
    ("old", "new", "shown_old", "shown_new"),
    [
        ("short", "other", "short", "other"),
        (1, "1", "1", '"1"'),
        (True, "true", "true", '"true"'),
        (ABSENT, "x", "nothing", "x"),
        (f"{_LONG}x{_LONG}", f"{_LONG}y{_LONG}", f"…{'a' * 25}x{'a' * 25}…", f"…{'a' * 25}y{'a' * 25}…"),
        (_LONG, f"{_LONG}y", f"…{'a' * 25}", f"…{'a' * 25}y"),
        (f"x{_LONG}", _LONG, f"x{'a' * 25}…", f"{'a' * 25}…"),
    ],
)
def test_equal_parts_alone_are_shortened(old: object, new: object, shown_old: str, shown_new: str) -> None:
    assert tuple(text.text for text in contrasted(old, new)) == (shown_old, shown_new)


def test_two_differences_far_apart_both_show() -> None:
    words = [f"word{number}" for number in range(300)]
    others = ["first", *words[1:150], "evil", *words[151:299], "last"]
    before, after = contrasted(" ".join(words), " ".join(others))
    assert all(word in after.text for word in ("first", "evil", "last"))
    assert all(word in before.text for word in ("word0", "word150", "word299"))
    assert len(after.text) < 300


def test_a_difference_of_any_length_is_counted() -> None:
    before, after = contrasted("x" * 10_000, "y" * 10_000)
    assert "more characters" in before.text and "more characters" in after.text
    assert before.text != after.text


@pytest.mark.parametrize(
    "text", sampled(["ab " * 100_000, "".join(f"w{number} " for number in range(50_000)), " " * 300_000], 3)
)
def test_a_hostile_value_costs_little(text: str) -> None:
    before, after = contrasted(f"x{text}{text[::-1]}", f"{text[::-1]}y{text}")
    assert before.text != after.text


def test_texts_of_a_list_are_contrasted_with_what_they_resemble() -> None:
    old, new = f"--config={_LONG}&safe=1&{_LONG}", f"--config={_LONG}&safe=0&{_LONG}"
    (gone,), (extra, come) = contrasted_lists((old,), ("--verbose", new))
    assert extra.text == "--verbose"
    assert "safe=1" in gone.text and "safe=0" in come.text
    assert len(come.text) < 80


def test_what_one_side_has_is_cut_visibly() -> None:
    assert "…" in shown("b" * 500).text
