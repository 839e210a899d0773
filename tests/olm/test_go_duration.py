"""Durations that Go reads, and its errors for others."""

from __future__ import annotations

import pytest

from olmc.k8s.api.formats import duration_problem, seconds


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "5s", "+5s", "-5s", "1.0s", "1.s", ".5s", "39h9m14.425s", "2m3.4s", "1h30m", "15us", "12µs",
     "12μs", "5ns", "9223372036854775807ns", "-9223372036854775808ns", "9223372036854775.807us",
     "0.100000000000000000000h"],
)  # fmt: skip
def test_read(text: str) -> None:
    assert duration_problem(text) == ""


@pytest.mark.parametrize("text", ["", "-", "+", "s", ".", ".s", "+.s", "- 5m", "abc", "9223372036854775808ns",
                                  "9223372036854775810ns", "-9223372036854775809ns", "3000000h"])  # fmt: skip
def test_invalid(text: str) -> None:
    assert duration_problem(text) == f'time: invalid duration "{text}"'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("3", 'time: missing unit in duration "3"'),
        ("1.2.3s", 'time: missing unit in duration "1.2.3s"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("10 minutes", 'time: unknown unit " minutes" in duration "10 minutes"'),
        ("1h5m ", 'time: unknown unit "m " in duration "1h5m "'),
    ],
)
def test_units(text: str, problem: str) -> None:
    assert duration_problem(text) == problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("1h30m", 5400), ("-5m", -300), ("+.5s", 0.5), ("250ms", 0.25), ("39h9m14.425s", 140954.425)],
)
def test_seconds(text: str, expected: float) -> None:
    assert float(seconds(text)) == expected


def test_numbers_of_any_length() -> None:
    """More digits than Python makes a number of."""
    many = "0" * 5000
    assert duration_problem(f"{many}1.{many}1s") == ""
    assert duration_problem(f"1{many}s") == f'time: invalid duration "1{many}s"'
