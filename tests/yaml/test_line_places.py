"""Places that are told by lines are those that the parser tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.diagnostics import Location, Report, Source
from olmc.k8s.yaml import dump, locate, read
from olmc.k8s.yaml.line_places import find_by_lines
from olmc.k8s.yaml.places import find

HERE = Path(__file__).resolve().parent.parent.parent
TEXT = """\
# a comment
a:
  b: plain text
     that goes on
  "c d": |
    # no comment
    c: no key
  e: >-
   folded
  f: 'quoted

    twice'   # why
- no item
"""
WHOLE = """\
# what it is
kind: One
metadata:
    name: x
    labels: {a: b}
list:
- - x
"""
COMMON = """\
kind: One
text: |
  kind: no key
   deeper

  # no comment
empty:
list:
- name: a   # first
  value: "x: y"
- name: b
- c
nested:
  - - no
last: plain
  goes on
---
# another one
kind: Two
items:
    - x
    - w: z
"""


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from paths(item, (*path, key))


def places(text: str, path: str = "x.yaml") -> dict[tuple[Any, ...], Location]:
    """The places that lines tell of all that a text holds, each as the parser tells it."""
    known = {}
    for document in read(path, text, Report()):
        for keys in paths(document.value):
            for of_key in (False, True):
                place = find_by_lines(document.source, keys, of_key=of_key)
                if place is not None:
                    assert place == find(document.source, keys, of_key=of_key), (keys, of_key)
                    known[document.source.document, keys, of_key] = place
    return known


def test_of_common_yaml_nearly_all_places_are_told() -> None:
    text = COMMON.replace("nested:\n  - - no\n", "")
    known = places(text)
    assert known[0, ("list", 1, "name"), False] == Location("x.yaml", 11, 9)
    assert known[0, ("list", 1), True] == Location("x.yaml", 11, 3)
    assert known[1, ("items", 1, "w"), False] == Location("x.yaml", 20, 10)
    asked = sum(2 for document in read("x.yaml", text, Report()) for _ in paths(document.value))
    assert asked - len(known) == 1  # the place of no value


@pytest.mark.parametrize(
    "text",
    [TEXT, WHOLE, COMMON, '{"a": 1}', "a: 1\r\nb: 2\r\n", "a: [b, c]\n", "l:\n-\n  n: b\n-   y: z\n", "\ufeffa: 1\n"],
)
def test_what_lines_do_not_tell_the_parser_does(text: str) -> None:
    places(text)
    for document in read("x.yaml", text, Report()):
        for keys in paths(document.value):
            assert locate(document.source, keys) == find(document.source, keys)
            assert locate(document.source, (*keys, "nothing")) == find(document.source, (*keys, "nothing"))


@pytest.mark.parametrize(
    "path", sorted((HERE / "fixtures" / "own-namespace").rglob("*.yaml")), ids=lambda path: path.name
)
def test_in_files_of_people_the_places_are_the_same(path: Path) -> None:
    assert len(places(path.read_text(encoding="utf-8"))) > 3


WORDS = st.sampled_from(["a", "b c", "x: y", "- a", "# a", "", "two\nlines\n", " a\n b", "null", "1", "---", "é"])
VALUES = st.recursive(
    WORDS | st.integers(0, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(WORDS, VALUES, min_size=1, max_size=3), min_size=1, max_size=2))
def test_of_whatever_is_written_the_places_are_the_same(values: list[Any]) -> None:
    places(dump(values))


@pytest.mark.parametrize(
    ("head", "between"),
    [
        ("", ""), ("---\n", ""), ("# why\n", ""), ("# why\n---\n", ""), ("\n---\n", ""), ("---\n---\n", ""),
        ("", "# no content\n---\n"), ("--- # why\n", ""), ("", "kind: 'a\n  ---'\n---\n"), ("", "a: b\n...\n---\n"),
        ("", "--- # why\na: b\n---\n"), ("", "---\n---\n"),
    ],
)  # fmt: skip
def test_of_a_long_stream_only_the_document_is_read(head: str, between: str) -> None:
    """Its documents are those of the parser, whatever parts them."""
    text = f"{head}{COMMON}---\n{between}first: {'x' * 70_000}\n---\n{COMMON}"
    places(text)
    asked = [(document.source, keys) for document in read("x.yaml", text, Report()) for keys in paths(document.value)]
    assert len(asked) > 40
    for source, keys in asked:
        assert locate(source, keys) == find(source, keys)


def test_a_source_without_such_a_document_has_no_place() -> None:
    assert find_by_lines(Source("x.yaml", "a: 1\n", 3), ("a",)) is None
