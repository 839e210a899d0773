"""The files of a repository on one side of a change: in a work tree, or in a revision of git; none is read twice, and
none before somebody asks for it."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha1, sha256  # OpenSSL's: these hash megabytes
from pathlib import Path

from olmc.diff.git import RevisionFile, blob_contents
from olmc.lean import NamedTuple
from olmc.load.files import MAX_FILE_BYTES
from olmc.load.manifests import SUFFIXES

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
