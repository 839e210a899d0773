"""The options of the proposed APIs mean the same in every command that looks at what was compiled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import olmc

ASKED = {"why": ("beacon.v1.0.0",), "diff": ("{empty}",), "get": ("installed", "-A", "-C"), "rbac": (), "status": ()}


@pytest.fixture
def operator(project: Path, tmp_path: Path) -> Path:
    """The workspace with an Operator, whose olmc.yaml does not enable the API."""
    source, copy = project / "fixtures" / "operator-v2alpha1", tmp_path / "operator"
    for path in sorted(source.rglob("*")):
        if path.is_file():
            (copy / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            (copy / path.relative_to(source)).write_bytes(path.read_bytes())
    config = (copy / "olmc.yaml").read_text(encoding="utf-8")
    off = config.replace("enableV2alpha1: true", "enableV2alpha1: false")
    assert off != config
    (copy / "olmc.yaml").write_text(off, encoding="utf-8")
    (tmp_path / "empty").mkdir()
    return copy


@pytest.mark.parametrize("command", sorted(ASKED))
def test_the_command_takes_them_and_they_win_over_olmc_yaml(command: str, operator: Path) -> None:
    given = tuple(each.format(empty=operator.parent / "empty") for each in ASKED[command])
    more = ("--allow-empty",) if command == "diff" else ()
    without, enabled = (
        olmc(command, *given, operator, *more, *option)
        for option in ((), ("--enable-v2alpha1", "--approve-installs", "--as", "mary"))
    )
    assert without.exit_code in (0, 1, 2)
    assert enabled.exit_code in (0, 1), enabled.stderr
    assert (without.stdout, without.stderr) != (enabled.stdout, enabled.stderr)


def test_an_operator_of_v2alpha1_has_a_row(operator: Path) -> None:
    """It waits for approval, runs, or can't be resolved, which is a finding."""
    enabled = ("--enable-v2alpha1", "-o", "json")
    (waits,) = json.loads(olmc("status", operator, *enabled).stdout)["operators"]
    assert (waits["package"], waits["csv"], waits["channel"]) == ("ferry", "", "stable")
    assert (waits["reason"], waits["upgrade"], waits["fails"]) == ("RequiresApproval", "ferry.v1.0.0", False)
    approved = olmc("status", operator, *enabled, "--approve-installs", "--as", "mary")
    rows = [(each["namespace"], each["csv"], each["channel"]) for each in json.loads(approved.stdout)["operators"]]
    assert rows == [("operators", "beacon.v1.0.0", ""), ("operators", "ferry.v1.0.0", "stable")]
    manifest = operator / "operators.yaml"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("channel: stable", "channel: stabel"))
    result = olmc("status", operator, *enabled)
    (fails,) = json.loads(result.stdout)["operators"]
    assert (result.exit_code, fails["reason"], fails["fails"]) == (1, "ConstraintsNotSatisfiable", True)
    assert (fails["operator"], waits["operator"]) == ("ferry", "ferry")
    assert fails["missing"][-1]["text"] == "the package ferry has no channel stabel; did you mean stable?"
    assert fails["missing"][-1]["place"]["path"] == "operators.yaml"


@pytest.mark.parametrize("target", ["ferry", "ferry.v1.0.0", "Operator/ferry", "Install/ferry.v1.0.0"])
def test_why_knows_operators_of_v2alpha1(target: str, operator: Path) -> None:
    """No Subscription asks for the package, but an Operator does; it is there while its CSV is not, as a Subscription
    is whose plan waits."""
    result = olmc("why", target, operator, "--enable-v2alpha1")
    shown = " ".join(result.stdout.replace(f"{operator}/", "").split())
    assert "Install ferry.v1.0.0 waits for approval (operators.yaml:4:9)" in shown
    assert "no Subscription" not in result.stdout
    assert result.exit_code == (1 if target == "ferry.v1.0.0" else 0)


def test_why_says_what_an_operator_fails_on(operator: Path) -> None:
    manifest = operator / "operators.yaml"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("channel: stable", "channel: stabel"))
    result = olmc("why", "Operator/ferry", operator, "--enable-v2alpha1")
    assert result.exit_code == 1
    assert result.stdout.startswith("Operator/ferry is there and does not work\n")
    shown = " ".join(result.stdout.replace(f"{operator}/", "").split())
    assert "the package ferry has no channel stabel; did you mean stable? (operators.yaml:10:16)" in shown
