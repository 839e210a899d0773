"""The first commands that a person would type in a repository with policies of Open Cluster Management."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import as_typed, git, olmc
from snapshot_files import TextFile
from syrupy.assertion import SnapshotAssertion
from test_repository_kustomize import needs_tool

COMMANDS = {
    "check": ("check",),
    "check-policies": ("check", "policies"),
    "status-policies": ("status", "policies"),
    "check-generated": ("check", "--entry", "generated"),
    "render-generated": ("render", "generated", "--include", "Subscription", "--include", "OperatorGroup"),
    "check-settings": ("check", "settings"),
    "diff-root": ("diff", "git:HEAD", "."),
}


@pytest.fixture
def repository(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the fixture, with one commit."""
    root = tmp_path / "policies"
    shutil.copytree(project / "fixtures" / "repos" / "policies", root)
    git("init", "--quiet", "--initial-branch=main", cwd=root)
    git("add", "--all", cwd=root)
    git("commit", "--quiet", "--message", "policies", cwd=root)
    monkeypatch.chdir(root)
    return root


@needs_tool
@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("name", COMMANDS)
def test_first_commands(name: str, snapshot: SnapshotAssertion) -> None:
    assert as_typed(*COMMANDS[name]) == snapshot.use_extension(TextFile)


@pytest.mark.slow
@needs_tool
def test_a_change_of_a_policy_changes_what_it_installs(repository: Path) -> None:
    """In the work tree and in git; also what a PolicyGenerator makes of a manifest."""
    for path, old, new in (("policies/beacon.yaml", "channel: stable", "channel: fast"),
                           ("policies/kettle.yaml", "remediationAction: inform", "remediationAction: enforce"),
                           ("generated/policies.yaml", "channel: stable", "startingCSV: beacon.v1.0.0")):  # fmt: skip
        file = repository / path
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")
    in_policies = olmc("diff", "git:HEAD", "policies").stdout
    assert "~ channel: stable → fast" in in_policies
    assert "kettle" in in_policies
    in_generated = olmc("diff", "git:HEAD", "generated").stdout
    assert "~ channel: stable → set-by-patches" in in_generated
    assert "startingCSV: none → beacon.v1.0.0" in in_generated
    git("commit", "--quiet", "--all", "--message", "channels", cwd=repository)
    in_git = olmc("diff", "git:HEAD~1:generated", "git:HEAD:generated").stdout
    assert in_git.splitlines()[2:] == in_generated.splitlines()[2:]  # both sides are named before
