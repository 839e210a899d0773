"""Documents and keys are taken out of YAML files or replaced, and all else stays (so that `olmc migrate` may edit)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.diagnostics import Report, Source
from olmc.k8s.yaml import read
from olmc.k8s.yaml.edit import EditError, with_block, with_documents, without_document

FIRST, SECOND, THIRD = "# one\na: 1\n", "# two\nb:\n- x  # why\n- y\nc: 3\n", "d: |\n  text\n  ---- no mark\n"


def values(text: str) -> list[Any]:
    return [document.value for document in read("t.yaml", text, Report())]


@pytest.mark.parametrize("head", ["", "---\n"])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_document_goes_with_its_comments(head: str, which: int) -> None:
    parts = [FIRST, SECOND, THIRD]
    text = head + "---\n".join(parts)
    left = without_document(Source("t.yaml", text, which))
    assert values(left) == [values(part)[0] for part in parts if part is not parts[which]]
    assert all((part in left) == (part is not parts[which]) for part in parts)


def test_the_last_document_leaves_nothing() -> None:
    assert without_document(Source("t.yaml", "---\n" + FIRST)) == ""


def test_a_document_is_replaced_below_its_comments() -> None:
    text = FIRST + "---\n" + SECOND + "---\n" + THIRD
    changed = with_documents(Source("t.yaml", text, 1), "e: 5\n", [{"e": 5}])
    assert changed == FIRST + "---\n# two\ne: 5\n---\n" + THIRD


def test_line_ends_are_those_of_the_file() -> None:
    text = "# one\r\na: 1\r\n---\r\nb: 2\r\n"
    assert with_documents(Source("t.yaml", text), "c: 1\nd: 2\n", [{"c": 1, "d": 2}]) == (
        "# one\r\nc: 1\r\nd: 2\r\n---\r\nb: 2\r\n"
    )


def test_a_list_is_replaced_at_the_indentation_of_its_key() -> None:
    source = Source("t.yaml", "spec:\n  # which\n  names:\n  - a\n  # b was here\n  - c\n\n  other: 1\n")
    changed = with_block(source, ("spec", "names"), ["names:", "- z"], {"names": ["z"]})
    assert changed.text == "spec:\n  # which\n  names:\n  - z\n\n  other: 1\n"


def test_a_key_goes_with_its_value() -> None:
    source = Source("t.yaml", "spec:\n  selector:\n    matchLabels:\n      a: b\n  other: 1\n")
    assert with_block(source, ("spec", "selector"), [], {}).text == "spec:\n  other: 1\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("spec: {names: [a], other: 1}\n", "on a line of its own"),
        ('{"spec": {"names": ["a"], "other": 1}}', "on a line of its own"),
        ("a: &x\n  names: [a]\nspec:\n  <<: *x\n  names: [b]\nb: &y {}\n", ""),
    ],
)
def test_what_can_not_be_edited_safely_is_refused(text: str, says: str) -> None:
    """Whatever would change something else is an EditError, never a damaged file."""
    source = Source("t.yaml", text)
    expected = values(text)[0]
    expected["spec"]["names"] = ["z"]
    try:
        changed = with_block(source, ("spec", "names"), ["names: [z]"], {"names": ["z"]})
    except EditError as error:
        assert says in str(error)
    else:
        assert values(changed.text) == [expected]


def test_items_of_lists_are_left_alone() -> None:
    source = Source("t.yaml", "kind: List\nitems:\n- a: 1\n", 0, ("items", 0))
    with pytest.raises(EditError, match="item of a List"):
        without_document(source)


LINES = st.lists(st.sampled_from(["# c", "a: 1", "b:", "  - x", "---", "", "  # in", "c: |", "  text"]), max_size=12)


@given(LINES, st.integers(0, 3))
def test_nothing_else_is_ever_lost(lines: list[str], which: int) -> None:
    """Either the other documents keep their values, or the edit is refused."""
    text = "\n".join(lines) + "\n"
    before = values(text)
    if which >= len(before) or before[which] is None:
        return
    try:
        after = without_document(Source("t.yaml", text, which))
    except EditError:
        return
    left = before[:which] + before[which + 1 :]
    assert values(after) == left or (after == "" and not any(value is not None for value in left))
