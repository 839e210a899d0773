"""Permissions gained and lost: what somebody may do on one side and not on the other, whatever roles are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from olmc.model.objects import Identity
from olmc.review.diff.access import EVERYWHERE, WHERE_BOUND, Access, Holder, Permission, Rule, is_aggregate, permissions
from olmc.review.diff.change import Foreign, Gravity, Group, Sentence, Sign, listed, shown
from olmc.review.diff.dangers import EVERY_VERB, dangers
from olmc.settle.permissions import allowed

__all__ = [
    "PermissionGained", "PermissionLost", "RoleGained", "RoleLost", "gained", "permission_changes", "verbs_in_order",
]  # fmt: skip


@dataclass(frozen=True)
class PermissionGained:
    """What `identity`, a service account, user, group or role, may do on the new side only.

    `scope` is a namespace, "" for the whole cluster, `*` for wherever the role gets bound. Each verb on each resource
    (`deployments.apps`), or on each URL; of objects with these `names` only, if there are any.
    """

    identity: Identity
    scope: str
    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...]
    urls: tuple[str, ...]
    dangers: tuple[str, ...]

    group = Group.PERMISSIONS
    sign = Sign.ADDED

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.dangers else Gravity.CHANGE

    def sentence(self) -> Sentence:
        warning: Sentence = (f": {', '.join(self.dangers)}",) if self.dangers else ()
        return ("may ", *_what(self), *_where(self.scope), *warning)


@dataclass(frozen=True)
class PermissionLost:
    """What `identity` may do on the old side only; the fields are those of PermissionGained."""

    identity: Identity
    scope: str
    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...]
    urls: tuple[str, ...]

    group = Group.PERMISSIONS
    gravity = Gravity.CHANGE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("may no longer ", *_what(self), *_where(self.scope))


@dataclass(frozen=True)
class RoleGained:
    """A role of the cluster that `identity` has on the new side only; what is in it, neither side says."""

    identity: Identity
    scope: str
    role: str

    group = Group.PERMISSIONS
    gravity = Gravity.CHANGE
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return ("has ", shown(self.role), *_where(self.scope))


@dataclass(frozen=True)
class RoleLost:
    """A role of the cluster that `identity` has on the old side only."""

    identity: Identity
    scope: str
    role: str

    group = Group.PERMISSIONS
    gravity = Gravity.CHANGE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return ("no longer has ", shown(self.role), *_where(self.scope))


def permission_changes(
    old: Access, new: Access
) -> Iterator[PermissionGained | PermissionLost | RoleGained | RoleLost]:
    """How two sides differ in what they let whom do."""
    for holder, parts in gained(old, new):
        yield PermissionGained(holder.subject, holder.scope, *parts, _dangers(holder, parts))
    for holder, parts in gained(new, old):
        yield PermissionLost(holder.subject, holder.scope, *parts)
    for holder in sorted(old.roles.keys() | new.roles.keys()):
        before, after = set(old.roles.get(holder, ())), set(new.roles.get(holder, ()))
        yield from (RoleGained(holder.subject, holder.scope, role) for role in sorted(after - before))
        yield from (RoleLost(holder.subject, holder.scope, role) for role in sorted(before - after))


def _dangers(holder: Holder, parts: Parts) -> tuple[str, ...]:
    """What is dangerous; that admins may do anything with an operator's objects is how OLM wants it."""
    found = dangers(parts.verbs, parts.resources)
    return tuple(each for each in found if each != EVERY_VERB) if is_aggregate(holder) else found


class Parts(NamedTuple):
    """Permissions of one holder in one sentence: each verb on each resource or URL."""

    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...]
    urls: tuple[str, ...]


def gained(old: Access, new: Access) -> Iterator[tuple[Holder, Parts]]:
    """What holders may do in `new` and not in `old`, as few sentences as there can be."""
    for holder in sorted(new.rules):
        before = old.granted(holder)
        after = new.rules[holder]
        if before == after:
            continue
        everywhere = new.rules.get(Holder(holder.subject, EVERYWHERE), ()) if holder.scope != EVERYWHERE else ()
        missing = _missing(before, after, everywhere if holder.scope != WHERE_BOUND else ())
        for parts in _joined(missing):
            yield holder, parts


def _missing(before: tuple[Rule, ...], after: Iterable[Rule], told: tuple[Rule, ...]) -> set[Permission]:
    """The permissions of `after` that neither `before` gives nor `told`, which is told for the whole cluster."""
    missing: set[Permission] = set()
    for rule in after:
        if rule in before:
            continue
        missing |= {
            each
            for each in permissions(rule)
            if each not in missing and not allowed(before, each.rule) and not (told and allowed(told, each.rule))
        }
    wider = [each.rule for each in missing if "*" in (each.verb, *each.resource.partition(".")) or each.url == "*"]
    return {each for each in missing if not any(rule != each.rule and allowed([rule], each.rule) for rule in wider)}


def _joined(missing: Iterable[Permission]) -> Iterator[Parts]:
    """Permissions on the same object take their verbs together, then those with the same verbs their resources."""
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for each in missing:
        verbs.setdefault((each.resource, each.name, each.url), set()).add(each.verb)
    together: dict[tuple[tuple[str, ...], bool, str], list[tuple[str, str, str]]] = {}
    for place in sorted(verbs):
        resource, name, url = place
        together.setdefault((verbs_in_order(verbs[place]), bool(url), name and resource), []).append(place)
    for (joined, _, _), places in together.items():
        resources, names, urls = (tuple(dict.fromkeys(filter(None, column))) for column in zip(*places, strict=True))
        yield Parts(joined, resources, names, urls)


_VERBS = ("*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


def verbs_in_order(verbs: Iterable[str]) -> tuple[str, ...]:
    """Verbs as people are used to read them."""
    return tuple(sorted(verbs, key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb)))


_MOST = 12


def _what(change: PermissionGained | PermissionLost) -> Sentence:
    verbs: Sentence = ("do anything with",) if change.verbs == ("*",) else listed(change.verbs)
    names: Sentence = (" named ", *_some(change.names)) if change.names else ()
    return (*verbs, " URLs " if change.urls else " ", *_some(change.resources or change.urls), *names)


def _some(values: tuple[str, ...]) -> Sentence:
    more = f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
    return (*listed(values[:_MOST]), more) if more else listed(values)


def _where(scope: str) -> Sentence:
    if scope == EVERYWHERE:
        return (" in the whole cluster",)
    return (" where the role is bound",) if scope == WHERE_BOUND else (" in namespace ", Foreign(scope))
