"""Many versions at once: the same answers as one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olmc.golang.ranges import parse_range
from olmc.golang.semver import parse_strict
from olmc.review.precedence import as_set, members, precedence, scale_of

IDENTIFIERS = st.sampled_from(["0", "1", "2", "10", "a", "b", "rc", "rc1", "0a", "-", "A"])
PRERELEASES = st.lists(IDENTIFIERS, max_size=3).map(lambda found: "-" + ".".join(found) if found else "")
NUMBERS = st.integers(0, 11).map(str)
TEXTS = st.builds(
    "{}.{}.{}{}{}".format, st.sampled_from("012"), NUMBERS, NUMBERS, PRERELEASES, st.sampled_from(["", "", "+1"])
)
OPERATORS = st.sampled_from(["<", "<=", ">", ">=", "=", "!="])
COMPARATORS = st.builds("{}{}".format, OPERATORS, TEXTS.filter(lambda text: "x" not in text))
RANGES = st.lists(st.lists(COMPARATORS, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=3).map(" || ".join)


@given(TEXTS, TEXTS)
def test_precedence_orders_as_versions_are_ordered(one: str, other: str) -> None:
    """R-CAT-451."""
    first, second = parse_strict(one), parse_strict(other)
    keys = precedence(first), precedence(second)
    assert (keys[0] > keys[1]) - (keys[0] < keys[1]) == first.compare(second)


@given(st.lists(TEXTS, max_size=12), RANGES)
def test_a_scale_finds_what_a_range_contains(texts: list[str], written: str) -> None:
    """R-CAT-453, R-CAT-455."""
    versions = {number: parse_strict(text) for number, text in enumerate(texts)}
    contained = parse_range(written)
    expected = [number for number, version in versions.items() if contained.contains(version)]
    assert list(members(scale_of(versions).inside(contained))) == expected


@given(st.sets(st.integers(0, 300)))
def test_sets_of_numbers(numbers: set[int]) -> None:
    assert list(members(as_set(numbers))) == sorted(numbers)
