"""Points in time as Kubernetes reads and writes them (R-JSON-7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from olmc.k8s.lean import NamedTuple, module, regex
from olmc.k8s.strconv import EXACT, SPACES, integral, number_text, quoted

# Kubernetes' resource quantities (R-JSON-9).

_DIGITS = "0123456789"
_IN_SUFFIX = "eEinumkKMGTP"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent // 10: suffix for suffix, exponent in _BINARY.items()} | {0: ""}
_EXPONENT = regex(r"[eE]([+-]?)(?=[0-9])0*+([0-9]*+)")

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
    """Return whether a quantity is negative, its digits, and the power of ten that they are multiplied by."""
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
        # More digits after the same digits make a negative number less, so the end sorts after any digit.
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


_binascii = module("binascii")  # a library, which few bundles need

LAYOUT = "2006-01-02T15:04:05Z07:00"

_PARTS = (
    # what stands before, the layout's name of the part, its shape, its name in messages, its bounds
    ("", "2006", regex(r"[0-9]{4}"), "", 0, 9999),
    ("-", "01", regex(r"[0-9]{2}"), "month", 1, 12),
    ("-", "02", regex(r"[0-9]{2}"), "", 0, 99),
    ("T", "15", regex(r"[0-9]{1,2}"), "hour", 0, 23),
    (":", "04", regex(r"[0-9]{2}"), "minute", 0, 59),
    (":", "05", regex(r"[0-9]{2}"), "second", 0, 59),
)
_FRACTION = regex(r"[.,][0-9]+")
_ZONE = regex(r"([+-])([0-9]{2}):([0-9]{2})")


def canonical_time(text: str) -> str | None:
    """The time of an RFC 3339 text, in UTC and to the second; None for Go's zero time, which counts as unset.

    Raises ValueError with Go's text for anything else.
    """
    values, rest = _numbers(text)
    offset, rest = _offset(text, rest)
    if rest:
        raise ValueError(f"parsing time {quoted(text)}: extra text: {quoted(rest)}")
    from datetime import datetime, timedelta  # few objects have a time, and imports take theirs

    year, month, day, hour, minute, second = values
    try:
        begin = datetime(_same_calendar(year), month, day, hour, minute, second)
        moment = begin - timedelta(minutes=offset)
    except ValueError:
        raise ValueError(f"parsing time {quoted(text)}: day out of range") from None
    year += moment.year - _same_calendar(year)
    moment_text = f"{'-' * (year < 0)}{abs(year):04d}-{moment:%m-%dT%H:%M:%S}Z"
    return None if moment_text == "0001-01-01T00:00:00Z" else moment_text


def _same_calendar(year: int) -> int:
    """A year with the same calendar that is far from the ends of Python's time, which Go does not have."""
    return 2000 + year % 400


def _numbers(text: str) -> tuple[list[int], str]:
    rest, values = text, []
    for before, part, shape, name, low, high in _PARTS:
        if not rest.startswith(before):
            raise ValueError(_cannot_parse(text, rest, before))
        rest = rest[len(before) :]
        match = shape.match(rest)
        if match is None:
            raise ValueError(_cannot_parse(text, rest, part))
        value = int(match.group())
        if not low <= value <= high:
            raise ValueError(f"parsing time {quoted(text)}: {name} out of range")
        values.append(value)
        rest = rest[match.end() :]
    fraction = _FRACTION.match(rest)
    return values, rest[fraction.end() :] if fraction else rest


def _offset(text: str, rest: str) -> tuple[int, str]:
    """The offset from UTC in minutes, and what stands behind it."""
    if rest.startswith("Z"):
        return 0, rest[1:]
    zone = _ZONE.match(rest)
    if zone is None:
        raise ValueError(_cannot_parse(text, rest, "Z07:00"))
    sign, hours, minutes = zone.groups()
    for name, value, most in (("hour", hours, 24), ("minute", minutes, 60)):
        if int(value) > most:
            raise ValueError(f"parsing time {quoted(text)}: time zone offset {name} out of range")
    offset = 60 * int(hours) + int(minutes)
    return (offset if sign == "+" else -offset), rest[zone.end() :]


def _cannot_parse(text: str, rest: str, part: str) -> str:
    return f"parsing time {quoted(text)} as {quoted(LAYOUT)}: cannot parse {quoted(rest)} as {quoted(part)}"


_BASE64 = regex(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BASE64_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_NO_VERSION = "0.0.0"


class Mismatch(Exception):  # noqa: N818  (not an error to show: the cause of one, without its place)
    """A single value that a type does not accept: for its kind (`expected`, `got`) or otherwise (`text`)."""

    def __init__(self, expected: str, got: str, text: str = "") -> None:
        super().__init__(text or f"cannot unmarshal {got} into {expected}")
        self.expected = expected
        self.got = got
        self.text = text


def json_kind(value: object) -> str:
    """The kind of a JSON value as Go's decoder names it in its messages."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "null"


class Scalar(NamedTuple):
    """`read` as above, `zero` what Go writes for an unset value.

    `fatal`: whether the type decodes itself, so that Go stops at its first error and forgets earlier ones.
    """

    read: Callable[[Any], Any]
    zero: Any
    fatal: bool = True


def read_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    raise Mismatch("string", json_kind(value))


def read_bool(value: Any) -> bool:
    if value is True or value is False:
        return value
    if value is None:
        return False
    raise Mismatch("bool", json_kind(value))


def _integer(name: str, low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Mismatch(name, json_kind(value))
        # 1.0 was written as 1 when YAML became JSON, so Go has never seen the point.
        whole = integral(value) if isinstance(value, float) else value
        if whole is None or not low <= whole <= high:
            raise Mismatch(name, f"number {number_text(value)}")
        return whole

    return read


def read_octets(value: Any) -> str | None:
    """[]byte: a base 64 text, or a list of numbers from 0 to 255."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return canonical_base64(value)
        except ValueError as error:
            raise Mismatch("[]uint8", "string", str(error)) from None
    if isinstance(value, list):
        return encode_base64(bytes(map(_read_octet, value)))
    raise Mismatch("[]uint8", json_kind(value))


def _read_quantity(value: Any) -> str:
    if value is None:
        return "0"
    if isinstance(value, (str, int, float)) and value is not True and value is not False:
        try:
            return quantity(value.strip(_QUANTITY_SPACES) if isinstance(value, str) else value)
        except ValueError as error:
            raise Mismatch("resource.Quantity", json_kind(value), str(error)) from None
    raise Mismatch("resource.Quantity", json_kind(value), FORMAT_WRONG)


def _read_int_or_string(value: Any) -> int | str:
    return value if isinstance(value, str) else _read_int32(value)


def _read_time(value: Any) -> str | None:
    return None if value is None else _parse_scalar(canonical_time, value, "v1.Time")


_MOST_DIGITS = 18  # of a number of a version that no range of Go's is too small for


def _read_version(value: Any) -> str:
    # Hardly any version is not in its canonical form already, and imports take their time.
    if isinstance(value, str) and _is_canonical_version(value):
        return value
    from olmc.k8s.semver import parse_tolerant

    return _parse_scalar(lambda text: str(parse_tolerant(text)), value, "version.OperatorVersion") or _NO_VERSION


def _is_canonical_version(text: str) -> bool:
    numbers = text.split(".")
    return len(numbers) == 3 and text.isascii() and all(map(_is_canonical_number, numbers))


def _is_canonical_number(text: str) -> bool:
    return text.isdigit() and len(text) <= _MOST_DIGITS and (text[0] != "0" or text == "0")


def _read_release(value: Any) -> str | None:
    return _parse_scalar(_release, value, "release.OperatorRelease")


def _release(text: str) -> str:
    from olmc.k8s.semver import check_prerelease

    check_prerelease(text)
    return text


def _parse_scalar(parse: Callable[[str], str | None], value: Any, name: str) -> str | None:
    try:
        return parse(read_string(value))
    except ValueError as error:
        raise Mismatch(name, json_kind(value), str(error)) from None


def read_raw(value: Any) -> Any:
    """Any JSON value as Go's raw message keeps it: keys sorted, integral floats as integers."""
    if isinstance(value, dict):
        return {key: read_raw(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [read_raw(entry) for entry in value]
    if isinstance(value, float):
        whole = integral(value)
        return value if whole is None else whole
    return value


def _read_float(value: Any) -> int | float:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Mismatch("float64", json_kind(value))
    # Beyond this an integer loses digits, and beyond the range of a float olmc leaves it alone.
    if isinstance(value, int) and EXACT < abs(value) < 10**308:
        value = float(value)
    return read_raw(value)  # type: ignore[no-any-return]


def canonical_base64(text: str) -> str:
    """The text that Go writes for the bytes of a base 64 text: line ends gone, unused bits zero.

    Raises ValueError with Go's text.
    """
    joined = text.replace("\r", "").replace("\n", "")
    if not _BASE64.fullmatch(joined):
        raise ValueError(f"illegal base64 data at input byte {_first_bad_byte(text)}")
    return encode_base64(_binascii.a2b_base64(joined))


def encode_base64(data: bytes) -> str:
    """Bytes in base 64."""
    return str(_binascii.b2a_base64(data, newline=False).decode("ascii"))


def _first_bad_byte(text: str) -> int:
    """Return where Go finds a text to be no base 64: it reads groups of four and stops inside the first bad one."""
    octets = text.encode("utf-8", "surrogatepass").decode("latin-1")
    places = [i for i, char in enumerate(octets) if char not in "\r\n"]
    for start in range(0, len(places), 4):
        group = places[start : start + 4]
        for index, place in enumerate(group):
            if octets[place] in _BASE64_ALPHABET:
                continue
            if octets[place] == "=" and index >= 2:
                return _after_padding(octets, places, start + index)
            return place
        if len(group) < 4:
            return len(octets) - len(group)
    raise AssertionError(f"no offence in {text!r}")


def _after_padding(octets: str, places: list[int], padding: int) -> int:
    last = padding
    if padding % 4 == 2:
        last += 1
        if last == len(places):
            return len(octets)
        if octets[places[last]] != "=":
            return places[last] - 1
    return places[last + 1]


_read_int32 = _integer("int32", -(2**31), 2**31 - 1)
_read_octet = _integer("uint8", 0, 255)

# A quantity is trimmed in its JSON text, where all other white space stands escaped.
_QUANTITY_SPACES = "".join(char for char in SPACES if char not in "\t\n\v\f\r\u2028\u2029")

SCALARS: Mapping[str, Scalar] = {
    "string": Scalar(read_string, "", fatal=False),
    "bool": Scalar(read_bool, False, fatal=False),
    "int": Scalar(_integer("int", -(2**63), 2**63 - 1), 0, fatal=False),
    "int32": Scalar(_read_int32, 0, fatal=False),
    "int64": Scalar(_integer("int64", -(2**63), 2**63 - 1), 0, fatal=False),
    "uint8": Scalar(_read_octet, 0, fatal=False),
    "float64": Scalar(_read_float, 0, fatal=False),
    "interface {}": Scalar(lambda value: value, None),
    "encoding/json.RawMessage": Scalar(read_raw, None),
    "github.com/operator-framework/api/pkg/lib/release.OperatorRelease": Scalar(_read_release, None),
    "github.com/operator-framework/api/pkg/lib/version.OperatorVersion": Scalar(_read_version, _NO_VERSION),
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": Scalar(read_raw, None),
    "k8s.io/apimachinery/pkg/api/resource.Quantity": Scalar(_read_quantity, "0"),
    "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1": Scalar(read_raw, None),
    "k8s.io/apimachinery/pkg/apis/meta/v1.Time": Scalar(_read_time, None),
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": Scalar(_read_int_or_string, 0),
}
"""Every type that is no struct, slice, map or pointer, by its full name."""

_V1 = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1."
_PROPS = f"{_V1}JSONSchemaProps"


def _schema_or_array(value: Any) -> str | None:
    return _PROPS if isinstance(value, dict) else f"[]{_PROPS}" if value and isinstance(value, list) else None


def _schema_or_bool(value: Any) -> str:
    if isinstance(value, dict | bool):
        return "bool" if isinstance(value, bool) else _PROPS
    raise Mismatch("v1.JSONSchemaPropsOrBool", json_kind(value), "boolean or JSON schema expected")


def _schema_or_strings(value: Any) -> str | None:
    return _PROPS if isinstance(value, dict) else "[]string" if value and isinstance(value, list) else None


UNIONS: Mapping[str, Callable[[Any], str | None]] = {
    f"{_V1}JSONSchemaPropsOrArray": _schema_or_array,
    f"{_V1}JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_V1}JSONSchemaPropsOrStringArray": _schema_or_strings,
}
"""Types that decode themselves as one of several others, by full name: which one a JSON value is decoded as, None for a
value of which nothing is kept. The functions raise Mismatch for a value that the type does not accept."""
