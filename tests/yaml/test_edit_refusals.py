"""Where an edit has to keep apart what looks alike: JSON, anchors, line ends, empty values."""

from __future__ import annotations

import json

import pytest

from olmc.k8s.diagnostics import Source
from olmc.k8s.yaml.edit import EditError, set_text

KEY = ("spec", "startingCSV")


def test_json_stays_json() -> None:
    """A value in a JSON file keeps its quotes, or the file is refused."""
    source = Source("t.json", '{"spec": {"startingCSV": "a", "name": "x"}}\n')
    try:
        changed = set_text(source, KEY, "kettle.v2").text
    except EditError:
        return
    assert json.loads(changed) == {"spec": {"startingCSV": "kettle.v2", "name": "x"}}


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("base: &s\n  startingCSV: a\nspec:\n  <<: *s\n  name: x\n", ()),
        ("base: &s\n  startingCSV: a\nspec: *s\n", ()),
        ("items:\n- spec: &s\n    startingCSV: a\n- spec: *s\n", ("items", 1)),
    ],
)
def test_what_an_anchor_shares_is_not_changed_for_others(text: str, prefix: tuple[str | int, ...]) -> None:
    with pytest.raises(EditError):
        set_text(Source("t.yaml", text, 0, prefix), KEY, "kettle.v2")


def test_a_new_line_ends_like_the_others() -> None:
    changed = set_text(Source("t.yaml", "spec:\r\n  name: x\r\n"), KEY, "kettle.v2")
    assert changed.text == "spec:\r\n  startingCSV: kettle.v2\r\n  name: x\r\n"


@pytest.mark.parametrize("blank", ["", " ", " # none yet"])
def test_an_empty_value_is_filled(blank: str) -> None:
    changed = set_text(Source("t.yaml", f"spec:\n  startingCSV:{blank}\n  name: x\n"), KEY, "kettle.v2")
    assert changed.text == f"spec:\n  startingCSV: kettle.v2{blank.rstrip()}\n  name: x\n"


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(EditError):
        set_text(Source("t.yaml", ""), KEY, "kettle.v2")


def test_only_blanks_and_tabs_are_blanks() -> None:
    """A no-break space belongs to a plain text."""
    changed = set_text(Source("t.yaml", "spec:\n  startingCSV: a\u00a0b # c\n"), KEY, "kettle.v2")
    assert changed.text == "spec:\n  startingCSV: kettle.v2 # c\n"
