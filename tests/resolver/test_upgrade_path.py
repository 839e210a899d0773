"""Which version upgrades which; and many versions at once: the same answers as one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olmc.compiler.model.catalog import ChannelEntry
from olmc.compiler.resolver.upgrade_path import EDGE_KINDS, as_set, edge_kind, members, precedence, scale_of, sources
from olmc.k8s.semver import parse_range, parse_strict

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


ENTRIES = st.builds(
    ChannelEntry, st.sampled_from("abc"), st.sampled_from(["", "a", "b", "x"]),
    st.lists(st.sampled_from(["", "a", "c"]), max_size=2).map(tuple), st.sampled_from(["", "<1.2.0", ">=1.1.0", "odd"]),
)  # fmt: skip


@given(ENTRIES, st.dictionaries(st.sampled_from("abcx"), TEXTS))
def test_all_edges_at_once_r_cat_410(entry: ChannelEntry, written: dict[str, str]) -> None:
    """The sets of all versions with an edge have exactly those that are an upgrade one by one, and the same kind."""
    names = sorted({*"abcx", *written})
    numbers = {name: number for number, name in enumerate(names)}
    versions = {numbers[name]: parse_strict(text) for name, text in written.items()}
    sets = sources(entry, numbers, scale_of(versions), as_set(numbers.values()))
    for name, number in numbers.items():
        first = next((kind for kind, edges in zip(EDGE_KINDS, sets, strict=True) if edges >> number & 1), None)
        assert first == edge_kind(entry, name, versions.get(number)), name


def test_nameless_csvs_r_cat_410() -> None:
    """An entry that replaces nothing is no upgrade of what has no name; a skipRange still is about its version."""
    version = parse_strict("1.0.0")
    assert edge_kind(ChannelEntry("a"), "", version) is None
    assert edge_kind(ChannelEntry("a", skip_range="<2.0.0"), "", version) == "skipRange"
