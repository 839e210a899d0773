"""JSON is read by Python's decoder, with Kubernetes' numbers (OLMC101, OLMC102, OLMC107)."""

from __future__ import annotations

import pytest

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read
from olmc.k8s.yaml.construct import read_json


def values(path: str, text: str) -> list[object]:
    report = Report()
    documents = read(path, text, report)
    assert list(report) == []
    assert [document.source.document for document in documents] == list(range(len(documents)))
    return [document.value for document in documents]


def findings(path: str, text: str) -> list[tuple[str, str]]:
    report = Report()
    assert read(path, text, report) == []
    assert all(finding.hint for finding in report)
    return [(str(finding.location), finding.code) for finding in report]


@pytest.mark.parametrize("path", ["a.json", "a.yaml"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": [1, 1.5, true, null, "x"]}', [{"a": [1, 1.5, True, None, "x"]}]),
        ('{"a": 1}{"a": 2}\n\n{"a": 3}\n', [{"a": 1}, {"a": 2}, {"a": 3}]),
        ('\ufeff {"a":\t1}', [{"a": 1}]),
        # JSON that YAML would not read.
        ('{"a": "\\/ \\ud83d\\ude00", "b":\n\t"c"}', [{"a": "/ 😀", "b": "c"}]),
        ('{"' + "k" * 2000 + '": 1}', [{"k" * 2000: 1}]),
        # Quoted words stay texts, and 1e3 a float.
        ('{"y": "yes", "n": 1e3, "m": -0}', [{"y": "yes", "n": 1000.0, "m": 0}]),
        ('{"a": 18446744073709551615, "b": -9223372036854775808}', [{"a": 2**64 - 1, "b": -(2**63)}]),
        ('{"a": 18446744073709551616, "b": -9223372036854775809}', [{"a": 2.0**64, "b": -(2.0**63)}]),
        ('{"a": "\\ud83d", "\\ude00": ["x\\udfff"]}', [{"a": "\ufffd", "\ufffd": ["x\ufffd"]}]),
    ],
)
def test_reads_json(path: str, text: str, expected: list[object]) -> None:
    assert values(path, text) == expected


def test_large_numbers_are_floats() -> None:
    (value,) = values("a.json", '{"a": 18446744073709551616, "b": ' + "9" * 300 + "}")
    assert isinstance(value, dict)
    assert [type(number) for number in value.values()] == [float, float]


def test_a_json_file_may_hold_any_value_or_none() -> None:
    assert values("a.json", '[1]\n"a" 2 null') == [[1], "a", 2, None]
    assert values("a.json", " \n") == []


def test_what_is_no_json_is_tried_as_yaml() -> None:
    assert values("a.json", "a: yes\n---\nb: no\n") == [{"a": True}, {"b": False}]
    assert values("a.yaml", '{a: 1, "b": [c,],}') == [{"a": 1, "b": ["c"]}]
    assert values("a.yaml", '{"a": 1}\n---\n{"b": 2}\n') == [{"a": 1}, {"b": 2}]
    assert values("a.yaml", "{a: NaN}") == [{"a": "NaN"}]


@pytest.mark.parametrize("text", ['{"a": [1,]}', '{"a": 1,}'])
def test_a_comma_too_many_is_refused_where_kubectl_does(text: str) -> None:
    """Where, depends on the version of Python."""
    assert [code for _, code in findings("a.json", text)] == ["OLMC101"]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.json", '{"a": 1,\n  "b": 2', [("a.json:2:9", "OLMC101")]),
        ("a.json", '{"a": 1}\n{"b": "x\n"}}', [("a.json:2:9", "OLMC101")]),
        ("a.json", '["a" "b"]', [("a.json:1:6", "OLMC101")]),
        # It is YAML, but what begins with a brace in a file called .json is JSON to kubectl.
        ("a.json", "{a: NaN}", [("a.json:1:2", "OLMC101")]),
        ("a.json", '{"a": 1}\n---\n{"b": 2}\n', [("a.json:2:1", "OLMC101")]),
        # Neither JSON nor YAML, but it looks more like YAML.
        ("a.json", "a: 'x\n", [("a.json:1:4", "OLMC100")]),
        ("a.yaml", '{"a": 1,\n  "b": 2', [("a.yaml:1:1", "OLMC100")]),
        ("a.json", '{"a": ' * 201 + "1" + "}" * 201, [("a.json:1:1201", "OLMC107")]),
        ("a.json", "[" * 100_000 + "]" * 100_000, [("a.json:1:201", "OLMC107")]),
        ("a.yaml", '{"a":' * 100_000, [("a.yaml:1:1001", "OLMC107")]),
    ],
)
def test_refuses(path: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert findings(path, text) == expected


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_numbers_that_json_cannot_hold_are_no_json(number: str) -> None:
    report = Report()
    assert read_json("a.json", f'{{"a": "NaN 1e400",\n "b": {number}}}', report) == []
    (finding,) = report
    assert (str(finding.location), finding.code) == ("a.json:2:7", "OLMC101")
    assert number in finding.message


def test_depth_up_to_the_bound_is_read() -> None:
    assert values("a.json", "[" * 200 + "]" * 200) != []


def test_a_key_that_stands_twice_is_a_warning_with_both_places() -> None:
    report = Report()
    text = '{"x": 1}\n{"a": 1, "b": [{"c": 1,\n "\\u0063": 2}], "a": 3}'
    documents = read("dup.json", text, report)
    assert [document.value for document in documents] == [{"x": 1}, {"a": 3, "b": [{"c": 2}]}]
    assert [(str(f.location), f.code, [str(place) for _, place in f.related]) for f in report] == [
        ("dup.json:3:2", "OLMC102", ["dup.json:2:17"]),
        ("dup.json:3:17", "OLMC102", ["dup.json:2:2"]),
    ]
