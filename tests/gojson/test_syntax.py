"""What Go says about texts that are not JSON."""

from __future__ import annotations

import pytest

from olmc.k8s.gojson.generate import syntax_error


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        (" {} ", ""),
        ('[1, -0.5e+3, "\\u00e9", true, false, null, {"a": []}]', ""),
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ("tru", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("'", r"invalid character '\'' looking for beginning of value"),
        ('{"a" "', "invalid character '\"' after object key"),
        ("{a", "invalid character 'a' looking for beginning of object key string"),
        ('{"a": 1]', "invalid character ']' after object key:value pair"),
        ("[1}", "invalid character '}' after array element"),
        ("1 2", "invalid character '2' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u12g"', r"invalid character 'g' in \u hexadecimal character escape"),
        ('"a\n"', r"invalid character '\n' in string literal"),
        ("[" * 100_000, "exceeded max depth"),
    ],
)
def test_texts(text: str, problem: str) -> None:
    assert syntax_error(text) == problem
