"""What only another version of OLM changes: names of RBAC, and the templates of pods without their containers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from olmc.load.validation.views import mapping, text
from olmc.model.objects import Identity, KubernetesObject
from olmc.review.builtin_roles import RBAC
from olmc.review.diff.change import Change, Gravity, Group, Sentence, Sign, shown
from olmc.review.diff.fields import ObjectAdded, ObjectRemoved
from olmc.review.diff.images import WORKLOADS
from olmc.review.diff.matching import Pair

__all__ = ["PodsReplaced", "Renamed", "format_changes"]

_SUFFIX = re.compile(r"[-.](admin|edit|view)(?:-[0-9A-Za-z]+)?\Z")


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
    gone: dict[tuple[str, ...], Pair] = {}
    come: list[Pair] = []
    for pair in pairs:
        if pair.old is not None and pair.new is not None:
            was = text(mapping(pair.old.get("metadata")).get("name"))
            if was != pair.identity.name:
                yield Renamed(pair.identity, was, bool(_role_of_group(pair.new)))
        elif pair.old is not None:
            gone[_role_of_group(pair.old) or tuple(pair.identity)] = pair
        else:
            come.append(pair)
    for pair in come:
        before = gone.pop(_role_of_group(pair.new or {}), None)
        yield Renamed(pair.identity, before.identity.name, True) if before is not None else ObjectAdded(pair.identity)
    yield from (ObjectRemoved(pair.identity) for pair in gone.values())


def _role_of_group(obj: KubernetesObject) -> tuple[str, ...]:
    """The OperatorGroup of an aggregating ClusterRole and for whom it is, () for anything else."""
    metadata = mapping(obj.get("metadata"))
    labels = mapping(metadata.get("labels"))
    suffix = _SUFFIX.search(text(metadata.get("name")))
    if suffix is None or labels.get("olm.owner.kind") != "OperatorGroup" or "rules" in obj:
        return ()
    return text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner")), suffix[1]
