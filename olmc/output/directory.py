"""Objects as a directory, a file each; whatever is written stands beside its place first and is renamed into it."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from olmc.lean import NamedTuple, regex
from olmc.model.diagnostics import Report
from olmc.model.objects import ObjectKey, Rendered
from olmc.model.options import Phase
from olmc.model.workspace import GENERATED as MARK
from olmc.yaml import dump_one, read

PARTIAL = ".olmc-"
"""What the names of files that are not whole yet begin with: hidden, and so no part of a workspace."""


def put(path: Path, text: str, *, mode: int = 0o644, synced: bool = False) -> None:
    """Write a file, UTF-8 and with line ends as they are; a link is replaced, not followed.

    With `synced` it is on the disk when this returns, whatever happens to the machine. Raises OSError; what was there
    is there still.
    """
    # Renaming is the one step that others can't see half of.
    partial = _beside(path, text, mode, synced=synced)
    try:
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    if synced:
        sync_folder(path.parent)


def rewrite(texts: Mapping[Path, str], *, new: Collection[Path] = ()) -> None:
    """Give files of somebody else's a new text, and make those that are `new`: all of them or, with OSError, none.

    Permissions stay, and where a path is a link, the file that it leads to is changed.
    """
    partials: list[tuple[Path, Path]] = []
    try:
        for path, text in texts.items():
            if path in new:
                partials.append((_beside(path, text, 0o644), path))
                continue
            target = path.resolve(strict=True)
            if not target.is_file():
                raise OSError(errno.EINVAL, "it is no file", os.fspath(path))
            partials.append((_beside(target, text, stat.S_IMODE(target.stat().st_mode)), target))
        # All are on the disk before the first takes its place: a full disk changes nothing.
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


KUSTOMIZATION = "kustomization.yaml"

_ODD = regex(r"[^a-z0-9.-]+")
_NAME_LIMIT = 120
_PHASE_MARKS: Mapping[Phase, str] = {1: "# Phase 1 of two.\n", 2: "# Phase 2 of two.\n"}


class Changes(NamedTuple):
    """How a directory differs from what would be written: file names, sorted."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    stale: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether there is any difference."""
        return bool(self.added or self.changed or self.stale)


def conflicting(objects: Sequence[Rendered]) -> list[ObjectKey]:
    """The objects that are there more than once, and not the same each time."""
    first: dict[ObjectKey, Rendered] = {}
    return [o.identity for o in objects if first.setdefault(o.identity, o).object != o.object]


def files_of(objects: Sequence[Rendered], phase: Phase = 0) -> dict[str, str]:
    """The text of each file by its name, `kustomization.yaml` included, which says when they are one phase alone."""
    named: dict[str, str] = {}
    for rendered in {rendered.identity: rendered for rendered in objects}.values():
        name = file_name(rendered.identity)
        if name in named:
            name = name.removesuffix(".yaml") + f"-{_digest(str(rendered.identity) + rendered.identity.group)}.yaml"
        named[name] = f"{MARK}\n{dump_one(rendered.object)}"
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list(named)}
    named[KUSTOMIZATION] = f"{MARK}\n{_PHASE_MARKS.get(phase, '')}{dump_one(kustomization)}"
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


def changes(folder: Path, files: Mapping[str, str]) -> Changes:
    """What writing `files` to `folder` would change; files that olmc did not write are left alone."""
    present = _written_before(folder)
    return Changes(
        added=tuple(sorted(name for name in files if not (folder / name).is_file())),
        changed=tuple(sorted(n for n, text in files.items() if (folder / n).is_file() and _text(folder / n) != text)),
        stale=tuple(sorted(present - files.keys())),
    )


def phase_in(folder: Path) -> Phase | None:
    """The phase that an earlier run wrote to `folder`, 0 for an output as a whole; None if none wrote there."""
    kustomization = folder / KUSTOMIZATION
    if not _is_marked(kustomization):
        return None
    after = _text(kustomization).removeprefix(f"{MARK}\n")
    return next((phase for phase, mark in _PHASE_MARKS.items() if after.startswith(mark)), 0)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def _written_before(folder: Path) -> set[str]:
    """The files in `folder` that an earlier run wrote: those named by its kustomization.yaml that carry the mark."""
    kustomization = folder / KUSTOMIZATION
    if not kustomization.is_file() or not _is_marked(kustomization):
        return set()
    documents = read(KUSTOMIZATION, _text(kustomization), Report())
    value = documents[0].value if documents else None
    listed = value.get("resources") if isinstance(value, dict) else None
    names = {name for name in listed or () if isinstance(name, str) and "/" not in name and name not in ("", "..")}
    # Only what is named there and carries the mark may be deleted: a file put beside it is somebody's own.
    return {name for name in names if _is_marked(folder / name)} | {KUSTOMIZATION}


def _is_marked(path: Path) -> bool:
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as stream:
        return stream.read(len(MARK)) == MARK.encode()


def write(folder: Path, files: Mapping[str, str]) -> Changes:
    """Bring `folder` to hold `files`: each is written beside its place and renamed into it; stale ones are removed.

    Raises FileExistsError, before anything is written, if a file that olmc did not write stands in the way.
    """
    difference = changes(folder, files)
    for name in (*difference.added, *difference.changed):
        if os.path.lexists(folder / name) and not _is_marked(folder / name):
            raise FileExistsError(f"{folder / name} was not written by olmc and is in the way")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*difference.added, *difference.changed):
        put(folder / name, files[name])
    # Last, so that whoever stops in between has too much, never too little.
    for name in difference.stale:
        (folder / name).unlink()
    return difference
