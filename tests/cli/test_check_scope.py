"""What of a directory `olmc check` is about: own bundles and others', versions, and what a branch adds."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from building import bundle_files, described, write_workspace
from commands import olmc

EXAMPLE, NO_MINIMUM = "OLMC270", "OLMC272"


def write_bundles(root: Path, *names: str, **operator: Any) -> Path:
    """A folder of bundles, each in a folder of its name."""
    for name in names:
        for path, text in bundle_files(described({"name": name, "owned": ["Kettle"], **operator})).items():
            target = root / path.removeprefix("bundles/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    return root


def told(*arguments: str | Path) -> list[tuple[str, str, str]]:
    """Code, severity and folder of each finding about bundles' examples and minKubeVersion."""
    result = olmc("check", *arguments, "--select", "OLMC27", "--all", "-o", "json")
    found = json.loads(result.stdout)["findings"]
    return [(each["code"], each["severity"], each["path"].partition("/")[0]) for each in found]


def test_the_author_of_a_bundle_is_warned(tmp_path: Path) -> None:
    """A bundle by itself, and a folder with nothing but versions of one package, is checked by whoever writes it."""
    root = write_bundles(tmp_path, "kettle.v1.0.0")
    assert {severity for _, severity, _ in told(root)} == {"warning"}
    assert {severity for _, severity, _ in told(root / "kettle.v1.0.0")} == {"warning"}
    assert {severity for _, severity, _ in told(root, "--no-author")} == {"info"}


def test_who_only_installs_is_not(tmp_path: Path) -> None:
    """A Subscription, a catalog, or bundles of several packages: these bundles are somebody else's."""
    several = write_bundles(tmp_path / "several", "kettle.v1.0.0", "cup.v1.0.0")
    installed = tmp_path / "installed"
    write_workspace(
        installed, {"groups": {"ns/og": "own"}, "operators": [{"name": "kettle.v1.0.0", "owned": ["Kettle"]}]}
    )
    for root in (several, installed):
        assert {severity for _, severity, _ in told(root)} == {"info"}
        assert {severity for _, severity, _ in told(root, "--author")} == {"warning"}


def test_what_breaks_is_told_to_everybody(tmp_path: Path) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "brewer"}}
    extra = {"permissions": {"brewer": ["get pods"]}, "files": {"sa.yaml": account}}
    root = write_bundles(tmp_path, "kettle.v1.0.0", "cup.v1.0.0", **extra)
    assert [each for each in told(root) if each[1] == "failure"] == [
        ("OLMC279", "failure", "cup.v1.0.0"), ("OLMC279", "failure", "kettle.v1.0.0"),
    ]  # fmt: skip


def test_of_versions_the_newest_counts(tmp_path: Path) -> None:
    root = write_bundles(tmp_path, "kettle.v1.2.0", "kettle.v1.10.0", "kettle.v1.9.0")
    assert {folder for _, _, folder in told(root)} == {"kettle.v1.10.0"}
    assert {folder for _, _, folder in told(root, "--all-versions")} == {
        "kettle.v1.2.0", "kettle.v1.9.0", "kettle.v1.10.0",
    }  # fmt: skip
    assert olmc("check", root).stdout.endswith("(1 bundle validated, 2 older versions not looked at)\n")


def test_a_comment_in_an_older_version_is_not_in_vain(tmp_path: Path) -> None:
    root = write_bundles(tmp_path, "kettle.v1.0.0", "kettle.v1.1.0")
    path = next((root / "kettle.v1.0.0").rglob("*clusterserviceversion.yaml"))
    path.write_text(f"# olmc: ignore[OLMC270] no example yet\n{path.read_text()}", encoding="utf-8")
    assert "OLMC440" not in olmc("check", root, "--all").stdout


def test_versions_that_a_catalog_serves_all_count(tmp_path: Path) -> None:
    operators = [{"name": "kettle.v1.0.0"}, {"name": "kettle.v1.1.0", "replaces": "kettle.v1.0.0"}]
    write_workspace(tmp_path, {"groups": {"ns/og": "own"}, "operators": operators})
    assert "(2 bundles validated)" in olmc("check", tmp_path).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose branch main has one bundle, below `operators`."""
    write_bundles(tmp_path / "operators", "kettle.v1.0.0")
    monkeypatch.chdir(tmp_path)
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        identity = ["-c", "user.name=n", "-c", "user.email=n@example.com"]
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)
    return tmp_path


def test_since_tells_what_is_new(repository: Path) -> None:
    """A line that moves is no news; a finding of another file, or one more of the same, is."""
    root = Path("operators")
    assert olmc("check", root, "--since", "main").stdout == "no findings (1 bundle validated, 4 findings known)\n"
    path = next((repository / "operators").rglob("*clusterserviceversion.yaml"))
    csv = json.loads(path.read_text())
    csv["spec"]["minKubeVersion"] = "1.2"
    path.write_text(json.dumps(csv, indent=2), encoding="utf-8")
    assert told(root, "--since", "main") == [("OLMC273", "failure", "kettle.v1.0.0")]
    assert olmc("check", root, "--since", "main").exit_code == 1
    assert told(root / "kettle.v1.0.0", "--since", "main") == [("OLMC273", "failure", "manifests")]
    write_bundles(repository / "more", "cup.v1.0.0")
    assert len(told("more", "--since", "HEAD")) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["operators", "--since", "nowhere"], "nowhere"),
        (["operators/kettle.v1.0.0/metadata/annotations.yaml", "--since", "main"], "--since compares directories"),
        ([str(Path(__file__).parent), "--since", "main"], "is not in the repository of the current directory"),
    ],
)
def test_since_what_git_does_not_have(arguments: list[str], said: str, repository: Path) -> None:  # noqa: ARG001
    result = olmc("check", *arguments)
    assert result.exit_code in (2, 3)
    assert said in result.stderr


def test_statistics(tmp_path: Path) -> None:
    root = write_bundles(tmp_path, "kettle.v1.0.0", "kettle.v1.1.0", owned=["Kettle", "Lid"])
    assert olmc("check", root, "--statistics", "--all-versions").stdout == (
        "4  OLMC261 failure: The annotations of a bundle are not in order\n"
        "2  OLMC270 warning: An API without an example\n"
        "2  OLMC272 warning: A CSV without minKubeVersion\n"
        "8 findings (2 bundles validated)\n"
    )
    data = json.loads(olmc("check", root, "--statistics", "-o", "json").stdout)
    assert [(each["code"], each["count"]) for each in data["statistics"]] == [
        ("OLMC261", 2), ("OLMC270", 1), ("OLMC272", 1),
    ]  # fmt: skip
    assert olmc("check", root, "--statistics", "-o", "sarif").exit_code == 2


def test_since_without_a_repository_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In git's own words, with the prefix and the way out that all errors have."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    write_bundles(tmp_path, "kettle.v1.0.0")
    result = olmc("check", ".", "--since", "main")
    assert result.exit_code == 3
    assert "error: --since main can't be read: not a git repository" in result.stderr
    assert "[OLMC482]\n  Run olmc inside of a clone" in result.stderr
