"""What a change hides by its own settings is planned all the same, as far as the state before did not leave it out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from olmc.cli.main import main

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: hidden}\n"
CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {ignore: [hidden.yaml]}\n"


@pytest.mark.parametrize(("file", "text"), [(".olmcignore", "hidden.yaml\n"), ("olmc.yaml", CONFIG)])
def test_a_new_file_that_the_change_ignores_is_planned(project: Path, tmp_path: Path, file: str, text: str) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(project / "fixtures/transitions/stuck-upgrade/before", before)
    shutil.copytree(before, after)
    (after / "hidden.yaml").write_text(NAMESPACE)
    (after / file).write_text(text)
    planned = CliRunner().invoke(main, ["plan", str(after), "--from", str(before), "--exit-code", "-o", "json"])
    created = [change["object"]["name"] for change in json.loads(planned.stdout)["applied"]]
    assert (planned.exit_code, created) == (1, ["hidden"])


def test_what_was_left_out_before_stays_left_out_and_is_told(project: Path, tmp_path: Path) -> None:
    """It is no part of the plan, and a tool that applies the whole folder applies it."""
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(project / "fixtures/transitions/stuck-upgrade/before", before)
    (before / ".olmcignore").write_text("hidden.yaml\n")
    shutil.copytree(before, after)
    (after / "hidden.yaml").write_text(NAMESPACE)
    planned = CliRunner().invoke(main, ["plan", str(after), "--from", str(before), "--exit-code", "-o", "json"])
    plan = json.loads(planned.stdout)
    changes = [(change["kind"], change["severity"]) for change in plan["difference"]["changes"]]
    assert (planned.exit_code, plan["applied"], changes) == (1, [], [("LeftOutAdded", "risk")])


SUPPRESSED = CONFIG.replace("ignore: [hidden.yaml]", "suppress: [{code: OLMC308, reason: later}]")
BUILD = "resources: [bundles]\n"


@pytest.mark.parametrize(
    ("file", "text", "kind"),
    [
        ("olmc.yaml", CONFIG.replace("ignore: [hidden.yaml]", "kubeVersion: v1.30.0"), "SettingChanged"),
        (".olmcignore", "hidden.yaml\n", "PatternAdded"),
        ("olmc.yaml", SUPPRESSED, "SuppressionAdded"),
        ("deploy/kustomization.yaml", BUILD, "BuildAdded"),
    ],
)
def test_settings_and_builds_are_told_as_a_diff_does(
    project: Path, tmp_path: Path, file: str, text: str, kind: str
) -> None:
    """Who changes what is looked at changes what is known: of both commands the first thing to say."""
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(project / "fixtures/transitions/stuck-upgrade/before", before)
    shutil.copytree(before, after)
    (after / file).parent.mkdir(exist_ok=True)
    (after / file).write_text(text)
    sides = (["plan", str(after), "--from", str(before)], ["diff", str(before), str(after)])
    planned, compared = (json.loads(CliRunner().invoke(main, [*side, "-o", "json"]).stdout) for side in sides)
    assert kind in [change["kind"] for change in planned["difference"]["changes"]]
    assert planned["difference"]["changes"] == compared["changes"]


def test_a_state_has_no_settings(project: Path, tmp_path: Path) -> None:
    """A cluster says nothing about what is left out, so there is nothing to compare with."""
    workspace = tmp_path / "workspace"
    shutil.copytree(project / "fixtures/transitions/stuck-upgrade/before", workspace)
    (workspace / ".olmcignore").write_text("hidden.yaml\n")
    (workspace / "hidden.yaml").write_text(NAMESPACE)
    state = tmp_path / "state.yaml"
    state.write_text(CliRunner().invoke(main, ["render", str(workspace)]).stdout)
    planned = CliRunner().invoke(main, ["plan", str(workspace), "--from", str(state), "-o", "json"])
    assert json.loads(planned.stdout)["difference"]["changes"] == []
