"""Changes: what a kind of change is, its severity, and a message that can be written in any style.

The kinds are tables (the modules `*_kinds`): each stands there once, as a function from its values to how grave they
are and what is reported about them, with its name, group and type. The parameters are the details of the JSON output,
and mypy holds whoever makes a change of the kind to them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from inspect import signature
from typing import Any, Generic, ParamSpec

from olmc.lean import NamedTuple
from olmc.model.diagnostics import Severity
from olmc.model.objects import ObjectKey
from olmc.output.unicode import clean

_WIDEST = 120
_BEFORE = 15

WORKLOADS = frozenset("CronJob DaemonSet Deployment Job Pod ReplicaSet ReplicationController StatefulSet".split())
"""The kinds of objects that run containers."""

NOTE, CHANGE, RISK, BREAKING = Severity.INFO, Severity.WARNING, Severity.FAILURE, Severity.ERROR
"""How much a change asks of its reader, on the scale of findings.

BREAKING: something that works with the old side stops working. RISK: more power, or less certainty, than before.
"""

SEVERITY_WORDS = {NOTE: "note", CHANGE: "change", RISK: "risk", BREAKING: "breaking"}


class ChangeGroup(StrEnum):
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
    ChangeGroup.SETTINGS: "Settings and what is left out",
    ChangeGroup.VERSIONS: "Versions",
    ChangeGroup.IMAGES: "Images",
    ChangeGroup.PERMISSIONS: "Permissions",
    ChangeGroup.CRDS: "Custom resource definitions",
    ChangeGroup.DEPLOYMENTS: "Deployments",
    ChangeGroup.OTHER: "Everything else",
}


class ChangeType(StrEnum):
    """Whether something comes, goes, or becomes something else."""

    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


ADDED, REMOVED, CHANGED = ChangeType


class Absent(Enum):
    """The value of what is not there; null is there."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class UntrustedText(NamedTuple):
    """A piece of a message that comes from the input: a name, a value. Every style quotes and escapes it."""

    text: str


Message = tuple[str | UntrustedText, ...]
Judgement = tuple[Severity, Message]
"""How grave a change is, and what changed, without the name of the object."""

_Values = ParamSpec("_Values")


@dataclass(frozen=True)
class ChangeKind(Generic[_Values]):
    """A kind of change. Called with an object and the values of the kind it gives the change.

    `group` is None where the object decides on it, `type` where the values `old` and `new` do. `fields` are the names
    of the values. A value called `severity` is one that depends on the place of the change.
    """

    name: str
    group: ChangeGroup | None
    type: ChangeType | None
    judge: Callable[_Values, Judgement]
    fields: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(signature(self.judge).parameters))

    def __call__(self, identity: ObjectKey, *args: _Values.args, **kwargs: _Values.kwargs) -> DiffChange:
        # JSON has the values by name, however the kind was called.
        values = {**dict(zip(self.fields, args, strict=False)), **kwargs}
        return DiffChange(self, identity, values, *self.judge(*args, **kwargs))


def change_kind(
    name: str, group: ChangeGroup | None, type: ChangeType | None = None
) -> Callable[[Callable[_Values, Judgement]], ChangeKind[_Values]]:
    """Makes a function that judges the values of a kind of change the kind itself."""
    return lambda judge: ChangeKind(name, group, type, judge)


class DiffChange(NamedTuple):
    """One change; `identity` is the object that changed: in the new side, for what is removed in the old one.

    `later`: only once somebody approves the plans that wait. `kept_back`: only once what is stuck goes on.
    """

    kind: ChangeKind[...]
    identity: ObjectKey
    values: Mapping[str, Any]
    severity: Severity
    message: Message
    later: bool = False
    kept_back: bool = False

    @property
    def group(self) -> ChangeGroup:
        return self.kind.group or (ChangeGroup.DEPLOYMENTS if self.identity.kind in WORKLOADS else ChangeGroup.OTHER)

    @property
    def type(self) -> ChangeType:
        if self.kind.type is not None:
            return self.kind.type
        return ADDED if self.values["old"] is ABSENT else REMOVED if self.values["new"] is ABSENT else CHANGED


def shown(value: Any) -> UntrustedText:
    """A value of the input as people read it: a text as it is, anything else as JSON; what is long is cut."""
    if value is ABSENT:
        return UntrustedText("nothing")
    if isinstance(value, str) and 0 < len(value) <= _WIDEST and not value.isspace():
        return UntrustedText(value)
    text = value if isinstance(value, str) and value.strip() else json.dumps(value, ensure_ascii=False, default=str)
    return UntrustedText(text if len(text) <= _WIDEST else f"{text[: _WIDEST * 2 // 3]} … {text[-_WIDEST // 3 + 3 :]}")


def excerpts(old: str, new: str) -> tuple[UntrustedText, UntrustedText]:
    """Two texts, of long ones only where they begin to differ."""
    if max(len(old), len(new)) <= _WIDEST or not old or not new:
        return shown(old), shown(new)
    shorter = min(len(old), len(new))
    # Values like these differ somewhere in the middle, and cut from the front they would look the same.
    common = next((number for number in range(shorter) if old[number] != new[number]), shorter)
    start = max(0, common - _BEFORE)
    return _excerpt(old, start), _excerpt(new, start)


def _excerpt(text: str, start: int) -> UntrustedText:
    end = start + _WIDEST // 2
    return UntrustedText(f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}")


def from_to(old: object, new: object) -> Message:
    """The end of a message about a value: what it was, and what it is."""
    if old is ABSENT:
        return (": ", shown(new), " (new)")
    if new is ABSENT:
        return (" is gone; it was ", shown(old))
    before, after = excerpts(old, new) if isinstance(old, str) and isinstance(new, str) else (shown(old), shown(new))
    return (": ", before, " → ", after)


def listed(values: Sequence[str], most: int | None = None, further: int = 0) -> Message:
    """Values one after the other, with commas; no more than `most` of them, which there must be if there are `further`
    ones beside them."""
    pieces: list[str | UntrustedText] = []
    for value in values[:most]:
        pieces += [", ", shown(value)] if pieces else [shown(value)]
    if most is not None and len(values) > most:
        pieces.append(f" and {len(values) - most + further} more")
    return tuple(pieces)


def plain(message: Message) -> str:
    """A message without any markup, fit for a terminal."""
    return "".join(clean(piece.text) if isinstance(piece, UntrustedText) else piece for piece in message)
