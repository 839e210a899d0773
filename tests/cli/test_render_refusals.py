"""What `olmc render` refuses, and with which exit code."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from commands import olmc
from scenarios import write


def test_the_variable_of_the_readme() -> None:
    """The parameter is called `for_`, so click looks for OLMC_RENDER_FOR_."""
    given = olmc("render", "own-namespace", "--for", "apply")
    assert olmc("render", "own-namespace", env={"OLMC_RENDER_FOR": "apply"}).stdout == given.stdout


@pytest.mark.parametrize("name", ["kustomization.yaml", "namespace_harbour.yaml"])
def test_a_foreign_file_in_the_way_is_no_finding(name: str, tmp_path: Path) -> None:
    """Exit code 1 means findings; with --check a CI job can't tell the two apart."""
    write(tmp_path, {name: "kind: Mine\n"})
    assert olmc("render", "own-namespace", "--output-dir", tmp_path).exit_code in (2, 3)


def test_a_folder_in_the_way_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "namespace_harbour.yaml").mkdir()
    assert olmc("render", "own-namespace", "--output-dir", tmp_path).exit_code != 0
    assert [path.name for path in tmp_path.iterdir()] == ["namespace_harbour.yaml"]


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("catalogs/harbour", "catalog"),
        ("catalogs/rendered", "catalog"),
        ("catalogs/harbour/below", "catalog"),
        ("bundles/beacon-1.0.0/manifests", "bundle"),
        ("bundles/beacon-1.0.0/metadata/below", "bundle"),
    ],
)
def test_a_folder_that_the_next_run_would_read_is_refused(
    folder: str, kind: str, project: Path, tmp_path: Path
) -> None:
    shutil.copytree(project / "fixtures" / "own-namespace", tmp_path / "workspace")
    before = sorted(tmp_path.rglob("*"))
    for more in ([], ["--check"]):
        result = olmc("render", tmp_path / "workspace", "--output-dir", tmp_path / "workspace" / folder, *more)
        assert (result.exit_code, sorted(tmp_path.rglob("*"))) == (2, before)
        assert f"is part of a {kind} of the workspace, so the next run would read what this one" in result.stderr


@pytest.mark.parametrize("folder", [".", "rendered", "bundles", "bundles/beacon-1.0.0/deploy", "catalogs", ".out"])
def test_elsewhere_in_the_workspace_the_next_run_knows_its_own(folder: str, project: Path, tmp_path: Path) -> None:
    """Files that olmc wrote are no input, so a second run changes nothing."""
    shutil.copytree(project / "fixtures" / "own-namespace", tmp_path / "workspace")
    given = ("render", tmp_path / "workspace", "--output-dir", tmp_path / "workspace" / folder)
    assert olmc(*given).exit_code == 0
    assert " 0 new, 0 changed, 0 removed" in olmc(*given).stderr


def test_what_the_system_says_of_a_folder(tmp_path: Path) -> None:
    """In words, without its numbers, and before anything is announced."""
    write(tmp_path, {"file": ""})
    result = olmc("render", "own-namespace", "--output-dir", tmp_path / "file" / "x")
    told = f"error: {tmp_path / 'file' / 'x'} can't be used: Not a directory. Choose another --output-dir.\n"
    assert (result.exit_code, result.stderr) == (3, told)
    result = olmc("init", "github", tmp_path / "file" / "x")
    told = f"error: {tmp_path / 'file' / 'x'} can't be written: Not a directory\n"
    assert (result.exit_code, result.stdout, result.stderr) == (3, "", told)


def test_a_broken_link_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "namespace_harbour.yaml").symlink_to("nothing-here")
    assert olmc("render", "own-namespace", "--output-dir", tmp_path).exit_code != 0
    assert (tmp_path / "namespace_harbour.yaml").is_symlink()


def test_no_object_of_several_paths_gets_lost(tmp_path: Path) -> None:
    """Three workspaces with one Namespace: the third file takes the name of the second."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: ns}\ndata: {n: '%s'}\n"
    paths = [write(tmp_path / str(number), {"a.yaml": text % number}) for number in range(3)]
    result = olmc("render", *paths, "--output-dir", tmp_path / "out")
    assert result.exit_code != 0 or len(list((tmp_path / "out").glob("configmap_*.yaml"))) == 3


def test_kustomize_builds_what_several_paths_gave(tmp_path: Path) -> None:
    """The same object twice in one directory: kustomize refuses it, so olmc might say so (or make a folder a path)."""
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl, which is not installed")
    paths = ("several-workspaces/production", "several-workspaces/staging")
    result = olmc("render", *paths, "--output-dir", tmp_path)
    done = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, text=True, check=False)
    assert result.exit_code != 0 or done.returncode == 0, done.stderr
