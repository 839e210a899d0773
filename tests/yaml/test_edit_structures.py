"""Lists, mappings and keys change in a YAML file, and comments stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from olmc.k8s.diagnostics import Source
from olmc.k8s.yaml.edit import EditError, set_value, with_item, with_moved, with_quotes, without_item, without_key

LIST = "spec:\n  # all\n  ports:\n  - name: a  # one\n    port: 1\n  # two\n  - name: b\n    port: 2\n  type: x\n"


def source(text: str) -> Source:
    return Source("t.yaml", text)


def test_an_item_goes_with_its_lines() -> None:
    after = without_item(source(LIST), ("spec", "ports", 1)).text
    assert after == "spec:\n  # all\n  ports:\n  - name: a  # one\n    port: 1\n  # two\n  type: x\n"
    assert without_item(source(LIST), ("spec", "ports", 0)).text == LIST.replace(
        "  - name: a  # one\n    port: 1\n", ""
    )


def test_the_only_item_goes_with_its_list() -> None:
    assert without_item(source("spec:\n  a: 1\n  b:\n  - 2\n"), ("spec", "b", 0)).text == "spec:\n  a: 1\n"


def test_an_item_of_a_list_between_brackets() -> None:
    assert without_item(source("spec:\n  a: [x, x]  # why\n"), ("spec", "a", 1)).text == "spec:\n  a:\n  - x\n"


def test_a_new_item_comes_last() -> None:
    after = with_item(source(LIST), ("spec", "ports"), {"name": "c", "port": 3}).text
    assert after == LIST.replace("  type: x\n", "  - name: c\n    port: 3\n  type: x\n")


@pytest.mark.parametrize(
    ("before", "keys", "value", "after"),
    [
        ("spec:\n  a: 1  # why\n", ("spec", "a"), True, "spec:\n  a: true  # why\n"),
        ("spec:\n  a: '3'\n", ("spec", "a"), 3, "spec:\n  a: 3\n"),
        ("spec:\n  # why\n  a: 1\n", ("spec", "b"), ["x"], "spec:\n  # why\n  b:\n  - x\n  a: 1\n"),
        ("spec:\n  a: 1\n", ("spec", "c", "d"), {"e": 2}, "spec:\n  c:\n    d:\n      e: 2\n  a: 1\n"),
        ("spec:\n- a: 1\n  c: 2\n", ("spec", 0, "b"), 5, "spec:\n- b: 5\n  a: 1\n  c: 2\n"),
        ("spec:\n- a: 1\n", ("spec", 0, "b"), {"x": 1}, "spec:\n- b:\n    x: 1\n  a: 1\n"),
        ("spec: {a: 1}\n", ("spec", "b"), {"x": 1}, 'spec: {"b": {"x": 1}, a: 1}\n'),
    ],
)  # fmt: skip
def test_a_value_of_any_type(before: str, keys: tuple[str | int, ...], value: Any, after: str) -> None:
    assert set_value(source(before), keys, value).text == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: {b: 1, c: 2}  # why\n", "a: {c: 2}  # why\n"),
        ("a: {c: 2, b: [1, 2]}\n", "a: {c: 2}\n"),
        ("a: {c: 2, b: 'x, y'}\n", "a: {c: 2}\n"),
        ("a:\n  b: 1\n  c: 2  # why\n", "a:\n  c: 2  # why\n"),
    ],
)
def test_a_key_goes(before: str, after: str) -> None:
    assert without_key(source(before), ("a", "b")).text == after


def test_a_field_moves_into_each_version_with_its_comments() -> None:
    before = (
        "spec:\n  validation:  # from 2019\n    schema:\n      # the root\n      type: object\n"
        "  columns:\n  - JSONPath: .spec\n    name: A\n"
        "  versions:\n  - name: v1\n    served: true\n  - name: v2\n"
    )
    moved = with_moved(source(before), ("spec", "validation"), ("spec", "versions"), "schema")
    after = with_moved(moved, ("spec", "columns"), ("spec", "versions"), "columns").text
    inside = "    schema:  # from 2019\n      schema:\n        # the root\n        type: object\n"
    inside += "    columns:\n    - jsonPath: .spec\n      name: A\n"
    assert after == f"spec:\n  versions:\n  - name: v1\n    served: true\n{inside}  - name: v2\n{inside}"


def test_a_number_gets_quotes() -> None:
    assert with_quotes("a: 4.10 # why\n", 1, 4) == 'a: "4.10" # why\n'


@pytest.mark.parametrize(
    "change",
    [
        lambda: without_item(source(LIST), ("spec", "ports", 2)),
        lambda: without_item(source("a:\n- - x\n  - y\n"), ("a", 0, 0)),
        lambda: with_item(source("a: []\n"), ("a",), 1),
        lambda: with_moved(source("a: 1\nb:\n- c: 1\n"), ("a",), ("b",), "c"),
        lambda: with_quotes("a: b c\n", 1, 4),
        lambda: set_value(source("a: 1\n"), (), 2),
        lambda: without_key(source("a: {b: &x 1, c: *x}\n"), ("a", "b")),
    ],
)
def test_what_can_not_be_changed_is_left_alone(change: Callable[[], object]) -> None:
    with pytest.raises(EditError):
        change()
