"""Streams that are read in pieces say what they say when they are read at once, and what is odd about them is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import locate, read
from olmc.k8s.yaml.pieces import Known, locate_in_pieces, read_pieces

HERE = Path(__file__).parent
LONG = "a-word-and-another-one " * 12


def both(text: str, known: Known | None = None) -> tuple[str, str]:
    """All that the two readers say of a text, the order of keys included."""
    told = []
    for reader in ("pieces", "whole"):
        report = Report()
        if reader == "pieces":
            documents = read_pieces("c.yaml", text, report, known if known is not None else {})
        else:
            documents = read("c.yaml", text, report)
        told.append(json.dumps([[d.value, d.source.document] for d in documents], default=repr) + repr(tuple(report)))
    return told[0], told[1]


def bundle(version: str, more: str = "") -> str:
    return f"""\
---
image: registry.example.com/op:{version}
name: op.v{version}
package: op
properties:
- type: olm.gvk
  value:
    group: example.com
    kind: Cup
    version: v1
- type: olm.csv.metadata
  value:
    annotations:
      alm-examples: |-
        [
        - not: a list
      createdAt: {version}
    description: |
      {LONG}

        indented
    displayName: >-
      {LONG}
      {LONG}
    keywords: [a, "b: c",
      d]
    {more or "maturity: alpha"}
schema: olm.bundle
"""


def test_what_stands_again_is_read_once() -> None:
    known: Known = {}
    one, other = (read_pieces("c.yaml", bundle(version), Report(), known)[0].value for version in ("1.0.0", "2.0.0"))
    assert (one["name"], other["name"]) == ("op.v1.0.0", "op.v2.0.0")
    assert one["properties"][0] is other["properties"][0]
    assert one["properties"][1] is not other["properties"][1]
    before = set(known)
    read_pieces("d.yaml", bundle("1.0.0") + bundle("2.0.0"), Report(), known)
    assert known.keys() - before == {"\0d.yaml"}  # no piece, but that the file was read so


@pytest.mark.parametrize(
    "more",
    [
        "maturity: alpha\n    maturity: beta",
        "maturity: alpha\n    description: again",
        f'long: "{LONG}\nunder: indented"',
        f"long: '{LONG}\n- under-indented'",
        f"anchor: &a {LONG}\n    alias: *a",
        "<<: {a: 1}",
        "? a\n    : b",
        "1: a",
        "y: a",
        "=: a",
        "a: !!str 1",
        "a: 2001-01-01",
        "a:\n    - 1\n    -\n    - - 2",
        "a:\n  - too far left",
        "a: |+\n      kept\n\n",
        "a: |2\n        deep\n    b: c",
        "a: [",
        "a: b: c",
        "\ta: b",
        "a:\tb",
        "# said: nothing\n    a: b # c",
        "a: \x85b",
        "a: \u2028b",
        "a: \x01",
        'a: "\\x00"',
        "a: é\U0001f600",
        "...",
        "--- a",
        f"a:\n        {LONG}:\n      b: c",
        f"deep: {'[' * 150}{']' * 150}",
        f"too-deep: {'[' * 201}{']' * 201}",
        f"list:\n    - {LONG}: a\n      b: c\n    -   {LONG}: a\n        b: c",
    ],
)
def test_odd_documents(more: str) -> None:
    for text in (bundle("1.0.0", more), bundle("1.0.0") + bundle("2.0.0", more) + bundle("1.0.0")):
        for whole in (
            text,
            text.rstrip("\n"),
            text + "\n\n",
            text + "---\n",
            text.removeprefix("---\n"),
            "\ufeff" + text,
        ):
            one, other = both(whole)
            assert one == other


LINES = st.sampled_from(
    [
        "a: b", "a:", "b:", "- a: b", "- ", "-", "- - a", "c: |", "c: >-", "d: 'x", "y'", 'e: "x', 'z"', "# f", "",
        "g: [1,", "2]", "---", "...", f"h: {LONG}", f"{LONG}", "i: &j k", "l: *j", "? m", ": n", "'o': p", "null: q",
        "<<: r", "{s: t}", "- u",
    ]
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 4), LINES), max_size=14))
def test_any_lines(lines: list[tuple[int, str]]) -> None:
    text = "---\n" + "".join(f"{' ' * indent}{line}\n" for indent, line in lines)
    one, other = both(text)
    assert one == other
    # Long enough to be cut wherever that is possible.
    one, other = both(f"---\nfirst:\n  {LONG}\n" + text.replace("\n", "\n  ").replace("---\n", "second:\n") + "\n")
    assert one == other


@pytest.mark.parametrize(
    "path", sorted(HERE.glob("read/*.yaml")) + sorted(HERE.glob("refused/*.yaml")), ids=lambda p: p.name
)
def test_what_the_reader_is_tested_with(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    one, other = both(text)
    assert one == other
    one, other = both(f"---\n{text.removeprefix('---')}")
    assert one == other


def paths(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The keys to everything in a value, to something that is missing, and to a key in another case."""
    yield above
    yield (*above, "missing")
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in below:
        yield from paths(item, (*above, key))
    if isinstance(value, dict):
        yield from ((*above, key.upper()) for key in value)


@pytest.mark.parametrize(
    "more", ["", "a:\n    - b\n    - c: |\n        d", f"a:\n      {LONG}:\n        b: c\n      'd': 1"]
)
def test_places(more: str) -> None:
    known: Known = {}
    text = bundle("1.0.0", more) + bundle("2.0.0", more) + "---\na: b\n"
    for document in read_pieces("c.yaml", text, Report(), known):
        for keys in paths(document.value):
            assert locate_in_pieces(document.source, keys, known) == locate(document.source, keys), keys
            # What was never read in pieces is looked for as anywhere else.
            assert locate_in_pieces(document.source, keys, {}) == locate(document.source, keys)
