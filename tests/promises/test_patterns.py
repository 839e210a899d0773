"""docs/security-model.md: no regular expression of olmc takes more than twice as long for twice as much text."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest
from patterns import PACKAGE, Pattern, UnreadablePattern, faults, patterns, slow_with

SUBPACKAGES = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())
HOMES = [*SUBPACKAGES, ""]
"""The packages in olmc; "" for its own modules and what is no Python."""
DATA = {
    "olmc.k8s.lean": "the maker of all patterns itself",
    "olmc.compiler.load.json_schema": "patterns of the schemas that come with olmc, which are found in these",
    "olmc.targets.v1.registry_bundle": "patterns of the schemas that come with olmc, which are found in these",
}
"""The modules that compile what they are given, and where that comes from: nothing of it is of an input."""


@lru_cache(maxsize=1)
def found() -> tuple[list[Pattern], list[UnreadablePattern]]:
    return patterns()


def home(pattern: Pattern) -> str:
    parts = pattern.place.partition(":")[0].split(".")
    return parts[1] if parts[0] == "olmc" and len(parts) > 2 and parts[1] in SUBPACKAGES else ""


@pytest.mark.slow
def test_every_pattern_is_found() -> None:
    """As many as a search for their makers finds, and none that only a run knows but for those that are named."""
    every, unknown = found()
    assert {one.place.partition(":")[0] for one in unknown} == set(DATA)
    calls = re.compile(r"(?<![\w.])(?:regex|re\.(?:compile|match|fullmatch|search|sub|subn|findall|finditer|split))\(")
    written = sum(len(calls.findall(path.read_text())) for path in PACKAGE.rglob("*.py"))
    in_code = [one for one in every if not one.place.endswith(".json")]
    assert len(in_code) + len(unknown) >= written - 1  # the definition of `regex`
    assert len(every) > 300


@pytest.mark.slow
@pytest.mark.parametrize("package", HOMES)
def test_no_pattern_has_a_fault_by_name(package: str) -> None:
    assert [f"{one.name}: {fault}" for one in found()[0] if home(one) == package for fault in faults(one)] == []


@pytest.mark.slow
@pytest.mark.parametrize("package", HOMES)
def test_no_pattern_is_slow_with_any_run_of_characters(package: str) -> None:
    assert [f"{one.name}: {slow}" for one in found()[0] if home(one) == package for slow in slow_with(one)] == []


def given(text: str, method: str, flags: int = 0) -> Pattern:
    return Pattern("here", text, flags, frozenset({method}))


@pytest.mark.parametrize(
    ("text", "flags", "fault"),
    [
        (r"^\s*a", re.MULTILINE, "^ with MULTILINE"), (r"x|^[\s{]*a", re.MULTILINE, "^ with MULTILINE"),
        (r"(?m:^\s+)b", re.MULTILINE, "^ with MULTILINE"), (r"^\s*a", 0, ""), (r"^[^\S\n]*a", re.MULTILINE, ""),
        (r"(a+)+b", 0, "nested"), (r"(?:\w+\s?)*!", 0, "nested"), (r"(?:(?:a|b)*c?)*d", 0, "nested"),
        (r"(?:[\w.]+\.)*x", 0, "nested"), (r"(?:\w+\.)*x", 0, ""), (r"(?:a++)*b", 0, ""),
        (r"(?:(a)b)++", 0, "captures"), (r"(?:(?:a)b)++", 0, ""),
    ],
)  # fmt: skip
def test_faults_are_found_by_name(text: str, flags: int, fault: str) -> None:
    names = faults(given(text, "search", flags))
    assert bool(names) is bool(fault) and all(fault in name for name in names)


@pytest.mark.parametrize(
    ("text", "method"),
    [
        (r"a*b", "search"), (r"(a|aa)*b", "match"), (r"x:\s*(\S*?)\s*\S*?!", "match"), (r"(?:a|b|ab)*c", "fullmatch"),
        pytest.param(r"a*a*b", "match", marks=pytest.mark.slow),
        pytest.param(r"\[[^\]]*\]\(", "finditer", marks=pytest.mark.slow),
        pytest.param(r"key:\s*['\"]?\s*\w", "match", marks=pytest.mark.slow),
        pytest.param(r"(?:\\.|[^\"])*\"", "search", marks=pytest.mark.slow),
        pytest.param(r"\s*$", "sub", marks=pytest.mark.slow),
        pytest.param(r"(.*?)\s*", "fullmatch", marks=pytest.mark.slow),
        pytest.param(r"[0-9][0-9_]*\.?[0-9_]*", "fullmatch", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_slow_patterns_are_found(text: str, method: str) -> None:
    assert list(slow_with(given(text, method)))


@pytest.mark.parametrize(
    ("text", "method"),
    [(r"a*b", "match"), (r"\"(?:[^\"\\]|\\.)*\"", "match"), (r"(?<!a)a++b", "search"), (r"[^\n]+\n?", "finditer")],
)
def test_other_patterns_are_not(text: str, method: str) -> None:
    assert not list(slow_with(given(text, method)))


def test_patterns_are_read_however_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants, f-strings, sums, names of the module and of a function, and what `re.escape` makes."""
    import patterns as searched

    (tmp_path / "made.py").write_text(
        "import re\nfrom olmc.k8s.lean import regex\n_A = 'a+'\n_ONE = regex(rf'{_A}b', re.I)\n"
        "_TWO, _THREE = regex('c'), regex('d' + _A)\n"
        "def f(text, name):\n    part = f'[{_A}]'\n    _ONE.search(text), _TWO.match(text), _THREE.sub('', text)\n"
        "    return re.split(part, text), re.search(re.escape(name) + _A, text), re.match(name, text)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(searched, "PACKAGE", tmp_path)
    monkeypatch.setattr(searched, "_module", lambda path: path.stem)
    every, unknown = patterns()
    assert {(one.text, *one.methods) for one in every if one.place.startswith("made")} == {
        ("a+b", "search"), ("c", "match"), ("da+", "sub"), ("[a+]", "split"), ("stuba+", "search"),
    }  # fmt: skip
    assert [one.expression for one in unknown] == ["name"]
