"""Files and streams as a workspace: what another tool prints is checked as if it stood in a file."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner, Result

from olmc.cli.main import main


@pytest.fixture
def fixture(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = project / "fixtures" / "own-namespace"
    monkeypatch.chdir(folder)
    return folder


def olmc(*arguments: str, stream: str = "") -> Result:
    done = CliRunner().invoke(main, [*arguments], input=stream)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_a_stream_and_a_file_are_one_workspace(fixture: Path) -> None:
    operators = (fixture / "operators.yaml").read_text(encoding="utf-8")
    together = olmc("render", "cluster.yaml", "-", "-o", "name", stream=operators)
    assert "Subscription/harbour/beacon" in together.stdout.splitlines()
    assert "CatalogSource/olm/harbour" in together.stdout.splitlines()
    assert olmc("render", "cluster.yaml", "operators.yaml", "-o", "name").stdout == together.stdout


@pytest.mark.parametrize("command", ["render", "status", "resolve"])
def test_a_stream_counts_beside_a_directory(
    fixture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The catalog in a folder, its Subscription in a pipe: the same as all of it in one folder."""
    for name in ("bundles", "catalogs"):
        copytree(fixture / name, tmp_path / "repository" / name)
    monkeypatch.chdir(tmp_path)
    stream = "\n---\n".join((fixture / name).read_text(encoding="utf-8") for name in ("cluster.yaml", "operators.yaml"))
    done = olmc(command, "repository", "-", stream=stream)
    assert (done.exit_code, done.stdout) == (0, olmc(command, str(fixture)).stdout)


def test_findings_have_their_place_and_comments_accept_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata:\n  name: a\n"
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert olmc("check", "a.yaml").stdout.startswith("a.yaml:1:1: failure: ")
    assert olmc("check", "-", stream=text).stdout.startswith("stdin.yaml:1:1: failure: ")
    accepted = olmc("check", "-", stream=f"# olmc: ignore[OLMC129] on purpose\n{text}")
    assert "1 suppressed" in accepted.stdout
    assert accepted.exit_code == 0


def test_two_directories_and_a_stream_are_wrong_usage(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert olmc("check", str(tmp_path / "a"), str(tmp_path / "b"), "-").exit_code == 2
    assert olmc("resolve", str(tmp_path / "a"), str(tmp_path / "b")).exit_code == 2
    assert olmc("resolve", "-", "--update").exit_code == 2


def test_what_can_not_be_read_as_yaml_is_a_finding(tmp_path: Path) -> None:
    assert olmc("check", "-", stream="a: [").exit_code == 3
    (tmp_path / "raw").write_bytes(b"\xff\xfe")
    assert "is not UTF-8" in olmc("check", str(tmp_path / "raw")).stdout
