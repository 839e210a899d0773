"""Places of values and keys are found from the text alone (design: every diagnostic has path:line:col)."""

from __future__ import annotations

import pytest
from cpu_time import measure

from olmc.k8s.diagnostics import Report, Source
from olmc.k8s.yaml import locate, read

BLOCK = """\
# comment
apiVersion: v1
metadata:
  name: x
  labels:
    app.kubernetes.io/name: "y"
    yes: 1
spec:
- a
- b: 1
  c:
    - {d: e, "f": [g, h]}
- - nested
text: |
  a
empty:
tagged: !!str 1
"""
STREAM = "# first\na: 1\n---\n# second\nb:\n- c\n--- # c\n{d: e}\n---\n---\nf: 1\n"
ODD = "x: &x {a: 1}\ny: &y\n  b: 2\n<<: [{a: 5}, *y]\nz: *x\na: 3\na: 4\n? [k]\n: v\n"
JSON = '{"a": {"b.c": [1,\n  {"d": "x, {]"}]}, "\\u00e9": null}\n {"e": 2}\n'


def at(text: str, *keys: str | int, document: int = 0, of_key: bool = False, path: str = "t.yaml") -> str:
    return str(locate(Source(path, text, document), keys, of_key=of_key)).removeprefix(f"{path}:")


@pytest.mark.parametrize(
    ("keys", "value", "key"),
    [
        ((), "2:1", "2:1"),
        (("apiVersion",), "2:13", "2:1"),
        (("metadata",), "4:3", "3:1"),
        (("metadata", "name"), "4:9", "4:3"),
        (("metadata", "labels", "app.kubernetes.io/name"), "6:29", "6:5"),
        (("metadata", "labels", "true"), "7:10", "7:5"),
        (("spec",), "9:1", "8:1"),
        (("spec", 0), "9:3", "9:3"),
        (("spec", 1), "10:3", "10:3"),
        (("spec", 1, "b"), "10:6", "10:3"),
        (("spec", 1, "c", 0, "d"), "12:11", "12:8"),
        (("spec", 1, "c", 0, "f"), "12:19", "12:14"),
        (("spec", 1, "c", 0, "f", 1), "12:23", "12:23"),
        (("spec", 2, 0), "13:5", "13:5"),
        (("text",), "14:7", "14:1"),
        (("empty",), "16:7", "16:1"),
        (("tagged",), "17:9", "17:1"),
    ],
)
def test_block_and_flow(keys: tuple[str | int, ...], value: str, key: str) -> None:
    assert at(BLOCK, *keys) == value
    assert at(BLOCK, *keys, of_key=True) == key


@pytest.mark.parametrize(
    ("keys", "value", "key"),
    [
        (("metadata", "missing"), "4:3", "3:1"),
        (("metadata", "name", "deeper", 3), "4:9", "4:3"),
        (("metadata", 0), "4:3", "3:1"),
        (("spec", 9), "9:1", "8:1"),
        (("spec", -1), "9:1", "8:1"),
        (("spec", "a"), "9:1", "8:1"),
        (("missing", "too"), "2:1", "2:1"),
    ],
)
def test_a_path_that_ends_early_gives_what_there_is_of_it(keys: tuple[str | int, ...], value: str, key: str) -> None:
    assert at(BLOCK, *keys) == value
    assert at(BLOCK, *keys, of_key=True) == key


@pytest.mark.parametrize(
    ("document", "keys", "expected"),
    [
        (0, (), "2:1"),
        (0, ("a",), "2:4"),
        (1, (), "5:1"),
        (1, ("b", 0), "6:3"),
        (2, (), "8:1"),
        (2, ("d",), "8:5"),
        (3, (), "10:1"),
        (4, ("f",), "11:4"),
        (5, ("f",), "t.yaml"),
        (5, (), "t.yaml"),
    ],
)
@pytest.mark.parametrize("end", ["", "...\n"], ids=["", "with end markers"])
def test_streams(document: int, keys: tuple[str | int, ...], expected: str, end: str) -> None:
    # With an end marker, only a parser can tell where documents begin.
    text = STREAM + end
    assert at(text, *keys, document=document) == expected


def test_every_document_of_a_stream_is_found_where_it_was_read() -> None:
    texts = [
        STREAM,
        "---\na: 1\n",
        "# c\n---\n---\n",
        "a: |\n  x\n  ---\n  y\n---\n- b\n",
        "\r\na: 1\r\n---\r\nb: 2\r\n",
        "a: 'x\n  --- y'\n---\nb\n",
        "\ufeff---\na\n---\nb\n",
        "---   # c\n# d\n\na: 1\n---\n|\n x\n",
        "# c\n  a: 1\n  b: 2\n...\n# c\n---\n{a: b}\n---\n   b: 'é\u2028'\n",
    ]
    for text in texts:
        lines = text.removeprefix("\ufeff").splitlines()
        documents = read("t.yaml", text, Report())
        assert documents
        for document in documents:
            place = locate(document.source, ())
            rest = lines[place.line - 1][place.column - 1 :] if place.line <= len(lines) else ""
            begins = {dict: ("a", "b", "f", "{"), list: ("-",), str: ("a", "b", "|"), type(None): ("", "-")}
            assert rest.startswith(begins[type(document.value)]), (text, document.source.document, place)


@pytest.mark.slow
@pytest.mark.parametrize(("end", "more"), [("\n", ""), ("\r\n", ""), ("\n", "...\n")])
def test_places_in_a_long_stream_are_found_in_time(end: str, more: str) -> None:
    """A stream is not read again from its beginning for each of its documents."""
    text = ("a:\n  b: 1\n---\n" * 2000 + more).replace("\n", end)
    seconds = measure()
    for document in range(2000):
        assert at(text, "a", "b", document=document) == f"{document * 3 + 2}:6"
        assert at(text, document=document) == f"{document * 3 + 1}:1"
    assert seconds() < 5


@pytest.mark.parametrize(
    ("keys", "value", "key"),
    [
        (("a",), "7:4", "7:1"),  # of a key that stands twice the last counts
        (("b",), "3:6", "3:3"),  # merged from a list
        (("z",), "5:4", "5:1"),  # an alias itself
        (("z", "a"), "1:11", "1:8"),  # what it stands for
        (("[k]",), "1:1", "1:1"),  # a key that is no text
    ],
)
def test_aliases_merges_and_duplicates(keys: tuple[str, ...], value: str, key: str) -> None:
    assert at(ODD, *keys) == value
    assert at(ODD, *keys, of_key=True) == key


@pytest.mark.parametrize(
    ("document", "keys", "value", "key"),
    [
        (0, (), "1:1", "1:1"),
        (0, ("a",), "1:7", "1:2"),
        (0, ("a", "b.c", 0), "1:16", "1:16"),
        (0, ("a", "b.c", 1, "d"), "2:9", "2:4"),
        (0, ("é",), "2:31", "2:21"),
        (1, (), "3:2", "3:2"),
        (1, ("e",), "3:8", "3:3"),
        (1, ("missing",), "3:2", "3:2"),
    ],
)
@pytest.mark.parametrize("path", ["t.json", "t.yaml"])
def test_json(document: int, keys: tuple[str | int, ...], value: str, key: str, path: str) -> None:
    assert at(JSON, *keys, document=document, path=path) == value
    assert at(JSON, *keys, document=document, of_key=True, path=path) == key


def test_a_key_in_another_case_is_taken_where_there_is_none_in_this_one() -> None:
    """As Go's decoder takes it (R-CAT-121); of several the last, and the right one before all."""
    text = "Entries:\n- Name: a\n- name: b\n  NAME: c\n- Name: d\n  NAME: e\n"
    assert at(text, "entries", 0, "name") == "2:9"
    assert at(text, "entries", 1, "name", of_key=True) == "3:3"
    assert at(text, "entries", 2, "name") == "6:9"
    assert at('{"Entries": [{"NAME": 1}]}', "entries", 0, "name", path="t.json") == "1:23"


def test_the_part_of_a_list_counts_its_keys_from_there() -> None:
    item = Source("t.yaml", "kind: List\nitems:\n- a: 1\n- b:\n    c: 2\n", 0, ("items", 1))
    assert str(locate(item, ())) == "t.yaml:4:3"
    assert str(locate(item, ("b", "c"))) == "t.yaml:5:8"
    assert str(locate(item, ("b", "c"), of_key=True)) == "t.yaml:5:5"
    assert str(locate(item, ("missing",))) == "t.yaml:4:3"


def test_keys_with_tags() -> None:
    assert at("!!int 0x10: a\n!!str 1: b\n!!int x: c\n!foo d: e\n", "16") == "1:13"
    assert at("!!int 0x10: a\n!!str 1: b\n!!int x: c\n!foo d: e\n", "d") == "4:9"
    assert at("!!set a: b\n", "a") == "1:10"


def test_json_file_with_yaml_in_it() -> None:
    assert at("a: 1\n---\nb: 2\n", "b", document=1, path="t.json") == "3:4"
    assert at("{a: 1,\n b: 2}\n", "b") == "2:5"


@pytest.mark.parametrize("text", ["a: 'x\n", "[" * 1000, "", "# c\n", '{"a": ' * 5000, "a: *x\n"])
def test_a_text_that_cannot_be_read_has_only_its_name(text: str) -> None:
    assert at(text, "a") == "t.yaml"


def test_the_colon_in_a_flow_list_is_no_obstacle() -> None:
    assert at("a:\n- [http://x:80, b]\n", "a", 0, 1) == "2:17"
