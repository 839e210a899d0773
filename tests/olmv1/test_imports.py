"""A run that has nothing of OLM v1 imports nothing of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from shown_pages import PROJECT

COMMANDS = (
    "render fixtures/own-namespace/bundles/beacon-1.0.0 -n tools -o name",
    "render fixtures/review-upgrade/after -o name",
    "check fixtures/review-upgrade/after",
    "status fixtures/review-upgrade/after",
    "resolve fixtures/review-upgrade/after",
    "diff fixtures/review-upgrade/before fixtures/review-upgrade/after",
    "plan fixtures/review-upgrade/after --from fixtures/review-upgrade/before",
    "rbac fixtures/review-upgrade/after",
    "why lantern fixtures/review-upgrade/after",
    "graph lantern fixtures/review-upgrade/after",
    "vendor fixtures/review-upgrade/after --check",
    "report fixtures/review-upgrade/after -o SITE",
)
WITH_EXTENSIONS = "status fixtures/olmv1/extension"

# Runs the command lines of a file one after the other, and writes the modules of OLM v1 that are imported after each.
RUN = """
import json, sys
from pathlib import Path
from olmc.__main__ import exit_code
given, told = map(Path, sys.argv[1:])
lines = []
for command in json.loads(given.read_text()):
    sys.argv = ["olmc", *command]
    exit_code()
    lines.append([name for name in sys.modules if name.startswith("olmc.targets.v1")])
told.write_text(json.dumps(lines))
"""

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The modules of OLM v1 that are imported once a command has run, each after those before it in one process."""
    folder = tmp_path_factory.mktemp("imports")
    commands = (*COMMANDS, WITH_EXTENSIONS)
    words = [[str(folder / "site") if word == "SITE" else word for word in command.split()] for command in commands]
    (folder / "given.json").write_text(json.dumps(words))
    arguments = [sys.executable, "-c", RUN, str(folder / "given.json"), str(folder / "told.json")]
    subprocess.run(arguments, capture_output=True, check=True, cwd=PROJECT)
    return dict(zip(commands, json.loads((folder / "told.json").read_text()), strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_it_is_imported(command: str, imported: dict[str, list[str]]) -> None:
    assert imported[command] == []


def test_what_has_some_of_it_imports_it(imported: dict[str, list[str]]) -> None:
    assert "olmc.targets.v1.extensions" in imported[WITH_EXTENSIONS]
