"""What is taken for a sound expression of type bool without the library for CEL is one by the library as well."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.api.validation.cel_rules import _environment, is_surely_bool

BOOL = (
    "self.size > 0",
    "!has(self.type) || self.type != 'userPrincipal' || has(self.secretName)",
    "self.a[0].b in ['x', \"y\"] && self.names.all(n, n.startsWith('a'))",
    "(self.from == '' ? has(self.to) : true)  ==  false",
    "self.kind == 'a' ? has(self.a) : self.kind == 'b' ? !has(self.a) : true",
    "!self.?log.?enabled.orValue(false) || -self.a + 2 * (3 - self.b) % 4 >= 1.5",
    'self.path.matches(r"""^[\'/.~"]+$""")',
    "isURL(self)",
    "true",
)
OTHERS = (
    *("", "self", "self.size", "1", "1 + 2", "'a'", "has(self.a) ? 1 : 2", "self.a == ", "self.a = 1", "a b == c"),
    *("(self.a == 1", "self.a == 1)", "self..a == 1", "self.if == 1", "f(a)(b) == 1", "!-a == 1", "a.'b' == 1"),
    *(
        "a.?b(1) == 1",
        "'a' 'b' == 1",
        "1a == 1",
        "a == '\n'",
        "a == 'b\\q'",
        "[1, 2",
        "a[] == 1",
        "a == b // c",
        "a,b==c",
    ),
    *("99999999999999999999 == 1", "has(self.a) ? true", "a ? b : c == d ?"),
)
WORDS = (*"()[].,?:!-+<", "==", "&&", "in", "self", "has", "true", "'a'", "1", " ", ".?", "all")


def problem_of(expression: str) -> str:
    """What the library says against the syntax of an expression, or its type unless it may be a bool."""
    try:
        kind = _environment().compile(expression).return_type().name()
    except RuntimeError as error:
        return str(error) if " Syntax error: " in str(error) else ""
    return "" if kind in ("BOOL", "DYN") else str(kind)


@pytest.mark.parametrize("expression", BOOL)
def test_an_expression_that_gives_a_bool_needs_no_library(expression: str) -> None:
    pytest.importorskip("cel_expr_python")
    assert is_surely_bool(expression)
    assert problem_of(expression) == ""


@pytest.mark.parametrize("expression", OTHERS)
def test_what_is_wrong_or_no_bool_is_left_to_the_library(expression: str) -> None:
    assert not is_surely_bool(expression)


@given(st.lists(st.sampled_from(WORDS), max_size=9).map("".join) | st.sampled_from(BOOL).flatmap(lambda text: st.builds(
    lambda at, word: text[:at] + word + text[at + 1 :], st.integers(0, len(text)), st.sampled_from(WORDS)
)))  # fmt: skip
def test_whatever_is_taken_is_sound(expression: str) -> None:
    pytest.importorskip("cel_expr_python")
    if is_surely_bool(expression):
        assert problem_of(expression) == ""


@pytest.mark.parametrize("text", ["!", "a.", "(", "a?", "f(a,", "-", "a-", "a==-", "f(", "a[", "a in ", "a.all"])
def test_long_expressions_are_told_in_little_time(text: str) -> None:
    # Each of these would keep a pattern that tries again busy for longer than anybody waits.
    assert not is_surely_bool(text * (180 // len(text)))
