"""Releases, the second part of a bundle's version."""

from __future__ import annotations

import pytest

from olmc.k8s.semver import order_with_release, parse_release, parse_strict


def order(one: str, other: str) -> int:
    versions = [text.split("/") for text in (one, other)]
    return order_with_release(*((parse_strict(v), parse_release(r)) for v, r in versions))


def test_releases_in_order() -> None:
    """R-CAT-127: version first, then none before any, then as pre-releases."""
    ascending = ["1.0.0/", "1.0.0/1", "1.0.0/2", "1.0.0/10", "1.0.0/a", "1.0.0/a.1", "1.0.1/", "1.0.1/1"]
    for index, low in enumerate(ascending):
        assert order(low, low) == 0
        for high in ascending[index + 1 :]:
            assert (order(low, high), order(high, low)) == (-1, 1)


@pytest.mark.parametrize(
    ("release", "problem"),
    [
        ("a" * 21, f'invalid release "{"a" * 21}": exceeds maximum length of 20 characters'),
        ("a..b", 'invalid release "a..b": segment 1: Prerelease is empty'),
        ("01", 'invalid release "01": segment 0: Numeric PreRelease version must not contain leading zeroes "01"'),
        ("a+b", 'invalid release "a+b": segment 0: Invalid character(s) found in prerelease "a+b"'),
        (
            "_.é",
            'invalid release "_.é": segment 0: Invalid character(s) found in prerelease "_"\n'
            'segment 1: Invalid character(s) found in prerelease "é"',
        ),
    ],
)
def test_what_is_no_release(release: str, problem: str) -> None:
    """R-CAT-127."""
    with pytest.raises(ValueError) as caught:
        parse_release(release)
    assert str(caught.value) == problem
