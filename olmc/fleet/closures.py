"""Which files an entry reads: those below its folder, and what its kustomization takes in from elsewhere."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.fleet.trees import LINK, FileTree
from olmc.lean import NamedTuple
from olmc.load.foreign import CHART_FILE
from olmc.load.kustomization import NAMES, is_remote, references
from olmc.model.diagnostics import Report
from olmc.model.objects import mapping
from olmc.yaml import read


class Closure(NamedTuple):
    """The files that an entry may read, and the names of folders on the way to them, which have to stay as they are."""

    paths: frozenset[str]
    names: frozenset[str]


class NamedFiles(NamedTuple):
    """What one kustomization names: files, the names of folders on the way to what it names, and folders."""

    paths: frozenset[str]
    names: frozenset[str]
    folders: frozenset[str]


class ClosureReader(NamedTuple):
    """A tree, and what the kustomizations in its folders are known to name, None where they may read anything."""

    tree: FileTree
    known: dict[str, NamedFiles | None]

    def of_entry(self, path: str) -> Closure:
        """The files of an entry, none where the tree does not have it."""
        own = frozenset(self.tree.below(path))
        if posixpath.join(path, CHART_FILE) in own:
            return self._whole()  # values and dependencies of charts may be anywhere
        linked = self._linked(own)
        taken = self._taken_in(path)
        return Closure(own | taken.paths | linked, taken.names)

    def beside(self, path: str) -> Closure:
        """The files of a folder that counts beside entries."""
        own = frozenset(self.tree.below(path))
        return Closure(own | self._linked(own), frozenset())

    def _whole(self) -> Closure:
        return Closure(frozenset(self.tree.paths), frozenset(name for p in self.tree.paths for name in p.split("/")))

    def _linked(self, paths: frozenset[str]) -> frozenset[str]:
        """What links lead to."""
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
        """What the kustomization of a folder names, with what that names, and so on; some name each other."""
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
        """What the kustomization of a folder names by itself; all that is below, without one. None for one that may
        read anything."""
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
        """What the kustomization of a folder names, with the text that it does it by."""
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
    return ClosureReader(tree, {})
