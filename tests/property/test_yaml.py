"""What holds of every text: everybody reads it back as it was written, and nothing crashes (issue: YAML)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import yaml as pyyaml
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples
from ruamel.yaml import YAML

from olmc.k8s.diagnostics import Report, Severity, Source
from olmc.k8s.yaml import dump, dump_one, locate, plain_is_safe, read
from olmc.k8s.yaml.construct import read_json

# Texts that look like something else are rare among all texts, so these alphabets make them.
NUMBER_LIKE = st.text("0123456789+-._eExXoObB:aAfFnN TZ", max_size=12)
SYNTAX = st.text("ab \n\t:#-?[]{},&*!|>%@`\"'\\~=<.\r\x07\x85\u2028\ufeff\xa0é日😀0", max_size=12)
WORDS = st.sampled_from(
    "y n yes no on off true null ~ = << 1e3 12e4567 0o7 08 +.5 .inf .nan 0x1F 1_000 12:30 190:20:30.15 "
    "2001-01-01 2001-12-14t21:59:43.10-05:00 --- ... - ? : [] {} 0b-1 _1 ._ NaN None y: #a".split()
)
LINES = st.lists(st.one_of(WORDS, SYNTAX, st.sampled_from(["", " ", "  a", "\ta", "a "])), min_size=2, max_size=5).map(
    "\n".join
)
TEXTS = st.one_of(st.text(), NUMBER_LIKE, SYNTAX, WORDS, LINES)
# Adding zero takes away the sign of minus zero, which Go writes and does not read.
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), FLOATS, TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)


def ours(text: str, *, pure: bool = False) -> list[Any]:
    report = Report()
    values = [document.value for document in read("t.yaml", text, report, pure=pure)]
    assert list(report) == []
    return values


def as_go_writes(value: Any) -> Any:
    """The value with large integral floats as Go's JSON encoder leaves them: shortest digits, then zeros."""
    if isinstance(value, float) and 2.0**53 < abs(value) < 1e21:
        digits, _, exponent = f"{value!r}e+0".partition("e+")
        number = Decimal(digits).scaleb(int(exponent.removesuffix("e+0")))
        return int(number) if -(2**63) <= number < 2**64 else value
    if isinstance(value, list):
        return [as_go_writes(item) for item in value]
    return {key: as_go_writes(item) for key, item in value.items()} if isinstance(value, dict) else value


def placed(text: str) -> Iterator[tuple[Any, Any]]:
    """A text wherever a text can stand, and how that is written."""
    for value in (text, [text, [text]], {text: text}, {"a": {text: [text, {text: {text: 1}}]}, "b": text}):
        yield value, dump_one(value)


@given(TEXTS)
@example("x" * 1025)
@example("a\n" * 3 + " ")
@example("\n a\n")
@examples(400)
def test_every_text_is_read_back_by_every_reader(text: str) -> None:
    for value, written in placed(text):
        assert ours(written) == [value]
        assert pyyaml.load(written, pyyaml.CSafeLoader) == value
        assert YAML(typ="safe", pure=False).load(written) == value


@given(TEXTS)
@examples(80)
def test_every_text_is_read_back_by_the_readers_in_python(text: str) -> None:
    for value, written in placed(text):
        assert ours(written, pure=True) == [value]
        assert pyyaml.load(written, pyyaml.SafeLoader) == value
        assert YAML(typ="safe", pure=True).load(written) == value


@given(TEXTS)
@examples(400)
def test_a_text_that_is_safe_is_written_plain_and_no_other(text: str) -> None:
    safe = plain_is_safe(text)
    assert (dump_one([text]) == f"- {text}\n") == safe
    if safe:
        assert ours(f"- {text}\n- a: {text}\n- {text}: a\n") == [[text, {"a": text}, {text: "a"}]]


@given(st.lists(VALUES, max_size=3))
@examples(300)
def test_every_value_is_read_back(values: list[Any]) -> None:
    written = dump(values)
    assert ours(written) == as_go_writes(values)
    assert dump(ours(written)) == written


@given(st.lists(VALUES, max_size=3))
@examples(150)
def test_json_is_read_as_python_reads_it(values: list[Any]) -> None:
    for text in ("\n".join(map(json.dumps, values)), " ".join(json.dumps(v, ensure_ascii=False) for v in values)):
        report = Report()
        assert [document.value for document in read_json("t.json", text, report)] == values
        assert report.found == []


def paths(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every path of keys and indices in a value, with what stands there."""
    yield above, value
    if isinstance(value, dict):
        for key, child in value.items():
            yield from paths(child, (*above, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from paths(child, (*above, index))


def rest_at(text: str, line: int, column: int) -> str:
    """A text from a place on. Lines end as YAML ends them, which in a dump only \\n does."""
    return "\n".join(text.split("\n")[line - 1 :])[column - 1 :]


@given(st.lists(VALUES, min_size=1, max_size=3), st.booleans())
@examples(150)
def test_every_key_and_every_value_is_found_where_it_stands(values: list[Any], as_json: bool) -> None:
    text = "\n".join(map(json.dumps, values)) if as_json else dump(values)
    for number, value in enumerate(values):
        source = Source("t.json" if as_json else "t.yaml", text, number)
        for path, expected in paths(value):
            place = locate(source, path)
            rest = rest_at(text, place.line, place.column)
            if not isinstance(expected, dict | list) and not (isinstance(expected, str) and "\n" in expected):
                written = json.dumps(expected) if as_json else dump_one(expected).removesuffix("\n")
                assert rest.startswith(written)
            if path and isinstance(path[-1], str):
                place = locate(source, path, of_key=True)
                key = json.dumps(path[-1]) if as_json else dump_one({path[-1]: 1}).removesuffix(": 1\n")
                assert rest_at(text, place.line, place.column).startswith(key.removeprefix("? "))


PIECES = (
    "a|b|1| |  |\n|\n  |\n- |: |:|- |'|\"|[|]|{|}|,|#|&x |*x|!|!!str |!!int |<<: |? |>-\n|---\n"
    "|...\n|%YAML 1.1\n|.inf|~|\t|\r|\x07|\ufeff|\u2028|\ud800|\\|@|`"
).split("|")
TOKENS = st.lists(st.one_of(st.sampled_from([*PIECES, "|\n"]), st.text(max_size=3)), max_size=25).map("".join)


@given(TOKENS, st.sampled_from(["t.yaml", "t.json"]), st.booleans())
@examples(600)
def test_no_text_crashes_the_reader(text: str, path: str, pure: bool) -> None:
    report = Report()
    documents = read(path, text, report, pure=pure)
    for finding in report:
        assert finding.location is not None
        assert finding.hint
        assert 0 <= finding.location.line <= text.count("\n") + text.count("\r") + len(text) + 1
    if report.worst() is Severity.ERROR:
        assert documents == []
    for document in documents:
        assert locate(document.source, ()).path == path
        for _, value in paths(document.value):
            assert not isinstance(value, dict) or all(isinstance(key, str) for key in value)
            assert not isinstance(value, float) or math.isfinite(value)
        assert ours(dump_one(document.value)) == [as_go_writes(document.value)]
