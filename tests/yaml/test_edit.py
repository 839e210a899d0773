"""A value is set in a YAML file, and everything else stays byte for byte (so that `olmc resolve --pin` may edit it)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.diagnostics import Report, Source
from olmc.k8s.yaml import read
from olmc.k8s.yaml.edit import EditError, set_text

KEY = ("spec", "startingCSV")


def edited(text: str, value: str = "kettle.v2", *, document: int = 0, prefix: tuple[str | int, ...] = ()) -> str:
    source = Source("t.yaml", text, document, prefix)
    changed = set_text(source, KEY, value)
    assert source.text == text
    assert changed == source._replace(text=changed.text)
    return changed.text


def values(text: str) -> list[Any]:
    report = Report()
    found = [document.value for document in read("t.yaml", text, report)]
    assert not report.found
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kettle.v1", "kettle.v2"),
        ("kettle.v1  # why", "kettle.v2  # why"),
        ("kettle#1 # why", "kettle.v2 # why"),
        ("two words\t# why", "kettle.v2\t# why"),
        ("  kettle.v1", "  kettle.v2"),
        ("'kettle.v1' # 'why'", "kettle.v2 # 'why'"),
        ("'it''s # not a comment' # why", "kettle.v2 # why"),
        ('"a \\" b # c" # why', "kettle.v2 # why"),
        ('""', "kettle.v2"),
        ("~ # none yet", "kettle.v2 # none yet"),
        ("1.10", "kettle.v2"),
        ("!!str 5", "kettle.v2"),
        ("kettle.v1   ", "kettle.v2   "),
    ],
)
def test_a_value_is_replaced(before: str, after: str) -> None:
    frame = "# head\n\nspec:\n  channel: stable # a\n  startingCSV: {}\n\n  # tail\n  name: kettle\n"
    assert edited(frame.replace("{}", before)) == frame.replace("{}", after)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("1.0", "'1.0'"),
        ("yes", "'yes'"),
        ("", "''"),
        ("a: b", "'a: b'"),
        ("a #b", "'a #b'"),
        ("it's", "it's"),
        ("'", "''''"),
        ("two\nlines", '"two\\nlines"'),
        ("Manual", "Manual"),
    ],
)
def test_a_text_is_quoted_where_it_must_be(value: str, written: str) -> None:
    assert edited("spec:\n  startingCSV: x # c\n", value) == f"spec:\n  startingCSV: {written} # c\n"
    assert edited("spec:\n  name: x # c\n", value) == f"spec:\n  startingCSV: {written}\n  name: x # c\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("spec:\n  name: x\n", "spec:\n  startingCSV: kettle.v2\n  name: x\n"),
        ("spec:\n  name: x", "spec:\n  startingCSV: kettle.v2\n  name: x"),
        ("spec: # a\n\n  # b\n    \n  name: x\n", "spec: # a\n\n  # b\n    \n  startingCSV: kettle.v2\n  name: x\n"),
        ("kind: S\nspec:\n      name: x\n", "kind: S\nspec:\n      startingCSV: kettle.v2\n      name: x\n"),
        ("spec:\n  'name': {a: b}\n", "spec:\n  startingCSV: kettle.v2\n  'name': {a: b}\n"),
        ("spec:\n  config:\n    a: b\nkind: S\n", "spec:\n  startingCSV: kettle.v2\n  config:\n    a: b\nkind: S\n"),
    ],
)
def test_a_missing_key_becomes_the_first_of_its_mapping(before: str, after: str) -> None:
    assert edited(before) == after


def test_other_documents_stay_as_they_are() -> None:
    text = "# a\nspec:\n  startingCSV: a\n---\n# b\nspec:\n  startingCSV: b # x\n--- # c\nspec:\n  name: c\n...\n"
    assert edited(text, document=0) == text.replace("startingCSV: a", "startingCSV: kettle.v2")
    assert edited(text, document=1) == text.replace("startingCSV: b", "startingCSV: kettle.v2")
    assert edited(text, document=2) == text.replace("  name: c", "  startingCSV: kettle.v2\n  name: c")


def test_empty_documents_and_a_byte_order_mark_stay() -> None:
    text = "\ufeff---\n---\n# here\nspec:\n  startingCSV: a\n"
    assert edited(text, document=1) == text.replace("startingCSV: a", "startingCSV: kettle.v2")


def test_an_item_of_a_list_is_set_alone() -> None:
    text = "kind: List\nitems:\n- spec:\n    startingCSV: a\n- spec:\n    startingCSV: a # this\n- spec:\n    name: b\n"
    assert edited(text, prefix=("items", 1)) == text.replace("a # this", "kettle.v2 # this")
    assert edited(text, prefix=("items", 2)) == text.replace("    name: b", "    startingCSV: kettle.v2\n    name: b")


def test_of_a_key_that_stands_twice_the_one_that_counts_is_set() -> None:
    text = "spec:\n  startingCSV: a\n  startingCSV: b\n"
    assert edited(text) == text.replace("startingCSV: b", "startingCSV: kettle.v2")


def test_line_ends_stay_where_a_value_is_replaced() -> None:
    text = "spec:\r\n  name: x # c\r\n  startingCSV: a # d\r\n"
    assert edited(text) == text.replace("startingCSV: a", "startingCSV: kettle.v2")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("spec: {name: x}\n", "spec: {startingCSV: kettle.v2, name: x}\n"),
        ("spec: {}\n", "spec: {startingCSV: kettle.v2}\n"),
        ("spec: {startingCSV: a, name: x}\n", "spec: {startingCSV: kettle.v2, name: x}\n"),
        ("spec: {name: x, startingCSV: a b }\n", "spec: {name: x, startingCSV: kettle.v2 }\n"),
        ("spec: {\n  name: x\n}\n", "spec: {\n  startingCSV: kettle.v2,\n  name: x\n}\n"),
        ('{"spec": {"name": "x"}}', '{"spec": {"startingCSV": "kettle.v2", "name": "x"}}'),
        ('{"spec": {}}', '{"spec": {"startingCSV": "kettle.v2"}}'),
        ('{"spec": {"startingCSV": "a\\"}"}}\n', '{"spec": {"startingCSV": "kettle.v2"}}\n'),
        ('{"spec": {"startingCSV": null, "a": 1}}\n', '{"spec": {"startingCSV": "kettle.v2", "a": 1}}\n'),
        (
            '{\n  "spec": {\n    "name": "x"\n  }\n}\n',
            '{\n  "spec": {\n    "startingCSV": "kettle.v2",\n    "name": "x"\n  }\n}\n',
        ),
    ],
)
def test_between_brackets_and_in_json(before: str, after: str) -> None:
    assert edited(before) == after


@pytest.mark.parametrize(
    ("text", "says", "keys"),
    [
        ("spec: &a\n  name: x\n", "the mapping does not begin on a line of its own", KEY[:1]),
        ("spec:\n", "there is no mapping spec", KEY),
        ("spec:\n- name: x\n", "there is no mapping spec", KEY),
        ("kind: S\n", "there is no mapping spec", KEY),
        ("spec:\n  startingCSV: |\n    a\n  name: x\n", "the value is a block of lines below its key", KEY),
        ("spec:\n  startingCSV: one\n    two\n", "an edit of spec.startingCSV would change something else", KEY),
        ("spec:\n  startingCSV: 'one\n    two'\n", "the value goes over several lines", KEY),
        ("spec:\n  startingCSV: &a b\n  name: *a\n", "the value has an anchor (&)", KEY),
        ("spec:\n  startingCSV:\n    a: b\n    c: d\n", "an edit of spec.startingCSV would change something else", KEY),
    ],
)
def test_what_can_not_be_set_safely_is_refused_with_its_keys(text: str, says: str, keys: tuple[str, ...]) -> None:
    with pytest.raises(EditError) as error:
        edited(text)
    assert says in str(error.value)
    assert error.value.keys == keys


NOISE = st.lists(st.sampled_from(["", "   ", "# a comment: {b", "    # 'indented"]), max_size=2)
SCALARS = st.sampled_from(["x", "kettle.v1.0.0", "'q # r'", '"d \\" \' e"', "~", "12", "a b # c", "[f, {g: h}]", "! i"])
LAST = st.sampled_from(["", " # why", "  #", "   "])
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Zs"]) | st.just(" "))
NAMES = ("name", "channel", "source", "startingCSV")


@st.composite
def documents(draw: st.DrawFn) -> list[tuple[str, str]]:
    """The lines of a document with a block mapping `spec` and noise between them, each with what ends it apart."""
    lines = [*draw(NOISE), "kind: Subscription", *draw(NOISE), "spec:"]
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        lines += [*draw(NOISE), f"  {name}: {draw(SCALARS)}"]
    if draw(st.booleans()):
        lines += ["  notes: |", "    # no comment", "    startingCSV: no key", "", *draw(NOISE)]
    lines += draw(NOISE)
    return [(line, draw(LAST) if line.endswith("spec:") or line.startswith("  ") else "") for line in lines]


def as_text(lines: list[tuple[str, str]]) -> str:
    return "".join(f"{line}{last}\n" for line, last in lines)


@given(st.lists(documents(), min_size=1, max_size=3), st.data())
def test_one_line_changes_and_nothing_else(parts: list[list[tuple[str, str]]], data: st.DataObject) -> None:
    parts = [[("---", ""), *lines] for lines in parts]
    text = "".join(map(as_text, parts))
    number = data.draw(st.integers(0, len(parts) - 1))
    value = data.draw(st.one_of(TEXTS, SCALARS))
    before = values(text)
    present = "startingCSV" in before[number]["spec"]
    after = edited(text, value, document=number)
    before[number]["spec"]["startingCSV"] = value
    assert values(after) == before
    lasts = [last for part in parts for _, last in part]
    old, new = text.split("\n"), after.split("\n")
    assert len(new) == len(old) + (not present)
    changed = next((index for index, line in enumerate(old) if line != new[index]), -1)
    if after != text:
        assert new[changed].startswith("  startingCSV: ")
        assert not present or new[changed].endswith(lasts[changed])
        assert new[:changed] == old[:changed]
        assert new[changed + 1 :] == old[changed + present :]


@given(documents(), TEXTS)
def test_setting_twice_is_setting_once(lines: list[tuple[str, str]], value: str) -> None:
    once = edited(as_text(lines), value)
    assert edited(once, value) == once
