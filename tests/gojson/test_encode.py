"""Go's encoding/json of untyped values, and the small parsers behind the types that decode themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmc.k8s.gojson import canonical_base64, decode, encode, encode_plain
from olmc.k8s.gojson.scalars import canonical_time
from olmc.k8s.strconv import number_text, quoted


def test_escapes() -> None:
    """R-JSON-4."""
    text = '<>&\u2028\u2029\x7f\0\b\f\n\r\t\x1f"\\/é'
    written = b'"\\u003c\\u003e\\u0026\\u2028\\u2029\x7f\\u0000\\b\\f\\n\\r\\t\\u001f\\"\\\\/\xc3\xa9"'
    assert encode_plain(text) == written
    assert encode_plain([text, 1.5]) == b"[" + written + b",1.5]"
    assert encode("Secret", {"kind": text}) == b'{"kind":' + written + b',"metadata":{}}'


def test_half_surrogates_and_invalid_bytes() -> None:
    """R-JSON-4: a byte that is no UTF-8 is written as an escape; half a pair was replaced when it was read."""
    assert encode_plain(b"a\xff".decode("utf-8", "surrogateescape")) == b'"a\\ufffd"'
    assert encode_plain("a\ud800") == b'"a\xef\xbf\xbd"'


def test_compact_and_sorted_by_bytes() -> None:
    """R-JSON-1, R-JSON-3."""
    value = {"\U0001f600": [], "\uffee": {}, "b": {"z": None, "a": True}, "B": [1, "x"]}
    written = '{"B":[1,"x"],"b":{"a":true,"z":null},"\uffee":{},"\U0001f600":[]}'.encode()
    assert encode_plain(value) == written
    assert encode_plain({**value, "c": 1.5}) == written.replace(b',"\xef', b',"c":1.5,"\xef')


@pytest.mark.parametrize(
    ("number", "text"),
    [(1.0, "1"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (1e-6, "0.000001"), (1e-7, "1e-7"), (0.1, "0.1"),
     (123456789.25, "123456789.25"), (-0.0, "-0"), (0.0, "0"), (1.5e-10, "1.5e-10"), (1e22, "1e+22"),
     (5e-324, "5e-324"),
     (-1.5e300, "-1.5e+300"), (123456789012345680000.0, "123456789012345680000"), (7, "7"), (2**64, str(2**64))],
)  # fmt: skip
def test_numbers(number: float, text: str) -> None:
    """Floats as Go prints them: exponents below 1e-6 and from 1e21 only."""
    assert number_text(number) == text
    assert encode_plain({"a": [number]}) == b'{"a":[' + text.encode() + b"]}"


@pytest.mark.parametrize(("number", "name"), [(float("nan"), "NaN"), (float("inf"), "+Inf"), (float("-inf"), "-Inf")])
def test_numbers_that_json_does_not_have(number: float, name: str) -> None:
    with pytest.raises(ValueError, match=f"^json: unsupported value: {name.replace('+', '[+]')}$"):
        encode_plain([number])


def test_go_s_quoting() -> None:
    text = 'a\x01\x7f\xa0\u200b"\\\n\a\v\0é\U0001f600\ufeff\U000e0001'
    assert quoted(text) == r'"a\x01\x7f\u00a0\u200b\"\\\n\a\v\x00é' + "\U0001f600" + r'\ufeff\U000e0001"'


def outcome(parse: Any, text: str) -> str | None:
    try:
        kept: str | None = parse(text)
    except ValueError as error:
        return f"! {error}"
    return kept


@pytest.mark.parametrize(
    ("text", "expected"),
    [("QQ==", "QQ=="), ("QR==", "QQ=="), ("QQ==\n", "QQ=="), ("Q\nQ==", "QQ=="), ("QQ=\n=", "QQ=="), ("", ""),
     ("QQ", 0), ("QQ=", 3), ("QQ=\n", 4), ("QQ=\nx", 3), ("QQ=x", 2), ("QQ==x", 4), ("QQ==\nQQ==", 5), ("QQQQ=", 4),
     ("QQQQQ", 4), ("QQQQ\nQ\n", 6), ("Q", 0), ("=", 0), ("Q===", 1), ("QQQ=Q", 4), ("QQQQé", 4), ("QéQQ", 1)],
)  # fmt: skip
def test_base_64(text: str, expected: str | int) -> None:
    """A number is the place at which Go finds the text wrong."""
    message = f"! illegal base64 data at input byte {expected}"
    assert outcome(canonical_base64, text) == (message if isinstance(expected, int) else expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"), ("2020-01-01T0:00:00Z", "2020-01-01T00:00:00Z"),
     ("2020-01-01T00:00:00+02:00", "2019-12-31T22:00:00Z"), ("2020-01-01T00:00:00-23:59", "2020-01-01T23:59:00Z"),
     ("2020-01-01T23:59:59.123Z", "2020-01-01T23:59:59Z"), ("2020-01-01T23:59:59,5Z", "2020-01-01T23:59:59Z"),
     ("2020-01-01T23:59:59+24:00", "2019-12-31T23:59:59Z"), ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
     ("0001-01-01T00:00:00Z", None), ("9999-12-31T23:59:59-02:00", "10000-01-01T01:59:59Z"),
     ("0000-01-01T00:00:00+02:00", "-0001-12-31T22:00:00Z"), ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"),
     ("2020-02-30T00:00:00Z", "day"), ("2020-01-00T00:00:00Z", "day"), ("1900-02-29T00:00:00Z", "day"),
     ("2020-13-01T00:00:00Z", "month"), ("2020-00-01T00:00:00Z", "month"), ("2020-01-01T24:00:00Z", "hour"),
     ("2020-01-01T23:60:00Z", "minute"), ("2020-01-01T23:59:60Z", "second"),
     ("2020-01-01T23:59:59+25:00", "time zone offset hour"),
     ("2020-01-01T23:59:59+01:61", "time zone offset minute")],
)  # fmt: skip
def test_times(text: str, expected: str | None) -> None:
    """R-JSON-7. A word is what Go says to be out of range."""
    if expected and expected[-1] != "Z":
        expected = f'! parsing time "{text}": {expected} out of range'
    assert outcome(canonical_time, text) == expected


@pytest.mark.parametrize(
    ("text", "rest", "part"),
    [("2020-01-01", "", "T"), ("2020-01-01T00:00:00", "", "Z07:00"), ("2020-01-01T23:59:59.Z", ".Z", "Z07:00"),
     ("2020-01-01T23:59:59+0100", "+0100", "Z07:00"), ("2020-01-01t23:59:59Z", "t23:59:59Z", "T"),
     ("20-01-01T23:59:59Z", "20-01-01T23:59:59Z", "2006"), ("", "", "2006"), ("2020-1-01", "1-01", "01")],
)  # fmt: skip
def test_times_that_can_t_be_parsed(text: str, rest: str, part: str) -> None:
    layout = "2006-01-02T15:04:05Z07:00"
    assert outcome(canonical_time, text) == f'! parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"'
    assert outcome(canonical_time, "2020-01-01T23:59:59Zx") == '! parsing time "2020-01-01T23:59:59Zx": extra text: "x"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.2.3", "1.2.3"), (" v1.2.3 ", "1.2.3"), ("1", "1.0.0"), ("1.2", "1.2.0"), ("01.002.0003", "1.2.3"),
     ("1.2.3-alpha.1+b.01", "1.2.3-alpha.1+b.01"), ("0.0.0", "0.0.0"), ("1.2.00-rc", "1.2.0-rc"),
     ("1.2.3+a-b", "1.2.3+a-b"),
     ("", '! strconv.ParseUint: parsing "": invalid syntax'), ("x", '! Invalid character(s) found in major number "x"'),
     ("1.x", '! Invalid character(s) found in minor number "x"'),
     ("1.2.x", '! Invalid character(s) found in patch number "x"'),
     ("1.2.3.4", '! Invalid character(s) found in patch number "3.4"'),
     ("1-alpha", "! Short version cannot contain PreRelease/Build meta data"),
     ("1.2+b", "! Short version cannot contain PreRelease/Build meta data"),
     ("1.2.3-", "! Prerelease is empty"), ("1.2.3-a..b", "! Prerelease is empty"),
     ("1.2.3+", "! Build meta data is empty"),
     ("1.2.3-01", '! Numeric PreRelease version must not contain leading zeroes "01"'),
     ("1.2.3-a_b", '! Invalid character(s) found in prerelease "a_b"'),
     ("1.2.3+a_b", '! Invalid character(s) found in build meta data "a_b"'),
     ("18446744073709551616.0.0", '! strconv.ParseUint: parsing "18446744073709551616": value out of range')],
)  # fmt: skip
def test_versions(text: str, expected: str) -> None:
    """R-JSON-10."""
    assert outcome(version_of_csv, text) == expected


def version_of_csv(text: str) -> Any:
    return decode("ClusterServiceVersion", {"spec": {"version": text}})["spec"]["version"]


def release_of_csv(text: str) -> Any:
    return decode("ClusterServiceVersion", {"spec": {"release": text}})["spec"]["release"]


def test_releases() -> None:
    assert outcome(release_of_csv, "1.alpha.2") == "1.alpha.2"
    assert outcome(release_of_csv, "1..2") == "! Prerelease is empty"
    assert outcome(release_of_csv, "01") == '! Numeric PreRelease version must not contain leading zeroes "01"'


def test_written_json_reads_back() -> None:
    value = {"a": [1, 2.5, "<é\u2028", None, True, {"b": []}], "": -3}
    assert json.loads(encode_plain(value)) == value
