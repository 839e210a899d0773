"""The clusters of a fleet: folders that a repository has, by name, by pattern, or as Argo CD and Flux apply them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from olmc.fleet.trees import FileTree
from olmc.lean import NamedTuple
from olmc.load.entries import entries_to_choose
from olmc.load.files import scan
from olmc.load.kustomization import NAMES
from olmc.model.diagnostics import Report

_WILD = frozenset("*?[")


class FleetEntry(NamedTuple):
    """A cluster: its folder in the repository, and which of the ways to install it is meant if that is a chart."""

    path: str
    release: int | None = None

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return self.path or "." if not self.release else f"{self.path}#{self.release + 1}"


def entries_of(top: Path, patterns: Iterable[str], trees: Sequence[FileTree]) -> tuple[list[FleetEntry], list[str]]:
    """The clusters that patterns name, relative to the repository at `top`, in order, and the patterns that name none.

    A pattern with `*`, `?` or `[...]` names folders of all trees, `**` at any depth. A folder that holds several
    entries names all of them.
    """
    entries: dict[FleetEntry, None] = {}
    idle = []
    folders: list[str] = []
    for pattern in patterns:
        if not _WILD & set(pattern):
            meant = list(_named(top, posixpath.normpath(pattern), trees))
        else:
            folders = folders or sorted({folder for tree in trees for folder in folders_of(tree)})
            parts = posixpath.normpath(pattern).split("/")
            meant = [FleetEntry(folder) for folder in folders if _fits(folder.split("/"), parts)]
        entries.update(dict.fromkeys(meant))
        idle += [] if meant else [pattern]
    return sorted(entries, key=lambda entry: (entry.path, entry.release or 0)), idle


def as_pattern(entry: FleetEntry) -> str:
    """What names the folder of an entry and no other, in a list of entries as well, where # begins a remark."""
    path = "".join(f"[{char}]" if char in _WILD else char for char in entry.path)
    return f"./{path}" if path.startswith("#") else path or "."


def folders_of(tree: FileTree) -> Iterator[str]:
    """All folders of a tree but hidden ones."""
    known = {""}
    for path in tree.paths:
        folder = posixpath.dirname(path)
        while folder not in known:
            known.add(folder)
            if not any(part.startswith(".") for part in folder.split("/")):
                yield folder
            folder = posixpath.dirname(folder)


def _named(top: Path, path: str, trees: Sequence[FileTree]) -> Iterator[FleetEntry]:
    """The cluster in a folder, or those of the repository that it is."""
    path = "" if path == "." else path
    if not any(True for tree in trees for _ in tree.below(path)):
        return
    root = top / path
    is_kustomization = any((root / name).is_file() for name in NAMES)
    chosen = entries_to_choose(root, scan(root, Report())) if root.is_dir() and not is_kustomization else ()
    counts: dict[str, int] = {}
    for entry in chosen:
        below = posixpath.normpath(posixpath.join(path, entry.path))
        number = counts.get(below, 0)
        counts[below] = number + 1
        yield FleetEntry(below, number if entry.release is not None else None)
    if not chosen:
        yield FleetEntry(path)


def _fits(folder: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not folder
    if pattern[0] == "**":
        return any(_fits(folder[at:], pattern[1:]) for at in range(len(folder) + 1))
    return bool(folder) and fnmatchcase(folder[0], pattern[0]) and _fits(folder[1:], pattern[1:])


def shard(entries: Sequence[FleetEntry], count: int, index: int) -> list[FleetEntry]:
    """The part with a number, from 0, of so many parts that are about as large: neighbours, which are often alike, are
    in different ones."""
    return list(entries[index::count])
