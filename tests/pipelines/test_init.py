"""`olmc init`: what it writes, and that it never writes over anything."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from commands import clone_repository
from pipeline_workshop import copied

from olmc.cli.main import main
from olmc.integrations.pipelines import scaffolds
from olmc.integrations.pipelines.scaffolds import SCAFFOLDS, files_of
from olmc.version import __version__

KINDS = {
    "argocd": ["argocd"],
    "flux": ["flux", "--url", "oci://registry.example.com/a"],
    "flux-gitlab": ["flux", "--url", "oci://registry.example.com/a", "--ci", "gitlab"],
    "github": ["github"],
    "gitlab": ["gitlab"],
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def init(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["init", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", KINDS)
def test_it_says_what_it_wrote_and_what_comes_next(kind: str, tmp_path: Path) -> None:
    result = init(*KINDS[kind], "out")
    written = contents(tmp_path)
    assert result.exit_code == 0
    listed, _, after = result.stdout.partition("\nNext:\n")
    assert sorted(line.split() for line in listed.splitlines()) == [["new", name] for name in sorted(written)]
    assert after.strip()
    assert "{" not in after
    assert all(stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o644 for name in written)


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_time_changes_nothing(kind: str, tmp_path: Path) -> None:
    init(*KINDS[kind])
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    result = init(*KINDS[kind])
    assert result.exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert "new" not in result.stdout.partition("\nNext")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_another_file_is_never_overwritten(kind: str, tmp_path: Path) -> None:
    """One file in the way, and nothing at all is written; --force writes it."""
    init(*KINDS[kind])
    first, *others = sorted(contents(tmp_path))
    good = contents(tmp_path)
    (tmp_path / first).write_text("mine\n", encoding="utf-8")
    for name in others:
        (tmp_path / name).unlink()
    result = init(*KINDS[kind])
    assert result.exit_code == 1
    assert contents(tmp_path) == {first: b"mine\n"}
    assert "--force" in result.stderr
    assert first.rpartition("/")[2] in result.stderr
    assert f"differs   {first}" in result.stdout
    forced = init(*KINDS[kind], "--force")
    assert (forced.exit_code, f"replaced  {first}" in forced.stdout) == (0, True)
    assert contents(tmp_path) == good


@pytest.mark.parametrize("kind", KINDS)
def test_a_dry_run_writes_nothing(kind: str, tmp_path: Path) -> None:
    result = init(*KINDS[kind], "--dry-run")
    assert result.exit_code == 0
    assert result.stdout.startswith("new ")
    assert "Next" not in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_in_the_way_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (tmp_path / "argocd").mkdir()
    (tmp_path / "argocd/plugin.yaml").symlink_to(outside)
    assert init("argocd").exit_code == 1
    assert not outside.exists()
    outside.write_text("precious\n", encoding="utf-8")
    assert init("argocd", "--force").exit_code == 0
    assert outside.read_text(encoding="utf-8") == "precious\n"
    assert not (tmp_path / "argocd/plugin.yaml").is_symlink()


def test_a_folder_that_can_not_be_made(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("a file\n", encoding="utf-8")
    result = init("github")
    assert result.exit_code == 3
    assert result.stderr.startswith("error: ")


@pytest.mark.parametrize("name", SCAFFOLDS)
@pytest.mark.parametrize("text", ["a: b # c", "'\"", "yes", "${{ secrets.X }}", "$(id)", "{@ x @}"])
def test_values_are_quoted(name: str, text: str) -> None:
    """A value is a value in YAML whatever is in it, and never becomes part of a script."""
    files = files_of(name, {"path": text, "url": text, "name": text, "image": text})
    for file, content in files.items():
        if file.endswith((".yaml", ".yml")):
            assert text in scalars(yaml.safe_load(content)) or text not in content, file
            assert text not in scripts(content), file


def scalars(value: object) -> list[object]:
    if isinstance(value, dict):
        return [scalar for item in value.values() for scalar in scalars(item)]
    if isinstance(value, list):
        return [scalar for item in value for scalar in scalars(item)]
    return [value]


def scripts(content: str) -> str:
    """The texts with several lines of a YAML file."""
    return "".join(
        str(scalar) for scalar in scalars(yaml.safe_load(content)) if isinstance(scalar, str) and "\n" in scalar
    )


def test_what_pip_installs_is_a_setting() -> None:
    """One word, whatever characters a shell or YAML would read otherwise."""
    commit = f"git+https://git.example.com/olmc.git@{'0123456789' * 4}"
    for name in SCAFFOLDS:
        files = files_of(name, {"path": ".", "url": "oci://a", "name": "a", "image": "a", "install": commit})
        assert any(commit in content for content in files.values()), name
        assert not any("install olmc==" in content for content in files.values()), name
    assert CliRunner().invoke(main, ["init", "github", "--dry-run", "--install", "a; rm -rf /"]).exit_code == 2


@pytest.mark.parametrize(
    ("noted", "expected"),
    [
        ({"url": "https://git.example.com/olmc.git", "vcs_info": {"vcs": "git", "commit_id": "0a" * 20}},
         f"git+https://git.example.com/olmc.git@{'0a' * 20}"),
        ({"url": "file:///home/harbour/olmc", "vcs_info": {"vcs": "git", "commit_id": "0a" * 20}}, None),
        ({"url": "https://git.example.com/olmc.git; x", "vcs_info": {"vcs": "git", "commit_id": "0a" * 20}}, None),
        ({"url": "https://git.example.com/olmc.git", "vcs_info": {"vcs": "git", "commit_id": "main"}}, None),
        ({"url": "file:///home/harbour/olmc", "dir_info": {"editable": True}}, None),
        (None, None),
    ],
)  # fmt: skip
def test_a_pipeline_installs_the_commit_that_wrote_it(
    noted: dict[str, Any] | None, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PEP 610: pip notes the commit from which it installs; a folder of this machine helps no pipeline."""
    text = json.dumps(noted) if noted is not None else None
    monkeypatch.setattr(scaffolds, "distribution", lambda _: SimpleNamespace(read_text=lambda _: text))
    assert scaffolds.own_requirement() == (expected or f"git+https://olmc.dev/olmc.git@v{__version__}")


@pytest.mark.process
def test_a_clone_is_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pip install .` notes a folder; a pipeline gets the commit if origin has it, and no password of its address."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "setup.py").touch()
    clone = clone_repository(tmp_path / "files", tmp_path / "a clone")
    noted = json.dumps({"url": clone.as_uri(), "dir_info": {}})
    monkeypatch.setattr(scaffolds, "distribution", lambda _: SimpleNamespace(read_text=lambda _: noted))

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=clone, check=True, capture_output=True, text=True).stdout.strip()

    tag, commit = f"git+https://olmc.dev/olmc.git@v{__version__}", git("rev-parse", "HEAD")
    for address, expected in {
        "https://git.example.com/olmc.git": f"git+https://git.example.com/olmc.git@{commit}",
        "https://me:secret@git.example.com/olmc.git": tag,
        "../olmc.git": tag,
    }.items():
        git("config", "remote.origin.url", address)
        git("update-ref", "-d", "refs/remotes/origin/main")
        assert scaffolds.own_requirement() == tag
        git("update-ref", "refs/remotes/origin/main", commit)
        assert scaffolds.own_requirement() == expected


def test_the_version_of_olmc_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pipeline does must not depend on the day."""
    monkeypatch.setattr(scaffolds, "distribution", lambda _: SimpleNamespace(read_text=lambda _: None))
    for name in SCAFFOLDS:
        files = files_of(name, {"path": ".", "url": "oci://a", "name": "a", "image": "a"})
        assert any(__version__ in content for content in files.values()), name


@pytest.mark.parametrize("kind", KINDS)
def test_what_runs_olmc_is_no_part_of_what_it_renders(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files lie in the workspace, where they are written by default; a patch is no Deployment to be applied."""
    monkeypatch.chdir(copied("own-namespace", tmp_path / "workspace"))
    command = ["render", "--for", "apply", "-o", "name"]
    before = CliRunner().invoke(main, command)
    init(*KINDS[kind])
    after = CliRunner().invoke(main, command)
    assert before.exit_code == 0
    assert (after.exit_code, after.stdout, after.stderr) == (0, before.stdout, before.stderr)
