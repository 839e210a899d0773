"""Resource quantities against exact arithmetic (R-JSON-9)."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from properties import examples

from olmc.k8s.gojson.scalars import Amount, quantity, stored_amount, thousandths
from olmc.k8s.gojson.scalars import amount as amount_of

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
NANO = Fraction(1, 10**9)

numbers = st.from_regex(r"[+-]?[0-9]{1,22}(\.[0-9]{0,14})?", fullmatch=True)
suffixes = st.sampled_from([*DECIMAL, *BINARY]) | st.integers(-20, 20).map(lambda e: f"e{e}")
texts = st.builds("{}{}".format, numbers, suffixes)


def amount(text: str) -> Fraction:
    """The exact value of a quantity's text, by the grammar."""
    match = re.fullmatch(r"([+-]?[0-9]*\.?[0-9]*)(.*)", text)
    assert match is not None
    number, suffix = match.groups()
    whole, _, fraction = number.partition(".")
    value = Fraction(int((whole + fraction) or "0"), 10 ** len(fraction))
    if suffix in BINARY:
        return value * Fraction(2) ** BINARY[suffix]
    return value * Fraction(10) ** (DECIMAL[suffix] if suffix in DECIMAL else int(suffix[1:]))


def rounded(text: str) -> Fraction:
    """The value that Kubernetes keeps: to 1e-9, away from zero; binary amounts at most 2^63-1."""
    value = abs(amount(text))
    value = -(-value // NANO) * NANO
    if text.endswith("i"):
        value = min(value, Fraction(2**63 - 1))
    return value if amount(text) >= 0 else -value


@examples(400)
@given(texts)
@example("9Ei")
@example("0.0000000001")
@example("-1.5Gi")
@example("1e-10")
def test_the_value_is_kept(text: str) -> None:
    value = rounded(text)
    # Amounts beyond E lose their suffix: see test_amounts_beyond_every_suffix.
    assume(abs(value) < 10**21 or re.search("e[0-9-]+$", text))
    assert amount(quantity(text)) == value


@examples(200)
@given(texts)
@example("-0.0001")
@example("1e-20")
def test_thousandths(text: str) -> None:
    """Rounded away from zero, as the API server does with what containers ask for."""
    value = abs(amount(quantity(text))) * 1000
    assert thousandths(text) == -(-value // 1) * (1 if amount(text) >= 0 else -1)


@pytest.mark.parametrize("text", ["1e999999999", "-1e999999999", "0e999999999", "1e-999999999"])
def test_thousandths_of_what_nothing_has(text: str) -> None:
    """They are cut, and take no time."""
    assert abs(thousandths(text)) <= 10**64


@examples(400)
@given(texts, texts)
@example("1Gi", "1073741824")
@example("1.5", "1500m")
@example("-1", "-1.1")
@example("-2", "-1.1")
@example("10", "9")
@example("0", "-0")
@example("0e20", "0Ki")
def test_amounts_are_in_the_order_of_numbers(left: str, right: str) -> None:
    numbers = amount(quantity(left)), amount(quantity(right))
    amounts = amount_of(left), amount_of(right)
    assert (amounts[0] == amounts[1]) == (numbers[0] == numbers[1])
    assert (amounts[0] < amounts[1]) == (numbers[0] < numbers[1])


@examples(400)
@given(texts, texts)
@example("1u", "1m")
@example("-1u", "-1m")
@example("1001u", "2m")
def test_stored_amounts_are_in_the_order_of_thousandths(left: str, right: str) -> None:
    numbers = thousandths(left), thousandths(right)
    amounts = stored_amount(left), stored_amount(right)
    assert (amounts[0] == amounts[1]) == (numbers[0] == numbers[1])
    assert (amounts[0] < amounts[1]) == (numbers[0] < numbers[1])


@pytest.mark.parametrize("order", [amount_of, stored_amount], ids=["exact", "stored"])
def test_amounts_that_nothing_has_are_told_apart_at_once(order: Callable[[str], Amount]) -> None:
    """Written out they would have billions of digits."""
    rising = ["-1e1000000001", "-1e1000000000", "-1", "0e2147483647", "1", "1e61", "1e62", "9" * 3_999 + "E"]
    rising += ["1e1000000000", "1.1e1000000000", "1e1000000001", "1e2147483647"]
    amounts = [order(text) for text in rising]
    assert amounts == sorted(set(amounts))
    assert order("10e1000000000") == order("1e1000000001")


@pytest.mark.parametrize(
    "text", ["1" * 250_000, "0." + "0" * 250_000 + "1", "1e" + "9" * 250_000, "1" * 250_000 + "Ki"]
)
def test_texts_of_any_length_take_no_time(text: str) -> None:
    for function in (quantity, amount_of, stored_amount, thousandths):
        with pytest.raises(ValueError, match=r"^unable to parse"):
            function(text)
    assert amount_of("0" * 250_000 + "1" + "Ki") == amount_of("1024")


@examples(200)
@given(texts)
def test_canonical_texts_stay(text: str) -> None:
    once = quantity(text)
    assert quantity(once) == once


@examples(200)
@given(st.integers(1, 10**18 - 1))
def test_integers_and_their_texts_are_the_same(number: int) -> None:
    assert quantity(number) == quantity(str(number))
    assert amount(quantity(number)) == number


@examples(200)
@given(st.text("0123456789.+-eEinumkKMGTPx ", max_size=12))
def test_any_text_is_a_quantity_or_refused_in_kubernetes_words(text: str) -> None:
    try:
        canonical = quantity(text)
    except ValueError as error:
        assert str(error).startswith(("quantities must match", "unable to parse"))
    else:
        assert quantity(canonical) == canonical


def test_amounts_beyond_every_suffix() -> None:
    """Kubernetes has no suffix after E and prints none; as typed they stay only while they look canonical."""
    assert quantity("1000E") == "1"
    assert quantity("1001E") == "1001E"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("1.5", "1500m"), ("1e3", "1e3"), ("10e2", "1e3"), ("1.5e3", "1500"), ("100e-1", "10"), ("1e+3", "1e+3"),
     ("-", "0"), ("k", "0"), (".", "0"), (".5", "500m"), ("5.", "5."), ("Mi", "0"), ("1e1000000", "10e999999"),
     ("1e-1000000", "1e-9"), ("-2048", "-2048"), ("-2048Ki", "-2Mi"), ("0.1Ki", "102400m"),
     ("1e4294967299", "1e4294967299"),
     ("1e00000000000000000000000003", "1e00000000000000000000000003")],
)  # fmt: skip
def test_odd_texts(text: str, canonical: str) -> None:
    """What the parser lets pass beyond its grammar."""
    assert quantity(text) == canonical


@pytest.mark.parametrize("text", ["", " ", "x", "1 Gi", "1.2.3", "1,5", "0x10", "１", "1Gi\n"])
def test_wrong_shapes(text: str) -> None:
    with pytest.raises(ValueError, match=r"^quantities must match the regular expression"):
        quantity(text)


@pytest.mark.parametrize("text", ["1ki", "1K", "1e", "1eE", "5-3", "--1", "1e9223372036854775808", "1mm"])
def test_wrong_suffixes(text: str) -> None:
    with pytest.raises(ValueError, match=r"^unable to parse quantity's suffix$"):
        quantity(text)


@pytest.mark.parametrize("text", ["Ei", "-Pi", "e-20", ".e-10", "1" * 5000])
def test_no_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=r"^unable to parse numeric part of quantity$"):
        quantity(text)
