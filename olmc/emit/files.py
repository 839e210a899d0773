"""Text files, written beside their place and renamed into it, so that none is ever half there."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

PARTIAL = ".olmc-"
"""What the names of files that are not whole yet begin with: hidden, and so no part of a workspace."""


def put(path: Path, text: str, *, mode: int = 0o644, synced: bool = False) -> None:
    """Write a file, UTF-8 and with line ends as they are; a link is replaced, not followed.

    With `synced` it is on the disk when this returns, whatever happens to the machine. Raises OSError; what was there
    is there still.
    """
    partial = _beside(path, text, mode, synced=synced)
    try:
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    if synced:
        sync_folder(path.parent)


def rewrite(texts: Mapping[Path, str]) -> None:
    """Give files of somebody else's a new text, all of them or, with OSError, none.

    Permissions stay, and where a path is a link, the file that it leads to is changed.
    """
    partials: list[tuple[Path, Path]] = []
    try:
        for path, text in texts.items():
            target = path.resolve(strict=True)
            if not target.is_file():
                raise OSError(errno.EINVAL, "it is no file", os.fspath(path))
            partials.append((_beside(target, text, stat.S_IMODE(target.stat().st_mode)), target))
        for partial, target in partials:
            partial.replace(target)
    except BaseException:
        for partial, _ in partials:
            partial.unlink(missing_ok=True)
        raise


def _beside(path: Path, text: str, mode: int, *, synced: bool = False) -> Path:
    """A file of that text and mode in the folder of `path`."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=PARTIAL)
    partial = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            if synced:
                stream.flush()
                os.fsync(stream.fileno())
        partial.chmod(mode)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return partial


def sync_folder(path: Path) -> None:
    """Have the disk know what is in a folder, on systems that can."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
