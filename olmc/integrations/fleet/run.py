"""A fleet from its entries to its report: each task is done once, and earlier results come from the cache."""

from __future__ import annotations

import json
import os
import posixpath
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from olmc.compiler import cache
from olmc.compiler.load.deciding_files import ATTRIBUTES_FILE, paths_above
from olmc.compiler.load.kustomization import NAMES, is_remote, references
from olmc.compiler.load.workspace_files import CHART_FILE
from olmc.integrations.fleet.outputs import UNCHANGED, failed_result, packed, unpacked
from olmc.integrations.fleet.pool import TaskEnd
from olmc.integrations.fleet.trees import (
    LINK,
    READS_VALUES,
    FileTree,
    FleetEntry,
    SameTasks,
    digest_of,
    is_too_large,
    put_blob,
)
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import LIMITS
from olmc.k8s.objects import mapping
from olmc.k8s.yaml import read

# Which files an entry reads: those below its folder, and what its kustomization takes in from elsewhere.


class Closure(NamedTuple):
    """The files that an entry may read, and the names of folders on the way to them, which have to stay as they are."""

    paths: frozenset[str]
    names: frozenset[str]


class NamedFiles(NamedTuple):
    """The references of one kustomization: files, the names of folders on the way to its references, and folders."""

    paths: frozenset[str]
    names: frozenset[str]
    folders: frozenset[str]


class ClosureReader(NamedTuple):
    """A tree, and what the kustomizations in its folders are known to name, None where they may read anything; and of
    files above entries whether they name folders."""

    tree: FileTree
    known: dict[str, NamedFiles | None]
    named: dict[str, bool]

    def of_entry(self, path: str) -> Closure:
        """The files of an entry, none where the tree does not have it."""
        own = frozenset(self.tree.below(path))
        if posixpath.join(path, CHART_FILE) in own or self.tree.has(path):
            return self._whole()  # values and dependencies of charts and patterns may be anywhere
        linked = self._linked(own)
        taken = self._taken_in(path)
        above = frozenset(name for name in paths_above(path) if self.tree.has(name)) if own else frozenset()
        kept = frozenset(path.split("/")) if any(map(self._names_folders, above)) else frozenset()
        return Closure(own | taken.paths | linked | above, taken.names | kept)

    def _names_folders(self, path: str) -> bool:
        """Return whether a file above entries has patterns with folders, which hold for these names alone."""
        if not path.endswith(ATTRIBUTES_FILE):
            return False
        if path not in self.named:
            self.named[path] = any("/" in (line.split() or [""])[0] for line in self._text(path).splitlines())
        return self.named[path]

    def beside(self, path: str) -> Closure:
        """The files of a folder that counts beside entries."""
        own = frozenset(self.tree.below(path))
        return Closure(own | self._linked(own), frozenset())

    def _whole(self) -> Closure:
        return Closure(frozenset(self.tree.paths), frozenset(name for p in self.tree.paths for name in p.split("/")))

    def _linked(self, paths: frozenset[str]) -> frozenset[str]:
        """Return the targets of links."""
        reached: set[str] = set()
        waiting = [path for path in paths if self.tree.file_of(path).mode == LINK]
        while waiting:
            path = waiting.pop()
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), self._text(path)))
            there = {target} if self.tree.has(target) else set(self.tree.below(target)) if target != "." else set()
            waiting += (each for each in there - reached - paths if self.tree.file_of(each).mode == LINK)
            reached |= there
        return frozenset(reached)

    def _taken_in(self, folder: str) -> Closure:
        """Return the files that the kustomization of a folder names, with those that they name, and so on; some name
        each other."""
        paths: set[str] = set()
        names: set[str] = set()
        waiting, seen = [folder], {folder}
        while waiting:
            part = self._named_by(waiting.pop())
            if part is None:
                return self._whole()
            paths |= part.paths
            names |= part.names
            waiting += (other for other in part.folders if other not in seen)
            seen |= part.folders
        return Closure(frozenset(paths), frozenset(names))

    def _named_by(self, folder: str) -> NamedFiles | None:
        """Return the references of the kustomization of a folder itself; without one all files below. None for one that
        may read anything."""
        if folder not in self.known:
            self.known[folder] = self._read_named(folder)
        return self.known[folder]

    def _read_named(self, folder: str) -> NamedFiles | None:
        start = posixpath.join(folder, "") if folder else ""
        name = next((f"{start}{name}" for name in NAMES if self.tree.has(f"{start}{name}")), None)
        if name is None:
            return NamedFiles(frozenset(self.tree.below(folder)), frozenset(), frozenset())
        content = self._content(name)
        if content.get("generators") or content.get("transformers"):
            return None  # plugins read what they like
        named = list(self._targets(folder, content))
        targets = frozenset(target for target, _ in named)
        files = frozenset(target for target in targets if self.tree.has(target))
        # What is named from here needs no more than the words that are written: `own.yaml` is found wherever it is.
        words = frozenset(word for _, text in named for word in text.split("/"))
        return NamedFiles(files | self._linked(files) | {name}, words, targets - files)

    def _targets(self, folder: str, content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the targets that the kustomization of a folder names, with the text of the reference."""
        for reference in references(content):
            if not reference.is_chart and not is_remote(reference):
                target = posixpath.normpath(posixpath.join(folder, reference.text))
                if not target.startswith(("../", "/")) and target not in ("..", "."):
                    yield target, reference.text

    def _content(self, path: str) -> Mapping[str, Any]:
        documents = read(path, self._text(path), Report())
        return mapping(documents[0].value) if documents else {}

    def _text(self, path: str) -> str:
        try:
            return self.tree.read(path).decode("utf-8", "replace")
        except OSError:
            return ""


def reader_of(tree: FileTree) -> ClosureReader:
    """Reads what the entries of a tree take in, each file once."""
    return ClosureReader(tree, {}, {})


# Tasks: what is compiled for an entry, as bytes that mean the same on every machine.
#
# A task names the files of its sides by their content, and calls them as they are seen from the entry: entries that
# differ in nothing but where they are have the same task, which is done once.

_NEUTRAL = "cluster"
"""The name of an entry's folder in a task."""


class TaskContent(NamedTuple):
    """The reader of a content, and the digests of others that it lists."""

    read: Callable[[], bytes]
    lists: tuple[str, ...] = ()


Contents = dict[str, TaskContent]
"""The contents that tasks need, by digest."""


class TaskSide(NamedTuple):
    """A side of an entry: what can be read of it, and the files that are, each with the path that it has in a task."""

    reader: ClosureReader
    files: Mapping[str, str]

    def fetch(self) -> None:
        """Have all contents at hand."""
        self.reader.tree.fetch(self.files)

    def state(self) -> tuple[tuple[str, str, str], ...]:
        """Return the state of all files, by which two sides are the same; raises OSError."""
        file_of = self.reader.tree.file_of
        return tuple((shown, *file_of(path)[:2]) for path, shown in self.files.items())


def sides_of(path: str, readers: Sequence[ClosureReader]) -> tuple[str, tuple[TaskSide | None, ...]]:
    """Return the name of an entry's folder in its task, and its sides, None for a tree that does not have it."""
    closures = [reader.of_entry(path) for reader in readers]
    renamed = _renamed(path, closures)
    sides = []
    for reader, closure in zip(readers, closures, strict=True):
        own = f"{path}/" if path else ""
        files = {p: f"{renamed}/{p[len(own) :]}" if path and p.startswith(own) else p for p in closure.paths}
        is_there = reader.tree.has(path) or any(True for _ in reader.tree.below(path))
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
        contents.setdefault(digests[file.name], TaskContent(partial(side.reader.tree.read, path)))
        files.append([shown, file.mode, digests[file.name], 0])
    return files


def task_bytes(command: str, **values: Any) -> bytes:
    """A task; equal ones have equal bytes."""
    return json.dumps({"command": command, **values}, sort_keys=True, separators=(",", ":")).encode()


Runner = Callable[[Sequence[bytes], Path, Path], Iterator[TaskEnd]]
"""Does tasks, given the folder with the contents that they name and one for its own files."""


class FleetOrder(NamedTuple):
    """The task for each entry: the command with its options as JSON has them, those that olmc.yaml must not override,
    and further values; the folder that counts beside every entry; the trees to compile, for a plan that before the
    change first."""

    command: str
    options: Mapping[str, Any]
    given: tuple[str, ...]
    values: Mapping[str, Any]
    beside: str | None
    readers: tuple[ClosureReader, ...]


class FleetTasks(NamedTuple):
    """The tasks of a fleet, each once, and by entry the number of its task, or its result where none is needed.

    `firsts`: for each task the number of the first one like it (see `trees`).
    """

    tasks: tuple[bytes, ...]
    of_entry: tuple[int | Mapping[str, Any], ...]
    contents: Contents
    firsts: tuple[int, ...]


class FleetCount(NamedTuple):
    """The number of clusters, of tasks from the cache, and of compiled ones; the other clusters are unchanged or like
    one of these."""

    clusters: int
    cached: int
    compiled: int


def tasks_of(order: FleetOrder, entries: Iterable[FleetEntry]) -> FleetTasks:
    """Return the tasks for the entries of a fleet."""
    contents: Contents = {}
    digests: dict[str, str] = {}
    beside = _beside(order, contents, digests)
    is_same_beside = len({state for _, state in beside}) == 1
    found: list[_Sides | Mapping[str, Any]] = []
    for entry in entries:
        try:
            renamed, sides = sides_of(entry.path, order.readers)
            states = {side.state() if side is not None else None for side in sides}
        except OSError as error:
            found.append(_unread(error))
            continue
        is_same = len(sides) > 1 and len(states) == 1 and is_same_beside
        found.append(UNCHANGED if is_same else _Sides(entry, renamed, sides))
    # All contents of a tree at once: git is one process for all clusters, and not one for each.
    for number, reader in enumerate(order.readers):
        sides_there = (one.sides[number] for one in found if isinstance(one, _Sides))
        reader.tree.fetch({path for side in sides_there if side is not None for path in side.files})
    tasks: dict[bytes, int] = {}
    of_entry: list[int | Mapping[str, Any]] = []
    for one in found:
        try:
            task = _task_of(order, one, beside, contents, digests) if isinstance(one, _Sides) else None
        except OSError as error:
            of_entry.append(_unread(error))
            continue
        of_entry.append(tasks.setdefault(task, len(tasks)) if task is not None else one)  # type: ignore[arg-type]
    alike = SameTasks(lambda digest: contents[digest].read(), {}, {})
    return FleetTasks(tuple(tasks), tuple(of_entry), contents, tuple(alike.firsts(tasks)))


class _Sides(NamedTuple):
    """An entry, what its folder is called in its task, and its sides."""

    entry: FleetEntry
    renamed: str
    sides: tuple[TaskSide | None, ...]


def _unread(error: OSError) -> Mapping[str, Any]:
    name = os.path.basename(os.fsdecode(error.filename or ""))  # noqa: PTH119
    return failed_result("can't be read", f"{name}: {error.strerror or error}")


def _beside(
    order: FleetOrder, contents: Contents, digests: dict[str, str]
) -> list[tuple[str, tuple[tuple[str, ...], ...]]]:
    """For each tree the digest of the list of files that count beside entries, "" for none, and what they are."""
    found: list[tuple[str, tuple[tuple[str, ...], ...]]] = []
    for reader in order.readers:
        paths = sorted(reader.beside(order.beside).paths) if order.beside is not None else []
        if not paths:
            found.append(("", ()))
            continue
        side = TaskSide(reader, {path: path for path in paths})
        side.fetch()
        files = listing(side, contents, digests)
        text = json.dumps(files, separators=(",", ":")).encode()
        digest = digest_of(text)
        contents[digest] = TaskContent(lambda text=text: text, tuple(file[2] for file in files if file[2]))  # type: ignore[misc]
        found.append((digest, side.state()))
    return found


def _task_of(
    order: FleetOrder, one: _Sides, beside: list[tuple[str, Any]], contents: Contents, digests: dict[str, str]
) -> bytes:
    files = [listing(side, contents, digests) if side is not None else None for side in one.sides]
    names = ("before", "after")[-len(files) :]
    values: dict[str, Any] = dict(zip(names, files, strict=True))
    values |= {f"{name}Beside": digest for name, (digest, _) in zip(names, beside, strict=True)}
    return task_bytes(
        order.command, options=order.options, given=order.given, values=order.values, entry=one.renamed,
        release=one.entry.release, besidePath=order.beside or "", **values,
    )  # fmt: skip


@contextmanager
def results_of(
    work: FleetTasks, store: cache.Cache | None, run: Runner,
    progress: Callable[[], AbstractContextManager[Callable[[int, int], None]]],
) -> Iterator[tuple[FleetCount, Callable[[int], Mapping[str, Any]]]]:  # fmt: skip
    """Once all tasks are done how much that was, and the result of an entry by its number.

    What is done goes to the cache at once, so that a run that is broken off goes on there. `progress` gives what hears
    of tasks while they are done: how many are, of how many. Results wait in files: a fleet may have more of them than
    fit into memory.
    """
    with tempfile.TemporaryDirectory(prefix="olmc-fleet-") as name:
        place = Path(name)
        blobs, results = place / "blobs", _Results(place / "results", store, _keys(store, work.tasks))
        blobs.mkdir()
        results.folder.mkdir()
        waiting = [number for number in range(len(work.tasks)) if not results.take_known(number)]
        cached = len(work.tasks) - len(waiting)
        alone = [number for number in waiting if work.firsts[number] == number]
        with progress() as advanced:

            def compile_all(numbers: Sequence[int], done: int) -> None:
                advanced(done, len(work.tasks))
                _bring(work, numbers, blobs)
                tasks = [work.tasks[number] for number in numbers]
                for count, end in enumerate(run(tasks, blobs, place / "work") if tasks else (), done + 1):
                    results.keep(numbers[end.number], end)
                    advanced(count, len(work.tasks))

            compile_all(alone, cached)
            # Those that are like another one come last: whether its result is theirs as well, that result says.
            alike = [number for number in waiting if work.firsts[number] != number]
            others = [number for number in alike if not results.share(work.firsts[number], number)]
            compile_all(others, len(work.tasks) - len(others))
        if store is not None and waiting:
            cache.trim(store)

        def result_of(entry: int) -> Mapping[str, Any]:
            meant = work.of_entry[entry]
            return results.read(meant) if isinstance(meant, int) else meant

        yield FleetCount(len(work.of_entry), cached, len(alone) + len(others)), result_of


class _Results(NamedTuple):
    """The results of tasks by their numbers, in files of a folder, and in the cache by their keys."""

    folder: Path
    store: cache.Cache | None
    keys: Sequence[str]

    def take_known(self, number: int) -> bool:
        """Return whether a result is in the cache; it is there from then on."""
        known = cache.read(self.store, self.keys[number]) if self.store is not None else None
        if known is None or unpacked(known) is None:
            return False
        (self.folder / str(number)).write_bytes(known)
        return True

    def keep(self, number: int, end: TaskEnd) -> None:
        """Keep what a task has come to, in the cache as well."""
        given = unpacked(end.result) if end.result is not None else None
        if given is None or end.result is None:
            failed = packed(failed_result(end.problem or "gave no result", ""))
            (self.folder / str(number)).write_bytes(failed)
        else:
            # A full disk or a lack of memory is of this run, and nothing that the input brings about.
            self._put(number, end.result, is_kept=not given.get("passing"))

    def _put(self, number: int, result: bytes, *, is_kept: bool) -> None:
        if self.store is not None and is_kept:
            cache.write(self.store, self.keys[number], result)
        (self.folder / str(number)).write_bytes(result)

    def share(self, first: int, number: int) -> bool:
        """Return whether the result of a task is that of another one like it as well, which has it from then on. One
        that could not be done says nothing about others."""
        if self.read(first).get(READS_VALUES) is not False:
            return False
        self._put(number, (self.folder / str(first)).read_bytes(), is_kept=True)
        return True

    def read(self, number: int) -> Mapping[str, Any]:
        return unpacked((self.folder / str(number)).read_bytes()) or {}


def _bring(work: FleetTasks, waiting: Sequence[int], blobs: Path) -> None:
    """Have the contents of tasks in a folder."""
    for digest in contents_of(work, waiting):
        put_blob(blobs, digest, work.contents[digest].read())


def contents_of(work: FleetTasks, numbers: Iterable[int]) -> list[str]:
    """The digests of the contents that tasks need."""
    wanted: set[str] = set()
    for number in numbers:
        task = json.loads(work.tasks[number])
        for name in ("before", "after"):
            wanted.update(file[2] for file in task.get(name) or () if file[2])
            listed = task.get(f"{name}Beside")
            wanted.update((listed, *work.contents[listed].lists) if listed else ())
    return sorted(wanted)


def _keys(store: cache.Cache | None, tasks: Iterable[bytes]) -> list[str]:
    """The keys of results: the task, the tools that build its folder, and limits that the environment raises."""
    if store is None:
        return []
    limits = "\n".join(f"{limit.name}={limit.most}" for limit in LIMITS).encode()
    tools = _tool_state().encode()
    return [cache.key(store, "fleet", task, tools, limits) for task in tasks]


def _tool_state() -> str:
    texts = []
    for name in ("kustomize", "kubectl", "helm"):
        path = shutil.which(name)
        with suppress(OSError):
            texts += [f"{path} {Path(path).stat().st_size} {Path(path).stat().st_mtime_ns}"] if path else []
    return "\n".join(texts)
