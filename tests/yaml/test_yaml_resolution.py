"""Scalars, keys and tags mean what go-yaml v2 and sigs.k8s.io/yaml make of them (field notes, section 4).

The tables beside this file were measured with those two libraries.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read

HERE = Path(__file__).parent
TYPES: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "null": type(None)}


def rows(name: str) -> list[list[str]]:
    """The rows of a table, split at tabs; lines that begin with `# ` are headings."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("# ")]


def value_of(text: str, *, pure: bool = False) -> tuple[Any, list[str]]:
    """The only value of a text, and the codes of the findings."""
    report = Report()
    documents = read("table.yaml", text, report, pure=pure)
    return (documents[0].value if documents else None), [finding.code for finding in report]


@pytest.mark.parametrize(("scalar", "kind", "expected"), [(*row, "")[:3] for row in rows("resolution.tsv")])
@pytest.mark.parametrize("pure", [False, True], ids=["C", "Python"])
def test_plain_scalars_resolve_as_in_go_yaml(scalar: str, kind: str, expected: str, pure: bool) -> None:
    value, codes = value_of(f"- {scalar}\n", pure=pure)
    if kind == "refused":
        assert codes == ["OLMC104"]
        return
    assert codes == []
    assert type(value[0]) is TYPES[kind]
    assert value[0] == (float(expected) if kind == "float" else json.loads(expected))
    if kind == "float":
        assert math.copysign(1, value[0]) == math.copysign(1, float(expected))


@pytest.mark.parametrize("scalar", [row[0] for row in rows("resolution.tsv")])
def test_quoted_scalars_are_texts_whatever_they_look_like(scalar: str) -> None:
    text = json.dumps(scalar)
    assert value_of(f"- {text}\n") == ([scalar], [])
    assert value_of(f"{text}: 1\n") == ({scalar: 1}, [])


def test_an_absent_value_is_null() -> None:
    assert value_of("a:\nb: \n? c\n") == ({"a": None, "b": None, "c": None}, [])


def test_integers_and_floats_of_any_length_are_read() -> None:
    digits = "9" * 100_000
    value, codes = value_of(f"- {digits}\n- 0x{'f' * 100_000}\n- 0.{digits}\n- {'0' * 9000}1\n")
    assert codes == []
    # Too large for a float: Go leaves such texts as they are.
    assert value == [digits, "0x" + "f" * 100_000, 1.0, 1]


def test_only_ascii_digits_are_digits() -> None:
    assert value_of("- １２\n- ٣\n- 1٣\n") == (["１２", "٣", "1٣"], [])


@pytest.mark.parametrize(("key", "expected"), rows("keys.tsv"))
@pytest.mark.parametrize("pure", [False, True], ids=["C", "Python"])
def test_keys_become_texts_as_in_sigs_yaml(key: str, expected: str, pure: bool) -> None:
    value, codes = value_of(f"? {key}\n: 1\n", pure=pure)
    if expected == "refused":
        assert codes == ["OLMC103"]
    else:
        assert (value, codes) == ({json.loads(expected): 1}, [])


@pytest.mark.parametrize(("tag", "scalar", "expected"), rows("tags.tsv"))
@pytest.mark.parametrize("pure", [False, True], ids=["C", "Python"])
def test_tags_of_json_types_are_honoured(tag: str, scalar: str, expected: str, pure: bool) -> None:
    value, codes = value_of(f"- {tag} {scalar}\n", pure=pure)
    if expected == "refused":
        assert codes in (["OLMC106"], ["OLMC104"])
    else:
        assert (value, codes) == ([json.loads(expected)], [])
