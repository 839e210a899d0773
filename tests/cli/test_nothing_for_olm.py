"""Directories and commits with nothing for OLM in them: an empty cluster for every command, with a note."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from commands import olmc
from scenarios import write

OPERATOR = """\
apiVersion: v1
kind: Namespace
metadata: {name: harbour}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: quay, namespace: harbour}
"""
PLAIN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tides, namespace: default}\n"
WITH_FROM = ["plan", "status", "render", "rbac", "resolve"]
ANYWHERE = [
    "render", "render -o name", "status", "status -o json", "check", "resolve", "rbac", "get csv", "plan", "diff . .",
    "fleet status", "fleet check", "fleet plan", "fleet render --output-dir out", "vendor",
]  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of other things: the first commit has no file for OLM, the second one plain objects."""
    for name, value in {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
                        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    return tmp_path


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def commit(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")
    git("add", "-A")
    git("commit", "-qm", name)


@pytest.mark.parametrize("command", ANYWHERE)
def test_an_empty_directory(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One finding, one exit code, on stderr alone."""
    monkeypatch.chdir(tmp_path)
    result = olmc(*command.split())
    assert (result.exit_code, "[OLMC183]" in result.stderr) == (0, True)
    assert "OLMC183" not in result.stdout


@pytest.mark.process
@pytest.mark.parametrize("command", ["plan", *(each for each in ANYWHERE if each.startswith("fleet"))])
def test_a_directory_with_other_files(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is that of an empty directory, with git and without it, before and after the first commit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLMC_NO_CACHE", "1")
    (tmp_path / "README.md").write_text("# Tides\n", encoding="utf-8")
    for _ in range(2):
        result = olmc(*command.split())
        assert (result.exit_code, "[OLMC183]" in result.output, Path("out").exists()) == (0, True, False)
        git("init", "-q")


def test_a_fleet_without_clusters_has_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("status", "check", "plan"):
        assert olmc("fleet", command).stdout == "0 clusters\n"
    assert olmc("fleet", "plan", "-o", "markdown").stdout == "### 0 clusters\n"
    assert olmc("fleet", "check", "--strict").exit_code == 1


def test_a_file_without_olm_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("# Tides\n", encoding="utf-8")
    assert olmc("check", "README.md").stderr.startswith("warning: README.md has nothing for OLM: ")


@pytest.mark.parametrize("command", ["render --for apply", "render --output-dir out"])
def test_what_would_be_applied_is_refused(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pruning pipeline would delete everything."""
    monkeypatch.chdir(tmp_path)
    result = olmc(*command.split())
    assert (result.exit_code, "[OLMC321]" in result.stderr, result.stdout) == (3, True, "")


def test_strict_checks_fail(tmp_path: Path) -> None:
    assert olmc("check", tmp_path, "--strict").exit_code == 1
    assert olmc("check", tmp_path, "--strict", "--allow-empty").exit_code == 0


@pytest.mark.parametrize("command", ["plan --from git:HEAD", "diff git:HEAD", "fleet plan", "check --since HEAD"])
def test_without_git(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One code and one exit code in all commands that ask git."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "operator.yaml").write_text(OPERATOR, encoding="utf-8")
    result = olmc(*command.split())
    assert (result.exit_code, "[OLMC482]" in result.stderr, result.stdout) == (3, True, "")


@pytest.mark.process
@pytest.mark.parametrize("first", ["README.md", "clusters/notes.txt", "clusters/values.yaml", "clusters/config.json"])
@pytest.mark.usefixtures("repository")
def test_the_first_commit_with_olm(first: str) -> None:
    """The base has other files, whatever they are: everything is new, and no message names a temporary path."""
    commit(first, "replicas: 3\n" if first.endswith(".yaml") else "{}")
    commit("clusters/prod/operator.yaml", OPERATOR)
    for command in WITH_FROM:
        for path in ("clusters", "clusters/prod", "."):
            result = olmc(command, path, "--from", "git:HEAD~1")
            assert result.exit_code == 0, (command, path, result.stderr)
            assert "olmc-from-" not in result.output
    assert "OperatorGroup/harbour/quay: created" in olmc("plan", "clusters", "--from", "git:HEAD~1").stdout
    assert "git:HEAD~1 has nothing for OLM" in olmc("plan", "clusters", "--from", "git:HEAD~1").stderr
    assert "OperatorGroup/harbour/quay: + new" in olmc("diff", "git:HEAD~1", "clusters/prod").stdout
    assert "OperatorGroup/harbour/quay: + new" in olmc("diff", "git:HEAD~1:clusters/prod", "clusters/prod").stdout


@pytest.mark.process
@pytest.mark.usefixtures("repository")
def test_a_base_with_plain_objects() -> None:
    """What the base has applied is pruned, and files of other tools beside it are no objects."""
    commit("clusters/tides.yaml", PLAIN)
    commit("clusters/values.yaml", "replicas: 3\n")
    Path("clusters/tides.yaml").unlink()
    commit("clusters/operator.yaml", OPERATOR)
    result = olmc("plan", "clusters", "--from", "git:HEAD~1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "ConfigMap/default/tides" in result.stdout
    assert "OperatorGroup/harbour/quay: created" in result.stdout


@pytest.mark.process
@pytest.mark.usefixtures("repository")
def test_before_the_first_commit() -> None:
    """Nothing is committed: the last commit is an empty cluster."""
    Path("operator.yaml").write_text(OPERATOR, encoding="utf-8")
    result = olmc("plan")
    assert (result.exit_code, "OperatorGroup/harbour/quay: created" in result.stdout) == (0, True)


@pytest.mark.process
@pytest.mark.usefixtures("repository")
def test_a_path_that_neither_side_has_is_misspelt() -> None:
    commit("clusters/operator.yaml", OPERATOR)
    result = olmc("plan", "clusters", "--from", "git:HEAD:cluster")
    assert (result.exit_code, "[OLMC484]" in result.stderr) == (3, True)


@pytest.mark.process
@pytest.mark.usefixtures("repository")
def test_places_in_a_commit_have_its_name() -> None:
    commit("clusters/operator.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a\n")
    result = olmc("plan", "clusters", "--from", "git:HEAD")
    assert result.exit_code == 3
    assert result.stderr.startswith("git:HEAD/operator.yaml:")


APART = """\
apiVersion: batch/v1
kind: Job
metadata: {generateName: count-}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: FOLDER, image: "example.com/count"}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: counted, namespace: harbour}
data: {folder: FOLDER}
"""
OF_OLM = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: all, namespace: harbour}\n"


PLAIN_NAME = str.maketrans("/.", "--")


def reported(root: Path, files: dict[str, str]) -> list[str]:
    write(root, {path: text.replace("FOLDER", path.translate(PLAIN_NAME)) for path, text in files.items()})
    return sorted(each["code"] for each in json.loads(olmc("check", str(root), "-o", "json").stdout)["findings"])


def test_plain_objects_that_may_be_applied_apart_are_no_mistake(tmp_path: Path) -> None:
    """No tool is known to apply folders without OLM together, nor each of their files."""
    folders = {"demo/one/job.yaml": APART, "demo/two/job.yaml": APART}
    assert reported(tmp_path / "without", folders) == []
    assert reported(tmp_path / "beside", {**folders, "operators/group.yaml": OF_OLM}) == []
    whole = {**folders, "group.yaml": OF_OLM}
    assert reported(tmp_path / "whole", whole) == ["OLMC127", "OLMC156", "OLMC156", "OLMC171", "OLMC171"]
    together = {"demo/a.yaml": APART, "demo/b.yaml": APART, "operators/group.yaml": OF_OLM}
    assert reported(tmp_path / "together", together) == ["OLMC127"]


def test_a_template_of_openshift_is_no_object_of_the_workspace(tmp_path: Path) -> None:
    """`oc process` makes objects of each file, whatever the Templates are called."""
    template = "apiVersion: template.openshift.io/v1\nkind: Template\nmetadata: {name: beacon}\nobjects: []\n"
    files = {"first.yaml": template, "second.yaml": f"{template}message: more\n", "group.yaml": OF_OLM}
    assert reported(tmp_path, files) == []
