"""What every change has in common: its group, how grave it is, and a sentence that can be written in any style."""

from __future__ import annotations

import json
from enum import Enum, IntEnum, StrEnum
from typing import Any, NamedTuple, Protocol

from olmc.emit.names import clean
from olmc.model.objects import Identity

__all__ = [
    "ABSENT", "Absent", "Change", "Foreign", "Gravity", "Group", "Sentence", "Sign", "excerpts", "listed", "plain",
    "shown",
]  # fmt: skip

_WIDEST = 120
_BEFORE = 15


class Group(StrEnum):
    """What a change is about, in the order in which people want to read."""

    SETTINGS = "settings"
    VERSIONS = "versions"
    IMAGES = "images"
    PERMISSIONS = "permissions"
    CRDS = "crds"
    DEPLOYMENTS = "deployments"
    OTHER = "other"

    @property
    def heading(self) -> str:
        return _HEADINGS[self]


_HEADINGS = {
    Group.SETTINGS: "Settings and what is left out",
    Group.VERSIONS: "Versions",
    Group.IMAGES: "Images",
    Group.PERMISSIONS: "Permissions",
    Group.CRDS: "Custom resource definitions",
    Group.DEPLOYMENTS: "Deployments",
    Group.OTHER: "Everything else",
}


class Gravity(IntEnum):
    """How much a change asks of its reader.

    BREAKING: something that works with the old side stops working. RISK: more power, or less certainty, than before.
    """

    NOTE = 0
    CHANGE = 1
    RISK = 2
    BREAKING = 3

    def __str__(self) -> str:
        return self.name.lower()


class Sign(StrEnum):
    """Whether something comes, goes, or becomes something else."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


class Absent(Enum):
    """The value of what is not there; null is there."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class Foreign(NamedTuple):
    """A piece of a sentence that comes from the input: a name, a value. Every style quotes and escapes it."""

    text: str


Sentence = tuple[str | Foreign, ...]


class Change(Protocol):
    """One change. The classes of changes are frozen dataclasses; their fields are the details of the JSON output.

    `identity` is the object that changed: in the new side, for what is removed in the old one.
    """

    @property
    def identity(self) -> Identity: ...

    @property
    def group(self) -> Group: ...

    @property
    def gravity(self) -> Gravity: ...

    @property
    def sign(self) -> Sign: ...

    def sentence(self) -> Sentence:
        """What changed, without the name of the object."""
        ...


def shown(value: Any) -> Foreign:
    """A value of the input as people read it: a text as it is, anything else as JSON; what is long is cut."""
    if value is ABSENT:
        return Foreign("nothing")
    if isinstance(value, str) and 0 < len(value) <= _WIDEST and not value.isspace():
        return Foreign(value)
    text = value if isinstance(value, str) and value.strip() else json.dumps(value, ensure_ascii=False, default=str)
    return Foreign(text if len(text) <= _WIDEST else f"{text[: _WIDEST * 2 // 3]} … {text[-_WIDEST // 3 + 3 :]}")


def excerpts(old: str, new: str) -> tuple[Foreign, Foreign]:
    """Two texts, of long ones only where they begin to differ."""
    if max(len(old), len(new)) <= _WIDEST or not old or not new:
        return shown(old), shown(new)
    shorter = min(len(old), len(new))
    common = next((number for number in range(shorter) if old[number] != new[number]), shorter)
    start = max(0, common - _BEFORE)
    return _excerpt(old, start), _excerpt(new, start)


def _excerpt(text: str, start: int) -> Foreign:
    end = start + _WIDEST // 2
    return Foreign(f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}")


def listed(values: tuple[str, ...] | list[str]) -> Sentence:
    """Values one after the other, with commas."""
    pieces: list[str | Foreign] = []
    for value in values:
        pieces += [", ", shown(value)] if pieces else [shown(value)]
    return tuple(pieces)


def plain(sentence: Sentence) -> str:
    """A sentence without any markup, fit for a terminal."""
    return "".join(clean(piece.text) if isinstance(piece, Foreign) else piece for piece in sentence)
