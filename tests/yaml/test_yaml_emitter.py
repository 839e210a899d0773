"""What is written, and that Kubernetes and everybody else reads it back (field notes, section 4)."""

from __future__ import annotations

import enum
import json
import re
from collections import OrderedDict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml as pyyaml
from ruamel.yaml import YAML

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import dump, dump_one, plain_is_safe, read

HERE = Path(__file__).parent
EMITTED = sorted((HERE / "emitted").glob("*.json"))
QUOTING = [
    line.split("\t")
    for line in (HERE / "quoting.tsv").read_text(encoding="utf-8").split("\n")
    if line and not line.startswith("# ")
]


def read_back(text: str) -> list[Any]:
    report = Report()
    values = [document.value for document in read("out.yaml", text, report)]
    assert list(report) == []
    return values


@pytest.mark.parametrize("pair", EMITTED, ids=lambda pair: pair.stem)
def test_writes(pair: Path) -> None:
    values = json.loads(pair.read_text(encoding="utf-8"))
    expected = pair.with_suffix(".yaml").read_text(encoding="utf-8")
    assert dump(values) == expected
    assert read_back(expected) == values
    assert list(YAML(typ="safe").load_all(expected)) == values


@pytest.mark.parametrize(("text", "expected"), QUOTING)
def test_quotes_only_what_another_reader_would_misread(text: str, expected: str) -> None:
    value = json.loads(text)
    assert dump_one(value if "\n" not in value else [{value: 1}]).rstrip("\n") == (
        expected if "\n" not in value else f"- {expected}: 1"
    )
    assert plain_is_safe(value) == (expected == value)
    for document in (f"- {expected}\n", f"a: {expected}\n", f"{expected}: a\n"):
        back = pyyaml.load(document, pyyaml.CSafeLoader)
        assert value in (list(back) + list(back.values()) if isinstance(back, dict) else back)
        assert read_back(document) == [back]


def test_key_order_of_an_object_only_at_the_top() -> None:
    value = {"b": {"spec": 1, "kind": 2, "apiVersion": 3}, "spec": 0, "kind": "K", "apiVersion": "v1"}
    assert dump_one(value) == "apiVersion: v1\nkind: K\nspec: 0\nb:\n  spec: 1\n  kind: 2\n  apiVersion: 3\n"
    assert list(value) == ["b", "spec", "kind", "apiVersion"]
    assert dump_one(MappingProxyType(value)) == dump_one(value)


def test_documents_are_separated_and_nothing_gives_nothing() -> None:
    assert dump([]) == ""
    assert dump(iter([1])) == "1\n"
    assert dump([{"a": "x\n\n"}, {"b": 1}]) == "a: |+\n  x\n\n---\nb: 1\n"


def test_lines_are_never_folded() -> None:
    text = "word " * 5000 + "end"
    assert dump_one({"a": text}) == f"a: {text}\n"


def test_repeated_values_are_written_out() -> None:
    shared = {"b": [1]}
    assert dump_one([shared, shared]) == "- b:\n  - 1\n- b:\n  - 1\n"


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"), (-1, "-1"), (2**64 - 1, "18446744073709551615"),
        (0.0, "0"), (-0.0, "-0"), (1000.0, "1000"), (-2.0, "-2"), (2.0**53, "9007199254740992"),
        (1e20, "100000000000000000000"), (123456789012345680000.0, "123456789012345680000"),
        (-1e20, "-100000000000000000000"), (1e21, "1e+21"), (1.5e300, "1.5e+300"),
        (0.1, "0.1"), (1.5, "1.5"), (1e-05, "1e-05"), (5e-324, "5e-324"),
    ],
)  # fmt: skip
def test_numbers(number: float, expected: str) -> None:
    assert dump_one([number]) == f"- {expected}\n"
    (value,) = read_back(dump_one([number]))
    assert value == [number]
    assert not isinstance(value[0], str)


class Colour(enum.StrEnum):
    RED = "no"


class Count(enum.IntEnum):
    ONE = 1


def test_related_types_are_written_as_those_of_json() -> None:
    value = {
        "tuple": (1, ("a",)),
        "mapping": MappingProxyType({"a": OrderedDict(b=1)}),
        "text": Colour.RED,
        "number": Count.ONE,
        "empty": (),
        "none": MappingProxyType({}),
        "k" * 1001: (1,),
    }
    assert read_back(dump_one(value)) == [
        {"tuple": [1, ["a"]], "mapping": {"a": {"b": 1}}, "text": "no", "number": 1, "empty": [], "none": {}}
        | {"k" * 1001: [1]}
    ]
    assert dump_one((MappingProxyType({"a": 1}), Colour.RED)) == "- a: 1\n- 'no'\n"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_refuses_numbers_that_json_cannot_hold(value: float) -> None:
    with pytest.raises(ValueError, match="can't hold"):
        dump_one({"a": value})


@pytest.mark.parametrize("value", [{1: "a"}, {None: 1}, {"a": object()}])
def test_refuses_what_json_cannot_hold(value: Any) -> None:
    with pytest.raises(TypeError):
        dump_one(value)


def test_a_lone_surrogate_is_replaced_as_in_go() -> None:
    assert read_back(dump_one(["a\ud800b", "\udfff\nx"])) == [["a\ufffdb", "\ufffd\nx"]]


def test_as_deep_as_the_reader_reads() -> None:
    text = "[" * 200 + "]" * 200
    (value,) = read_back(text)
    assert read_back(dump_one(value)) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "a\n::error title=x::y\n", "  ::add-mask::x\nb", "a\n\t ::stop-commands::x", "x ##[error]y",
        "##vso[task.x]y\nz", "##[group]a", "a\n  ##[endgroup]\n",
    ],
)  # fmt: skip
def test_no_line_is_a_command_to_a_runner(text: str) -> None:
    """A log of GitHub or Azure obeys such lines, whatever they are indented by; the value is the same."""
    written = dump([{"a": {"b": [text], text: text}}])
    assert not re.search(r"^\s*::|##(?:vso)?\[", written, re.MULTILINE)
    assert [document.value for document in read("a.yaml", written, Report())] == [{"a": {"b": [text], text: text}}]


def test_other_texts_of_several_lines_stay_blocks() -> None:
    assert dump([{"a": "x ::b\nstd::move(x)\n## [a]\n"}]) == "a: |\n  x ::b\n  std::move(x)\n  ## [a]\n"
