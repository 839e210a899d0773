"""Tasks: what is compiled for an entry, as bytes that mean the same on every machine.

A task names the files of its sides by their content, and calls them as they are seen from the entry: entries that
differ in nothing but where they are have the same task, which is done once.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from olmc.fleet.closures import Closure, ClosureReader
from olmc.fleet.trees import digest_of, is_too_large
from olmc.lean import NamedTuple

_NEUTRAL = "cluster"
"""What the folder of an entry is called in a task."""


class Content(NamedTuple):
    """How to read a content, and the digests of others that it lists."""

    read: Callable[[], bytes]
    lists: tuple[str, ...] = ()


Contents = dict[str, Content]
"""What tasks need, by its digest."""


class TaskSide(NamedTuple):
    """A side of an entry: what can be read of it, and the files that are, each with the path that it has in a task."""

    reader: ClosureReader
    files: Mapping[str, str]

    def fetch(self) -> None:
        """Have all contents at hand."""
        self.reader.tree.fetch(self.files)

    def state(self) -> tuple[tuple[str, str, str], ...]:
        """What all files are, by which two sides are the same; raises OSError."""
        file_of = self.reader.tree.file_of
        return tuple((shown, *file_of(path)[:2]) for path, shown in self.files.items())


def sides_of(path: str, readers: Sequence[ClosureReader]) -> tuple[str, tuple[TaskSide | None, ...]]:
    """What the folder of an entry is called in its task, and its sides, None where a tree does not have it."""
    closures = [reader.of_entry(path) for reader in readers]
    renamed = _renamed(path, closures)
    sides = []
    for reader, closure in zip(readers, closures, strict=True):
        own = f"{path}/" if path else ""
        files = {p: f"{renamed}/{p[len(own) :]}" if path and p.startswith(own) else p for p in closure.paths}
        is_there = any(True for _ in reader.tree.below(path))
        sides.append(TaskSide(reader, dict(sorted(files.items(), key=lambda item: item[1]))) if is_there else None)
    return renamed, tuple(sides)


def _renamed(path: str, closures: Iterable[Closure]) -> str:
    """The path of an entry with names of its own in the place of those that nothing else depends on."""
    paths = frozenset[str]().union(*(closure.paths for closure in closures))
    names = frozenset[str]().union(*(closure.names for closure in closures))
    others = [other for other in paths if not other.startswith(f"{path}/")]
    parts = path.split("/") if path else []
    for number, part in enumerate(parts):
        above = "/".join(parts[: number + 1])
        is_last = number == len(parts) - 1
        neutral = _NEUTRAL if is_last else f"_{number}"
        is_used = part in names or any(other.startswith((f"{above}/", posixpath.join(*parts[:number], f"{neutral}/")))
                                       for other in others)  # fmt: skip
        if is_used:
            continue
        parts = [*parts[:number], neutral, *parts[number + 1 :]]
    return "/".join(parts)


def listing(side: TaskSide, contents: Contents, digests: dict[str, str]) -> list[list[Any]]:
    """The files of a side as a task has them: path, mode, digest of the content, size of what is too large.

    What has to be brought along is noted in `contents`; `digests` knows contents by git's names. Raises OSError.
    """
    files = []
    for path, shown in side.files.items():
        file = side.reader.tree.file_of(path)
        if is_too_large(file):
            files.append([shown, file.mode, "", file.size])
            continue
        if file.name not in digests:
            digests[file.name] = digest_of(side.reader.tree.read(path))
        contents.setdefault(digests[file.name], Content(partial(side.reader.tree.read, path)))
        files.append([shown, file.mode, digests[file.name], 0])
    return files


def task_bytes(command: str, **values: Any) -> bytes:
    """A task; equal ones have equal bytes."""
    return json.dumps({"command": command, **values}, sort_keys=True, separators=(",", ":")).encode()
