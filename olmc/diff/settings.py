"""What a workspace says about itself: its olmc.yaml, what it leaves out, and which findings somebody accepts.

Whoever changes these changes what a review gets to see, so a review says it first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from olmc.diff import setting_kinds as kinds
from olmc.diff.change import DiffChange
from olmc.diff.deltas import deltas, path_text
from olmc.diff.sides import Side, SideSettings
from olmc.explain.left_out import rank
from olmc.lean import NamedTuple
from olmc.load.config import CONFIG_FILE
from olmc.load.files import IGNORE_FILE
from olmc.load.suppressions import Suppression
from olmc.model.diagnostics import Severity
from olmc.model.objects import ObjectKey
from olmc.model.workspace import LeftOut, Reason

_NARROWING = frozenset({"exclude", "for", "ignore", "include"})
"""Settings that decide what there is to see."""


def setting_changes(old: Side, new: Side) -> Iterator[DiffChange]:
    """How two workspaces differ in what they say about themselves; nothing for renderings, which say nothing."""
    if old.settings is None or new.settings is None:
        return
    yield from _config(old.settings, new.settings)
    yield from _patterns(old.settings.ignore_lines, new.settings.ignore_lines)
    yield from _suppressions(old.settings.suppressions, new.settings.suppressions)
    yield from _builds(old, new)


def _file(path: str) -> ObjectKey:
    """What a file of a workspace is called among objects."""
    return ObjectKey("", "File", "", path)


def _config(old: SideSettings, new: SideSettings) -> Iterator[DiffChange]:
    before, after = ({key: value for key, value in side.config.items() if key != "suppress"} for side in (old, new))
    for delta in deltas(before, after, ("spec",)):
        is_narrowing = len(delta.path) > 1 and delta.path[1] in _NARROWING
        yield kinds.setting_changed(_file(CONFIG_FILE), path_text(delta.path), delta.old, delta.new, is_narrowing)


def _patterns(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[DiffChange]:
    file = _file(IGNORE_FILE)
    removed, added = Counter(old) - Counter(new), Counter(new) - Counter(old)
    yield from (kinds.pattern_added(file, pattern) for pattern in sorted(added))
    yield from (kinds.pattern_removed(file, pattern) for pattern in sorted(removed))
    if old != new and not removed and not added:  # of patterns that contradict each other, the last one counts
        yield kinds.setting_changed(file, "order", list(old), list(new), is_narrowing=True)


def _suppressions(old: Iterable[Suppression], new: Iterable[Suppression]) -> Iterator[DiffChange]:
    before, after = Counter(map(_key, old)), Counter(map(_key, new))
    # Accepting a warning is a matter of taste, accepting a failure hides that something does not work.
    grave = _grave_codes() if after - before else frozenset()
    for path, code, files, reason, _ in sorted((after - before).elements()):
        yield kinds.suppression_added(_file(path), code, reason, files, code in grave)
    for path, code, files, reason, _ in sorted((before - after).elements()):
        yield kinds.suppression_removed(_file(path), code, reason, files)


def _key(suppression: Suppression) -> tuple[str, str, str, str, str]:
    return suppression.place.path, suppression.code, suppression.pattern, suppression.reason, suppression.about


def _grave_codes() -> frozenset[str]:
    """The codes of findings that are more than warnings."""
    from olmc.diagnostics.catalogue import all_rules  # it imports every module of rules

    return frozenset(rule.code for rule in all_rules() if rule.severity >= Severity.FAILURE)


def _builds(old: Side, new: Side) -> Iterator[DiffChange]:
    """How two sides differ in what other tools build: by the files that make a folder a build, and of all that such a
    build reads besides one change for each of these files."""
    assert old.settings is not None and new.settings is not None
    before, after = old.settings.builds, new.settings.builds
    reported = _reported_as_left_out(old, new)
    read: dict[tuple[str, str, str], list[str]] = {}
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path), after.get(path)
        file = now or was
        if file is None or (was is not None and now is not None and was.digest == now.digest):
            continue
        how = "added" if was is None else "removed" if now is None else "changed"
        if not file.lead:
            yield _BUILDS[how](_file(path), file.tool)
        # Of a build that is new, or gone, all files are.
        elif (file.lead in before) == (file.lead in after) and path not in reported:
            read.setdefault((file.lead, file.tool, how), []).append(path)
    for (lead, tool, how), paths in read.items():
        yield _READ[how](_file(lead), tool, tuple(paths))


_BUILDS = {"added": kinds.build_added, "changed": kinds.build_changed, "removed": kinds.build_removed}
_READ = {"added": kinds.build_reads_added, "changed": kinds.build_reads_changed, "removed": kinds.build_reads_removed}


def _reported_as_left_out(old: Side, new: Side) -> frozenset[str]:
    """The files of which a change is reported as one of what is left out."""
    before, after = (
        {
            (left.location.path, left.reason, left.objects, left.problem, left.digest if left.problem else "")
            for left in side.left_out
        }
        for side in (old, new)
    )
    return frozenset(path for path, *_ in before ^ after)


class _Unread(NamedTuple):
    """What there may be in a file besides its objects, and the digest of the file."""

    problem: str
    digest: str


class _Pile(NamedTuple):
    """What is left out together: the digests of the objects, and by path what can't be read."""

    objects: dict[ObjectKey, list[str]]
    unread: dict[str, _Unread]


_Key = TypeVar("_Key", ObjectKey, str)


def left_out_changes(old: Side, new: Side) -> Iterator[DiffChange]:
    """How two sides differ in what is left out of them, by file; of what is left out by choice, by folder.

    No change of it goes without a word: whatever applies the whole directory applies this as well.
    """
    before, after = _piles(old.left_out), _piles(new.left_out)
    for place, reason in sorted(before.keys() | after.keys()):
        was, now = (piles.get((place, reason), _Pile({}, {})) for piles in (before, after))
        yield from _pile_changes(_file(place), reason, was, now)


def _piles(left_out: Iterable[LeftOut]) -> dict[tuple[str, Reason], _Pile]:
    piles: dict[tuple[str, Reason], _Pile] = {}
    for left in left_out:
        path = left.location.path
        place = f"{path.rpartition('/')[0]}/".lstrip("/") or "." if left.reason.is_chosen else path
        pile = piles.setdefault((place, left.reason), _Pile({}, {}))
        for obj in left.objects:
            pile.objects.setdefault(obj.identity, []).append(obj.digest)
        if left.problem:
            pile.unread[path] = _Unread(left.problem, left.digest)
    return piles


def _pile_changes(file: ObjectKey, reason: Reason, old: _Pile, new: _Pile) -> Iterator[DiffChange]:
    for kind, objects, unread in (
        (kinds.left_out_added, new.objects.keys() - old.objects.keys(), new.unread.keys() - old.unread.keys()),
        (kinds.left_out_changed, _differing(old.objects, new.objects), _differing(old.unread, new.unread)),
        (kinds.left_out_removed, old.objects.keys() - new.objects.keys(), old.unread.keys() - new.unread.keys()),
    ):
        if objects or unread:
            names = tuple(str(obj) for obj in sorted(objects, key=lambda obj: (rank(obj.kind), obj)))
            problems = {(new.unread.get(path) or old.unread[path]).problem for path in unread}
            yield kind(file, reason.text, names, " and ".join(sorted(problems)))


def _differing(old: Mapping[_Key, object], new: Mapping[_Key, object]) -> set[_Key]:
    return {key for key in old.keys() & new.keys() if old[key] != new[key]}
