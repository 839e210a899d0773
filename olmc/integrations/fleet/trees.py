"""The files of a repository on one side of a change: in a work tree, or in a revision of git; none is read twice, and
none before somebody asks for it.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from hashlib import sha1, sha256  # OpenSSL's: these hash megabytes
from itertools import takewhile
from pathlib import Path
from typing import Any

from olmc.compiler.load.entries import entries_to_choose
from olmc.compiler.load.files import MAX_FILE_BYTES, scan
from olmc.compiler.load.kustomization import NAMES, REPOSITORY_MARK
from olmc.compiler.load.manifests import SUFFIXES
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import DEPTH
from olmc.review.diff.git import RevisionFile, blob_contents, within_depth

LINK = "120000"
_FILE = "100644"
_GIT = ".git"
_TOO_LARGE = "size:"
"""How the names of files begin that nobody reads because of their size: only that counts."""


class FileTree(NamedTuple):
    """The paths of a tree in order, what a file is (its mode, its name as git names contents, its size), and its
    content. `file_of` and `read` raise OSError. `by_name` has contents by their names as far as they are known to be
    at hand; `fetch` brings the contents of many files at once where each would be asked for by itself."""

    paths: tuple[str, ...]
    file_of: Callable[[str], RevisionFile]
    read: Callable[[str], bytes]
    by_name: Mapping[str, Callable[[], bytes]]
    fetch: Callable[[Iterable[str]], None]

    def below(self, folder: str) -> Iterator[str]:
        """The paths below a folder, "" for all of them."""
        start = f"{folder}/" if folder else ""
        for at in range(bisect_left(self.paths, start), len(self.paths)):
            if not self.paths[at].startswith(start):
                return
            yield self.paths[at]

    def has(self, path: str) -> bool:
        """Whether there is a file at a path."""
        at = bisect_left(self.paths, path)
        return at < len(self.paths) and self.paths[at] == path


def work_tree(top: Path, *, hexdigits: int = 40) -> FileTree:
    """The tree in a folder; names are as long as those of the revision that it is compared with."""
    files: dict[str, RevisionFile] = {}
    by_name: dict[str, Callable[[], bytes]] = {}

    def file_of(path: str) -> RevisionFile:
        if path not in files:
            files[path] = _file_at(top / path, hexdigits)
            by_name.setdefault(files[path].name, lambda: content_at(top / path))
        return files[path]

    return FileTree(tuple(sorted(_walk(top))), file_of, lambda path: content_at(top / path), by_name, lambda _: None)


def revision_tree(files: Mapping[str, RevisionFile], known: Mapping[str, Callable[[], bytes]]) -> FileTree:
    """The tree of a revision; `known` has contents by the names that git gives them, of which it need not be asked."""
    fetched: dict[str, bytes] = {}

    def fetch(paths: Iterable[str]) -> None:
        names = {files[path].name: None for path in paths if not is_too_large(files[path])}
        fetched.update(blob_contents([name for name in names if name not in known and name not in fetched]))

    def read(path: str) -> bytes:
        name = files[path].name
        if name in known:
            return known[name]()
        if name not in fetched:
            # One question for all that have the name of the file, such as all kustomizations.
            alike = path.rpartition("/")[2]
            fetch(other for other in files if other.rpartition("/")[2] == alike)
        return fetched[name]

    return FileTree(tuple(sorted(files)), files.__getitem__, read, {}, fetch)


def content_at(path: Path) -> bytes:
    """The content of a file, the target of a link; b"" of a file that is too large to be read. Raises OSError."""
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return path.read_bytes() if path.stat().st_size <= MAX_FILE_BYTES else b""


def digest_of(content: bytes) -> str:
    """The name of a content among those that tasks bring along."""
    return sha256(content).hexdigest()


def is_too_large(file: RevisionFile) -> bool:
    """Whether only the size of a file counts."""
    return file.size > MAX_FILE_BYTES


def _walk(top: Path) -> Iterator[str]:
    """The files and links below a folder; of hidden folders those that could be manifests, of git's none. What is
    neither, such as a pipe, is nothing that can be read to its end."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        is_hidden = any(part.startswith(".") for part in prefix.split("/")[:-1])
        with suppress(OSError), os.scandir(top / prefix) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting += [f"{prefix}{entry.name}/"] if entry.name != _GIT else []
                elif (
                    (entry.is_symlink() or entry.is_file(follow_symlinks=False))
                    and entry.name != _GIT
                    and (not is_hidden or entry.name.endswith(SUFFIXES))
                ):
                    yield f"{prefix}{entry.name}"


def _file_at(path: Path, hexdigits: int) -> RevisionFile:
    status = path.lstat()
    mode = LINK if path.is_symlink() else _FILE
    if status.st_size > MAX_FILE_BYTES:
        return RevisionFile(mode, f"{_TOO_LARGE}{status.st_size}", status.st_size)
    content = content_at(path)
    algorithm = sha1 if hexdigits == 40 else sha256
    name = algorithm(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    return RevisionFile(mode, name, len(content))


# The clusters of a fleet: folders that a repository has, by name, by pattern, or as Argo CD and Flux apply them.

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


# The files of a task in folders of their own, made of contents that are there by their digests.

_KEPT = 2
"""How many folders that count beside entries a worker keeps: those of both sides."""


class WorkerFolders(NamedTuple):
    """Where a worker has contents by their digests, and where it puts the files of its tasks."""

    blobs: Path
    folder: Path


@contextmanager
def staged(
    worker: WorkerFolders, files: Sequence[Sequence[Any]] | None, name: str, entry: str
) -> Iterator[Path | None]:
    """The folder of an entry whose files are laid out, None where there is no such side; gone afterwards."""
    if files is None:
        yield None
        return
    top = worker.folder / name
    try:
        _lay_out(worker, files, top, entry.count("/") + 1)
        (top / REPOSITORY_MARK).touch()  # where the repository ends, so that nothing above it is read
        place = top / entry
        place.mkdir(parents=True, exist_ok=True)
        yield place
    finally:
        shutil.rmtree(top, ignore_errors=True)


def staged_beside(worker: WorkerFolders, digest: str, path: str) -> Path:
    """The folder that counts beside entries, whose list of files has this digest; it stays for the next task."""
    top = worker.folder / f"beside-{digest[:24]}"
    if not top.is_dir():
        kept = sorted(worker.folder.glob("beside-*"), key=lambda folder: folder.stat().st_mtime)
        for old in kept[: max(0, len(kept) - _KEPT + 1)]:
            shutil.rmtree(old, ignore_errors=True)
        partial = worker.folder / f"partial-{digest[:24]}"
        shutil.rmtree(partial, ignore_errors=True)
        import json

        _lay_out(worker, json.loads((worker.blobs / digest).read_bytes()), partial, path.count("/") + 1)
        partial.rename(top)
    return top / path


def put_blob(blobs: Path, digest: str, content: bytes) -> None:
    """Keep a content by its digest, all of it or nothing."""
    path = blobs / digest
    if not path.exists():
        partial = blobs / f"{digest}.{os.getpid()}"
        partial.write_bytes(content)
        partial.replace(path)


def _lay_out(worker: WorkerFolders, files: Sequence[Sequence[Any]], top: Path, above: int) -> None:
    top.mkdir(parents=True)
    links: list[tuple[Path, bytes]] = []
    folders = {top}
    for path, mode, digest, size in files:
        place = top / path
        if path != (short := within_depth(path, above)):
            (top / short).mkdir(parents=True, exist_ok=True)
            continue
        if place.parent not in folders:
            place.parent.mkdir(parents=True, exist_ok=True)
            folders.add(place.parent)
        if not digest:
            place.touch()
            os.truncate(place, size)  # the reader refuses it by its size
        elif mode == LINK:
            links.append((place, (worker.blobs / digest).read_bytes()))
        else:
            try:
                os.link(worker.blobs / digest, place)
            except OSError:
                shutil.copyfile(worker.blobs / digest, place)
    for place, target in links:  # after all files, so that none is written through one
        with suppress(ValueError):
            place.symlink_to(os.fsdecode(target))
