"""The files of a task in folders of their own, made of contents that are there by their digests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from olmc.diff.git import within_depth
from olmc.fleet.trees import LINK
from olmc.lean import NamedTuple
from olmc.load.kustomization import REPOSITORY_MARK

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
