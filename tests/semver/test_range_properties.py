"""Versions and ranges for any input: they agree with a second reading, and never fail otherwise than by saying so."""

from __future__ import annotations

import re
from functools import cmp_to_key

from hypothesis import given
from hypothesis import strategies as st
from semver import Version

from olmc.k8s.semver import RangeError, VersionError, parse_range, parse_strict, parse_tolerant

NUMBER = st.integers(0, 30).map(str) | st.just("18446744073709551615")
WORD = st.from_regex(r"[0-9A-Za-z-]{1,4}", fullmatch=True).filter(lambda text: not re.fullmatch("0[0-9]+", text))
PRERELEASE = st.lists(WORD, max_size=3).map(".".join).map(lambda text: f"-{text}" if text else "")
BUILD = st.lists(st.from_regex(r"[0-9A-Za-z-]{1,3}", fullmatch=True), max_size=2).map(".".join)
VERSION = st.builds(
    lambda major, minor, patch, pre, build: f"{major}.{minor}.{patch}{pre}" + (f"+{build}" if build else ""),
    NUMBER, NUMBER, NUMBER, PRERELEASE, BUILD,
)  # fmt: skip
NOISE = st.text(alphabet='0123456789.-+xvXabc<>=!~^|*, \t"\\é', max_size=14)
OPERATOR = st.sampled_from(["", "=", "==", "!", "!=", "<", "<=", ">", ">="])


def key(text: str) -> tuple[tuple[int, ...], bool, list[tuple[bool, int, str]]]:
    """R-CAT-451 once more: numbers, then a release above its pre-releases, then their identifiers one by one."""
    core, _, prerelease = text.partition("+")[0].partition("-")
    parts = [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in prerelease.split(".") if part]
    return tuple(map(int, core.split("."))), not prerelease, parts


def order(left: str, right: str) -> int:
    """Compare by that key; of equal numeric identifiers the digits are the same, so the text never decides wrongly."""
    return (key(left) > key(right)) - (key(left) < key(right))


@given(VERSION)
def test_a_version_is_read_and_printed_unchanged(text: str) -> None:
    assert str(parse_strict(text)) == text
    assert str(parse_tolerant(f" v{text}\n")) == text


@given(VERSION, VERSION)
def test_versions_are_ordered_r_cat_451(left: str, right: str) -> None:
    assert parse_strict(left).compare(parse_strict(right)) == order(left, right)


@given(st.lists(VERSION, max_size=8))
def test_sorting_does_not_depend_on_the_order_given(texts: list[str]) -> None:
    def ranked(versions: list[str]) -> list[object]:
        found = sorted(map(parse_strict, versions), key=cmp_to_key(Version.compare))
        return [(each.major, each.minor, each.patch, each.prerelease) for each in found]

    assert ranked(texts) == ranked(texts[::-1])


@given(st.lists(st.lists(st.tuples(OPERATOR, VERSION), min_size=1, max_size=3), min_size=1, max_size=3), VERSION)
def test_ranges_are_alternatives_of_comparisons_r_cat_453(terms: list[list[tuple[str, str]]], version: str) -> None:
    # A token with an x is a wildcard, wherever the x stands (R-CAT-454).
    terms = [[(operator, text.replace("x", "y")) for operator, text in term] for term in terms]
    text = " || ".join(" ".join(operator + bound for operator, bound in term) for term in terms)
    expected = any(all(compares(operator, order(version, bound)) for operator, bound in term) for term in terms)
    assert parse_range(text).contains(parse_strict(version)) == expected


def compares(operator: str, found: int) -> bool:
    """Whether a comparison with that outcome holds."""
    if operator in ("!", "!="):
        return found != 0
    return found in {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (1, 0)}.get(operator, (0,))


@given(VERSION, st.integers(0, 30), st.integers(0, 30))
def test_wildcards_are_spans_r_cat_454(version: str, major: int, minor: int) -> None:
    found = parse_strict(version)
    for wildcard, floor, ceiling in [
        (f"{major}.x", f"{major}.0.0", f"{major + 1}.0.0"),
        (f"{major}.{minor}.x", f"{major}.{minor}.0", f"{major}.{minor + 1}.0"),
    ]:
        inside = order(version, floor) >= 0 > order(version, ceiling)
        assert parse_range(wildcard).contains(found) == inside
        assert parse_range(f">={wildcard}").contains(found) == (order(version, floor) >= 0)
        assert parse_range(f"<{wildcard}").contains(found) == (order(version, floor) < 0)
        assert parse_range(f">{wildcard}").contains(found) == (order(version, ceiling) >= 0)
        assert parse_range(f"<={wildcard}").contains(found) == (order(version, ceiling) < 0)
        assert not parse_range(f"!={wildcard}").contains(found)


@given(NOISE | st.text(max_size=8))
def test_whatever_is_no_version_or_range_is_refused_in_words(text: str) -> None:
    for read, error in ((parse_strict, VersionError), (parse_tolerant, VersionError), (parse_range, RangeError)):
        try:
            read(text)
        except error as refused:
            assert str(refused)


@given(NOISE)
def test_a_strict_version_is_a_tolerant_one(text: str) -> None:
    try:
        strict = parse_strict(text)
    except VersionError:
        return
    assert parse_tolerant(text) == strict


@given(NOISE)
def test_blanks_around_a_range_do_not_matter(text: str) -> None:
    def outcome(written: str) -> object:
        try:
            return parse_range(written).alternatives
        except RangeError as refused:
            return str(refused)

    # Behind an operator a blank belongs to the token, and makes it long enough to be looked at.
    if not text.rstrip(" ").endswith(("<", ">", "=")):
        assert outcome(f"  {text}  ") == outcome(text)
