"""Streams are split as kubectl splits them: generated separators, read by both."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import product
from typing import Any

import pytest

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import read
from olmc.k8s.yaml.event_values import construct_plainly
from olmc.k8s.yaml.lines import UnusualError
from olmc.k8s.yaml.pieces import read_pieces
from olmc.k8s.yaml.problems import PARSE_ERRORS, find_disagreement, parse
from olmc.k8s.yaml.split import split_documents

SPACES = ["", " ", "\t", "\v", "\f", "\r", "\x1c", "\x85", "\xa0", "\u1680", "\u2003", "\u200b", "\u2028", "\u3000"]
MARKS = [
    "---",
    "...",
    "----",
    "--",
    " ---",
    "\ufeff---",
    "...\n---",
    "---\n---",
    "%YAML 1.1\n---",
    "...\n%TAG ! tag:e,1:\n---",
]
BEHIND = ["", "#x: y", "# c", "x", "x: y", "!!map", "|", "{}", "\ufeff", "# c\rx: y", "# c\x85x: y"]
BREAKS = ["\n", "\r\n", "\r", "\r\r\n", "\x85", "\u2028"]
FIRST = ["", "\ufeff", "# c\n", "\n", "---\n", "\ufeff---\n", "\ufeff# c\n", "---\n# c\n---\n", "%YAML 1.1\n---\n"]
WITHIN = [
    '  x: "a',
    "  x: 'a",
    "  x: a",
    "  x: |\n    a",
    "  x: >\n    a",
    "  x: [a,",
    "  x: |\n   \n",
    "  {x: y}",
    "  x: &a y",
]


def _object(name: str, data: str = "  x: y", end: str = "\n") -> str:
    return end.join(["apiVersion: v1", "kind: ConfigMap", f"metadata: {{name: {name}}}", "data:", data, ""])


def _streams() -> list[str]:
    separators = [f"{mark}{space}{behind}" for mark, space, behind in product(MARKS, SPACES, BEHIND)]
    ends = [f"---{space}{behind}{end}" for space, behind, end in product(SPACES, BEHIND[:3], BREAKS)]
    texts = [f"{_object('a')}{separator}\n{_object('b')}" for separator in separators]
    texts += [f"{_object('a', end=end)}---{end}{_object('b', end=end)}" for end in BREAKS]
    texts += [f"{_object('a')}{end}{_object('b')}" for end in ends]
    texts += [f"{first}{_object('a')}---\n{_object('b')}"[:-1] for first in FIRST]
    texts += [f"{first}{mark}{behind}\n{_object('a')}" for first, mark, behind in product(FIRST, MARKS[:2], BEHIND)]
    for within, (mark, behind) in product(WITHIN, product(MARKS[:5], BEHIND[:4])):
        for close in ('"', "'", "]", ""):
            texts.append(f"{_object('a', within)}{mark}{behind}\n{close}\n{_object('b', '  z: |+' + chr(10))}")
            texts.append(f"{_object('a', within)[:-1]}{mark}{behind}{close}\n---\n{_object('b')}")
    return list(dict.fromkeys(texts))


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any] | None]:
    """The objects that kubectl reads of each stream, None where it reports an error."""
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl")
    folder = tmp_path_factory.mktemp("streams")
    texts = {f"{number:05}.yaml": text for number, text in enumerate(_streams())}
    for name, text in texts.items():
        number = name.removesuffix(".yaml")
        named = text.replace("name: a", f"name: {number}-a").replace("name: b", f"name: {number}-b")
        (folder / name).write_bytes(named.encode())
    command = ["kubectl", "label", "--local", "--filename", str(folder), "--output", "json", "zz=1"]
    run = subprocess.run(command, capture_output=True, check=False, text=True, timeout=300)
    found: dict[str, list[Any]] = {name: [] for name in texts}
    decoder, at = json.JSONDecoder(), 0
    while at < len(run.stdout):
        obj, at = decoder.raw_decode(run.stdout, at)
        at += 1
        del obj["metadata"]["labels"]
        number, _, obj["metadata"]["name"] = obj["metadata"]["name"].partition("-")
        found[f"{number}.yaml"].append(obj)
    refused = {name for name in texts if f"/{name}:" in run.stderr or f'/{name}"' in run.stderr}
    assert 0 < len(refused) < len(texts)
    return {text: None if name in refused else found[name] for name, text in texts.items()}


@pytest.mark.slow
@pytest.mark.parametrize("pure", [False, True], ids=["C", "Python"])
def test_what_olmc_reads_is_what_kubectl_reads(streams: dict[str, list[Any] | None], pure: bool) -> None:
    read_by_both = 0
    for text, expected in streams.items():
        report = Report()
        documents = [document.value for document in read("s.yaml", text, report, pure=pure)]
        if not report.failed:
            assert [value for value in documents if value is not None] == expected, repr(text)
            read_by_both += 1
    assert read_by_both > 300


@pytest.mark.slow
def test_other_readers_read_no_more_and_no_less(streams: dict[str, list[Any] | None]) -> None:
    for text in streams:
        report, again = Report(), Report()
        documents = read("s.yaml", text, report)
        assert read_pieces("s.yaml", text, again, {}) == documents
        assert list(again) == list(report)
        parts = split_documents(text.removeprefix("\ufeff"))
        if parts is not None and not report.failed:
            values = [document.value for part in parts for document in read("s.yaml", part, Report())]
            assert [v for v in values if v] == [each.value for each in documents if each.value], repr(text)


def test_olmc_refuses_no_stream_that_both_read_alike(streams: dict[str, list[Any] | None]) -> None:
    """Directives and byte order marks within a stream aside, which olmc refuses wherever they stand."""
    refused = 0
    for text, expected in streams.items():
        rest = text.removeprefix("\ufeff")
        if find_disagreement(rest) is None or "%" in rest or "\ufeff" in rest:
            continue
        refused += 1
        try:
            values = [value for value in parse(rest, construct_plainly) if value is not None]
        except (*PARSE_ERRORS, UnusualError):
            continue
        assert values != expected, repr(text)
    assert refused > 300


def test_ordinary_separators_are_read() -> None:
    for mark, end in product(("---", "--- ", "---\t", "--- # c", "---\t# c", "...\n---"), ("\n", "\r\n")):
        text = f"{_object('a')}{mark}{end}{_object('b')}"
        report = Report()
        assert len(read("s.yaml", text, report)) == 2, repr(text)
        assert not report.found
