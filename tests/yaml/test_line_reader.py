"""The reader that goes line by line gives what the parser gives, or leaves the text to it."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from olmc.k8s.diagnostics import Report
from olmc.k8s.yaml import dump
from olmc.k8s.yaml.event_values import event_values
from olmc.k8s.yaml.lines import UnusualError, read_lines

TEXTS = st.one_of(
    st.text("ab -:#'\"\\\n\t,[]{}&*!|>%@`?~é…\x85\u2028\x07", max_size=14),
    st.sampled_from(
        ["", "true", "no", "0777", "1e3", "- a", "a: b", "a #b", "<<", "a\n\nb\n", " a\n  b\n", "word " * 40]
    ),
)
KEYS = st.one_of(st.sampled_from(["a", "b.c/d", "y", "1", "key with words", "<<", "é"]), TEXTS)
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(-9, 99), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
PIECES = (
    """\
a:|b: c|c: d e|- |-|- a|- b: c|- - a|q: "x|y"|s: 'x|it''s'|t: 'a''b'|u: "a\\n\\"b"|more text|more: text|# note|a # note
x: # note|e: []|f: { }|g: [a, 'b', "c"]|h: [y]|i: {a: b, "c": {d: [1]}}|j: [a, ]|k: {a}|l: [a b]|m: {a: }|n: [[a], b: c]
o: {a: b|p: [a:b]|q: {a: b, a: c}|r: [a]]|---|--- # x|--- x|...|%YAML 1.1|  |\t|a:\tb|&x a|*x|z: *x|!!str a|? a|: b|a:b
"k": v|'k': v|<<: {}|~: a|no: a|n: ~|o: .inf|p: 0x1F|\\|x\\|\\ y"|m: a\\|'|"|v: @a|w: `a|-1|--|:a|?b|é: ü|r: a:b#c|i: a:
j: a: b|{a: b}|[|s: [{a: 1}, {b: 'c'}]|t: {'a': 1,b: 2}|u: ["a":b]|v: [a,b] # note|w: {a: b}c|x: 'a' b|y: "a" # b
""".strip()
    .replace("\n", "|")
    .split("|")
)
# Blocks, and what has the sign in itself that stands between the pieces above.
PIECES += ["", "k: |", "k: >-", "k: |2-", "k: |+", "k: >"]


def agrees(text: str) -> bool:
    """Whether the line reader takes a text, of which it has to make what the parser makes of it without findings."""
    try:
        values = read_lines(text)
    except UnusualError:
        return False
    report = Report()
    expected = event_values("test.yaml", text, report)
    assert report.found == []
    # With types and in order: to Python, 1 is True and 1.0, and mappings have none.
    assert repr(values) == repr(expected), text
    return True


@given(st.lists(VALUES, min_size=1, max_size=3))
def test_what_olmc_writes(values: list[object]) -> None:
    agrees(dump(values))


@given(VALUES, st.sampled_from([None, "'", '"', "|", ">"]), st.sampled_from([12, 80]), st.integers(2, 5), st.booleans())
def test_what_others_write(value: object, style: str | None, width: int, indent: int, is_unicode: bool) -> None:
    text = yaml.safe_dump(
        value, default_style=style, default_flow_style=False, width=width, indent=indent, allow_unicode=is_unicode
    )
    agrees(text)
    agrees("\n".join(f"  {line}" if line else line for line in ("root:", *text.splitlines())))


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(PIECES)), max_size=9), st.booleans())
@example([(0, "a:"), (0, "- a"), (0, "b: c")], True)
@example([(0, "a: b"), (0, ""), (2, "- a"), (1, "'"), (0, "")], True)
@example([(0, 'q: "x'), (2, "\\"), (0, ""), (2, '\\ y"')], False)
@example([(0, "key: >-"), (2, "a"), (3, "b"), (2, "a"), (0, ""), (2, "c"), (2, "d")], True)
@example([(0, "a:"), (1, "# note"), (2, "more text"), (2, "more text"), (0, "b: c")], True)
def test_lines_of_every_kind(lines: list[tuple[int, str]], ends: bool) -> None:
    agrees("\n".join(" " * indent + text for indent, text in lines) + ("\n" if ends else ""))


def mutated(text: str, chance: random.Random) -> str:
    """A text with one to three changes: a line is moved, repeated, deleted or indented, a character is another one."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(lines))
        line = lines[at]
        match chance.randrange(6):
            case 0:
                lines.insert(chance.randrange(len(lines)), line)
            case 1:
                lines[at] = " " * chance.randint(1, 3) + line
            case 2:
                lines[at] = line[chance.randint(1, 2) :]
            case 3 if len(lines) > 1:
                del lines[at]
            case 4:
                lines.insert(at, " " * chance.randint(0, 8) + chance.choice(PIECES))
            case _:
                place = chance.randint(0, len(line))
                lines[at] = (
                    line[:place] + chance.choice("'\":#-|>[]{}\\ \t&*!?,x~") + line[place + chance.randint(0, 1) :]
                )
    return "\n".join(lines)


@functools.cache
def fixture_files(project: Path) -> list[Path]:
    return sorted((project / "fixtures").rglob("*.yaml"))


@pytest.mark.slow
@given(st.integers(0, 2**32))
def test_files_with_mistakes(project: Path, seed: int) -> None:
    chance = random.Random(seed)
    text = chance.choice(fixture_files(project)).read_text(encoding="utf-8")
    start = chance.randrange(len(text) + 1)
    agrees(mutated(text[start : start + 1500], chance))


@pytest.mark.parametrize(
    "text",
    ["a: &x b\n", "a: !!str b\n", "<<: {}\n", "a: b\na: c\n", "1: a\n", "a: .inf\n", "a:\tb\n", "a: b\r\n", "? a\n",
     "a: \u2028b\n", "--- a\n", "a: {b: c, b: d}\n", "a: 'b\n", "a: \x07\n", "a: |\n  b", "  - a\nb: c\n"],
)  # fmt: skip
def test_what_is_left_to_the_parser(text: str) -> None:
    with pytest.raises(UnusualError):
        read_lines(text)


def share_taken(files: Iterable[Path]) -> float:
    """Which share of the characters of files is in those that the line reader takes; all of it has to agree."""
    taken = whole = 0
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace").removeprefix("\ufeff")
        whole += len(text)
        taken += len(text) if agrees(text) else 0
    return taken / whole


def test_corpus(corpus: list[Path]) -> None:
    assert share_taken(file for bundle in corpus for file in sorted(bundle.rglob("*.y*ml"))) > 0.98


@pytest.mark.slow
def test_fixtures(project: Path) -> None:
    assert share_taken(sorted((project / "fixtures").rglob("*.y*ml"))) > 0.85


def test_conformance_inputs(shared: Path) -> None:
    assert share_taken(sorted((shared / "conformance").rglob("*.yaml"))) > 0.9
