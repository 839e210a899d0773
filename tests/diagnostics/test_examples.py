"""The examples of the rules do what they say: the bad one is found, the good one is not."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner
from patching import patched, values_of
from tiers import marked_slow

from olmc.cli.main import main
from olmc.k8s.yaml import dump_one
from olmc.review.rules.catalogue import REMOVED, Example, all_rules, as_text, example_of, parts

TESTS = Path(__file__).resolve().parents[1]
BASES = {
    "bundle": TESTS / "check" / "validators" / "data" / "good",
    "bundles": TESTS / "diagnostics" / "bases" / "bundles",
    "catalog": TESTS / "diagnostics" / "bases" / "catalog",
    "catalog-with-bundles": TESTS / "diagnostics" / "bases" / "catalog-with-bundles",
    "workspace": TESTS.parent / "fixtures" / "own-namespace",
}
LONG = re.compile(r"…(\d+) characters…")
ENDLESS = "OLMC311"
"""The rule whose example upgrades a thousand times."""
CODES = [rule.code for rule in all_rules() if example_of(rule.code)]

# What `olmc check` finds; other commands have rules of their own, and some need more than a workspace to show.
CHECKED = re.compile("OLMC([1-3]|4[0-4]|5)")


def written(root: Path, example: Example, files: Iterable[tuple[str, str]]) -> Path:
    """The workspace of one side: the base with its files changed; a text can stand for a long one."""
    shutil.copytree(BASES[example.base], root) if example.base else root.mkdir()
    for name, shown in files:
        text = LONG.sub(lambda found: "x" * int(found[1]), shown)
        path = root / name
        if text == "null\n":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            (change,) = values_of_text(text, root)
            text = dump_one(patched(values_of(path)[0], change))
        path.write_text(text, encoding="utf-8")
    return root


def values_of_text(text: str, root: Path) -> list[object]:
    """The values of the documents of a YAML text."""
    path = root.with_suffix(".change.yaml")
    path.write_text(text, encoding="utf-8")
    return values_of(path)


def output(root: Path, example: Example, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """The exit code of the example's command, run in its workspace, and everything that it prints."""
    monkeypatch.chdir(root)
    program, *arguments = shlex.split(example.run)
    assert program == "olmc"
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize("code", marked_slow(CODES, ENDLESS.__eq__))
def test_the_bad_example_is_found_and_the_good_one_is_not(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = example_of(code)
    assert example is not None
    if example.none:
        assert not example.bad and not example.good
        return
    assert example.bad and example.good, "both sides need a file"
    _, told = output(written(tmp_path / "bad", example, example.bad), example, monkeypatch)
    assert f"[{code}]" in told, told
    exit_code, told = output(written(tmp_path / "good", example, example.good), example, monkeypatch)
    assert f"[{code}]" not in told, told
    assert exit_code in (0, 1), told


def test_there_is_an_example_for_every_rule_that_a_check_knows(project: Path) -> None:
    """And none for what is no rule."""
    assert [rule.code for rule in all_rules() if CHECKED.match(rule.code) and rule.code not in CODES] == []
    there = sorted(path.name for path in (project / "olmc" / "compiler" / "rules" / "examples").iterdir())
    assert there == [f"{code}.txt" for code in CODES]


def test_examples_are_short_and_say_why_they_are_none() -> None:
    for code in CODES:
        example = example_of(code)
        assert example is not None
        assert bool(example.none) != bool(example.bad), code
        for _, text in (*example.bad, *example.good):
            assert len(text.splitlines()) <= 45, code
            assert max(map(len, text.splitlines())) <= 120, code


def shown(example: Example) -> list[str]:
    """What is said about the files that are shown."""
    return [f"{part.before}{part.path}{part.behind}" for part in parts(example)]


def test_what_is_shown_are_the_differences() -> None:
    """Files that are the same on both sides only set the scene, unless one side just lacks a file."""
    a, b, c = ("a", "1\n"), ("b", "2\n"), ("c", "3\n")
    example = Example("olmc check", "", "", (a, b), (a, ("b", "4\n")))
    assert shown(example) == ["Bad, b:", "Good, b:"]
    assert shown(example._replace(good=(a, c))) == ["Bad, b:", "Good, c:"]
    assert shown(example._replace(good=(a, b, c))) == ["Bad, a:", "and b:", "Good, with c as well:"]
    assert shown(example._replace(good=(a,))) == ["Bad, a:", "and b:", "Good, without b."]
    assert shown(example._replace(bad=(("a", REMOVED),))) == ["Bad, a is not there.", "Good, a:", "and b:"]


def test_examples_on_a_terminal() -> None:
    """Indented below their names; a command that is not the usual one is named."""
    example = Example("olmc render", "", "", (("a", "x: 1\n"),), (("a", "x: 2\n"),))
    assert as_text(example) == "\nFound by olmc render.\n\nBad, a:\n\n  x: 1\n\nGood, a:\n\n  x: 2\n"
    assert as_text(example._replace(none="It is a link.")) == "\nNo example: It is a link.\n"
    assert as_text(None) == ""
