"""`olmc explain`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from olmc.cli.main import main
from olmc.rules.catalogue import all_rules
from olmc.rules.validation import CRD


def explained(code: str) -> tuple[int, str]:
    """The exit code and everything that is printed."""
    result = CliRunner().invoke(main, ["explain", code])
    return result.exit_code, result.output


@pytest.mark.parametrize("code", ["OLMC277", "olmc277", "277", " 277 "])
def test_a_rule(code: str) -> None:
    """Code, severity, title, message, why, and what to do."""
    exit_code, text = explained(code)
    assert exit_code == 0
    assert text.startswith(f"OLMC277 (failure): {CRD.title}\n\n  {{text}}\n\n")
    words = " ".join(text.split())
    assert CRD.explanation in words
    assert f"What to do: {CRD.hint} Bad, manifests/kettles.crd.yaml: spec: scope: Kitchen Good, " in words
    assert max(map(len, text.splitlines())) <= 100


def test_every_rule_can_be_explained() -> None:
    for rule in all_rules():
        exit_code, text = explained(rule.code)
        assert (exit_code, text.startswith(rule.code)) == (0, True)


@pytest.mark.parametrize("code", ["999", "OLMC999"])
def test_a_code_that_is_like_no_other(code: str) -> None:
    """Only the numbers are compared: OLMC is what all codes have in common."""
    exit_code, text = explained(code)
    assert exit_code == 2
    assert f"there is no rule {code}. `olmc explain` lists all of them." in " ".join(text.split())


def test_a_code_that_is_nearly_one() -> None:
    exit_code, text = explained("OLMC2777")
    assert exit_code == 2
    assert "there is no rule OLMC2777. Did you mean OLMC277?" in text


@pytest.mark.parametrize(("code", "listed"), [("", ""), ("27", "OLMC27"), ("OLMC4", "OLMC4"), ("olmc", "")])
def test_the_codes_that_begin_so(code: str, listed: str) -> None:
    """A line each, with severity and title; without anything, every rule."""
    exit_code, text = explained(code)
    wanted = [rule for rule in all_rules() if rule.code.startswith(listed)]
    assert (exit_code, len(wanted) > 5) == (0, True)
    assert [line.split(maxsplit=2) for line in text.splitlines()] == [
        [rule.code, str(rule.severity), rule.title] for rule in wanted
    ]


def test_a_code_that_is_none() -> None:
    exit_code, text = explained("xyz")
    assert exit_code == 2
    assert "there is no rule xyz. `olmc explain` lists all of them." in text
