"""What is left out of one side and not of the other: no change of it goes without a word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from olmc.explain.left_out import rank
from olmc.model.left_out import LeftOut, Reason
from olmc.model.objects import Identity
from olmc.review.diff.change import Change, Gravity, Group, Sentence, Sign, listed
from olmc.review.diff.settings import file_identity
from olmc.review.diff.sides import Side

__all__ = ["LeftOutAdded", "LeftOutChanged", "LeftOutRemoved", "left_out_changes"]

_MOST = 12


@dataclass(frozen=True)
class LeftOutAdded:
    """Objects that are left out from now on: in a file, or in all files of a folder that are left out for one reason.

    Whatever tool applies the whole folder would apply them. `unread` says what there may be besides, "" for nothing.
    """

    identity: Identity
    reason: str
    objects: tuple[str, ...]
    unread: str

    group = Group.SETTINGS
    gravity = Gravity.RISK
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("left out, and applied by other tools: ", *_content(self.objects, self.unread), f"; {self.reason}")


@dataclass(frozen=True)
class LeftOutChanged:
    """Objects that are left out on both sides, and not the same; the fields are those of LeftOutAdded."""

    identity: Identity
    reason: str
    objects: tuple[str, ...]
    unread: str

    group = Group.SETTINGS
    gravity = Gravity.RISK
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        return ("left out on both sides, and another: ", *_content(self.objects, self.unread), f"; {self.reason}")


@dataclass(frozen=True)
class LeftOutRemoved:
    """Objects that are no longer left out, or no longer there; the fields are those of LeftOutAdded."""

    identity: Identity
    reason: str
    objects: tuple[str, ...]
    unread: str

    group = Group.SETTINGS
    gravity = Gravity.CHANGE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("no longer among what is left out: ", *_content(self.objects, self.unread), f"; {self.reason}")


def _content(objects: tuple[str, ...], unread: str) -> Sentence:
    names = listed(objects[:_MOST])
    more = f" and {len(objects) - _MOST} more" if len(objects) > _MOST else ""
    return (*names, more, " and " * bool(objects and unread), unread)


class _Unread(NamedTuple):
    """What there may be in a file besides its objects, and the digest of the file."""

    problem: str
    digest: str


class _Pile(NamedTuple):
    """What is left out together: the digests of the objects, and by path what can't be read."""

    objects: dict[Identity, list[str]]
    unread: dict[str, _Unread]


_Key = TypeVar("_Key", Identity, str)


def left_out_changes(old: Side, new: Side) -> Iterator[Change]:
    """How two sides differ in what is left out of them, by file; of what is left out by choice, by folder."""
    before, after = _piles(old.left_out), _piles(new.left_out)
    for place, reason in sorted(before.keys() | after.keys()):
        was, now = (piles.get((place, reason), _Pile({}, {})) for piles in (before, after))
        yield from _of_pile(file_identity(place), reason, was, now)


def _piles(found: Iterable[LeftOut]) -> dict[tuple[str, Reason], _Pile]:
    piles: dict[tuple[str, Reason], _Pile] = {}
    for left in found:
        path = left.location.path
        place = f"{path.rpartition('/')[0]}/".lstrip("/") or "." if left.reason.is_chosen else path
        pile = piles.setdefault((place, left.reason), _Pile({}, {}))
        for each in left.objects:
            pile.objects.setdefault(each.identity, []).append(each.digest)
        if left.problem:
            pile.unread[path] = _Unread(left.problem, left.digest)
    return piles


def _of_pile(identity: Identity, reason: Reason, old: _Pile, new: _Pile) -> Iterator[Change]:
    for kind, objects, unread in (
        (LeftOutAdded, new.objects.keys() - old.objects.keys(), new.unread.keys() - old.unread.keys()),
        (LeftOutChanged, _differing(old.objects, new.objects), _differing(old.unread, new.unread)),
        (LeftOutRemoved, old.objects.keys() - new.objects.keys(), old.unread.keys() - new.unread.keys()),
    ):
        if objects or unread:
            names = tuple(str(each) for each in sorted(objects, key=lambda each: (rank(each.kind), each)))
            problems = {(new.unread.get(path) or old.unread[path]).problem for path in unread}
            yield kind(identity, reason.text, names, " and ".join(sorted(problems)))


def _differing(old: Mapping[_Key, object], new: Mapping[_Key, object]) -> set[_Key]:
    return {key for key in old.keys() & new.keys() if old[key] != new[key]}
