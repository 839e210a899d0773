"""Patterns that Go can't compile, and what it says of them."""

from __future__ import annotations

import pytest
from cpu_time import measure
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.api.formats import compile_error, search

WRONG = {
    "(": "missing closing ): `(`",
    "a)": "unexpected ): `a)`",
    "[a": "missing closing ]: `[a`",
    "+": "missing argument to repetition operator: `+`",
    "a**": "invalid nested repetition operator: `**`",
    "[b-a]": "invalid character class range: `b-a`",
    "\\": "trailing backslash at end of expression: ``",
    r"\8": r"invalid escape sequence: `\8`",
    r"\Z": r"invalid escape sequence: `\Z`",
    r"[a-\d]": r"invalid escape sequence: `\d`",
    "(?i": "invalid or unsupported Perl syntax: `(?i`",
    "^(?!x)y": "invalid or unsupported Perl syntax: `(?!`",
    "(?<=x)y": "invalid named capture: `(?<=x)y`",
    "(?<!x>)y": "invalid named capture: `(?<!x>`",
    "(?P<a": "invalid named capture: `(?P<a`",
    "x{1001}": "invalid repeat count: `{1001}`",
    "x{2,1}?": "invalid repeat count: `{2,1}`",
    "(a{20}){60}": "invalid repeat count: `{60}`",
}
RIGHT = [
    *("", "(?:)", "]", "}", "a||b", "a{,3}", "x{,1001}", "[[:alpha:]]", r"\pL", "(?P<n>a)(?<m>b)"),
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    r"^\d{1,3}(?:\.\d{2})?$",
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
]


@pytest.mark.parametrize("pattern", WRONG)
def test_what_go_says_of_a_pattern_that_it_cant_compile(pattern: str) -> None:
    assert compile_error(pattern) == f"error parsing regexp: {WRONG[pattern]}"


@pytest.mark.parametrize("pattern", RIGHT)
def test_what_go_compiles_is_right(pattern: str) -> None:
    assert compile_error(pattern) == ""


@given(st.text(st.sampled_from("ab()[]{}*+?|\\^$-.,10:=!<>PiQEdé"), max_size=12))
def test_a_pattern_without_a_problem_can_be_searched_for(pattern: str) -> None:
    """Whichever of the two ways says that a pattern compiles, the library agrees."""
    if not compile_error(pattern) and "\\" not in pattern:
        assert search(f"(?:{pattern})|", "")


@given(st.text(max_size=8))
def test_any_text_is_judged(pattern: str) -> None:
    assert isinstance(compile_error(pattern), str)


def test_a_long_pattern_takes_no_time() -> None:
    seconds = measure()
    assert compile_error("(" * 300_000).startswith("error parsing regexp: missing closing )")
    assert compile_error("[a-z]*" * 50_000) == ""
    assert seconds() < 2
