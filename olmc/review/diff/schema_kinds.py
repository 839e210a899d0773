"""The kinds of changes that a schema can have.

`path` is the place in the objects: `spec.size`, `spec.hosts[].name` for items of a list, `spec.labels{}` for the values
of a map, "" for the whole object. `gravity` is decided where the change is found, since it depends on the place: in the
status, which users don't write, and in versions that were not served less breaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from olmc.model.objects import Identity
from olmc.review.diff.change import Gravity, Group, Sentence, Sign, listed, shown
from olmc.review.diff.fields import from_to, sign_of

__all__ = [
    "BoundChanged", "DefaultChanged", "EnumChanged", "KeywordChanged", "PatternChanged", "PropertyAdded",
    "PropertyRemoved", "RequiredAdded", "RequiredRemoved", "TypeChanged", "UnknownFieldsChanged", "ValidationAdded",
    "ValidationRemoved",
]  # fmt: skip


def _place(version: str, path: str) -> Sentence:
    return (shown(version), " ", shown(path or "the whole object"))


@dataclass(frozen=True)
class PropertyAdded:
    """A field that objects may have from now on, or must."""

    identity: Identity
    version: str
    path: str
    required: bool
    gravity: Gravity

    group = Group.CRDS
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        breaks = ": objects without it are refused" if self.gravity is Gravity.BREAKING else ""
        return (*_place(self.version, self.path), f" is new and required{breaks}" if self.required else " is new")


@dataclass(frozen=True)
class PropertyRemoved:
    """A field that the schema does not have any more.

    `kept_in` are other served versions that still have it, to which a conversion webhook leads; `tolerated`: unknown
    fields are let through there.
    """

    identity: Identity
    version: str
    path: str
    kept_in: tuple[str, ...]
    tolerated: bool
    gravity: Gravity

    group = Group.CRDS
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        start: Sentence = (*_place(self.version, self.path), " is gone")
        if self.kept_in:
            return (*start, "; the conversion webhook may keep it in ", *listed(self.kept_in))
        return (*start, "; unknown fields are kept there") if self.tolerated else (*start, ": what it holds is dropped")


@dataclass(frozen=True)
class TypeChanged:
    """Another type; `anything` and `nothing` stand for schemas without one."""

    identity: Identity
    version: str
    path: str
    old: str
    new: str
    gravity: Gravity

    group = Group.CRDS
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        return (*_place(self.version, self.path), " has another type: ", shown(self.old), " → ", shown(self.new))


@dataclass(frozen=True)
class RequiredAdded:
    """A field that objects could do without so far."""

    identity: Identity
    version: str
    path: str
    has_default: bool
    gravity: Gravity

    group = Group.CRDS
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        default = " (it has a default)" if self.has_default else ""
        return (*_place(self.version, self.path), f" is required from now on{default}")


@dataclass(frozen=True)
class RequiredRemoved:
    """A field that objects had to have so far."""

    identity: Identity
    version: str
    path: str

    group = Group.CRDS
    gravity = Gravity.CHANGE
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        return (*_place(self.version, self.path), " is no longer required")


@dataclass(frozen=True)
class EnumChanged:
    """Other values are allowed; `was_open`, `is_open`: any value was, or is."""

    identity: Identity
    version: str
    path: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    was_open: bool
    is_open: bool
    gravity: Gravity

    group = Group.CRDS
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        place = _place(self.version, self.path)
        if self.is_open:
            return (*place, " allows any value")
        if self.was_open:
            return (*place, " allows only ", *listed(self.added))
        less: Sentence = (" no longer allows ", *listed(self.removed)) if self.removed else ()
        more: Sentence = (" and" if self.removed else "", " allows ", *listed(self.added)) if self.added else ()
        return (*place, *less, *more)


@dataclass(frozen=True)
class BoundChanged:
    """Another limit: minimum, maxLength, uniqueItems and their like."""

    identity: Identity
    version: str
    path: str
    keyword: str
    old: Any
    new: Any
    gravity: Gravity

    group = Group.CRDS

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        return (*_place(self.version, self.path), f" {self.keyword}", *from_to(self.old, self.new))


@dataclass(frozen=True)
class PatternChanged:
    """Another pattern or format; which of two patterns lets more through nobody can say."""

    identity: Identity
    version: str
    path: str
    keyword: str
    old: Any
    new: Any
    gravity: Gravity

    group = Group.CRDS

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        return (*_place(self.version, self.path), f" {self.keyword}", *from_to(self.old, self.new))


@dataclass(frozen=True)
class DefaultChanged:
    """Another default: objects that leave the field out mean something else from now on."""

    identity: Identity
    version: str
    path: str
    old: Any
    new: Any
    gravity: Gravity

    group = Group.CRDS

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        return (*_place(self.version, self.path), " default", *from_to(self.old, self.new))


@dataclass(frozen=True)
class ValidationAdded:
    """A CEL rule that objects have to obey from now on."""

    identity: Identity
    version: str
    path: str
    rule: str
    message: str
    gravity: Gravity

    group = Group.CRDS
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        said: Sentence = (" (", shown(self.message), ")") if self.message else ()
        return (*_place(self.version, self.path), " has to obey ", shown(self.rule), *said)


@dataclass(frozen=True)
class ValidationRemoved:
    """A CEL rule that objects need not obey any more."""

    identity: Identity
    version: str
    path: str
    rule: str

    group = Group.CRDS
    gravity = Gravity.CHANGE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return (*_place(self.version, self.path), " need not obey ", shown(self.rule), " any more")


@dataclass(frozen=True)
class KeywordChanged:
    """Another keyword: combinations (allOf …), nullable, the kind of a list or map; the same at all of these places."""

    identity: Identity
    version: str
    paths: tuple[str, ...]
    keyword: str
    old: Any
    new: Any
    gravity: Gravity

    group = Group.CRDS

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        others = len(self.paths) - 1
        more = f" and {others} more place{'s' * (others != 1)}" if others else ""
        return (*_place(self.version, self.paths[0]), f"{more} {self.keyword}", *from_to(self.old, self.new))


@dataclass(frozen=True)
class UnknownFieldsChanged:
    """Fields that the schema doesn't name are kept from now on, or dropped."""

    identity: Identity
    version: str
    path: str
    kept: bool
    gravity: Gravity

    group = Group.CRDS
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        what = "keeps" if self.kept else "drops"
        return (*_place(self.version, self.path), f" {what} fields that the schema does not name")
