"""Codes and messages are for people: whatever they are called, the same is found, kept, and counted as told."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_examples import CODES, ENDLESS, written
from tiers import marked_slow

from olmc.cli.main import main
from olmc.k8s.diagnostics import Diagnostic, Rule
from olmc.review.rules.catalogue import RUN, Example, example_of

FINDING = Rule.finding
ANOTHER = "RULE"
"""What codes begin with under other labels; their order stays, since findings at one place are shown by code."""


def with_other_labels(rule: Rule, *args: Any, **values: Any) -> Diagnostic:
    """What a rule finds, with another code and in other words."""
    found = FINDING(rule, *args, **values)
    code = found.code.replace("OLMC", ANOTHER)
    return found._replace(code=code, message=found.message.swapcase(), hint=found.hint.swapcase())


def bad_examples() -> list[str]:
    """The rules with an example for `olmc check` that names no code itself, as suppressions do."""
    examples = {code: example_of(code) for code in CODES}
    return [code for code, each in examples.items() if each and each.run == RUN and each.bad and not _names_code(each)]


def _names_code(example: Example) -> bool:
    return any("OLMC" in text for _, text in example.bad)


def places(output: str) -> Counter[tuple[object, ...]]:
    """The findings in an output as JSON, without their words."""
    found = json.loads(output)["findings"]
    keys = ("severity", "path", "line", "column")
    return Counter((each["code"].replace(ANOTHER, "OLMC"), *(each[key] for key in keys)) for each in found)


EXAMPLES = bad_examples()


@pytest.mark.parametrize("code", marked_slow(EXAMPLES, lambda code: code == ENDLESS or EXAMPLES.index(code) % 8))
def test_other_labels_change_nothing_else(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = example_of(code)
    assert example is not None
    monkeypatch.chdir(written(tmp_path / "bad", example, example.bad))
    commands = (["check", "--all", "-o", "json"], ["status", "-o", "json"], ["resolve", "--locked"])
    before = [CliRunner().invoke(main, command) for command in commands]
    monkeypatch.setattr(Rule, "finding", with_other_labels)
    after = [CliRunner().invoke(main, command) for command in commands]
    assert [each.exit_code for each in after] == [each.exit_code for each in before]
    assert places(after[0].stdout) == places(before[0].stdout)
    # Diagnoses stand in a status with their words, of which the labels change the case alone.
    assert after[1].stdout.casefold() == before[1].stdout.casefold()
    assert len(after[1].stderr.splitlines()) == len(before[1].stderr.splitlines())
