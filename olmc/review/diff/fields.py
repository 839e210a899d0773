"""Changes of objects as such: what comes, what goes, and fields that nothing more particular is known of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from olmc.model.objects import Identity
from olmc.review.diff.change import ABSENT, Gravity, Group, Sentence, Sign, excerpts, shown
from olmc.review.diff.images import WORKLOADS
from olmc.review.diff.values import Delta, path_text

__all__ = ["FieldChanged", "ObjectAdded", "ObjectRemoved", "field_changes"]

# They see or change what others send to the API server, or answer for it.
_POWERFUL = frozenset(("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService"))


@dataclass(frozen=True)
class ObjectAdded:
    """An object that only the new side has."""

    identity: Identity

    sign = Sign.ADDED

    @property
    def group(self) -> Group:
        return _group_of(self.identity)

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.identity.kind in _POWERFUL else Gravity.CHANGE

    def sentence(self) -> Sentence:
        return ("new; it has a say in what is sent to the API server" if self.identity.kind in _POWERFUL else "new",)


@dataclass(frozen=True)
class ObjectRemoved:
    """An object that only the old side has."""

    identity: Identity

    sign = Sign.REMOVED
    gravity = Gravity.CHANGE

    @property
    def group(self) -> Group:
        return _group_of(self.identity)

    def sentence(self) -> Sentence:
        return ("removed",)


@dataclass(frozen=True)
class FieldChanged:
    """A field with another value, or one that comes or goes; `path` as `spec.ports[http].port`."""

    identity: Identity
    path: str
    old: Any
    new: Any

    @property
    def group(self) -> Group:
        return _group_of(self.identity)

    @property
    def gravity(self) -> Gravity:
        return Gravity.CHANGE if self.identity.kind in _POWERFUL else Gravity.NOTE

    @property
    def sign(self) -> Sign:
        return sign_of(self.old, self.new)

    def sentence(self) -> Sentence:
        return (shown(self.path), *from_to(self.old, self.new))


def field_changes(identity: Identity, found: Iterator[Delta]) -> Iterator[FieldChanged]:
    """A FieldChanged for each difference."""
    for delta in found:
        yield FieldChanged(identity, path_text(delta.path), delta.old, delta.new)


def sign_of(old: object, new: object) -> Sign:
    """Whether a value comes, goes, or becomes another one."""
    return Sign.ADDED if old is ABSENT else Sign.REMOVED if new is ABSENT else Sign.CHANGED


def from_to(old: object, new: object) -> Sentence:
    """The end of a sentence about a value: what it was, and what it is."""
    if old is ABSENT:
        return (": ", shown(new), " (new)")
    if new is ABSENT:
        return (" is gone; it was ", shown(old))
    if isinstance(old, str) and isinstance(new, str):
        before, after = excerpts(old, new)
        return (": ", before, " → ", after)
    return (": ", shown(old), " → ", shown(new))


def _group_of(identity: Identity) -> Group:
    return Group.DEPLOYMENTS if identity.kind in WORKLOADS else Group.OTHER
