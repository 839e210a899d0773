"""A cache of results, by the digest of their inputs. Without the cache a run only takes longer.

An entry is a file named by its key: the digest of (key and content), then the content. Torn, foreign and changed
entries do not have that digest. An entry that can't be read or written counts as absent, so a cache makes no run fail.
Content is data that its reader validates, never pickles. It may contain values of Secrets, so only its owner may read
it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256  # OpenSSL's: this hashes megabytes
from pathlib import Path

from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import CACHE_BYTES
from olmc.resources import program_state
from olmc.version import __version__

NO_CACHE = "OLMC_NO_CACHE"
"""The variable of the environment that turns the cache off."""

_DIGEST = 32
_PARTIAL = "partial-"
_ABANDONED = 3600
"""Seconds after which what was half-written belongs to a run that is no more."""


class Cache(NamedTuple):
    """A folder of entries, and the identity of the program that writes them."""

    folder: Path
    program: bytes


class Usage(NamedTuple):
    """The size of a cache: entries, their bytes, and the largest number of bytes."""

    entries: int
    bytes: int
    most: int


def default_folder() -> Path:
    """`$XDG_CACHE_HOME/olmc`, as the XDG base directory specification has it: a relative path counts as unset. Raises
    RuntimeError for a user without a home."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "olmc"


def user_cache() -> Cache | None:
    """Return the cache of the user; None if OLMC_NO_CACHE is set, or if other users can write into the folder."""
    if is_off():
        return None
    try:
        folder = default_folder()
    except RuntimeError:  # no home
        return None
    return open_cache(folder) if is_own(folder) else None


def is_off() -> bool:
    """Return whether the environment says that there is to be no cache."""
    return os.environ.get(NO_CACHE, "") not in ("", "0")


def is_own(folder: Path) -> bool:
    """Return whether a folder belongs to the user and other users can't write into it, or whether it does not exist
    yet."""
    try:
        name, status = folder.lstat(), folder.stat()
    except FileNotFoundError:
        return not folder.is_symlink()
    except OSError:
        return False
    user = getattr(os, "geteuid", lambda: status.st_uid)()
    is_open = not stat.S_ISDIR(status.st_mode) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not is_open and {name.st_uid, status.st_uid} == {user}


def open_cache(folder: Path) -> Cache:
    """The cache in a folder, which need not exist, for the olmc that runs."""
    return Cache(folder, sha256(f"{__version__}\n{program_state()}".encode()).digest())


def key(cache: Cache, kind: str, *parts: bytes) -> str:
    """The name of an entry: of its kind, and of everything that its content was computed from, in order."""
    state = sha256(cache.program)
    for part in (kind.encode(), *parts):
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return state.hexdigest()


def read(cache: Cache, name: str) -> bytes | None:
    """The content under a key, or None where there is none that is whole."""
    path = _path(cache, name)
    data = _content_of(path)
    if data is None:
        return None
    content = memoryview(data)[_DIGEST:]
    if data[:_DIGEST] != _digest(name, content):
        return None
    with suppress(OSError):
        os.utime(path)  # the oldest are the first to go
    return bytes(content)


def _content_of(path: Path) -> bytes | None:
    """Return the content of a file; None if it is no regular file, such as a pipe without a writer, or is too large."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > CACHE_BYTES.most:
                return None
            return stream.read(status.st_size)
    except OSError:
        return None


def write(cache: Cache, name: str, content: bytes) -> bool:
    """Keep a content under a key, all of it or nothing; False where the folder does not take it."""
    path = _path(cache, name)
    partial = path.with_name(f"{_PARTIAL}{os.urandom(8).hex()}")
    try:
        for folder in (cache.folder, path.parent):  # each of them: above the last one the umask alone would count
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_digest(name, content))
                stream.write(content)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError:
        return False
    return True


def usage(cache: Cache) -> Usage:
    """Return how much is kept, by all versions of olmc."""
    sizes = [size for _, size, _ in _entries(cache)]
    return Usage(len(sizes), sum(sizes), CACHE_BYTES.most)


def trim(cache: Cache) -> None:
    """Remove what was used the longest ago, until the rest is within its limit, and what killed runs left behind."""
    entries = sorted(_entries(cache), key=lambda entry: entry[2])
    excess = sum(size for _, size, _ in entries) - CACHE_BYTES.most
    abandoned = time.time() - _ABANDONED
    for path, size, used in entries:
        remove = used < abandoned if path.name.startswith(_PARTIAL) else excess > 0
        if remove:
            excess -= size
            with suppress(OSError):
                path.unlink()


def clear(cache: Cache) -> Usage:
    """Remove all entries; what was there. Raises OSError where one cannot be removed."""
    before = usage(cache)
    for path, _, _ in list(_entries(cache)):
        path.unlink(missing_ok=True)
    return before


def _path(cache: Cache, name: str) -> Path:
    return cache.folder / name[:2] / name


def _digest(name: str, content: bytes | memoryview) -> bytes:
    state = sha256(name.encode())
    state.update(content)
    return state.digest()


def _entries(cache: Cache) -> Iterator[tuple[Path, int, float]]:
    """The files of the cache and nothing else that stands in its folder: path, size in bytes, when it was used."""
    with suppress(OSError):
        for shard in sorted(cache.folder.iterdir()):
            if len(shard.name) == 2 and shard.is_dir() and not shard.is_symlink():
                for path in sorted(shard.iterdir()):
                    if path.name.startswith((shard.name, _PARTIAL)):
                        with suppress(OSError):
                            status = path.lstat()
                            yield path, status.st_size, status.st_mtime
