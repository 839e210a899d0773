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
    planned = CliRunner().invoke(main, ["plan", str(after), "--from", str(before), "-o", "json"])
    created = [change["object"]["name"] for change in json.loads(planned.stdout)["applied"]]
    assert (planned.exit_code, created) == (1, ["hidden"])


def test_what_was_left_out_before_stays_left_out(project: Path, tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    shutil.copytree(project / "fixtures/transitions/stuck-upgrade/before", before)
    (before / ".olmcignore").write_text("hidden.yaml\n")
    shutil.copytree(before, after)
    (after / "hidden.yaml").write_text(NAMESPACE)
    planned = CliRunner().invoke(main, ["plan", str(after), "--from", str(before)])
    assert (planned.exit_code, "hidden" in planned.stdout) == (0, False)
