"""Write objects as a directory, a file each. olmc writes each file beside its place and then renames it."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import TypeAlias

from olmc.compiler.model.options import Phase
from olmc.compiler.model.workspace import GENERATED as MARK
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import ObjectKey, Rendered, has_values
from olmc.k8s.yaml import dump_one, read
from olmc.k8s.yaml.emitter import object_parts

PARTIAL = ".olmc-"
"""The prefix of the names of incomplete files: hidden, and so no part of a workspace."""


PLAIN, PRIVATE = 0o666, 0o600
"""The permissions of other users on a file, before the umask restricts them."""


def put(path: Path, text: str, *, mode: int = PLAIN, synced: bool = False) -> None:
    """Write a file, UTF-8 and with line ends as they are; replace a link, do not follow it. The umask restricts `mode`.

    With `synced` the file is on the disk when this returns, also after a crash of the machine. Raises OSError; the
    previous file stays then.
    """
    put_parts(path, [text.encode()], mode=mode, synced=synced)


def put_parts(path: Path, parts: Iterable[bytes], *, mode: int = PLAIN, synced: bool = False) -> None:
    """As `put`, for a file in parts."""
    # Renaming is the one step that others can't see half of.
    partial = _beside(path, parts, mode, synced=synced)
    try:
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    if synced:
        sync_folder(path.parent)


def link_below(folder: Path, path: str) -> Path | None:
    """Return the first link on the way from a folder to a path below it, as a file written there would be elsewhere.
    None if there is no link."""
    place = folder
    for part in PurePosixPath(path).parts:
        place = place / part
        if place.is_symlink():
            return place
    return None


def rewrite(texts: Mapping[Path, str], *, new: Collection[Path] = ()) -> None:
    """Give files of somebody else's a new text, and make those that are `new`: all of them or, with OSError, none.

    Permissions stay, and where a path is a link, the file that it leads to is changed.
    """
    partials: list[tuple[Path, Path]] = []
    try:
        for path, text in texts.items():
            if path in new:
                partials.append((_beside(path, [text.encode()], PLAIN), path))
                continue
            target = Path(os.path.realpath(path, strict=True))
            if not target.is_file():
                raise OSError(errno.EINVAL, "it is no file", os.fspath(path))
            partial = _beside(target, [text.encode()], PRIVATE)
            partials.append((partial, target))
            partial.chmod(stat.S_IMODE(target.stat().st_mode))
        # All are on the disk before the first takes its place: a full disk changes nothing.
        for partial, target in partials:
            partial.replace(target)
    except BaseException:
        for partial, _ in partials:
            partial.unlink(missing_ok=True)
        raise


def _beside(path: Path, parts: Iterable[bytes], mode: int, *, synced: bool = False) -> Path:
    """A file of that content and mode, without what the umask takes, in the folder of `path`."""
    # Not by tempfile, which gives each file to its owner alone and says nothing of the umask.
    partial = path.with_name(f"{PARTIAL}{token_hex(8)}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(parts)
            if synced:
                stream.flush()
                os.fsync(stream.fileno())
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


KUSTOMIZATION = "kustomization.yaml"

_ODD = regex(r"[^a-z0-9.-]+")
_NAME_LIMIT = 120
_PHASE_MARKS: Mapping[Phase, str] = {1: "# Phase 1 of two.\n", 2: "# Phase 2 of two.\n"}


class Changes(NamedTuple):
    """The differences between a directory and a new output: file names, sorted."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    stale: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Return whether there is any difference."""
        return bool(self.added or self.changed or self.stale)


def conflicting(objects: Sequence[Rendered]) -> list[ObjectKey]:
    """The objects that are there more than once, and not the same each time."""
    first: dict[ObjectKey, Rendered] = {}
    return [o.identity for o in objects if first.setdefault(o.identity, o).object != o.object]


Files: TypeAlias = dict[str, list[bytes]]
"""The content of each file by its name, in parts: what many files have in common is held once."""


def files_of(objects: Sequence[Rendered], phase: Phase = 0) -> Files:
    """The content of each file, `kustomization.yaml` included, which says when they are one phase alone."""
    named = _named(objects)
    head = f"{MARK}\n".encode()
    texts = object_parts([rendered.object for rendered in named.values()])
    files = {name: [head, *parts] for name, parts in zip(named, texts, strict=True)}
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list(named)}
    files[KUSTOMIZATION] = [f"{MARK}\n{_PHASE_MARKS.get(phase, '')}{dump_one(kustomization)}".encode()]
    return files


def private_in(objects: Sequence[Rendered]) -> frozenset[str]:
    """The names of the files that are for their owner alone: those with the values of a Secret."""
    if not any(has_values(rendered.object) for rendered in objects):
        return frozenset()  # names take their time, and few outputs have such values
    return frozenset(name for name, rendered in _named(objects).items() if has_values(rendered.object))


def _named(objects: Sequence[Rendered]) -> dict[str, Rendered]:
    named: dict[str, Rendered] = {}
    for rendered in {rendered.identity: rendered for rendered in objects}.values():
        name = file_name(rendered.identity)
        if name in named:
            name = name.removesuffix(".yaml") + f"-{_digest(str(rendered.identity) + rendered.identity.group)}.yaml"
        if name in named:
            # Short digests are for people. Chosen names can have the same short digest, and then one object would
            # replace the file of another.
            whole = hashlib.sha256(repr(tuple(rendered.identity)).encode()).hexdigest()
            name = f"{name.removesuffix('.yaml')[:_NAME_LIMIT]}-{whole}.yaml"
        named[name] = rendered
    return named


def file_name(identity: ObjectKey) -> str:
    """A readable file name for an object: kind, namespace, name; shortened with a digest when it gets too long."""
    parts = [identity.kind, identity.namespace, identity.name]
    plain = "_".join(_ODD.sub("-", part.lower()) for part in parts if part)
    lossless = "_".join(part for part in parts[1:] if part)
    if len(plain) > _NAME_LIMIT or lossless != lossless.lower() or _ODD.search(lossless.replace("_", "")):
        # File systems that know no case, or no long names, must not take two objects for one.
        plain = f"{plain[:_NAME_LIMIT]}-{_digest(str(identity))}"
    return f"{plain}.yaml"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def changes(folder: Path, files: Files) -> Changes:
    """Return the changes that writing `files` to `folder` would make; files that olmc did not write are left alone."""
    added, changed = [], []
    for name, parts in files.items():
        path = folder / name
        if not path.is_file():
            added.append(name)
        elif path.read_bytes() != b"".join(parts):
            changed.append(name)
    return Changes(tuple(sorted(added)), tuple(sorted(changed)), tuple(sorted(_stale(folder, files))))


def phase_in(folder: Path) -> Phase | None:
    """The phase that an earlier run wrote to `folder`, 0 for an output as a whole; None if none wrote there."""
    kustomization = folder / KUSTOMIZATION
    if not _is_marked(kustomization):
        return None
    after = _text(kustomization).removeprefix(f"{MARK}\n")
    return next((phase for phase, mark in _PHASE_MARKS.items() if after.startswith(mark)), 0)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def _stale(folder: Path, files: Collection[str]) -> set[str]:
    """The files in `folder` that an earlier run wrote and that are none of `files`: those named by its
    kustomization.yaml that carry the mark."""
    kustomization = folder / KUSTOMIZATION
    if not kustomization.is_file() or not _is_marked(kustomization):
        return set()
    documents = read(KUSTOMIZATION, _text(kustomization), Report())
    value = documents[0].value if documents else None
    listed = value.get("resources") if isinstance(value, dict) else None
    names = {name for name in listed or () if isinstance(name, str) and "/" not in name and name not in ("", "..")}
    # Only what is named there and carries the mark may be deleted: a file put beside it is somebody's own.
    return {name for name in (names | {KUSTOMIZATION}).difference(files) if _is_marked(folder / name)}


def _is_marked(path: Path) -> bool:
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as stream:
        return stream.read(len(MARK)) == MARK.encode()


def write(folder: Path, files: Files, private: Collection[str] = ()) -> Changes:
    """Bring `folder` to hold `files`: each is written beside its place and renamed into it; stale ones are removed.
    Those in `private` are for their owner alone, also where they were there before.

    Raises FileExistsError, before anything is written, if a file that olmc did not write stands in the way.
    """
    difference = changes(folder, files)
    for name in (*difference.added, *difference.changed):
        if os.path.lexists(folder / name) and not _is_marked(folder / name):
            raise FileExistsError(f"{folder / name} was not written by olmc and is in the way")
    folder.mkdir(parents=True, exist_ok=True)
    fresh = (*difference.added, *difference.changed)
    for name in (name for name in fresh if name != KUSTOMIZATION):
        put_parts(folder / name, files[name], mode=PRIVATE if name in private else PLAIN)
    for name in private:
        (folder / name).chmod(stat.S_IMODE((folder / name).stat().st_mode) & PRIVATE)
    # After the others, so that an interrupted run leaves too many files, never too few.
    for name in difference.stale:
        (folder / name).unlink(missing_ok=True)
    # Last of all, since it is what the next run knows by which files are stale.
    if KUSTOMIZATION in fresh:
        put_parts(folder / KUSTOMIZATION, files[KUSTOMIZATION])
    return difference
