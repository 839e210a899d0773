"""`olmc render --output-dir` and `--check`: one file an object, and nothing else is touched."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from commands import BROKEN, identities, names, olmc
from scenarios import write


@pytest.fixture
def kubectl() -> str:
    """The path of kubectl, which has kustomize built in."""
    found = shutil.which("kubectl")
    if found is None:
        pytest.skip("needs kubectl, which is not installed")
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_a_directory_has_a_file_for_each_object_and_a_kustomization(tmp_path: Path) -> None:
    out = tmp_path / "deep/er/out"
    result = olmc("render", "own-namespace", "--output-dir", out)
    assert (result.exit_code, result.stdout) == (0, "")
    files = contents(out)
    listed = yaml.safe_load(files["kustomization.yaml"])
    assert (listed["apiVersion"], listed["kind"]) == ("kustomize.config.k8s.io/v1beta1", "Kustomization")
    assert sorted([*listed["resources"], "kustomization.yaml"]) == sorted(files)
    found = [identities(files[name].decode()) for name in listed["resources"]]
    assert [name for each in found for name in each] == names("own-namespace")
    assert all(len(each) == 1 for each in found)
    assert f"{len(files)} files, {len(files)} new, 0 changed, 0 removed" in result.stderr


def test_the_files_together_are_the_stream(tmp_path: Path) -> None:
    olmc("render", "multi-namespace", "--output-dir", tmp_path)
    listed = yaml.safe_load((tmp_path / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    texts = [(tmp_path / name).read_text(encoding="utf-8") for name in listed]
    marks = {text.partition("\n")[0] for text in texts}
    assert marks == {"# Written by olmc render; changes will be lost."}
    assert "---\n".join(text.partition("\n")[2] for text in texts) == olmc("render", "multi-namespace").stdout


def test_file_names_are_readable_and_differ_on_any_file_system(tmp_path: Path) -> None:
    """Names that differ in case only, or in what a file name can't hold, get different files."""
    same = ["system:a", "system-a", "system.a", "SYSTEM:a"]
    text = "---\n".join(
        f"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: '{name}'}}\n" for name in same
    )
    long = f"---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: {'x' * 200}}}\n"
    root = write(tmp_path / "w", {"a.yaml": text + long})
    assert olmc("render", root, "--output-dir", tmp_path / "out").exit_code == 0
    files = sorted(contents(tmp_path / "out"))
    assert len(files) == 6
    assert len({name.lower() for name in files}) == 6
    assert "clusterrole_system.a.yaml" in files
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.") and len(name) <= 140 for name in files)


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    olmc("render", "own-namespace", "--output-dir", tmp_path)
    before = {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in tmp_path.iterdir()}
    result = olmc("render", "own-namespace", "--output-dir", tmp_path)
    assert {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in tmp_path.iterdir()} == before
    assert "0 new, 0 changed, 0 removed" in result.stderr


def test_stale_files_go_and_unknown_files_stay(tmp_path: Path) -> None:
    olmc("render", "own-namespace", "--output-dir", tmp_path)
    mine = {"README.md": "mine", "extra.yaml": "kind: Mine\n", "sub/role_x.yaml": "kind: Mine\n", ".keep": ""}
    write(tmp_path, mine)
    result = olmc("render", "own-namespace", "--output-dir", tmp_path, "--exclude", "Role")
    files = contents(tmp_path)
    assert {name: files[name].decode() for name in mine} == mine
    assert not any(name.startswith("role_") for name in files)
    listed = yaml.safe_load(files["kustomization.yaml"])["resources"]
    assert sorted([*listed, "kustomization.yaml", *mine]) == sorted(files)
    assert "2 removed" in result.stderr


def test_a_file_that_somebody_took_over_stays(tmp_path: Path) -> None:
    """Without the mark it is theirs, even if it is listed in kustomization.yaml."""
    olmc("render", "own-namespace", "--output-dir", tmp_path)
    taken = next(path for path in tmp_path.iterdir() if path.name.startswith("role_"))
    taken.write_text("kind: Mine\n", encoding="utf-8")
    assert olmc("render", "own-namespace", "--output-dir", tmp_path, "--exclude", "Role").exit_code == 0
    assert taken.read_text(encoding="utf-8") == "kind: Mine\n"


@pytest.mark.parametrize("name", ["kustomization.yaml", "namespace_harbour.yaml"])
def test_a_foreign_file_in_the_way_is_refused(name: str, tmp_path: Path) -> None:
    write(tmp_path, {name: "kind: Mine\n"})
    result = olmc("render", "own-namespace", "--output-dir", tmp_path)
    assert result.exit_code != 0
    assert f"{tmp_path / name} was not written by olmc and is in the way" in result.stderr
    assert contents(tmp_path) == {name: b"kind: Mine\n"}


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text("# Written by olmc render; changes will be lost.\nprecious\n", encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    (out / "namespace_harbour.yaml").symlink_to(outside)
    assert olmc("render", "own-namespace", "--output-dir", out).exit_code != 0
    assert outside.read_text(encoding="utf-8").endswith("precious\n")


def test_a_directory_in_the_workspace_is_no_input(project: Path, tmp_path: Path) -> None:
    source = project / "fixtures/own-namespace"
    root = write(tmp_path, {name: data.decode() for name, data in contents(source).items()})
    assert olmc("render", root, "--output-dir", root / "rendered").exit_code == 0
    assert olmc("render", root).stdout == olmc("render", source).stdout
    assert olmc("render", root, "--output-dir", root / "rendered", "--check").exit_code == 0


def test_a_directory_is_left_as_it_is_when_the_compile_fails(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert olmc("render", "own-namespace", "--output-dir", out).exit_code == 0
    before = contents(out)
    assert olmc("render", write(tmp_path / "broken", BROKEN), "--output-dir", out).exit_code == 3
    assert contents(out) == before


def test_check_says_what_differs_and_writes_nothing(tmp_path: Path) -> None:
    olmc("render", "own-namespace", "--output-dir", tmp_path)
    current = olmc("render", "own-namespace", "--output-dir", tmp_path, "--check")
    assert (current.exit_code, current.stdout, current.stderr) == (0, "", "")
    (tmp_path / "namespace_harbour.yaml").unlink()
    with (tmp_path / "operatorgroup_harbour_quay.yaml").open("a", encoding="utf-8") as stream:
        stream.write("extra: 1\n")
    before = contents(tmp_path)
    result = olmc("render", "own-namespace", "--output-dir", tmp_path, "--check", "--exclude", "OperatorCondition")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        f"missing: {tmp_path}/namespace_harbour.yaml",
        f"out of date: {tmp_path}/kustomization.yaml",
        f"out of date: {tmp_path}/operatorgroup_harbour_quay.yaml",
        f"stale: {tmp_path}/operatorcondition_harbour_beacon.v1.0.0.yaml",
        "Run the same command without --check to bring it up to date.",
    ]
    assert contents(tmp_path) == before


def test_check_of_a_directory_that_is_not_there(tmp_path: Path) -> None:
    result = olmc("render", "own-namespace", "--output-dir", tmp_path / "out", "--check")
    assert result.exit_code == 1
    assert "missing: " in result.stderr
    assert not (tmp_path / "out").exists()


def test_check_is_current_but_an_operator_would_fail(tmp_path: Path) -> None:
    assert olmc("render", "unsupported-mode", "--output-dir", tmp_path).exit_code == 1
    result = olmc("render", "unsupported-mode", "--output-dir", tmp_path, "--check")
    assert result.exit_code == 1
    assert "out of date" not in result.stderr


@pytest.mark.parametrize("purpose", ["review", "apply"])
def test_kustomize_builds_the_directory(purpose: str, kubectl: str, tmp_path: Path) -> None:
    assert olmc("render", "multi-namespace", "--for", purpose, "--output-dir", tmp_path).exit_code == 0
    done = subprocess.run([kubectl, "kustomize", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(identities(done.stdout)) == sorted(names("multi-namespace", "--for", purpose))


def test_a_change_can_be_a_failure(tmp_path: Path) -> None:
    """For hooks: it writes, and fails when there was something to write."""
    first = olmc("render", "own-namespace", "--output-dir", tmp_path, "--fail-on-change")
    assert (first.exit_code, (tmp_path / "kustomization.yaml").is_file()) == (1, True)
    assert olmc("render", "own-namespace", "--output-dir", tmp_path, "--fail-on-change").exit_code == 0
    fewer = olmc("render", "own-namespace", "--output-dir", tmp_path, "--fail-on-change", "--exclude", "Role")
    assert fewer.exit_code == 1
    assert olmc("render", "own-namespace", "--fail-on-change").exit_code == 2
    assert olmc("render", "own-namespace", "--output-dir", tmp_path, "--fail-on-change", "--check").exit_code == 2
