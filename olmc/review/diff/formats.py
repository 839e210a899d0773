"""What only another version of OLM changes: names of RBAC, and the templates of pods without their containers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from olmc.model.coerce import mapping, text
from olmc.model.objects import Identity, KubernetesObject
from olmc.model.rbac import RBAC
from olmc.review.diff.change import Change, Gravity, Group, Sentence, Sign, shown
from olmc.review.diff.fields import ObjectAdded, ObjectRemoved
from olmc.review.diff.images import WORKLOADS
from olmc.review.diff.matching import Pair, role_of_group

__all__ = ["PodsReplaced", "Renamed", "format_changes"]


@dataclass(frozen=True)
class Renamed:
    """An object that has another name; the ClusterRoles of OperatorGroups are there to be bound by people."""

    identity: Identity
    old: str
    is_bound_by_people: bool

    group = Group.OTHER
    sign = Sign.CHANGED

    @property
    def gravity(self) -> Gravity:
        return Gravity.RISK if self.is_bound_by_people else Gravity.CHANGE

    def sentence(self) -> Sentence:
        advice = "; bindings to that name have to follow" if self.is_bound_by_people else ""
        return ("its name was ", shown(self.old), advice)


@dataclass(frozen=True)
class PodsReplaced:
    """A workload whose pods are replaced, be it for an annotation alone."""

    identity: Identity

    group = Group.DEPLOYMENTS
    gravity = Gravity.CHANGE
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        return ("its pods are replaced, because their template is another",)


def format_changes(pairs: Iterable[Pair]) -> Iterator[Change]:
    """What nobody wants to read about an upgrade of an operator, which changes these by its name and its hashes."""
    found = list(pairs)
    yield from _names(pair for pair in found if pair.identity.group == RBAC)
    for pair in found:
        if pair.identity.kind in WORKLOADS and pair.old and pair.new and _template(pair.old) != _template(pair.new):
            yield PodsReplaced(pair.identity)


def _template(workload: KubernetesObject) -> Any:
    return mapping(workload.get("spec")).get("template")


def _names(pairs: Iterable[Pair]) -> Iterator[Renamed | ObjectAdded | ObjectRemoved]:
    """RBAC that was renamed, and what of it is there on one side only."""
    for pair in pairs:
        if pair.new is None:
            yield ObjectRemoved(pair.identity)
        elif pair.old is None:
            yield ObjectAdded(pair.identity)
        elif (was := text(mapping(pair.old.get("metadata")).get("name"))) != pair.identity.name:
            yield Renamed(pair.identity, was, role_of_group(pair.identity, pair.new) is not None)
