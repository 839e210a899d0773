"""Files are never half there, and several are changed together or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from olmc.compiler.output.directory import put, rewrite


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("synced", [False, True])
def test_a_file_is_written_as_it_is(synced: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    put(path, "ä: 1\r\nb: 2\n", synced=synced)
    put(path, "ö: 1\r\nb: 2\n", mode=0o600, synced=synced)
    assert path.read_bytes() == "ö: 1\r\nb: 2\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(tmp_path) == ["a.yaml"]


def test_a_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to("target")
    put(tmp_path / "link", "new")
    assert ((tmp_path / "target").read_text(), (tmp_path / "link").read_text()) == ("mine", "new")
    assert not (tmp_path / "link").is_symlink()


def test_what_can_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A text that UTF-8 can't hold, and a folder in the way."""
    (tmp_path / "a").write_text("before")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UnicodeEncodeError):
        put(tmp_path / "a", "\ud800")
    with pytest.raises(OSError, match="folder"):
        put(tmp_path / "folder", "text")
    assert (tmp_path / "a").read_text() == "before"
    assert names(tmp_path) == ["a", "folder"]


def test_files_are_rewritten_with_their_modes_and_links(tmp_path: Path) -> None:
    for name, mode in (("a", 0o640), ("b", 0o755)):
        (tmp_path / name).write_text(name)
        (tmp_path / name).chmod(mode)
    (tmp_path / "link").symlink_to("b")
    rewrite({tmp_path / "a": "A", tmp_path / "link": "B"})
    assert [(tmp_path / name).read_text() for name in ("a", "b")] == ["A", "B"]
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "b")] == [0o640, 0o755]
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path) == ["a", "b", "link"]


@pytest.mark.parametrize("bad", ["gone", "folder", "link-to-nothing", "unwritable"])
def test_all_are_rewritten_or_none(bad: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before")
    (tmp_path / "unwritable").write_text("before")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link-to-nothing").symlink_to("nothing")
    before = names(tmp_path)
    with pytest.raises((OSError, UnicodeEncodeError)):
        rewrite({tmp_path / "a": "after", tmp_path / bad: "\ud800" if bad == "unwritable" else "after"})
    assert (tmp_path / "a").read_text() == "before"
    assert names(tmp_path) == before


def test_a_rename_that_fails_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Path, target: Path) -> Path:
        raise OSError(f"{self.name} can't become {os.fspath(target)}")

    (tmp_path / "a").write_text("before")
    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="can't become"):
        put(tmp_path / "a", "after")
    with pytest.raises(OSError, match="can't become"):
        rewrite({tmp_path / "a": "after"})
    assert names(tmp_path) == ["a"]
