"""A pull request that accepts its own findings, or changes the settings of its review, does not do so unseen."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from commands import olmc_noticing as olmc
from scenarios import write

CONFIG = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec:\n"
GROUP = """\
apiVersion: v1
kind: Namespace
metadata: {name: pier}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: other, namespace: pier}
spec:
  bogus: 1
"""
ACCEPTED = "olmc: 1 finding is new since main and accepted here:\n  "
FINDING = "warning: OperatorGroup pier/other has a field spec.bogus"


def _suppress(more: str) -> str:
    return f"{CONFIG}  suppress: [{{code: OLMC150, {more}}}]\n"


# What main has, what a branch writes, and where the finding is then.
ATTACKS: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "a-comment": ({}, {"x.yaml": GROUP.replace("bogus: 1", "bogus: 1 # olmc: ignore[OLMC150] fine")}, "x.yaml:9"),
    "a-comment-above": (
        {}, {"x.yaml": GROUP.replace("  bogus", "  # olmc: ignore[OLMC150] fine\n  bogus")}, "x.yaml:10",
    ),
    "everywhere": ({}, {"x.yaml": GROUP, "olmc.yaml": _suppress("reason: later")}, "x.yaml:9"),
    "a-wider-pattern": (
        {"olmc.yaml": _suppress("path: old/, reason: later")},
        {"x.yaml": GROUP, "olmc.yaml": _suppress("path: '*', reason: later")},
        "x.yaml:9",
    ),
    "a-folder-that-main-accepts": (
        {"olmc.yaml": _suppress("path: old/, reason: later")}, {"old/x.yaml": GROUP}, "old/x.yaml:9",
    ),
    "an-alias": (
        {},
        {"x.yaml": GROUP, "olmc.yaml": f"{CONFIG}  suppress:\n  - &a {{code: OLMC150, reason: b}}\n  - *a\n"},
        "x.yaml:9",
    ),
}  # fmt: skip


@pytest.fixture
def branch(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(project / "fixtures" / "own-namespace", tmp_path / "w")
    monkeypatch.chdir(tmp_path / "w")
    return tmp_path / "w"


def _commit() -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.com"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_accepted_finding_that_is_new_is_listed(name: str, branch: Path) -> None:
    main, written, place = ATTACKS[name]
    write(branch, main)
    _commit()
    write(branch, written)
    for output in ("text", "github", "json"):
        done = olmc("check", "--since", "main", "-o", output)
        assert f"{ACCEPTED}{place}" in done.stderr
        assert FINDING in done.stderr


def test_findings_that_main_accepts_or_reports_are_not_listed(branch: Path) -> None:
    text = GROUP.replace("bogus: 1", "bogus: 1 # olmc: ignore[OLMC150] fine")
    write(branch, {"x.yaml": text, "y.yaml": GROUP.replace("other", "second").replace("pier", "quay")})
    _commit()
    write(branch, {"x.yaml": f"# A line more.\n{text}"})
    assert olmc("check", "--since", "main").stderr == ""


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        ("  namespaces: [a]\n", "  namespaces: [a]\n  kubeVersion: 1.20.0\n", "spec.kubeVersion"),
        ("  namespaces: [a]\n", "  ignore: [operators.yaml]\n", "spec.ignore, spec.namespaces"),
        ("  approve: []\n", "  approve: [all]\n", "spec.approve"),
        ("  olmVersion: 0.46.0\n", "  olmVersion: 0.45.0\n", "spec.olmVersion"),
    ],
)
def test_settings_that_differ_are_named(before: str, after: str, fields: str, branch: Path) -> None:
    write(branch, {"olmc.yaml": CONFIG + before})
    _commit()
    assert "settings" not in olmc("check", "--since", "main", "--allow-empty").stderr
    write(branch, {"olmc.yaml": CONFIG + after})
    told = f"olmc: olmc.yaml has other settings than in main, and this check uses them: {fields}\n"
    assert told in olmc("check", "--since", "main", "--allow-empty").stderr


def test_settings_that_are_removed_are_named(branch: Path) -> None:
    write(branch, {"olmc.yaml": f"{CONFIG}  kubeVersion: 1.30.0\n"})
    _commit()
    (branch / "olmc.yaml").unlink()
    told = "olmc: olmc.yaml is removed; in main it has these settings: spec.kubeVersion\n"
    assert told in olmc("check", "--since", "main").stderr


MIRRORS = "  vendor: {mirrors: [{prefix: r.example.com, mirrors: [m.example.com]}]}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", MIRRORS),
        (MIRRORS, MIRRORS.replace("[m.", "[evil.example.net, m.")),
        (MIRRORS, MIRRORS.replace("[m.", "[evil.")),
    ],
)
def test_a_mirror_from_which_images_come_is_a_risk(before: str, after: str, branch: Path) -> None:
    for side, more in (("old", before), ("new", after)):
        write(branch.parent / side, {"olmc.yaml": f"{CONFIG}  namespaces: [a]\n{more}", "x.yaml": GROUP})
    sides = (str(branch.parent / side) for side in ("old", "new"))
    done = olmc("diff", *sides, "--fail-on", "risk")
    assert done.exit_code == 1
    assert "images come from another place  [risk]" in " ".join(done.stdout.split("\n"))
    sides = (str(branch.parent / side) for side in ("new", "old"))
    if not before:
        assert olmc("diff", *sides, "--fail-on", "risk").exit_code == 0


IGNORED: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "a-new-pattern": ({}, {"x.yaml": GROUP, ".olmcignore": "x.yaml\n"}, "x.yaml"),
    "a-file-for-an-old-pattern": ({".olmcignore": "gen/\n"}, {"gen/x.yaml": GROUP}, "gen/x.yaml"),
    "a-file-that-main-compiles": ({"x.yaml": GROUP}, {".olmcignore": "x.yaml\n"}, "x.yaml"),
    "a-forced-file": ({".gitignore": "x.yaml\n"}, {"x.yaml": GROUP}, "x.yaml"),
}  # fmt: skip


@pytest.mark.parametrize("name", IGNORED)
def test_objects_that_a_branch_has_left_out_are_named(name: str, branch: Path) -> None:
    """What is left out has no findings, so their absence would say nothing."""
    main, written, place = IGNORED[name]
    write(branch, main)
    _commit()
    assert "left out here" not in olmc("check", "--since", "main").stderr
    write(branch, written)
    for output in ("text", "github"):
        told = olmc("check", "--strict", "--since", "main", "-o", output).stderr
        assert f"olmc: left out here and not in main:\n  {place}: left out: 2 objects in 1 file" in told
