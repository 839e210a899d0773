"""Versions as blang/semver reads and orders them (R-CAT-450 … R-CAT-452)."""

from __future__ import annotations

import itertools

import pytest

from olmc.k8s.semver import VersionError, parse_strict, parse_tolerant, tolerant_or_none
from olmc.k8s.strconv import quoted

MAX = "18446744073709551615"
OVER = "18446744073709551616"


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0",
        "1.2.3",
        f"{MAX}.{MAX}.{MAX}",
        "1.0.0-a",
        "1.0.0-0.a-b.1",
        "1.0.0+001",
        "1.0.0-rc.1+b-1.02",
        "1.0.0--",
        "1.0.0-a+b-c",
    ],
)
def test_strict_versions_are_read_whole(text: str) -> None:
    assert str(parse_strict(text)) == text


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "Version string empty"),
        ("1", "No Major.Minor.Patch elements found"),
        ("1.0", "No Major.Minor.Patch elements found"),
        ("v1.0.0", 'Invalid character(s) found in major number "v1"'),
        (" 1.2.3", 'Invalid character(s) found in major number " 1"'),
        ("1.2.3 ", 'Invalid character(s) found in patch number "3 "'),
        ("1.x.0", 'Invalid character(s) found in minor number "x"'),
        ("1.2-a.3", 'Invalid character(s) found in minor number "2-a"'),
        ("1.2.3.4", 'Invalid character(s) found in patch number "3.4"'),
        ("1.2.٣", 'Invalid character(s) found in patch number "٣"'),
        ('1.2."', 'Invalid character(s) found in patch number "\\""'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.00.3", 'Minor number must not contain leading zeroes "00"'),
        ("1.2.03", 'Patch number must not contain leading zeroes "03"'),
        ("..", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("1.2.", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("1.2.-a", 'strconv.ParseUint: parsing "": invalid syntax'),
        (f"{OVER}.0.0", f'strconv.ParseUint: parsing "{OVER}": value out of range'),
        (f"1.0.{'9' * 5000}", f'strconv.ParseUint: parsing "{"9" * 5000}": value out of range'),
        ("1.0.0-", "Prerelease is empty"),
        ("1.0.0-a..b", "Prerelease is empty"),
        ("1.0.0-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        (f"1.0.0-{OVER}", f'strconv.ParseUint: parsing "{OVER}": value out of range'),
        ("1.0.0-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.0.0+", "Build meta data is empty"),
        ("1.0.0+a.", "Build meta data is empty"),
        ("1.0.0-a+b+c", 'Invalid character(s) found in build meta data "b+c"'),
    ],
)
def test_strict_refusals_r_cat_450(text: str, cause: str) -> None:
    with pytest.raises(VersionError) as refused:
        parse_strict(text)
    assert str(refused.value) == cause


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.0.0", "1.0.0"),
        ("1.0", "1.0.0"),
        ("1", "1.0.0"),
        (" 1.2.3 ", "1.2.3"),
        ("01.2.3", "1.2.3"),
        ("00.01.000", "0.1.0"),
        ("1.2.03-rc.1+b", "1.2.3-rc.1+b"),
        ("1.2.0-rc", "1.2.0-rc"),
        ("\t v2 \n", "2.0.0"),
    ],
)
def test_tolerant_versions_r_cat_452(text: str, version: str) -> None:
    assert str(parse_tolerant(text)) == version


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("v", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("vv1", 'Invalid character(s) found in major number "0v1"'),
        ("1.2-rc1", "Short version cannot contain PreRelease/Build meta data"),
        ("1+b", "Short version cannot contain PreRelease/Build meta data"),
        ("1.2.3.4", 'Invalid character(s) found in patch number "3.4"'),
        # blang puts a zero before a part that doesn't begin with a digit.
        ("0x1.2.3", 'Invalid character(s) found in major number "0x1"'),
        ("\x1f1.0.0", 'Invalid character(s) found in major number "0\\x1f1"'),
    ],
)
def test_tolerant_refusals_r_cat_452(text: str, cause: str) -> None:
    with pytest.raises(VersionError) as refused:
        parse_tolerant(text)
    assert str(refused.value) == cause
    assert tolerant_or_none(text) is None


ASCENDING = [
    "0.0.0-0", "0.0.0", "0.9.9", "1.0.0--", "1.0.0-1a", "1.0.0-a", "1.0.0-alpha.1", "1.0.0-alpha.2", "1.0.0-alpha.10",
    "1.0.0-alpha.beta", "1.0.0-rc", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0", f"{MAX}.0.0",
]  # fmt: skip


def test_order_r_cat_451() -> None:
    for lower, higher in itertools.combinations(ASCENDING, 2):
        assert parse_strict(lower) < parse_strict(higher), (lower, higher)
        assert parse_strict(higher) > parse_strict(lower)


def test_a_numeric_identifier_is_lower_than_a_word_and_a_prefix_is_lower() -> None:
    assert parse_strict("1.0.0-9") < parse_strict("1.0.0-A")
    assert parse_strict("1.0.0-a") < parse_strict("1.0.0-a.0")
    assert parse_strict("1.0.0-Z") < parse_strict("1.0.0-a")


def test_build_metadata_does_not_count_r_cat_451() -> None:
    assert parse_strict("1.0.0+a").compare(parse_strict("1.0.0+b")) == 0
    assert parse_strict("1.0.0-rc+a").compare(parse_strict("1.0.0-rc")) == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 日", '"plain ü 日"'),
        ('a"\\', '"a\\"\\\\"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("\u200b\u00a0\ufeff", '"\\u200b\\u00a0\\ufeff"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_texts_are_quoted_as_go_does(text: str, shown: str) -> None:
    assert quoted(text) == shown
