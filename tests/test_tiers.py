"""The fast tests stand for all of them: they name each rule that a test names, and use each fixture."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from tiers import MARKERS, OF_FIXTURES, OF_FOLDERS, SECONDS, name_lacking_marker, seconds_of_another_run

from olmc.compiler.rules.rulebook import named_in, spec_rules

TESTS = Path(__file__).resolve().parent
FIXTURES = TESTS.parent / "fixtures"

# Tests that go through a folder of fixtures by themselves, so that they name none of its workspaces.
WALKED = {
    ".": "cases/test_fixtures.py",
    "olmv1": "olmv1/test_workspaces.py",
    "transitions": "plan/test_plan_fixtures.py",
}
# Rules that a slow test names as a part of a range, and that no test can break.
WITHOUT_EFFECT = {
    "R-CAT-128": "olmc renders no catalogs",
    "R-CAT-513": "two CSVs of one name in one namespace can't be",
}
_RANGE = re.compile(r"((?:R|Q|D|U)-(?:[A-Z0-9]+-)*)(\d+)[a-z]? … (?:\1)?(\d+)")
_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)
_IN_A_NAME = re.compile(r"(?<![a-z])r((?:_[a-z][a-z0-9]*)+_\d+[a-z]?)(?![a-z0-9])")


def rules_in(text: str) -> set[str]:
    """Return the rules that a text names: by their ids, as the first and the last of several, or in names of tests."""
    found = set(named_in(text))
    for head, first, last in _RANGE.findall(text):
        found |= {f"{head}{number}" for number in range(int(first), int(last) + 1)}
    found |= {f"R{name.upper().replace('_', '-')}" for name in _IN_A_NAME.findall(text)}
    return found & spec_rules().keys()


def markers_in(text: str) -> set[str]:
    """Return the markers of tiers in decorators, or in the value of `pytestmark`."""
    found = {name for name in MARKERS if re.search(rf"\bmark\.{name}\b", text)}
    return found | ({"browser"} if "@in_chromium" in text else set())


def fixtures_of(name: str, functions: dict[str, str]) -> Iterator[str]:
    """Return the fixtures of a test, and those that these ask for in the same module."""
    for argument in re.findall(r"(\w+): ", functions[name].partition(f"def {name}(")[2].partition(") ->")[0]):
        yield argument
        if argument in functions and argument != name:
            yield from fixtures_of(argument, functions)


@functools.cache
def fast_and_slow(path: Path) -> tuple[str, str]:
    """Return the text of a file in two parts: without its slow tests, and these; a module of them alone is slow."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.relative_to(TESTS).parts[0] in OF_FOLDERS:
        return "", text
    if not path.match("test_*.py"):
        return text, ""
    blocks = text.split("\n\n\n")
    functions = {found[1]: block for block in blocks if (found := _FUNCTION.search(block))}
    tests = [name for name in functions if name.startswith("test_")]
    if markers_in("".join(re.findall(r"^pytestmark = .*", text, re.MULTILINE))):
        return "", text
    slow = [
        functions[name]
        for name in tests
        if markers_in(functions[name].partition(f"def {name}(")[0])
        or OF_FIXTURES.keys() & set(fixtures_of(name, functions))
    ]
    if len(slow) == len(tests) > 0:
        return "", text
    return "\n\n\n".join(block for block in blocks if block not in slow), "\n\n\n".join(slow)


def files() -> list[Path]:
    """Return the tests and their data."""
    return sorted(path for suffix in ("py", "yaml") for path in TESTS.rglob(f"*.{suffix}") if path != Path(__file__))


def test_a_fast_test_names_each_rule_that_a_test_names() -> None:
    fast, slow = ("\n".join(parts) for parts in zip(*map(fast_and_slow, files()), strict=True))
    named = rules_in(fast)
    assert len(named) > 650
    assert sorted(rules_in(slow) - named) == sorted(WITHOUT_EFFECT)


def test_a_fast_test_uses_each_fixture() -> None:
    folders = [path for path in sorted(FIXTURES.glob("*/")) if path.name not in ("fleet", "repos", *WALKED)]
    inner = [path for name in ("olmv1", "repos", "transitions") for path in sorted((FIXTURES / name).glob("*/"))]
    walked = {name for name, module in WALKED.items() if "FIXTURES" in fast_and_slow(TESTS / module)[0]}
    texts = "\n".join(fast_and_slow(path)[0] for path in files())
    unused = [
        path
        for path in (*folders, FIXTURES / "fleet", *inner)
        if path.parent.relative_to(FIXTURES).as_posix() not in walked
        and not re.search(rf"(?:{path.parent.name}/|\"){re.escape(path.name)}\b", texts)
    ]
    assert len(folders) > 30
    assert [str(path.relative_to(FIXTURES)) for path in unused] == []


def test_fixtures_that_mark_tests_exist() -> None:
    texts = (path.read_text(encoding="utf-8") for path in files() if path.suffix == ".py")
    defined = {name for text in texts for name in re.findall(r"@pytest\.fixture.*\ndef (\w+)\(", text)}
    assert sorted(OF_FIXTURES.keys() - defined) == []
    assert all((TESTS / folder).is_dir() for folder in OF_FOLDERS)


@pytest.mark.parametrize(
    ("spent", "started", "marker"),
    [(SECONDS, [], ""), (SECONDS + 0.1, [], "slow"), (0.1, ["python -m olmc"], "process")],
)
def test_what_a_fast_test_lacks(spent: float, started: list[str], marker: str) -> None:
    assert re.findall(r"@pytest\.mark\.(\w+)", name_lacking_marker(spent, started)) == ([marker] if marker else [])


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("R-SA-2 … 4 and R-OG-1", {"R-SA-2", "R-SA-3", "R-SA-4", "R-OG-1"}),
        ("def test_it_r_cat_560() -> None:", {"R-CAT-560"}),
        ("R-CAT-120 … R-CAT-122", {"R-CAT-120", "R-CAT-121", "R-CAT-122"}),
        (f"error_cat_560, R-DEP-{99}", set()),
    ],
)
def test_rules_in_a_text(text: str, rules: set[str]) -> None:
    assert rules_in(text) == rules


class _Item:
    """A test that can run `runs` times."""

    def __init__(self, runs: int) -> None:
        self.runs = runs

    def runtest(self) -> None:
        self.runs -= 1
        assert self.runs >= 0


def test_a_test_that_is_slow_at_first_is_fast_if_it_is_so_again() -> None:
    """Tables and schemas are read once, by a test that happens to be the first."""
    again = seconds_of_another_run(cast("pytest.Item", _Item(1)))
    assert again is not None
    assert again < SECONDS
    assert seconds_of_another_run(cast("pytest.Item", _Item(0))) is None
