"""`vendor/` as it is written: everything beside its place, synced, then renamed into it."""

from __future__ import annotations

import os
import posixpath
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from olmc.diagnostics.rules import vendor as rules
from olmc.load.config import LOCK_FILE, lock_text
from olmc.load.vendored import BLOBS, FOLDERS, MARK, MARK_FILE, VENDOR_FOLDER, intact_folder, path_of
from olmc.model.diagnostics import Report
from olmc.model.workspace import Lock, LockedImage
from olmc.output.directory import PARTIAL, put, sync_folder
from olmc.vendor.layers import FOLDER, Held, Tree
from olmc.vendor.sources import VendorError

GIT_ATTRIBUTES = f"{MARK}* -text linguist-vendored\n"

_MAX_LINKS = 8
# Git would take these for its own: it commits nothing below them, or something else than what is there.
_OF_GIT = frozenset({".git", ".gitattributes", ".gitignore"})


def check_folder(root: Path) -> None:
    """Raise VendorError if vendor/ is there and is not olmc's, or leads elsewhere: much of it may be removed."""
    folder = root / VENDOR_FOLDER
    blobs = root / BLOBS
    for path in (folder, *(folder / name for name in FOLDERS.values()), blobs, *blobs.glob("*")):
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise VendorError(rules.FOREIGN_FOLDER, path=path.relative_to(root).as_posix())
    mark = folder / MARK_FILE
    is_ours = mark.is_file() and mark.read_bytes().startswith(MARK.encode())
    # A run that was killed may have left an empty folder, or one with its mark half written.
    if not is_ours and folder.exists() and any(not one.name.startswith(PARTIAL) for one in folder.iterdir()):
        raise VendorError(rules.FOREIGN_FOLDER, path=VENDOR_FOLDER)


@contextmanager
def stage(root: Path) -> Iterator[Path]:
    """A folder to work in, on the file system of the workspace; it is gone in the end, and so is what runs that were
    killed have left."""
    # In the workspace itself, as nothing can be renamed from one file system to another.
    for left in root.glob(f"{PARTIAL}vendor-*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}vendor-", dir=root))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_tree(tree: Tree, folders: Mapping[str, str], target: Path) -> tuple[str, ...]:
    """Write the files of `tree` below `target`: those of each folder in `folders` to the place that it names.

    Hidden folders are left out, as in every workspace, and so is what would tell Git how to treat the others.
    The paths of what was written come back. Raises VendorError for links that lead out, and for names that are
    the same on some file systems.
    """
    files = dict(_files(tree, folders))
    _check_clashes(tree, files)
    for path, data in sorted(files.items()):
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(data, place)
        # Before the folder is renamed: after a crash a complete name must not stand for empty files.
        _sync(place)
    return tuple(sorted(files))


def _files(tree: Tree, folders: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    for name, what in tree.held.items():
        for folder, place in folders.items():
            if what is not FOLDER and name.startswith(f"{folder}/") and _is_content(name[len(folder) + 1 :]):
                yield posixpath.join(place, name[len(folder) + 1 :]), _data(tree, name, what)


def _is_content(path: str) -> bool:
    """Whether a file inside of the wanted folders is more than housekeeping."""
    *folders, name = path.split("/")
    return not any(folder.startswith(".") for folder in folders) and name.casefold() not in _OF_GIT


def _data(tree: Tree, name: str, what: Held) -> Path:
    """The content at a path, links inside of the wanted folders followed."""
    place = name
    for _ in range(_MAX_LINKS):
        if what.data is not None:
            return what.data
        place = posixpath.normpath(posixpath.join("/", posixpath.dirname(place), what.link)).strip("/")
        linked = tree.held.get(place)
        if linked is None:
            cause = "leads nowhere" if tree.wants(place) else "leaves the content"
            raise tree.unsafe(name, f"a link to {what.link}, which {cause}")
        if linked is FOLDER:
            raise tree.unsafe(name, f"a link to the folder {what.link}")
        what = linked
    raise tree.unsafe(name, "a link that leads to itself, or through too many others")


def _check_clashes(tree: Tree, files: Mapping[str, Path]) -> None:
    spellings: dict[str, tuple[str, bool]] = {}
    for path in sorted(files):
        parts = path.split("/")
        for length in range(1, len(parts) + 1):
            name, is_file = "/".join(parts[:length]), length == len(parts)
            folded = unicodedata.normalize("NFC", name).casefold()
            other, was_file = spellings.setdefault(folded, (name, is_file))
            if other != name:
                raise tree.unsafe(name, f"it is the same as {other} on file systems that don't tell case")
            if is_file != was_file:
                raise tree.unsafe(name, "it is a file and a folder at once")


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def place(root: Path, image: LockedImage, folder: Path) -> bool:
    """Rename the folder `made` to where the content of an image belongs; False if it is there already."""
    target = root / path_of(image)
    if intact_folder(root, image, Report()) is not None:
        return False
    mark = root / VENDOR_FOLDER / MARK_FILE
    mark.parent.mkdir(exist_ok=True)
    if not mark.is_file() or mark.read_bytes() != GIT_ATTRIBUTES.encode():
        put(mark, GIT_ATTRIBUTES, synced=True)
    target.parent.mkdir(exist_ok=True)
    # What was there before goes to the stage, not away: until the new folder stands in its place, nothing is lost.
    if os.path.lexists(target):
        target.rename(folder.with_name(f"{folder.name}-before"))
    folder.rename(target)
    sync_folder(target.parent)
    return True


def write_lock(root: Path, operators: Lock | None, images: Sequence[LockedImage]) -> bool:
    """Write olmc.lock if it changes; whether it did."""
    path, text = root / LOCK_FILE, lock_text(operators, images)
    if path.is_file() and path.read_bytes() == text.encode():
        return False
    if operators is None and not images and not path.exists():
        return False
    put(path, text, synced=True)
    return True


def remove_others(root: Path, images: Sequence[LockedImage]) -> tuple[str, ...]:
    """Remove what vendor/ holds besides the content of `images`; the paths that are gone."""
    gone = others(root, images)
    for path in gone:
        target = root / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()
    for folder in FOLDERS.values():
        with suppress(OSError):
            (root / VENDOR_FOLDER / folder).rmdir()
    return gone


def others(root: Path, images: Sequence[LockedImage]) -> tuple[str, ...]:
    """The paths in vendor/ that no image of `images` accounts for."""
    kept = {path_of(image) for image in images}
    paths = [path for folder in FOLDERS.values() for path in (root / VENDOR_FOLDER / folder).glob("*")]
    return tuple(sorted(name for path in paths if (name := path.relative_to(root).as_posix()) not in kept))


@contextmanager
def undo_on_failure(root: Path) -> Iterator[list[Path]]:
    """A list of folders that are new; those that are still in it in the end are removed, and vendor/ if it is new."""
    folder = root / VENDOR_FOLDER
    was_there = folder.exists()
    had_mark = (folder / MARK_FILE).exists()
    placed: list[Path] = []
    try:
        yield placed
    finally:
        for path in placed:
            if path.is_file():
                path.unlink(missing_ok=True)
            shutil.rmtree(path, ignore_errors=True)
        if placed and not had_mark:
            (folder / MARK_FILE).unlink(missing_ok=True)
        with suppress(OSError):
            for empty in (folder / "catalogs", folder / "bundles", *(() if was_there else (folder,))):
                if empty.is_dir() and not any(empty.iterdir()):
                    empty.rmdir()
