"""`.gitignore` files at any depth, as git reads them, and what `.olmcignore` takes back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from cpu_time import measure
from scenarios import write
from small_files import loaded, namespace

from olmc.cli.main import main
from olmc.compiler.load.files import git_ignore_lines, scan_everything, scan_workspace, spec_of

PATHS = ("a.yaml", "build/a.yaml", "sub/a.yaml", "sub/build/b.yaml", "sub/deep/a.yaml", "sub/deep/c.yaml")


def read(root: Path, patterns: dict[str, str]) -> set[str]:
    given = {path: namespace(f"n{number}") for number, path in enumerate(PATHS)}
    workspace, said = loaded(root, {**given, **patterns})
    assert said == []
    return {manifest.source.path for manifest in workspace.manifests}


@pytest.mark.parametrize(
    ("patterns", "ignored"),
    [
        ({".gitignore": "build/\n"}, {"build/a.yaml", "sub/build/b.yaml"}),
        ({".gitignore": "/build\n"}, {"build/a.yaml"}),
        ({"sub/.gitignore": "a.yaml\n"}, {"sub/a.yaml", "sub/deep/a.yaml"}),
        ({"sub/.gitignore": "/a.yaml\n"}, {"sub/a.yaml"}),
        ({"sub/.gitignore": "deep/a.yaml\n"}, {"sub/deep/a.yaml"}),
        ({"sub/.gitignore": "# all\n\nbuild/\n"}, {"sub/build/b.yaml"}),
        ({".gitignore": "a.yaml\n", "sub/.gitignore": "!a.yaml\n"}, {"a.yaml", "build/a.yaml"}),
        ({".gitignore": "build/\n", ".olmcignore": "!/build/\n"}, {"sub/build/b.yaml"}),
        ({".gitignore": "c[[:alpha:]]*\n"}, set()),
        (
            {".gitignore": "# of * many * stars * in * comments\n" * 6_000 + "build/\n"},
            {"build/a.yaml", "sub/build/b.yaml"},
        ),
    ],
)
def test_what_git_ignores_is_not_read(patterns: dict[str, str], ignored: set[str], tmp_path: Path) -> None:
    assert read(tmp_path, patterns) == set(PATHS) - ignored


def test_a_folder_with_odd_letters_is_only_itself(tmp_path: Path) -> None:
    given = {"s[u]b/.gitignore": "a.yaml\n", "s[u]b/a.yaml": namespace("left"), "s[u]b/b.yaml": namespace("beside")}
    assert read(tmp_path, given) == {*PATHS, "s[u]b/b.yaml"}
    assert git_ignore_lines(tmp_path) == ("/s\\[u\\]b/**/a.yaml",)


def test_reviews_say_what_is_not_read(tmp_path: Path) -> None:
    """For a file may have been added by force."""
    given = {"a.yaml": namespace("a"), "local/b.yaml": namespace("b"), ".gitignore": "local/\n"}
    result = CliRunner().invoke(main, ["check", "--all", str(write(tmp_path, given))])
    assert "named by .gitignore, so not in the repository unless it was added by force [OLMC174]" in result.stdout
    assert result.exit_code == 0


@pytest.mark.parametrize(
    "pattern", ["*a" * 12 + "*b", "**/a/" * 30 + "b", "*[a-c]" * 60 + "b", "*" * 300 + "b", "a**a**a**b"]
)
@pytest.mark.parametrize("path", ["a" * 250, "a/" * 200 + "c", "\udcff" * 40])
def test_a_pattern_with_many_stars_is_cheap(pattern: str, path: str) -> None:
    """Forty characters could be divided among a dozen stars for hours; and a name need be no text."""
    seconds = measure()
    assert not spec_of([pattern])(path)
    assert seconds() < 1


def test_a_pattern_that_is_longer_than_any_path_is_no_pattern() -> None:
    with pytest.raises(ValueError, match="1,001 characters"):
        spec_of(["a" * 1_001])
    assert spec_of(["a" * 1_000])("a" * 1_000)


@pytest.mark.parametrize("pattern", ["[t-k]", "a/[z-a]*", "[[:alpha:]]"])
def test_a_range_that_ends_before_it_begins_is_no_pattern(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"z-a|t-k|alpha"):
        spec_of([pattern])


@pytest.mark.parametrize(
    "more",
    [
        {},
        {".gitignore": "build/\n"},
        {"sub/.gitignore": "a.yaml\n"},
        {".olmcignore": "c.yaml\n"},
        {".github/a.yaml": "", "sub/.hidden/a.yaml": ""},
        {"sub/deep/.hidden.yaml": ""},
    ],
)
def test_a_scan_that_knows_an_earlier_one_is_the_same(more: dict[str, str], tmp_path: Path) -> None:
    """Folders without anything special are not listed again, whatever the patterns of either scan are."""
    root = write(tmp_path, {**{path: namespace("n") for path in PATHS}, **more})
    patterns: tuple[tuple[str, ...], ...] = ((), ("a.yaml",), ("sub/",), ("!build/",))
    scans = [(ignored, is_read) for ignored in patterns for is_read in (True, False)]
    for ignored, is_read in scans:
        known = scan_workspace(root, ignored, ignore_file=is_read)
        for others, are_read in scans:
            again = scan_workspace(root, others, ignore_file=are_read, known=known)
            assert again == scan_workspace(root, others, ignore_file=are_read)
        assert scan_everything(root, known=known) == scan_everything(root)


def test_whole_folders_are_not_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path, {**{path: namespace("n") for path in PATHS}, ".github/a.yaml": ""})
    known, listed = scan_workspace(root), list[Path]()
    scandir = os.scandir

    def list_folder(path: str) -> Iterator[os.DirEntry[str]]:
        listed.append(Path(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", list_folder)
    assert scan_workspace(root, ignore_file=False, known=known).folder == known.folder
    assert scan_everything(root, known=known).folder("sub") == known.folder.folder("sub")
    assert listed == [root, root, root / ".github"]


def test_folders_behind_links_are_listed_again(tmp_path: Path) -> None:
    """Which links count depends on the folders that a scan has seen."""
    root = write(tmp_path, {path: namespace("n") for path in PATHS})
    (root / "link").symlink_to("sub")
    known = scan_workspace(root)
    assert not known.whole
    assert scan_workspace(root, known=known) == known


def test_a_scan_that_knows_an_earlier_one_counts_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path, {path: namespace("n") for path in PATHS})
    known = scan_workspace(root)
    monkeypatch.setenv("OLMC_LIMIT_FILES", "5")
    assert scan_workspace(root, known=known) == scan_workspace(root)
    assert scan_workspace(root, known=known).is_cut
