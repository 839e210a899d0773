"""The files of a workspace, followed in this process."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from olmc.compiler.model.options import Options
from olmc.integrations.serve import server
from olmc.integrations.serve.server import compile_workspace, follow, is_of_interest, state_of
from olmc.integrations.serve.store import Store, new_store
from olmc.targets.proposed.installed.view import viewing


@pytest.fixture
def root(project: Path, tmp_path: Path) -> Path:
    return shutil.copytree(project / "fixtures" / "installed", tmp_path / "workspace")


def first(root: Path) -> Store:
    view = compile_workspace(root, Options()).view
    assert view is not None
    return new_store(view)


def test_the_command_line_decides_on_the_version_of_olm_before_the_workspace(root: Path) -> None:
    """Nothing of a CSV's labels is as in another version: 0.18 put olm.api labels on it."""
    chosen = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {olmVersion: '0.25'}\n"
    (root / "olmc.yaml").write_text(chosen, encoding="utf-8")
    base = Options(olm_version="0.18.0")
    assert viewing(root, base).olm_version == "0.25"
    assert viewing(root, base, frozenset({"olm_version"})).olm_version == "0.18.0"
    assert "olm.api." in str(compile_workspace(root, base, frozenset({"olm_version"})).view)
    assert "olm.api." not in str(compile_workspace(root, base).view)


def test_the_state_of_files_changes_with_them(root: Path) -> None:
    before = state_of(root)
    assert state_of(root) == before
    (root / "new.yaml").write_text("", encoding="utf-8")
    added = state_of(root)
    (root / "new.yaml").write_text("a: b\n", encoding="utf-8")
    assert len({before, added, state_of(root)}) == 3
    (root / "new.yaml").unlink()
    assert state_of(root) == before
    shutil.rmtree(root)
    assert state_of(root) != before


def test_hidden_folders_do_not_matter_unless_the_workspace_is_in_one() -> None:
    root = Path("/home/.me/workspace")
    assert is_of_interest(root, root / "a" / "b.yaml")
    assert is_of_interest(root, root / ".olmcignore")
    assert not is_of_interest(root, root / ".git" / "index")


def followed(feed: Store, root: Path, looks: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said while files are followed, with `looks` instead of the operating system."""
    said: list[str] = []
    monkeypatch.setattr(server, "awatch", looks)
    monkeypatch.setattr(server, "LOOK_AGAIN_SECONDS", 0.01)
    asyncio.run(follow(feed, root, Options(), state_of(root), said.append))
    return said


@pytest.mark.slow
def test_only_what_is_different_is_published(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look without a change, a change that means nothing, one that can't be compiled, and one that counts."""
    feed = first(root)

    async def looks(*_: object, **__: object) -> AsyncIterator[object]:
        yield "no change"
        (root / "README.md").write_text("other words\n", encoding="utf-8")
        yield "a change that means nothing"
        (root / "broken.yaml").write_text("x: [{apiVersion: v1, kind: Pod},\n", encoding="utf-8")
        yield "a broken file"
        (root / "broken.yaml").unlink()
        (root / "operators.yaml").unlink()
        yield "nobody watches any more"
        feed.close()

    said = followed(feed, root, looks, monkeypatch)
    assert [text.splitlines()[0].partition(" ")[0] for text in said] == [
        "broken.yaml:1:4:", "clusterserviceversions:1,subscriptions:1:",
    ]  # fmt: skip
    assert "OLMC655" in said[0]
    assert said[1].endswith(": 2 deleted\n")
    assert len(feed.history) == 2


def test_without_help_of_the_operating_system_files_are_polled(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = first(root)
    polled: list[object] = []

    async def looks(*_: object, force_polling: bool | None, **__: object) -> AsyncIterator[object]:
        polled.append(force_polling)
        if not force_polling:
            raise OSError("no watches left")
        feed.close()
        yield "once"

    assert followed(feed, root, looks, monkeypatch) == []
    assert polled == [None, True]


@pytest.mark.slow
def test_a_folder_that_goes_before_it_is_watched_is_missed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be watched where nothing is, but it is looked at, and said, as is that it comes back."""
    feed = first(root)
    away = root.with_name("away")
    root.rename(away)
    watched: list[bool] = []

    async def looks(*_: object, **__: object) -> AsyncIterator[object]:
        watched.append(root.is_dir())
        if len(watched) == 1:
            raise FileNotFoundError(root)
        away.rename(root)
        (root / "operators.yaml").unlink()
        yield "it is back"
        feed.close()

    said: list[str] = []
    monkeypatch.setattr(server, "awatch", looks)
    monkeypatch.setattr(server, "LOOK_AGAIN_SECONDS", 0.01)
    asyncio.run(follow(feed, root, Options(), state_of(away), said.append))
    assert watched == [False, False]
    assert ["OLMC655" in text for text in said] == [True, False]
    assert said[1].endswith(": 2 deleted\n")


@pytest.mark.slow
def test_an_error_of_the_compiler_does_not_end_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next look tries again, even if no file has changed since."""
    feed = first(root)
    sound = server.compile_workspace
    calls: list[int] = []

    def unsound(path: Path, options: Options, given: frozenset[str]) -> server.ServedWorkspace:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("out of tea")
        return sound(path, options, given)

    async def looks(*_: object, **__: object) -> AsyncIterator[object]:
        (root / "operators.yaml").unlink()
        yield "a change"
        yield "nothing new"
        feed.close()

    monkeypatch.setattr(server, "compile_workspace", unsound)
    said = followed(feed, root, looks, monkeypatch)
    assert said == [
        "olmc: internal error: RuntimeError: out of tea\n", "clusterserviceversions:1,subscriptions:1: 2 deleted\n",
    ]  # fmt: skip


@pytest.mark.slow
def test_packages_have_a_generation_of_their_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = first(root)
    catalog = root / "catalogs" / "harbour" / "catalog.yaml"

    async def looks(*_: object, **__: object) -> AsyncIterator[object]:
        text = catalog.read_text(encoding="utf-8").replace("Lights that ships see.", "Lights.")
        catalog.write_text(text, encoding="utf-8")
        yield "another description"
        feed.close()

    assert followed(feed, root, looks, monkeypatch) == []
    assert (feed.packages.generation, len(feed.history)) == (2, 1)


def test_what_the_command_line_says_outweighs_olmc_yaml(root: Path) -> None:
    """An option that is given stays, also when it is the default; all others are the workspace's own."""
    text = "apiVersion: olmc.dev/v1alpha1\nkind: Config\nspec: {olmVersion: '0.25.0', descoped: true}\n"
    (root / "olmc.yaml").write_text(text, encoding="utf-8")
    default = Options().olm_version
    own, chosen = viewing(root, Options()), viewing(root, Options(), frozenset({"olm_version"}))
    assert (own.olm_version, own.descoped) == ("0.25.0", True)
    assert (chosen.olm_version, chosen.descoped) == (default, True)


def test_approved_installs_are_served(project: Path) -> None:
    """R-INSTALL-10: with --approve-installs the operators of v2alpha1 are installed, without they wait."""
    root = project / "fixtures" / "operator-v2alpha1"
    waiting = compile_workspace(root, Options(), frozenset()).view
    approved = compile_workspace(root, Options(approve_installs=True), frozenset({"approve_installs"})).view
    assert waiting is not None and approved is not None
    assert [each.name for each in waiting.installations.operators] == []
    assert [each.name for each in approved.installations.operators] == ["beacon.v1.0.0", "ferry.v1.0.0"]
    assert [each.targets for each in approved.installations.operators] == [("operators",), ("operators",)]
