"""The types below structs, slices and maps: how a JSON value becomes one of them and what Go writes back.

A leaf's function takes a JSON value and gives what Go writes; it raises Refused for what Go does not accept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from olmc.golang import base64
from olmc.golang.errors import Refused, json_kind
from olmc.golang.numbers import SPACES, integral, number_text
from olmc.golang.quantity import FORMAT_WRONG, quantity
from olmc.golang.version import ZERO, release, version


class Leaf(NamedTuple):
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
    raise Refused("string", json_kind(value))


def read_bool(value: Any) -> bool:
    if value is True or value is False:
        return value
    if value is None:
        return False
    raise Refused("bool", json_kind(value))


def _integer(name: str, low: int, high: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Refused(name, json_kind(value))
        whole = integral(value) if isinstance(value, float) else value
        if whole is None or not low <= whole <= high:
            raise Refused(name, f"number {number_text(value)}")
        return whole

    return read


def read_octets(value: Any) -> str | None:
    """[]byte: a base 64 text, or a list of numbers from 0 to 255."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return base64.canonical(value)
        except ValueError as error:
            raise Refused("[]uint8", "string", str(error)) from None
    if isinstance(value, list):
        return base64.encoded(bytes(map(_read_octet, value)))
    raise Refused("[]uint8", json_kind(value))


def _read_quantity(value: Any) -> str:
    if value is None:
        return "0"
    if isinstance(value, (str, int, float)) and value is not True and value is not False:
        try:
            return quantity(value.strip(_QUANTITY_SPACES) if isinstance(value, str) else value)
        except ValueError as error:
            raise Refused("resource.Quantity", json_kind(value), str(error)) from None
    raise Refused("resource.Quantity", json_kind(value), FORMAT_WRONG)


def _read_int_or_string(value: Any) -> int | str:
    return value if isinstance(value, str) else _read_int32(value)


def _read_time(value: Any) -> str | None:
    if value is None:
        return None
    from olmc.golang.instant import instant  # times are rare, and imports take their time

    return _parsed(instant, value, "v1.Time")


def _read_version(value: Any) -> str:
    return _parsed(version, value, "version.OperatorVersion") or ZERO


def _read_release(value: Any) -> str | None:
    return _parsed(release, value, "release.OperatorRelease")


def _parsed(parse: Callable[[str], str | None], value: Any, name: str) -> str | None:
    try:
        return parse(read_string(value))
    except ValueError as error:
        raise Refused(name, json_kind(value), str(error)) from None


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
        raise Refused("float64", json_kind(value))
    return read_raw(value)  # type: ignore[no-any-return]


_read_int32 = _integer("int32", -(2**31), 2**31 - 1)
_read_octet = _integer("uint8", 0, 255)

# A quantity is trimmed in its JSON text, where all other white space stands escaped.
_QUANTITY_SPACES = "".join(char for char in SPACES if char not in "\t\n\v\f\r\u2028\u2029")

LEAVES: Mapping[str, Leaf] = {
    "string": Leaf(read_string, "", fatal=False),
    "bool": Leaf(read_bool, False, fatal=False),
    "int32": Leaf(_read_int32, 0, fatal=False),
    "int64": Leaf(_integer("int64", -(2**63), 2**63 - 1), 0, fatal=False),
    "uint8": Leaf(_read_octet, 0, fatal=False),
    "float64": Leaf(_read_float, 0, fatal=False),
    "encoding/json.RawMessage": Leaf(read_raw, None),
    "github.com/operator-framework/api/pkg/lib/release.OperatorRelease": Leaf(_read_release, None),
    "github.com/operator-framework/api/pkg/lib/version.OperatorVersion": Leaf(_read_version, ZERO),
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": Leaf(read_raw, None),
    "k8s.io/apimachinery/pkg/api/resource.Quantity": Leaf(_read_quantity, "0"),
    "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1": Leaf(read_raw, None),
    "k8s.io/apimachinery/pkg/apis/meta/v1.Time": Leaf(_read_time, None),
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": Leaf(_read_int_or_string, 0),
}
"""Every type that is no struct, slice, map or pointer, by its full name."""
