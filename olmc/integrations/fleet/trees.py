"""The files of a repository on one side of a change, and the tasks of a fleet with the same files.

The files are in a work tree or in a revision of git; each is read once, on demand. Tasks are the same if their files
differ only in the values of ConfigMaps, for example the name of the cluster. The comparison comes before all
compilation. If the result of the first of them depends on such values (`READS_VALUES`), each of the others is compiled
by itself.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from hashlib import sha1, sha256  # OpenSSL's: these hash megabytes
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

from olmc.compiler.load.deciding_files import SUBMODULE_MARK
from olmc.compiler.load.entries import read_repository
from olmc.compiler.load.files import MAX_FILE_BYTES, scan
from olmc.compiler.load.kustomization import NAMES, REPOSITORY_MARK
from olmc.compiler.load.manifests import SUFFIXES
from olmc.compiler.load.repository import clusters_of
from olmc.compiler.model.cluster import Cluster
from olmc.k8s.diagnostics import Report
from olmc.k8s.lean import NamedTuple
from olmc.k8s.limits import DEPTH
from olmc.k8s.objects import KubernetesObject, mapping, name_of, spec_of
from olmc.k8s.yaml import read
from olmc.review.diff.git import SUBMODULE, submodules_at
from olmc.review.diff.revisions import RevisionFile, blob_contents, within_depth

LINK = "120000"
_FILE = "100644"
_GIT = ".git"
_TOO_LARGE = "size:"
"""The start of the names of files that are too large to read: only their size counts."""


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
        """Return whether there is a file at a path."""
        at = bisect_left(self.paths, path)
        return at < len(self.paths) and self.paths[at] == path


def work_tree(top: Path, *, hexdigits: int = 40) -> FileTree:
    """The tree in a folder; names are as long as those of the revision that it is compared with."""
    marks = {f"{path}/{SUBMODULE_MARK}": name for path, name in submodules_at(top).items()}
    files = {path: RevisionFile(SUBMODULE, name, 0) for path, name in marks.items()}
    by_name: dict[str, Callable[[], bytes]] = {}

    def file_of(path: str) -> RevisionFile:
        if path not in files:
            files[path] = _file_at(top / path, hexdigits)
            by_name.setdefault(files[path].name, lambda: content_at(top / path))
        return files[path]

    def read(path: str) -> bytes:
        return marks[path].encode() if path in marks else content_at(top / path)

    return FileTree(tuple(sorted({*_walk(top), *marks})), file_of, read, by_name, lambda _: None)


def revision_tree(files: Mapping[str, RevisionFile], known: Mapping[str, Callable[[], bytes]]) -> FileTree:
    """The tree of a revision; `known` has contents by the names that git gives them, of which it need not be asked."""
    fetched: dict[str, bytes] = {}

    def fetch(paths: Iterable[str]) -> None:
        chosen = (files[path] for path in paths)
        names = {file.name: None for file in chosen if file.mode != SUBMODULE and not is_too_large(file)}
        fetched.update(blob_contents([name for name in names if name not in known and name not in fetched]))

    def read(path: str) -> bytes:
        name = files[path].name
        if files[path].mode == SUBMODULE:
            return name.encode()
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
    """Return whether only the size of a file counts."""
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


# The clusters of a fleet: folders that a repository has, by name, by pattern, or as Argo CD and Flux apply them.

_WILD = frozenset("*?[")
_ANY = "**"


class TooDeepError(Exception):
    """A pattern goes through more folders in each other than olmc looks at; the argument is the first too many."""


class FleetEntry(NamedTuple):
    """A cluster: its folder in the repository, and which of the ways to install it is meant if that is a chart.

    `is_part`: tools apply other entries of the repository to the same cluster.
    """

    path: str
    release: int | None = None
    is_part: bool = False

    @property
    def name(self) -> str:
        """Return its name in reports."""
        return self.path or "." if not self.release else f"{self.path}#{self.release + 1}"


def entries_of(top: Path, patterns: Iterable[str], trees: Sequence[FileTree]) -> tuple[list[FleetEntry], list[str]]:
    """The clusters that patterns name, relative to the repository at `top`, in order, and the patterns that name none.

    A pattern with `*`, `?` or `[...]` names folders of all trees, `**` at any depth. A folder that holds several
    entries names all of them. Raises TooDeepError where `**` would name folders deeper than any workspace.
    """
    entries: dict[FleetEntry, None] = {}
    idle = []
    folders: list[str] = []
    for pattern in patterns:
        if not _WILD & set(pattern):
            meant = list(_named(top, posixpath.normpath(pattern), trees))
        else:
            folders = folders or sorted({folder for tree in trees for folder in folders_of(tree)})
            parts = posixpath.normpath(pattern).split("/")
            _check_depth(parts, folders)
            meant = [FleetEntry(folder) for folder in folders if _fits(folder.split("/"), parts)]
        entries.update(dict.fromkeys(meant))
        idle += [] if meant else [pattern]
    return sorted(entries, key=lambda entry: (entry.path, entry.release or 0)), idle


def _check_depth(pattern: Sequence[str], folders: Iterable[str]) -> None:
    """Raise TooDeepError for the first folder that only a `**` reaches so far down: each folder of a chain would be a
    cluster, with everything below it."""
    if _ANY not in pattern:
        return
    above = list(pattern[: pattern.index(_ANY)])
    for folder in folders:
        if folder.count("/") > DEPTH.most:
            parts = folder.split("/", DEPTH.most + 2)[: DEPTH.most + 2]
            if _fits(parts[: len(above)], above):
                raise TooDeepError("/".join(parts))


def as_pattern(entry: FleetEntry) -> str:
    """Return a pattern for the folder of an entry and no other, also for a list of entries, where # begins a
    comment."""
    path = "".join(f"[{char}]" if char in _WILD else char for char in entry.path)
    return f"./{path}" if path.startswith("#") else path or "."


def folders_of(tree: FileTree) -> Iterator[str]:
    """All folders of a tree but hidden ones."""
    known = {""}
    for path in tree.paths:
        folder = posixpath.dirname(path)
        while folder not in known:
            known.add(folder)
            if not any(part.startswith(".") for part in folder.split("/")):
                yield folder
            folder = posixpath.dirname(folder)


def _named(top: Path, path: str, trees: Sequence[FileTree]) -> Iterator[FleetEntry]:
    """The cluster in a folder, or those of the repository that it is."""
    path = "" if path == "." else path
    if not any(True for tree in trees for _ in tree.below(path)):
        return
    root = top / path
    is_kustomization = any((root / name).is_file() for name in NAMES)
    has_entries = root.is_dir() and not is_kustomization
    chosen = read_repository(root, scan(root, Report())).entries if has_entries else ()
    counts: dict[str, int] = {}
    together = [cluster.paths for cluster in clusters_of(chosen) if len(cluster.paths) > 1]
    parts = frozenset(chain.from_iterable(together))
    for entry in chosen:
        below = posixpath.normpath(posixpath.join(path, entry.path))
        number = counts.get(below, 0)
        counts[below] = number + 1
        yield FleetEntry(below, number if entry.release is not None else None, entry.path in parts)
    if not chosen:
        yield FleetEntry(path)


def _fits(folder: list[str], pattern: list[str]) -> bool:
    """Return whether a pattern names a folder; each part of it is compared once with each part of the pattern at
    most."""
    ends = _with_empty({0}, pattern)
    for part in folder:
        further = {at + (pattern[at] != _ANY) for at in ends if at < len(pattern) and _fits_part(part, pattern[at])}
        ends = _with_empty(further, pattern)
    return len(pattern) in ends


def _fits_part(part: str, pattern: str) -> bool:
    return pattern == _ANY or fnmatchcase(part, pattern)


def _with_empty(ends: set[int], pattern: Sequence[str]) -> set[int]:
    """Return how much of a pattern is used up, also where the `**` behind that stand for no folder at all."""
    found = set(ends)
    for at in ends:
        following = takewhile(lambda number: pattern[number] == _ANY, range(at, len(pattern)))
        found.update(number + 1 for number in following)
    return found


def shard(entries: Sequence[FleetEntry], count: int, index: int) -> list[FleetEntry]:
    """The part with a number, from 0, of so many parts that are about as large: neighbours, which are often alike, are
    in different ones."""
    return list(entries[index::count])


# The files of a task in folders of their own, made of contents that are there by their digests.

_KEPT = 2
"""The number of folders that count beside entries and that a worker keeps: those of both sides."""


class WorkerFolders(NamedTuple):
    """The folders of a worker: contents by their digests, and the files of its tasks."""

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
        if not place.is_file():
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


READS_VALUES = "readsValues"
"""The key in the result of a task to which the values in its ConfigMaps matter."""

COMMANDS = frozenset({"plan", "status"})
"""The commands whose results show no values in ConfigMaps but those that change."""

_MOST = 64 * 1024  # bytes: far below what the API server takes, so that no limit depends on a value
_SUFFIXES = (".yaml", ".yml")
_KIND = re.compile(r"[A-Za-z]+")
# What a kustomization may say without a value of one object getting into another, or into a name.
_HARMLESS = frozenset(
    "apiVersion kind metadata resources components namespace namePrefix nameSuffix labels commonLabels "
    "commonAnnotations images replicas patches".split()
)


class SameTasks(NamedTuple):
    """The search for equal tasks: the reader of a content by its digest, and the known facts about contents. These are
    the rest of one without the values in its ConfigMaps, None for one with other objects; and the files that a
    kustomization patches with, None for one that may do anything with values."""

    content: Callable[[str], bytes]
    left: dict[str, str | None]
    patches: dict[str, frozenset[str] | None]

    def firsts(self, tasks: Iterable[bytes]) -> Iterator[int]:
        """For each task the number of the first that is like it, which may be itself."""
        known: dict[str, int] = {}
        for number, task in enumerate(tasks):
            yield known.setdefault(self._key(json.loads(task)) or str(number), number)

    def _key(self, task: Mapping[str, Any]) -> str:
        """Return the key that equal tasks share; "" for a task that has no equal."""
        sides = [task[name] for name in ("before", "after") if task.get(name) is not None]
        if task["command"] not in COMMANDS or task.get("release") is not None or len(sides) < ("before" in task) + 1:
            return ""
        named = self._patched_with(sides)
        if named is None:
            return ""
        # A value that differs between the sides is a change, and a plan shows changes.
        same = {tuple(file) for file in sides[0]}.intersection(*({tuple(file) for file in side} for side in sides))
        replaced = {
            file: [file[0], file[1], left, 0]
            for file in same
            if posixpath.basename(file[0]) not in named and (left := self._left(file)) is not None
        }
        files = [[replaced.get(tuple(file), file) for file in side] for side in sides]
        rest = {key: value for key, value in task.items() if key not in ("before", "after")}
        return json.dumps([rest, files], sort_keys=True)

    def _left(self, file: Sequence[Any]) -> str | None:
        path, _, digest, _ = file
        if not digest or not path.endswith(_SUFFIXES):
            return None
        if digest not in self.left:
            left = without_values(self.content(digest))
            self.left[digest] = f"without values: {digest_of(left)}" if left is not None else None
        return self.left[digest]

    def _patched_with(self, sides: Iterable[Sequence[Sequence[Any]]]) -> frozenset[str] | None:
        """The names of the files that kustomizations patch with; None where one may do anything with values."""
        names: set[str] = set()
        for path, _, digest, _ in (file for side in sides for file in side):
            if posixpath.basename(path) not in NAMES:
                continue
            if not digest:
                return None
            if digest not in self.patches:
                self.patches[digest] = patch_files(self.content(digest))
            found = self.patches[digest]
            if found is None:
                return None
            names |= found
        return frozenset(names)


def without_values(content: bytes) -> bytes | None:
    """Return a file of ConfigMaps without the values of their data; None for a file with other objects, or with any
    finding."""
    report = Report()
    text = _text(content)
    documents = read("", text, report) if text is not None else []
    values = [document.value for document in documents]
    if not values or report.found or not all(map(_is_config_map, values)):
        return None
    left = [{**value, "data": dict.fromkeys(value["data"], "")} for value in values]
    return json.dumps(left, sort_keys=True).encode()


def _text(content: bytes) -> str | None:
    try:
        return content.decode() if len(content) <= _MOST else None
    except UnicodeDecodeError:
        return None


def _is_config_map(value: Any) -> bool:
    obj = mapping(value)
    data = obj.get("data")
    return (
        (obj.get("apiVersion"), obj.get("kind")) == ("v1", "ConfigMap")
        and obj.keys() <= {"apiVersion", "kind", "metadata", "data"}
        and isinstance(data, dict)
        and all(isinstance(each, str) for each in data.values())
    )


def patch_files(content: bytes) -> frozenset[str] | None:
    """The names of the files that a kustomization patches with; None for one that may do anything with values."""
    report = Report()
    text = _text(content)
    documents = read("", text, report) if text is not None else []
    value = documents[0].value if len(documents) == 1 else None
    if not isinstance(value, dict) or report.found or not value.keys() <= _HARMLESS:
        return None
    patches = value.get("patches") or []
    if not isinstance(patches, list) or not all(map(_leaves_config_maps, patches)):
        return None
    return frozenset(posixpath.basename(str(patch["path"])) for patch in patches if "path" in patch)


def _leaves_config_maps(patch: Any) -> bool:
    """Return whether a patch is one for other kinds; a target's kind is a pattern."""
    kind = mapping(mapping(patch).get("target")).get("kind")
    return isinstance(kind, str) and _KIND.fullmatch(kind) is not None and kind != "ConfigMap"


def reads_values(given: Iterable[KubernetesObject], clusters: Iterable[Cluster]) -> bool:
    """Return whether values in the ConfigMaps of a workspace matter to what it comes to: a CatalogSource has its
    catalog in one (R-CAT-150), or a step of an InstallPlan writes one of the same name."""
    names: set[str] = set()
    for obj in given:
        if obj["kind"] == "CatalogSource" and spec_of(obj).get("configMap"):
            return True
        if obj["kind"] == "ConfigMap":
            names.add(name_of(obj))
    return any(
        step.kind == "ConfigMap" and step.name in names
        for cluster in (clusters if names else ())
        for plan in cluster.plans.values()
        for step in plan.steps
    )
