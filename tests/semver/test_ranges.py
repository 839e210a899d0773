"""Ranges as blang/semver reads them, the whole table of tricky ones among them (R-CAT-453 … R-CAT-457, D31)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from olmc.k8s.semver import RangeError, dropped_parts, parse_range, parse_strict, range_or_none

TABLE = yaml.safe_load((Path(__file__).parent / "cases" / "ranges.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "expected"), TABLE["ranges"].items())
def test_table_of_ranges_r_cat_457(text: str, expected: list[str] | str) -> None:
    if isinstance(expected, str):
        with pytest.raises(RangeError) as refused:
            parse_range(text)
        assert str(refused.value) == expected
    else:
        found = parse_range(text)
        assert found.text == text
        assert [each for each in TABLE["versions"] if found.contains(parse_strict(each))] == expected


def test_the_table_is_complete() -> None:
    assert len(TABLE["ranges"]) == 69
    assert len(TABLE["versions"]) == 17


OVER = "9" * 30


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        # Bytes count, not characters: this one is not too short to be looked at.
        ("é", 'Could not get version from string: "é"'),
        (
            ">\t1.0",
            'Could not parse Range ">\\t1.0": Could not parse version "1.0" in ">1.0": '
            "No Major.Minor.Patch elements found",
        ),
        (
            "1.-1.x",
            'Could not parse Range ">=1.-1.0": Could not parse version "1.-1.0" in ">=1.-1.0": '
            'Invalid character(s) found in minor number "-1"',
        ),
        # Too large to be counted up.
        (f"<={OVER}.x", 'Could not get version from string: "<"'),
        (
            f"{OVER}.0.0",
            f'Could not parse Range "{OVER}.0.0": Could not parse version "{OVER}.0.0" in "{OVER}.0.0": '
            f'strconv.ParseUint: parsing "{OVER}": value out of range',
        ),
    ],
)
def test_odd_ranges_r_cat_453(text: str, cause: str) -> None:
    with pytest.raises(RangeError) as refused:
        parse_range(text)
    assert str(refused.value) == cause


def test_a_single_byte_is_dropped_r_cat_453() -> None:
    assert parse_range(">=1.0.0 <").alternatives == parse_range(">=1.0.0").alternatives
    assert (dropped_parts(">=1.0.0 <"), dropped_parts("1 >=1.0.0 , < 2.0.0 é")) == (["<"], ["1", ","])
    assert (dropped_parts(">=1.0.0 || < 2.0.0"), dropped_parts("")) == ([], [])


def test_a_sign_counts_in_a_wildcard_r_cat_454() -> None:
    assert parse_range("<=1.-1.x").alternatives == parse_range("<1.0.0").alternatives


def test_blanks_within_a_comparator_belong_to_it_r_cat_453() -> None:
    assert parse_range("> 1.0.0").alternatives == parse_range(">1.0.0").alternatives
    assert parse_range(">   =1.0.0").alternatives == parse_range(">=1.0.0").alternatives


def test_a_skip_range_that_cannot_be_read_is_none_r_cat_456() -> None:
    assert range_or_none("") is None
    assert range_or_none("~1.0.0") is None
    found = range_or_none("<1.0.0")
    assert found is not None
    assert found.contains(parse_strict("1.0.0-alpha"))
