"""Points in time as Kubernetes reads and writes them (R-JSON-7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from olmc.gojson.quantity import FORMAT_WRONG, quantity
from olmc.lean import NamedTuple, module, regex
from olmc.strconv import SPACES, integral, number_text, quoted

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
    from olmc.semver import parse_tolerant

    return _parse_scalar(lambda text: str(parse_tolerant(text)), value, "version.OperatorVersion") or _NO_VERSION


def _is_canonical_version(text: str) -> bool:
    numbers = text.split(".")
    return len(numbers) == 3 and text.isascii() and all(map(_is_canonical_number, numbers))


def _is_canonical_number(text: str) -> bool:
    return text.isdigit() and len(text) <= _MOST_DIGITS and (text[0] != "0" or text == "0")


def _read_release(value: Any) -> str | None:
    return _parse_scalar(_release, value, "release.OperatorRelease")


def _release(text: str) -> str:
    from olmc.semver import check_prerelease

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
    """Where Go finds a text to be no base 64: it reads groups of four and stops inside the first bad one."""
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
