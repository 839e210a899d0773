"""The clusters of a fleet: folders that a repository has, by name, by pattern, or as Argo CD and Flux apply them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path

from olmc.fleet.trees import FileTree
from olmc.lean import NamedTuple
from olmc.load.entries import entries_to_choose
from olmc.load.files import scan
from olmc.load.kustomization import NAMES
from olmc.model.diagnostics import Report
from olmc.model.limits import DEPTH

_WILD = frozenset("*?[")
_ANY = "**"


class TooDeepError(Exception):
    """A pattern goes through more folders in each other than olmc looks at; the argument is the first too many."""


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
    entries names all of them. Raises TooDeepError where `**` would name folders deeper than any workspace.
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
            _check_depth(parts, folders)
            meant = [FleetEntry(folder) for folder in folders if _fits(folder.split("/"), parts)]
        entries.update(dict.fromkeys(meant))
        idle += [] if meant else [pattern]
    return sorted(entries, key=lambda entry: (entry.path, entry.release or 0)), idle


def _check_depth(pattern: Sequence[str], folders: Iterable[str]) -> None:
    """Raise TooDeepError for the first folder that only a `**` reaches so far down: each folder of a chain would be a
    cluster, with everything below it."""
    if _ANY not in pattern:
        return
    above = list(pattern[: pattern.index(_ANY)])
    for folder in folders:
        if folder.count("/") > DEPTH.most:
            parts = folder.split("/", DEPTH.most + 2)[: DEPTH.most + 2]
            if _fits(parts[: len(above)], above):
                raise TooDeepError("/".join(parts))


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
    """Whether a pattern names a folder; each part of it is compared once with each part of the pattern at most."""
    ends = _with_empty({0}, pattern)
    for part in folder:
        further = {at + (pattern[at] != _ANY) for at in ends if at < len(pattern) and _fits_part(part, pattern[at])}
        ends = _with_empty(further, pattern)
    return len(pattern) in ends


def _fits_part(part: str, pattern: str) -> bool:
    return pattern == _ANY or fnmatchcase(part, pattern)


def _with_empty(ends: set[int], pattern: Sequence[str]) -> set[int]:
    """How much of a pattern is used up, also where the `**` behind that stand for no folder at all."""
    found = set(ends)
    for at in ends:
        following = takewhile(lambda number: pattern[number] == _ANY, range(at, len(pattern)))
        found.update(number + 1 for number in following)
    return found


def shard(entries: Sequence[FleetEntry], count: int, index: int) -> list[FleetEntry]:
    """The part with a number, from 0, of so many parts that are about as large: neighbours, which are often alike, are
    in different ones."""
    return list(entries[index::count])
