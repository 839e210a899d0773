"""Kubernetes' resource quantities (R-JSON-9)."""

from __future__ import annotations

from functools import lru_cache

from olmc.lean import NamedTuple, regex
from olmc.strconv import number_text

_DIGITS = "0123456789"
_IN_SUFFIX = "eEinumkKMGTP"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent // 10: suffix for suffix, exponent in _BINARY.items()} | {0: ""}
_EXPONENT = regex(r"[eE]([+-]?)(?=[0-9])0*([0-9]*)")

_MAX_INT64 = 2**63 - 1
_FAR = 60
_COMPLEMENT = str.maketrans(_DIGITS, _DIGITS[::-1])
_END = "~"
_MAX_DIGITS = 4000
"""Python refuses to turn longer texts into integers; no amount of anything needs them."""

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMERIC_WRONG = "unable to parse numeric part of quantity"
SUFFIX_WRONG = "unable to parse quantity's suffix"


def quantity(value: str | int | float) -> str:
    """The canonical text of a resource quantity (R-JSON-9); a number counts as its decimal text.

    Raises ValueError with Kubernetes' text for what is no quantity.
    """
    return _canonical(value if isinstance(value, str) else number_text(value))


class Amount(NamedTuple):
    """The number that a quantity stands for, in the order of numbers: no power of ten is ever written out.

    `order` is the place of the first digit, `digits` are all of them without zeros around; both are reversed where the
    number is negative.
    """

    sign: int
    order: int
    digits: str


def amount(value: str | int | float) -> Amount:
    """The number that a resource quantity stands for: 1Gi and 1073741824 are the same amount.

    Raises ValueError for what is no quantity.
    """
    return _amount(*_number(value))


def stored_amount(value: str) -> Amount:
    """A resource quantity as exactly as the API server stores it: in thousandths, rounded away from zero.

    Raises ValueError for what is no quantity.
    """
    negative, digits, exponent = _number(value)
    unscaled, scale = _at_least(-3, digits, exponent)
    return _amount(negative, str(unscaled), scale)


def thousandths(value: str) -> int:
    """A resource quantity in thousandths, rounded away from zero, which is how exactly the API server stores it.

    Beyond any amount that there can be it is cut, so compare by `stored_amount`. Raises ValueError for what is no
    quantity.
    """
    negative, digits, exponent = _number(value)
    unscaled, scale = _at_least(-3, digits, max(-_FAR, min(_FAR, exponent)))
    number: int = unscaled * 10 ** (scale + 3)
    return -number if negative else number


def _number(value: str | int | float) -> tuple[bool, str, int]:
    """Whether a quantity is negative, its digits, and the power of ten that they are multiplied by."""
    sign, digits, fraction, suffix = _parts(quantity(value))
    if suffix in _BINARY:
        # What is canonical with such a suffix is a whole number of 64 bits.
        return sign == "-", str(int(digits or "0") << _BINARY[suffix]), 0
    return sign == "-", digits + fraction or "0", _exponent(suffix) - len(fraction)


def _amount(negative: bool, digits: str, exponent: int) -> Amount:
    significant = digits.lstrip("0")
    if not significant:
        return Amount(0, 0, "")
    order, significant = exponent + len(significant), significant.rstrip("0")
    if negative:
        # Whatever follows the same digits makes a negative number less, so the end is more than any digit.
        return Amount(-1, -order, significant.translate(_COMPLEMENT) + _END)
    return Amount(1, order, significant)


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    if text == "0":
        return text
    if not text:
        raise ValueError(FORMAT_WRONG)
    sign, digits, fraction, suffix = _parts(text)
    digits = digits or "0"
    if len(digits) + len(fraction) > _MAX_DIGITS:
        raise ValueError(NUMERIC_WRONG)
    negative = sign == "-"
    power = _BINARY.get(suffix)
    exponent = _exponent(suffix) if power is None else 0
    if (exponent < -9 or suffix in ("Pi", "Ei")) and not any(map(str.isdigit, text[: len(text) - len(suffix)])):
        # Kubernetes reads plain amounts without any digit as zero; these it gives to a stricter parser.
        raise ValueError(NUMERIC_WRONG)
    if power is not None:
        if _binary_is_canonical(digits, fraction, power):
            return text
        return _binary(negative, int(digits + fraction) << power, len(fraction))
    # Kubernetes keeps the text that it has read as long as it takes that for canonical, so that `1.500` survives and
    # `0.5` does not (R-JSON-9, point 3).
    if _decimal_is_canonical(digits + fraction, exponent - len(fraction)):
        return text
    unscaled, scale = _at_least(-9, digits + fraction, exponent - len(fraction))
    return _decimal(negative, unscaled, scale, suffix not in _DECIMAL)


def _parts(text: str) -> tuple[str, str, str, str]:
    """Sign, digits without leading zeros, those behind the point, and suffix; ValueError for another form.

    By hand, as every bundle has a quantity, and a pattern for them takes longer to compile than all of them to read.
    """
    sign = text[0] if text[:1] in ("+", "-") else ""
    suffix = text[len(sign) :].lstrip(_DIGITS + ".")
    whole, _, fraction = text[len(sign) : len(text) - len(suffix)].partition(".")
    letters = suffix.rstrip(_DIGITS)
    if "." in fraction or letters[: -1 if letters[-1:] in ("+", "-") else None].strip(_IN_SUFFIX):
        raise ValueError(FORMAT_WRONG)
    return sign, whole.lstrip("0"), fraction, suffix


def _exponent(suffix: str) -> int:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match.group(2)) > 19:
        raise ValueError(SUFFIX_WRONG)
    exponent = int(match.group(1) + (match.group(2) or "0"))
    if not -(2**63) <= exponent < 2**63:
        raise ValueError(SUFFIX_WRONG)
    # Kubernetes cuts the exponent to 32 bits without a check.
    return (exponent + 2**31) % 2**32 - 2**31


def _decimal_is_canonical(digits: str, scale: int) -> bool:
    if len(digits) > 18 or scale < -9 or scale % 3:
        return False
    return digits[0] != "0" and not digits.endswith("000")


def _binary_is_canonical(digits: str, fraction: str, power: int) -> bool:
    digits_left = 15 - len(digits) - power * 3 // 10 - 1
    return not fraction and digits_left >= 0 and int(digits) << power <= _MAX_INT64 and int(digits) % 8 != 0


def _at_least(least: int, digits: str, scale: int) -> tuple[int, int]:
    """digits × 10^scale as an integer with a scale of at least `least`, rounded away from zero."""
    if scale >= least:
        return int(digits), scale
    cut = least - scale
    if cut >= len(digits):
        return (1, least) if digits.strip("0") else (0, 0)
    return int(digits[:-cut]) + (1 if digits[-cut:].strip("0") else 0), least


def _decimal(negative: bool, unscaled: int, scale: int, as_exponent: bool) -> str:
    if unscaled == 0:
        return "0"
    mantissa = str(unscaled).rstrip("0")
    exponent = scale + len(str(unscaled)) - len(mantissa)
    mantissa += "0" * (exponent % 3)
    exponent -= exponent % 3
    # An exponent beyond E has no suffix, and Kubernetes prints none: 1000E becomes 1.
    suffix = _DECIMAL_SUFFIX.get(exponent, "")
    if as_exponent and exponent:
        suffix = f"e{exponent}"
    return ("-" if negative else "") + mantissa + suffix


def _binary(negative: bool, unscaled: int, places: int) -> str:
    """unscaled / 10^places with a binary suffix where it is a whole number from 1024 on, else in decimal."""
    if places > 9:
        dropped = 10 ** (places - 9)
        unscaled, places = -(-unscaled // dropped), 9
    # Binary amounts are cut to the largest int64, decimal ones are not (R-JSON-9, point 4).
    if unscaled > _MAX_INT64 * 10**places:
        unscaled, places = _MAX_INT64, 0
    whole, remainder = divmod(unscaled, 10**places)
    if remainder or whole < 1024:
        return _decimal(negative, unscaled, -places, False)
    steps = 0
    while whole % 1024 == 0:
        whole, steps = whole // 1024, steps + 1
    return ("-" if negative else "") + str(whole) + _BINARY_SUFFIX[steps]
