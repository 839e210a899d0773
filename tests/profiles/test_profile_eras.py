"""Every era of every feature shows in the objects of a workspace (`eras.yaml`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import write_workspace
from rule_cases import LOADER, differences, options

import olmc
from olmc.profiles.data import canonical, eras, formats

DOCUMENT = yaml.load(Path(__file__).with_name("eras.yaml").read_text(encoding="utf-8"), LOADER)


def rows() -> Iterator[Any]:
    for feature, found in DOCUMENT["features"].items():
        for version, expected in found["eras"].items():
            yield pytest.param(found, version, expected, id=f"{feature}-{version}")


@pytest.mark.parametrize(("found", "version", "expected"), list(rows()))
def test_era(found: dict[str, Any], version: str, expected: Any, tmp_path: Path) -> None:
    """What the OLM of an era makes of the workspace; a list of expectations is one of objects."""
    write_workspace(tmp_path, DOCUMENT["workspaces"][found["workspace"]])
    chosen = options({**found.get("olmc", {}), "olm_version": version})
    made = olmc.compile(tmp_path, chosen)
    problems = list(differences({"objects": expected} if isinstance(expected, list) else expected, made))
    said = [f"{d.severity.name} {d.code} {d.message}" for d in made.diagnostics]
    if problems:
        pytest.fail("\n".join([*problems, "olmc said:", *said]), pytrace=False)


@pytest.mark.parametrize("feature", formats()["features"])
def test_no_era_is_forgotten(feature: str) -> None:
    seen = [dict(eras(canonical(version)))[feature]["since"] for version in DOCUMENT["features"][feature]["eras"]]
    assert sorted(seen) == sorted(era["since"] for era in formats()["features"][feature]["eras"])
