"""The profile `docs` follows the two documents about OperatorGroups, statement by statement (`documents.yaml`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace
from rule_cases import LOADER, differences

import olmc

TABLE = yaml.load(Path(__file__).with_name("documents.yaml").read_text(encoding="utf-8"), LOADER)


@pytest.mark.parametrize("row", TABLE["statements"], ids=lambda row: row["says"])
def test_statement(row: dict[str, Any], tmp_path: Path) -> None:
    write_workspace(tmp_path, TABLE["workspaces"][row["workspace"]])
    made = olmc.compile(tmp_path, olmc.Options(olm_version="docs"))
    problems = list(differences(row["expect"], made))
    said = [f"{d.severity.name} {d.code} {d.message}" for d in made.diagnostics]
    if problems:
        pytest.fail("\n".join([row["in"], *problems, "olmc said:", *said]), pytrace=False)


def test_every_workspace_is_used() -> None:
    assert {row["workspace"] for row in TABLE["statements"]} == set(TABLE["workspaces"])
