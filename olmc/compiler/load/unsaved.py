"""A folder some of whose files are other ones than on the disk: those that an editor has not saved yet, and those that
a commit leaves out."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Base = Path
else:
    _Base = type(Path())  # that of the system; pathlib makes no other ones


class UnsavedPath(_Base):
    """A path that is read as all are, but for files in `unsaved`, which have these bytes, and for what is at and below
    the paths in `absent`, which is not there; what is made of it by joining, resolving and the like is such a path as
    well."""

    unsaved: Mapping[str, bytes] = MappingProxyType({})
    absent: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _path_with, (str(self), dict(self.unsaved), self.absent)

    @property
    def is_unsaved(self) -> bool:
        """Return whether it has another text than the disk."""
        return str(self) in self.unsaved

    @property
    def is_absent(self) -> bool:
        """Return whether it counts as absent, also if the disk has it."""
        return bool(self.absent) and f"{os.path.abspath(self)}/".startswith(self.absent)  # noqa: PTH100  # no link

    def _check_there(self) -> None:
        if self.is_absent:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))

    def open(self, mode: str = "r", *args: Any, **values: Any) -> IO[Any]:  # type: ignore[override]
        self._check_there()
        if not self.is_unsaved:
            return super().open(mode, *args, **values)
        stream = tempfile.TemporaryFile()  # noqa: SIM115  # readers ask for its size, which takes a real file
        stream.write(self.unsaved[str(self)])
        stream.seek(0)
        return stream

    def read_bytes(self) -> bytes:
        self._check_there()
        return self.unsaved[str(self)] if self.is_unsaved else super().read_bytes()

    def read_text(self, encoding: str | None = None, errors: str | None = None, **values: Any) -> str:
        self._check_there()
        if not self.is_unsaved:
            return super().read_text(encoding, errors, **values)
        return self.unsaved[str(self)].decode(encoding or "utf-8", errors or "strict")

    def stat(self, **values: Any) -> os.stat_result:
        """Of a file with another text: a regular file of its size, also where the disk has none yet."""
        self._check_there()
        if not self.is_unsaved:
            return super().stat(**values)
        return os.stat_result((stat.S_IFREG | 0o600, 0, 0, 1, 0, 0, len(self.unsaved[str(self)]), 0, 0, 0))

    def is_file(self, **values: Any) -> bool:
        return self.is_unsaved or (not self.is_absent and super().is_file(**values))

    def is_dir(self, **values: Any) -> bool:
        return not self.is_absent and super().is_dir(**values)

    def exists(self, **values: Any) -> bool:
        return self.is_unsaved or (not self.is_absent and super().exists(**values))


def with_unsaved(root: Path, texts: Mapping[Path, str]) -> Path:
    """The path `root`, below and beside which the files in `texts` have these texts instead of those on the disk.

    Texts that `root` has in the place of files already stay.

    All that reads through `pathlib` sees them; a file that is not on the disk yet is in no list of its folder, and is
    read by those alone who look for it by its name, such as olmc.yaml.
    """
    content = {path: text.encode("utf-8", "surrogatepass") for path, text in texts.items()}
    unsaved = {str(path): data for path, data in content.items()}
    unsaved |= {os.path.realpath(path): data for path, data in content.items()}
    unsaved = {**(root.unsaved if isinstance(root, UnsavedPath) else {}), **unsaved}
    absent = root.absent if isinstance(root, UnsavedPath) else ()
    return _path_with(str(root), unsaved, absent) if unsaved else root


def without_files(root: Path, absent: Iterable[Path]) -> Path:
    """The path `root`, below and beside which these files and folders, as resolved paths, are not there for all that
    reads through `pathlib`; those that `root` is in stay."""
    here = f"{root.resolve()}/"
    found = tuple(folder for folder in (f"{path}/" for path in absent) if not here.startswith(folder))
    return _path_with(str(root), {}, found) if found else root


def _path_with(path: str, unsaved: Mapping[str, bytes], absent: tuple[str, ...]) -> Path:
    made: Path = type("UnsavedPath", (UnsavedPath,), {"unsaved": unsaved, "absent": absent})(path)
    return made


def has_absent(root: Path) -> bool:
    """Return whether something below or beside a path counts as not there."""
    return isinstance(root, UnsavedPath) and bool(root.absent)


def is_absent(path: Path) -> bool:
    """Return whether a file or folder counts as absent, also if the disk has it."""
    return isinstance(path, UnsavedPath) and path.is_absent


def is_unsaved(path: Path) -> bool:
    """Return whether a file has another text than the disk, so that a program which is given its path reads what is
    old."""
    return isinstance(path, UnsavedPath) and path.is_unsaved
