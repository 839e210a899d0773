"""Ranges of ClusterExtensions, as Masterminds/semver reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from v1_vectors import cases

from olmc.compiler.model.workspace import EXTENSIONS_V1
from olmc.k8s.semver import Version, parse_strict, range_or_none
from olmc.targets.v1.permissions import api_errors
from olmc.targets.v1.resolution import VersionRangeError, parse_version_range

ALPHA = "1.0.0-alpha"


def _is_accepted(text: str) -> bool:
    catalog = {"packageName": "kettle", "version": text}
    spec = {
        "namespace": "brewing", "serviceAccount": {"name": "installer"},
        "source": {"sourceType": "Catalog", "catalog": catalog},
    }  # fmt: skip
    obj = {"apiVersion": EXTENSIONS_V1, "kind": "ClusterExtension", "metadata": {"name": "kettle"}, "spec": spec}
    return not api_errors(obj)


def test_ranges_are_as_the_library_has_them(shared: Path) -> None:
    """R-V1-SV-1, R-V1-SV-2, R-V1-SV-3."""
    for case in cases(shared, "semver"):
        text = case["range"]
        assert _is_accepted(text) == case["crdAccepts"], text
        if "error" in case:
            with pytest.raises(VersionRangeError) as caught:
                parse_version_range(text)
            assert str(caught.value) == case["error"]
            continue
        parsed = parse_version_range(text)
        assert {version: parsed.contains(parse_strict(version)) for version in case["matches"]} == case["matches"], text


def test_skip_ranges_are_as_the_library_has_them(shared: Path) -> None:
    """R-V1-SV-5: what can't be read, or would make the library crash, matches nothing."""
    for case in cases(shared, "semver"):
        text, expected = case["range"], case["skipRange"].get("matches", {})
        parsed = range_or_none(text)
        assert (parsed is None) == (not expected), text
        if parsed is not None:
            assert {version: parsed.contains(parse_strict(version)) for version in expected} == expected, text


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("<1.3.0", [ALPHA, "1.2.9", "1.3.0-rc.1"], ["1.3.0"]),
        (">= 1.0.0 < 2.0.0", ["1.0.0", "2.0.0-rc.1"], [ALPHA, "2.0.0"]),
        ("1.2.3 || >1.2.x", ["1.2.3", "1.3.0"], ["1.2.4"]),
        ("~1.x", ["1.0.0"], ["1.0.1"]),
        ("^1.2.x", ["1.2.0"], ["1.2.1"]),
        ("!=1.2.x", [], ["1.1.0", "1.2.0", "1.3.0"]),
    ],
)
def test_tricky_skip_ranges(text: str, inside: list[str], outside: list[str]) -> None:
    """R-V1-SV-5: pre-releases count by precedence, and an operator that the library does not know is equality."""
    parsed = range_or_none(text)
    assert parsed is not None
    assert [version for version in (*inside, *outside) if parsed.contains(parse_strict(version))] == inside


@pytest.mark.parametrize(
    "text",
    [
        "~1.2.3",
        "^1.2.3",
        "1.2",
        "1.0.0 || 2",
        "<1.3.0,",
        "99999999999999999999.0.0",
        "1.2.x-alpha",
        "1.0.0 || || 2.0.0",
    ],
)
def test_what_is_no_skip_range(text: str) -> None:
    """R-V1-SV-5: it matches nothing."""
    assert range_or_none(text) is None


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("1.2.3", ["1.2.3", "1.2.3+1"], ["1.2.4", "1.2.3-rc.1"]),
        ("1.2", ["1.2.0", "1.2.9"], ["1.3.0", "1.2.0-rc.1"]),
        (">1", ["2.0.0"], ["1.9.9"]),
        ("<=1.2", ["1.2.9"], ["1.3.0"]),
        ("<1.2", ["1.1.9"], ["1.2.0"]),
        ("~0.0.0", ["5.0.0"], ["5.0.0-rc.1"]),
        ("^0.2.3", ["0.2.9"], ["0.3.0", "0.2.2"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4"]),
        ("^x", ["0.0.0"], ["0.0.1", "1.0.0"]),
        ("<=*", ["0.0.9"], ["0.1.0"]),
        (">*", ["0.0.1"], ["0.0.0"]),
        ("!=1.2", ["1.3.0", "2.2.0"], ["1.2.7"]),
        ("!=*", ["0.0.1"], ["0.0.0"]),
        (">=1.2.3-0 <2.0.0", ["2.0.0-rc.1"], ["2.0.0"]),
        (">=1.0.0-0 || ^2", [ALPHA, "2.0.0-rc.1"], ["0.9.0"]),
        ("~1.2.3-alpha", ["1.2.4-alpha"], ["1.3.0"]),
        ("<1.0.0 >=2.0.0", [], ["0.9.0", "2.0.0"]),
        ("01.2.3", ["1.2.3"], ["1.2.4"]),
        ("1.0.0 - 2", ["2.9.9"], ["3.0.0"]),
    ],
)
def test_tricky_ranges(text: str, inside: list[str], outside: list[str]) -> None:
    """R-V1-SV-4."""
    parsed = parse_version_range(text)
    assert [version for version in (*inside, *outside) if parsed.contains(parse_strict(version))] == inside


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1" * 513, "constraint string is too long (max 512 bytes)"),
        ("||".join(["1"] * 33), "too many constraint groups (max 32)"),
        (">1.0.0 - 2.0.0", 'improper constraint: ">>= 1.0.0, <= 2.0.0 "'),
        (">=1<2", 'improper constraint: ">=1<2"'),
        ("1x", "constraint parser error"),
        ("1.2.3-01", "constraint parser error"),
        ("18446744073709551616", "constraint parser error"),
        ("1 " * 255 + "!", None),
    ],
)
def test_what_is_no_range(text: str, problem: str | None) -> None:
    """R-V1-SV-2; the last one would take for ever if spaces could be read in several ways."""
    with pytest.raises(VersionRangeError) as caught:
        parse_version_range(text)
    assert problem is None or str(caught.value) == problem


def test_the_api_and_the_library_disagree() -> None:
    """R-V1-SV-1: what the CRD's expression refuses and the library reads, and the other way around."""
    for text in ("1.*.3", ">=1 || *", "01.2.3", "1.0.0 - 2.0.0"):
        assert not _is_accepted(text)
        parse_version_range(text)
    assert _is_accepted("1.*]")
    with pytest.raises(VersionRangeError):
        parse_version_range("1.*]")
    assert not _is_accepted("1" * 65)


NUMBERS = st.integers(0, 3)
VERSIONS = st.builds(Version, NUMBERS, NUMBERS, NUMBERS, st.sampled_from([None, "alpha", "rc.1", "0"]))


@given(VERSIONS, VERSIONS)
def test_operators_are_each_others_opposites(one: Version, other: Version) -> None:
    """R-V1-SV-3: of complete versions without pre-releases, exactly one of `<`, `=` and `>` holds."""
    one, other = one.replace(prerelease=None), other.replace(prerelease=None)
    holding = [operator for operator in "<=>" if parse_version_range(f"{operator}{other}").contains(one)]
    assert len(holding) == 1
    assert parse_version_range(f"!={other}").contains(one) == (holding != ["="])
    assert parse_version_range(f">={other}").contains(one) == (holding != ["<"])
    assert parse_version_range(f"<={other}").contains(one) == (holding != [">"])


@given(VERSIONS, VERSIONS, st.sampled_from(["~", "^", ">=", ""]))
def test_a_pre_release_needs_one_in_its_part(one: Version, other: Version, operator: str) -> None:
    """R-V1-SV-3."""
    parsed = parse_version_range(f"{operator}{other.replace(prerelease=None)}")
    assert not (one.prerelease and parsed.contains(one))
    assert parsed.contains(one) == parse_version_range(f"{parsed.text}, >=0").contains(one)
    both: Any = parse_version_range(f"{parsed.text} || <0")
    assert both.contains(one) == parsed.contains(one)


PARTS = st.lists(st.sampled_from(["0", "1", "2", "x", "*"]), min_size=1, max_size=3)


def _bounds(operator: str, parts: list[str]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """The first version of a range and the first behind it, by counting only: None where there is no end."""
    given = [int(part) for part in parts[: next((i for i, part in enumerate(parts) if part in "x*"), 3)]]
    first = tuple(([*given, 0, 0])[:3])
    if not given:
        return (0, 0, 0), None
    kept = min(len(given), 2 if operator == "~" else 3)
    if operator == "^":
        kept = next((i + 1 for i, number in enumerate(given) if number), len(given))
    end = (*given[: kept - 1], given[kept - 1] + 1)
    return first, ((*end, 0, 0))[:3]


@given(st.sampled_from(["", "=", "~", "~>", "^", ">=", "<"]), PARTS, VERSIONS)
def test_ranges_are_intervals(operator: str, parts: list[str], version: Version) -> None:
    """R-V1-SV-3, R-V1-SV-4: what an operator lets through lies between two versions."""
    version = version.replace(prerelease=None)
    text = operator + ".".join(parts)
    first, end = _bounds({"~>": "~"}.get(operator, operator), parts)
    numbers = (version.major, version.minor, version.patch)
    expected = first <= numbers and (end is None or numbers < end)
    if operator == ">=":
        expected = first <= numbers
    if operator == "<":
        expected = numbers < first
    if operator == "^" and parts[0] in "x*":
        expected = numbers == (0, 0, 0)
    if operator == "~" or operator == "~>":
        expected = expected or (first == (0, 0, 0) and len(parts) == 3 and not set(parts) & {"x", "*"})
    assert parse_version_range(text).contains(version) == expected, (text, str(version))


@given(st.lists(st.tuples(st.sampled_from([">=", "<", "~", "^", "!="]), VERSIONS), min_size=1, max_size=3), VERSIONS)
def test_a_comma_is_and_and_two_bars_are_or(conditions: list[tuple[str, Version]], version: Version) -> None:
    """R-V1-SV-2, R-V1-SV-3: of conditions without pre-releases, which count for their whole part."""
    texts = [f"{operator}{other.replace(prerelease=None)}" for operator, other in conditions]
    each = [parse_version_range(text).contains(version) for text in texts]
    for comma in (",", ", ", " "):
        assert parse_version_range(comma.join(texts)).contains(version) == all(each)
    for bars in ("||", " || "):
        assert parse_version_range(bars.join(texts)).contains(version) == any(each)
