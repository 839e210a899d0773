"""`olmc explain`."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from olmc.cli.main import main
from olmc.compiler.model.cluster import APPROVAL
from olmc.compiler.rules.findings.validation import CRD
from olmc.compiler.rules.rulebook import spec_rules
from olmc.review.explain.spec_text import all_names
from olmc.review.explain.status import HELD_BACK, UNKNOWN
from olmc.review.plan.outcomes import FAILED_BEFORE, LEFT_RUNNING
from olmc.review.rules.catalogue import all_rules


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


@pytest.mark.parametrize("code", ["9999", "OLMC9999"])
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
    assert "there is no rule xyz, and OLM has no such word." in text


@pytest.mark.parametrize("name", all_names())
def test_a_word_of_olm(name: str) -> None:
    """Its meaning, the symptom, the way out, and codes that exist."""
    exit_code, text = explained(name)
    assert exit_code == 0
    assert text.startswith(f"{name}\n\n")
    assert "\nSymptom: " in text
    assert "\nWhat to do: " in text
    assert set(re.findall(r"OLMC\d+", text)) <= {rule.code for rule in all_rules()}


@pytest.mark.parametrize("word", ["requirementsnotmet", "Copied CSV", "copied-csvs", "SKIPRANGE", "install modes"])
def test_words_in_any_spelling(word: str) -> None:
    exit_code, text = explained(word)
    assert (exit_code, "Symptom: " in text) == (0, True)


def test_a_word_of_the_rules_alone() -> None:
    """Whatever the rule book has in backticks leads to its rules."""
    exit_code, text = explained("olm.deployment-spec-hash")
    assert exit_code == 0
    assert "Rules: R-" in text


def test_a_word_that_is_nearly_one() -> None:
    exit_code, text = explained("RequirementNotMet")
    assert exit_code == 2
    assert "Did you mean RequirementsNotMet" in text


def test_every_word_of_olmc_is_explained() -> None:
    """The reasons of `olmc status` and the outcomes of `olmc plan` that OLM does not write."""
    words = (APPROVAL, HELD_BACK, UNKNOWN, LEFT_RUNNING, FAILED_BEFORE, "Stalled", "waiting")
    lacking = [word for word in words if "What to do: " not in explained(word)[1]]
    assert lacking == []


@pytest.mark.parametrize(
    "word", ["minKubeVersion", "CRD", "Absent", "olm.package", "olm.maxOpenShiftVersion", "hop", "stranded"]
)
def test_words_of_newcomers(word: str) -> None:
    """Words that other answers of olmc use have an entry, and a part of another word is none."""
    assert "What to do: " in explained(word)[1]
    assert explained("foo")[0] == 2  # R-DESCOPE-10 has `operatorname-ns-foo`


def test_several_words() -> None:
    result = CliRunner().invoke(main, ["explain", "copied", "CSV"])
    assert (result.exit_code, result.output.startswith("copied CSV\n")) == (0, True)


@pytest.mark.parametrize("rule_id", ["R-DEP-1", "r-dep-1", " R-Dep-1 "])
def test_a_rule_of_olm(rule_id: str) -> None:
    """Its id, title and text, what it was read from, its page, and the modules that name it."""
    exit_code, text = explained(rule_id)
    assert exit_code == 0
    assert text.startswith("R-DEP-1: How a Deployment is built\n\nFor each entry D of ")
    assert "\n  8. `spec.revisionHistoryLimit: 1` (overrides any given value).\n" in text
    assert "\nRead from:\n  install/deployment.go:93-191  https://github.com/operator-framework/operator-life" in text
    assert "/v0.46.0/pkg/controller/install/deployment.go#L93-L191\n" in text
    _, page, modules = text.rpartition("\nPage: docs/spec/deployments.md\n")
    assert page
    assert modules.startswith("Named in: olmc/compiler/reconcile/deployments.py, olmc/compiler/render/deployments.py,")
    assert modules.endswith(" olmc/compiler/render/webhooks.py\n")


@pytest.mark.parametrize(
    ("rule_id", "title"),
    [
        ("observed-17", "observed-17: requirementStatus is a snapshot"),
        ("Observed-66", "observed-66: An image that can't be pulled"),
        ("D3", "D3: Generated names"),
        ("d-3", "D-3: Verbs of the edit role"),
        ("U-2", "U-2: The group's UID in keys and selectors"),
        ("Q-7", "Q-7: ServiceAccounts that the status leaves out"),
        ("T-CAT-7b", "T-CAT-7: Skipped release"),
        ("R-V1-CFG-4a", "R-V1-CFG-4a: Which messages, in which order"),
    ],
)
def test_every_kind_of_rule(rule_id: str, title: str) -> None:
    exit_code, text = explained(rule_id)
    assert (exit_code, text.splitlines()[0]) == (0, title)


@pytest.mark.parametrize("start", ["R-OG", "r-og-", "R", "T-CAT", "observed", "D", "d-", "U", "Q"])
def test_the_rules_of_olm_that_begin_so(start: str) -> None:
    """A line each, with its title, by their numbers."""
    exit_code, text = explained(start)
    ids = [line.split()[0] for line in text.splitlines()]
    assert exit_code == 0
    assert sorted(ids) == sorted(each for each in spec_rules() if each.lower().startswith(start.lower()))
    assert len(ids) >= 14


def test_rules_of_olm_are_listed_by_their_numbers() -> None:
    _, text = explained("R-CR")
    assert text == (
        "R-CR-1  When they are made\n"
        "R-CR-2  For owned CRDs\n"
        "R-CR-3  For owned APIServices\n"
        "R-CR-4  What is missing, and who shares them\n"
    )


def test_a_rule_of_olm_that_there_is_not() -> None:
    exit_code, text = explained(f"R-HASH-{9}")
    assert exit_code == 2
    assert f"there is no rule R-HASH-{9}. Did you mean R-HASH-6 or R-HASH-5 or R-HASH-4?" in " ".join(text.split())
    exit_code, text = explained("R-DEPP")
    assert exit_code == 2
    assert "there is no rule R-DEPP. Did you mean R-DEP?" in " ".join(text.split())
    exit_code, text = explained("R-9999999")
    assert exit_code == 2
    assert "there is no rule R-9999999. `olmc explain R` lists the rules." in " ".join(text.split())


def test_a_rule_of_olm_takes_no_version() -> None:
    result = CliRunner().invoke(main, ["explain", "R-DEP-1", "0.25"])
    assert (result.exit_code, "Only `olmc explain profile` takes a VERSION." in result.output) == (2, True)
