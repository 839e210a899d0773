"""The objects of GitOps tools in a plan for a repository: those that apply its entries in another way than before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from olmc.compiler.load.entries import Repository, kustomizations_with
from olmc.compiler.load.releases import Applier, DirectoryReading, Settings
from olmc.compiler.load.repository import folder_at
from olmc.k8s.diagnostics import join_limited
from olmc.k8s.lean import NamedTuple, regex
from olmc.k8s.objects import ObjectKey
from olmc.review.diff.crd_kinds import DiffChange
from olmc.review.diff.settings import deciding_file_changed

_SHOWN = 6

ApplierChange = tuple[DiffChange, tuple[str, ...]]
"""A risk, and the entries of which it is."""


def applier_changes(before: Repository, now: Repository) -> list[ApplierChange]:
    """Return a risk for each object of a GitOps tool that applies entries in another way, with their paths."""
    sets = _unfollowed(before) | _unfollowed(now)
    old, new = _appliers(before, sets), _appliers(now, sets)
    found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for key in sorted(old.keys() & new.keys()):
        name, file, settings = new[key]
        was, given = dict(old[key].settings), dict(settings)
        changed = tuple(field for field in dict.fromkeys((*was, *given)) if was.get(field) != given.get(field))
        if changed:
            paths = _paths_of(name, before, now) if name in sets else [key[1]]
            found.setdefault((name, file, changed), []).extend(paths)
    return [
        *(_risk(file, _effect(name, paths, changed), paths) for (name, file, changed), paths in found.items()),
        *_parent_changes(before, now),
        *_kustomization_changes(before, now),
    ]


def _risk(file: str, effect: str, paths: Iterable[str]) -> ApplierChange:
    return deciding_file_changed(ObjectKey("", "File", "", file), (), effect), tuple(paths)


def _parent_changes(before: Repository, now: Repository) -> Iterator[ApplierChange]:
    """The objects of GitOps tools that apply those of entries, and that apply another folder or in another way."""
    old, new = _parents(before), _parents(now)
    for name in sorted(old.keys() & new.keys()):
        was, given = old[name], new[name]
        if was.entries and (was.paths, was.settings) != (given.paths, given.settings):
            there, here = (join_limited(sorted(each.paths), _SHOWN) for each in (was, given))
            way = f"instead of {there}" if there != here else "in another way"
            yield _risk(given.file, f"{name} applies {here} {way}", was.entries)


class _Parent(NamedTuple):
    """An object of a GitOps tool that applies those of entries: its file, its folders, how it reads them and in which
    way else that olmc does not follow, and the entries."""

    file: str
    paths: frozenset[str]
    settings: tuple[tuple[DirectoryReading, Settings], ...]
    entries: tuple[str, ...]


def _parents(repository: Repository) -> dict[str, _Parent]:
    """All objects of GitOps tools by name, those without entries of their own; the entries are those whose objects
    stand in the folders."""
    places = _applied_from(repository)
    found: dict[str, list[tuple[str, Applier]]] = {}
    for path, several in repository.applied.by_path.items():
        for each in several:
            found.setdefault(each.name, []).append((path, each))
    parents = {}
    for name, some in found.items():
        paths = frozenset(path for path, _ in some)
        tops = tuple("" if path in (".", "") else f"{path}/" for path in paths)
        entries = {entry for file, entries in places.items() if file.startswith(tops) for entry in entries}
        ways = tuple((each.reading, each.settings) for _, each in some)
        parents[name] = _Parent(some[0][1].place.path, paths, ways, tuple(sorted(entries)))
    return parents


def _applied_from(repository: Repository) -> dict[str, set[str]]:
    """The entries by the files of the objects that apply them."""
    places: dict[str, set[str]] = {}
    for entry in repository.entries:
        for applier in entry.appliers:
            places.setdefault(applier.place.path, set()).add(entry.path)
    return places


def _kustomization_changes(before: Repository, now: Repository) -> Iterator[ApplierChange]:
    """The kustomizations that leave out, or change in another way, objects that apply entries."""
    places = _applied_from(before)
    files = places.keys() & _applied_from(now).keys()
    old, new = (kustomizations_with(side.root, side.folder, files) for side in (before, now))
    still = frozenset().union(*(each.taken for each in new.values()))
    for folder, was in old.items():
        given = new.get(folder)
        lost = was.taken - still
        entries = sorted({entry for file in was.taken for entry in places[file]})
        listed = join_limited(sorted(lost or was.taken), _SHOWN)
        if lost:
            yield _risk(was.file, f"it no longer applies {listed} with its entries", entries)
        elif given is not None and (was.fields, was.parts) != (given.fields, given.parts):
            yield _risk(was.file, f"it applies {listed} with its entries in another way", entries)


def _effect(name: str, paths: Sequence[str], changed: Iterable[str]) -> str:
    return f"{name} applies {join_limited(paths, _SHOWN) or 'folders'} in another way ({', '.join(changed)})"


def _paths_of(name: str, *sides: Repository) -> list[str]:
    """The entries that an object of a GitOps tool applies on one of the sides."""
    entries = chain.from_iterable(side.entries for side in sides)
    return sorted({entry.path for entry in entries if any(name == _maker(each) for each in entry.appliers)})


def _maker(applier: Applier) -> str:
    """The object in the repository by which a tool applies something: an Application or its ApplicationSet."""
    return applier.made_by or applier.name


def _unfollowed(repository: Repository) -> set[str]:
    """The ApplicationSets whose Applications olmc can't determine."""
    return {name for name, each in repository.applied.sets.items() if not each.is_followed}


class _Applying(NamedTuple):
    """The object in the repository that applies an entry, its file, and the fields that olmc does not follow."""

    name: str
    file: str
    settings: Settings


def _appliers(repository: Repository, sets: Collection[str]) -> dict[tuple[str, str], _Applying]:
    """Return the appliers of entries, by name and the path of the entry; the given sets, which are compared as a whole,
    by name alone."""
    known = repository.applied.sets
    return {
        (each.name, entry.path): _Applying(_maker(each), each.place.path, each.settings)
        for entry in repository.entries for each in entry.appliers if _maker(each) not in sets
    } | {
        (name, ""): _Applying(name, known[name].file, known[name].settings) for name in sets if name in known
    }  # fmt: skip


class HeldEntry(NamedTuple):
    """An entry that a change of this repository may not reach, and the reason."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def held_entries(before: Repository, now: Repository) -> tuple[HeldEntry, ...]:
    """Return the entries whose tools do not apply what this repository has now: their objects are suspended, or pinned
    to a revision, on both sides, or most others are of another repository."""
    addresses = Counter(_address(each) for entry in now.entries for each in entry.appliers if _address(each))
    (most, count), *others = addresses.most_common(2) or [("", 0)]
    usual = most if others and count > others[0][1] else ""
    known = {(each.name, entry.path): each for entry in before.entries for each in entry.appliers}
    found: dict[HeldEntry, None] = {}
    for entry in now.entries:
        reasons = [_held(each, known.get((each.name, entry.path), each), usual) for each in entry.appliers]
        if reasons and all(reasons):
            found[HeldEntry(entry.path, reasons[0])] = None
    return tuple(found)


def _held(now: Applier, before: Applier, usual: str) -> str:
    """Return why a tool does not apply a change of the repository, "" if it may."""
    given, was = dict(now.settings), dict(before.settings)
    revision = str(json.loads(given.get("targetRevision", '""')))
    if _PINNED.fullmatch(revision) and given["targetRevision"] == was.get("targetRevision"):
        return f"{now.name} stays at revision {revision}, so the change reaches the cluster once that moves"
    if given.get("suspend") == was.get("suspend") == "true":
        return f"{now.name} is suspended, so the change reaches the cluster once it is resumed"
    if usual and _address(now) not in ("", usual):
        return f"{now.name} applies it from another repository than most others; olmc takes it from this one"
    return ""


_PINNED = regex(r"[0-9a-f]{7,40}|(?:refs/tags/.+)|v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?")
_SCHEME = regex(r"^(?:[a-z+]+://)?(?:[^@/]+@)?")


def _address(applier: Applier) -> str:
    """The repository from which an object of Argo CD applies something, written in one way; "" if it names none."""
    url = str(json.loads(dict(applier.settings).get("repoURL", '""')))
    return _SCHEME.sub("", url.strip().lower()).replace(":", "/").rstrip("/").removesuffix(".git")


def _is_ignored(repository: Repository, path: str) -> bool:
    """Return whether a folder of a repository is there, and its patterns make olmc ignore it."""
    return folder_at(repository.folder, path) is None and (repository.root / path).is_dir()


def without_undetermined(before: Repository, now: Repository) -> tuple[Repository, Repository, tuple[str, ...]]:
    """Return both sides without the entries that are unknown on one of them, and their folders: those that patterns
    make olmc ignore there, and those of a set, if olmc can't determine what the set applies there."""
    paths: set[str] = set()
    for one, other in ((before, now), (now, before)):
        sets = _unfollowed(other)
        known = {entry.path for entry in other.entries if entry.appliers}
        paths |= {
            entry.path for entry in one.entries
            if (entry.path not in known and any(_maker(each) in sets for each in entry.appliers))
            or _is_ignored(other, entry.path)
        }  # fmt: skip
    old, new = (
        side._replace(entries=tuple(entry for entry in side.entries if entry.path not in paths))
        for side in (before, now)
    )
    return old, new, tuple(sorted(paths))


def followed_files(*sides: Repository) -> frozenset[str]:
    """The files of ApplicationSets of which olmc follows all on both sides."""
    sets = [each for side in sides for each in side.applied.sets.values()]
    return frozenset(each.file for each in sets) - {each.file for each in sets if not each.is_followed}
