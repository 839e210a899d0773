"""No message shows a line of a file outside of the workspace, or reads what has no end."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from commands import olmc_noticing as olmc

MANIFESTS = "bundles/beacon-1.0.0/manifests"


@pytest.fixture
def workspace(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(project / "fixtures" / "own-namespace", tmp_path / "repository" / "w")
    (tmp_path / "token.yaml").write_text("token: hidden-value\n", encoding="utf-8")
    (tmp_path / "repository" / "beside.yaml").write_text("token: hidden-value\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "repository" / "w")
    return tmp_path / "repository" / "w"


@pytest.mark.parametrize("output", ["text", "github", "sarif", "junit", "json"])
@pytest.mark.parametrize("place", ["x.yaml", f"{MANIFESTS}/x.yaml", "catalogs/harbour/x.yaml", "bundles/x.json"])
@pytest.mark.parametrize("target", ["token.yaml", "repository/beside.yaml"])
def test_a_line_behind_a_link_out_is_not_shown(output: str, place: str, target: str, workspace: Path) -> None:
    (workspace / place).parent.mkdir(parents=True, exist_ok=True)
    (workspace / place).symlink_to(workspace.parent.parent / target)
    done = olmc("check", "-o", output)
    assert "hidden-value" not in done.stdout + done.stderr
    assert done.exit_code in (0, 1)


@pytest.mark.parametrize("name", ["x.yaml", f"{MANIFESTS}/x.yaml"])
@pytest.mark.parametrize("target", ["/dev/zero", "/proc/self/environ", "a pipe"])
def test_what_is_no_file_is_not_read(name: str, target: str, workspace: Path) -> None:
    if target == "a pipe":
        os.mkfifo(workspace / name)
    else:
        (workspace / name).symlink_to(target)
    done = olmc("check")
    assert done.exit_code in (0, 1)
    assert os.environ["PATH"] not in done.stdout + done.stderr


def test_a_line_behind_a_link_within_is_shown(workspace: Path) -> None:
    group = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: quay}\nspec:\n"
    (workspace / "x.yaml").write_text(f"{group}  bogus: 1\n", encoding="utf-8")
    assert "5 |   bogus: 1" in olmc("check").stdout


@pytest.mark.parametrize("name", ["a\n::error::b", "a\x1b[31m", "\u202egnp.exe"])
def test_an_approval_of_olmc_yaml_is_a_text(name: str, workspace: Path) -> None:
    spec = {"approve": [name]}
    config = {"apiVersion": "olmc.dev/v1alpha1", "kind": "Config", "spec": spec}
    (workspace / "olmc.yaml").write_text(json.dumps(config), encoding="utf-8")
    for command in ("render", "check"):
        told = olmc(command, ".").stderr
        assert name not in told
        assert "\n::" not in told
