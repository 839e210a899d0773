"""Documents are read as Kubernetes reads them: pairs of YAML and sigs.k8s.io/yaml's JSON for it."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from olmc.k8s.diagnostics import Report, Severity
from olmc.k8s.yaml import c_reader_active, dump, read

HERE = Path(__file__).parent
PAIRS = sorted((HERE / "read").glob("*.yaml"))
ONE_IN = 4
"""Which share of the corpus is read here; all of it agrees with sigs.k8s.io/yaml, but takes a while."""

BROKEN = {"bundles/eventing-kogito/1.2.0/metadata/dependencies.yaml"}
"""Kubernetes can't read these either."""


def values(text: str, path: str = "test.yaml", *, pure: bool = False) -> list[object]:
    """The values of a text that has to be read without any finding."""
    report = Report()
    documents = read(path, text, report, pure=pure)
    assert list(report) == []
    assert [document.source.document for document in documents] == list(range(len(documents)))
    assert {document.source.path for document in documents} <= {path}
    return [document.value for document in documents]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.stem)
@pytest.mark.parametrize("pure", [False, True], ids=["C", "Python"])
def test_reads_what_kubernetes_reads(pair: Path, pure: bool) -> None:
    expected = json.loads(pair.with_suffix(".json").read_text(encoding="utf-8"))
    assert values(pair.read_text(encoding="utf-8"), pure=pure) == expected


def test_keeps_the_order_of_the_source() -> None:
    (value,) = values("z: 1\na: 2\nm: {y1: 1, b: 2}\n")
    assert json.dumps(value) == '{"z": 1, "a": 2, "m": {"y1": 1, "b": 2}}'


def test_a_merge_keeps_the_order_of_the_source() -> None:
    (value,) = values("x: &x {b: 1, a: 2}\nz: {c: 0, <<: *x, d: 3, b: 4}\n")
    assert json.dumps(value) == '{"x": {"b": 1, "a": 2}, "z": {"c": 0, "b": 4, "a": 2, "d": 3}}'


def test_every_alias_gives_a_value_of_its_own() -> None:
    (value,) = values("a: &a {b: [1]}\nc: *a\n")
    assert isinstance(value, dict)
    value["c"]["b"].append(2)
    assert value["a"] == {"b": [1]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n\n", []),
        ("# nothing\n  # here\n", []),
        ("---\n", [None]),
        ("---\n---\n", [None, None]),
        ("# c\n---\na: 1\n---\n# c\n---\nb: 2\n", [{"a": 1}, None, {"b": 2}]),
        ("a: 1\n...\n", [{"a": 1}]),
        ("a: 1\n...\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("---\ntext\n--- # c\n|\n literal\n---\t \n{a: 1}\n", ["text", "literal\n", {"a": 1}]),
        ("a: 1\n---\x85\u2028 # c\r\n---\r\nb: |\n  2", [{"a": 1}, None, {"b": "2\n"}]),
        ("---#x: y\n---\n---#x: z\n", [{"---#x": True}, {"---#x": "z"}]),
        ("a: |\r\r\n  b\r\r\n  c\r\r\n", [{"a": "b\nc\n"}]),
    ],
)
@pytest.mark.parametrize("pure", [False, True], ids=["C", "Python"])
def test_documents_of_a_stream(text: str, expected: list[object], pure: bool) -> None:
    assert values(text, pure=pure) == expected


def test_anchors_end_with_their_document() -> None:
    report = Report()
    assert read("a.yaml", "a: &x 1\n---\nb: *x\n", report) == []
    assert [finding.code for finding in report] == ["OLMC109"]


@pytest.mark.parametrize("pure", [False, True], ids=["C", "Python"])
def test_a_byte_order_mark_and_every_line_ending_are_fine(pure: bool) -> None:
    for text in ("\ufeffa: 1\nb: |\n  x\n  y\n", "a: 1\r\nb: |\r\n  x\r\n  y\r\n", "a: 1\rb: |\r  x\r  y\r"):
        assert values(text, pure=pure) == [{"a": 1, "b": "x\ny\n"}]


def test_depth_up_to_the_bound_is_read() -> None:
    assert values("[" * 200 + "]" * 200) != []
    assert values("".join(f"{' ' * level}a:\n" for level in range(200))) != []


def test_aliases_within_kubernetes_bound_are_expanded() -> None:
    (value,) = values("a: &a [x, z]\nb: &b [*a, *a, *a]\nc: [*b, *b]\n")
    assert isinstance(value, dict)
    assert value["c"] == [[["x", "z"]] * 3] * 2


def test_reads_the_corpus(shared: Path) -> None:
    """Real bundles: every file that Kubernetes reads is read, and what is read survives being written."""
    broken = set()
    count = 0
    for name, text in corpus(shared):
        count += 1
        report = Report()
        documents = [document.value for document in read(name, text, report)]
        if report.worst() is Severity.ERROR:
            broken.add(name)
            continue
        again = Report()
        assert [document.value for document in read(name, dump(documents), again)] == documents, name
        assert again.found == []
    assert count > 500
    assert broken == BROKEN


def corpus(shared: Path) -> Iterator[tuple[str, str]]:
    """Every so many files of the corpus, and those that are known to be broken."""
    with lzma.open(shared / "corpus" / "bundles.tar.xz") as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
        number = 0
        for member in tar:
            if not member.name.endswith((".yaml", ".yml")):
                continue
            number += 1
            content = tar.extractfile(member)
            if content is not None and (number % ONE_IN == 0 or member.name in BROKEN):
                yield member.name, content.read().decode("utf-8")


@pytest.mark.process
def test_works_without_the_c_reader(project: Path) -> None:
    """Without the C reader, olmc says so when asked, and reads the same."""
    program = (
        "import sys; sys.modules['_ruamel_yaml'] = sys.modules['_ruamel_yaml_clibz'] = None\n"
        "from olmc.k8s.diagnostics import Report\n"
        "from olmc.k8s.yaml import c_reader_active, read\n"
        "print(c_reader_active(), [d.value for d in read('a', 'a: yes\\nb:\\t0777', Report())])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=project)
    assert done.stdout == "False [{'a': True, 'b': 511}]\n"


def test_the_c_reader_is_installed_for_development() -> None:
    assert c_reader_active()
