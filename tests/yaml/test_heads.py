"""What a document says at its top, without reading it: what reading says, or nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read
from olmc.k8s.yaml.split import Head, head_of, plain_keys, split_documents

PLAIN = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  namespace: b
  labels:
    c: d
data:
- x
# kind: y
"""


def test_a_plain_document() -> None:
    assert plain_keys(PLAIN) == ("apiVersion", "kind", "metadata", "data")
    for document in (PLAIN, f"\n# who wrote it\n\n{PLAIN}", PLAIN.replace("- x", "- x: |\n    y\tz")):
        assert head_of(document) == Head("v1", "ConfigMap", "a", "b")
    assert head_of(PLAIN.replace("  namespace: b\n", "")) == Head("v1", "ConfigMap", "a", None)


@pytest.mark.parametrize(
    "document",
    [
        f"{PLAIN}kind: Secret\n",
        f'{PLAIN}"kind": Secret\n',
        f"{PLAIN}? kind\n: Secret\n",
        f"{PLAIN}<<: *other\n",
        f"{PLAIN}...\nkind: Secret\n",
        f"--- \n{PLAIN}",
        f" &a\n{PLAIN}",
        " {apiVersion: v1,\nkind: ConfigMap}\n",
        "# indented\n  apiVersion: v1\n  kind: ConfigMap\n",
        PLAIN.replace("ConfigMap\n", "ConfigMap\r\n"),
        PLAIN.replace("ConfigMap\n", "ConfigMap\u2028kind: Secret\n"),
        PLAIN.replace("ConfigMap\n", "ConfigMap\x85kind: Secret\n"),
        f"%TAG ! tag:example.com,2000:\n---\n{PLAIN}",
    ],
)
def test_documents_that_could_say_something_else(document: str) -> None:
    assert plain_keys(document) is None
    assert head_of(document) is None


@pytest.mark.parametrize(
    "metadata",
    [
        "  name: a\n  name: b\n",
        "  name: a\n  labels: {}\n  namespace: b\n",
        '  name: a\n  "namespace": b\n  namespace: c\n',
        "  name: 'a'\n",
        "  name: &a b\n",
        "  name: {x: y}\n",
    ],
)
def test_metadata_that_could_say_something_else(metadata: str) -> None:
    assert head_of(f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n{metadata}data: {{}}\n") is None


@given(st.lists(st.sampled_from(["---", "--- ", "--", "-", "a: b", "", " ", "\n", "\t", "---\n"]), max_size=9))
def test_a_mark_at_a_margin_ends_a_document(words: list[str]) -> None:
    text = "\n".join(words)
    parts = [f"{part}\n" for part in re.split(r"^---(?=\s|\Z)", text, flags=re.MULTILINE)]
    documents = split_documents(text)
    assert documents is not None
    assert "".join(documents).split() == "".join(parts).split()
    assert len(documents) == sum(not part.isspace() for part in parts)


@pytest.mark.parametrize("mark", ["---x", "---#", "--- x", "---\u00a0", "---\v", "--- \u00a0# c", "--- # c\rx: y"])
def test_a_mark_that_kubernetes_takes_for_another_one_leaves_no_documents(mark: str) -> None:
    assert split_documents(f"a: 1\n{mark}\nb: 2\n") is None
    assert split_documents(f"---\n{mark}\nb: 2\n") is None


LINES = st.sampled_from([
    "apiVersion: v1", "kind: A", "kind: B", '"kind": C', "metadata:", "  name: a", "  name: b", "  namespace: c", "{",
    "}", "- d", "# e", "", "? kind", ": F", "<<: {kind: G}", "x: [", "kind: H]", "v: {", "kind: I}", "  kind: J",
    "z: |", "w: \"", "kind: \"", "...", "&a", "!!map", "\tkind: K", " kind: L", "--- kind: M",
])  # fmt: skip


@given(st.lists(LINES, max_size=9))
def test_it_agrees_with_reading(lines: list[str]) -> None:
    """Of whatever can be read: no key is missing, and if there is a head, it is the true one."""
    for document in split_documents("\n".join(lines) + "\n") or ():
        report = Report()
        found = read("", document, report)
        keys, head = plain_keys(document), head_of(document)
        if report.failed or not found or keys is None:
            continue
        assert len(found) == 1
        value = found[0].value
        assert set(value) <= set(keys)
        if head is not None:
            metadata = value["metadata"]
            assert (value["apiVersion"], value["kind"]) == (head.api_version, head.kind)
            assert (metadata["name"], metadata.get("namespace")) == (head.name, head.namespace)
