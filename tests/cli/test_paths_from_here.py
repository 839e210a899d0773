"""Paths and commands in what olmc prints are as one gives them where one stands, whatever the command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import olmc

from olmc.cli.console import folder_for_others, folder_of_patch
from olmc.compiler.output.messages import advice_from

_PLACE = "prod/operators.yaml"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose workspace `prod` asks for a channel that there is not, in the current directory."""
    monkeypatch.chdir(tmp_path)
    assert olmc("init", "example", "prod").exit_code == 0
    shutil.copytree(tmp_path / "prod", tmp_path / "before")
    operators = tmp_path / _PLACE
    operators.write_text(operators.read_text().replace("channel: stable", "channel: stabel"))
    return tmp_path


@pytest.mark.slow
def test_each_command_names_files_from_here(here: Path) -> None:
    """Whoever stands above a workspace can open each place, and run each command, that olmc names."""
    why = olmc("why", "lantern", "prod").stdout
    assert f"from {_PLACE}:7:1" in why
    assert f"({_PLACE}:16:12)" in " ".join(why.split())
    for output in ("text", "markdown", "html"):
        plan = olmc("plan", "prod", "--from", "before", "-o", output).stdout.replace("<wbr>", "")
        assert f"{_PLACE}:16:12" in plan
        assert "`olmc fix prod --from before`" in " ".join(plan.split()).replace("<code>", "`").replace("</code>", "`")
    olmc("report", "prod", "--output-dir", "site")
    pages = "".join(page.read_text().replace("<wbr>", "") for page in (here / "site").rglob("*.html"))
    assert f"<code>{_PLACE}:" in pages
    olmc("report", here / "prod", "--output-dir", "site")
    pages = "".join(page.read_text().replace("<wbr>", "") for page in (here / "site").rglob("*.html"))
    assert f"<code>{_PLACE}:" in pages
    assert here.as_posix() not in pages


def test_commands_repeat_the_cluster_with_which_a_command_begins() -> None:
    """Without --from, `olmc fix` would look at another cluster; a catalog is fetched for any of them."""
    text = "`olmc fix` cures it, `olmc why beacon` explains it, `olmc vendor` fetches it, `olmc fix --from x` is done."
    assert advice_from("prod", text, ("git:main", "a b.yaml")) == (
        "`olmc fix prod --from git:main --from 'a b.yaml'` cures it, `olmc why beacon prod --from git:main --from "
        "'a b.yaml'` explains it, `olmc vendor prod` fetches it, `olmc fix --from x` is done."
    )
    assert advice_from("", "`olmc fix`", ("git:main",)) == "`olmc fix --from git:main`"


@pytest.mark.usefixtures("here")
def test_patch_applies_from_here() -> None:
    """`git apply` takes the patch of `olmc fix` where olmc ran."""
    patch = olmc("fix", "prod", "--dry-run").stdout
    assert f"--- a/{_PLACE}\n+++ b/{_PLACE}\n" in patch


def test_folders_for_pages_and_patches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have no path above the current directory, and patches none that git refuses."""
    (tmp_path / "here" / "prod").mkdir(parents=True)
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    paths = [Path("prod"), tmp_path / "here" / "prod", Path("../there"), tmp_path / "there", Path()]
    assert [folder_for_others(path) for path in paths] == ["prod", "prod", "there", "there", ""]
    assert [folder_of_patch(path) for path in paths] == ["prod", "prod", "", "", ""]


def test_hints_name_the_workspace_and_what_it_has(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that olmc advises works where olmc ran: it has the folder, and a package that exists."""
    unknown = olmc("resolve", "prod", "--pin", "beacon=1.0.0").stderr
    assert "olmc graph" not in unknown
    assert "Subscriptions ask for lantern." in unknown
    assert "`olmc graph lantern prod`" in olmc("resolve", "prod", "--pin", "lantern=9.0.0").stderr
    assert advice_from("prod", "Put it into catalogs/harbour/.") == "Put it into prod/catalogs/harbour/."
    assert advice_from("prod", "Put it into bundles/, or not.") == "Put it into prod/bundles/, or not."
    monkeypatch.setenv("PATH", "")
    without = olmc("init", "example", "new")
    assert (without.exit_code, without.stderr.splitlines()[0]) == (
        3,
        "error: git can't be run: there is none on PATH; nothing is written",
    )
    assert not (here / "new").exists()
