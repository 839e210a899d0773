"""Drift: where a cluster is not what olmc expects of its repository, and whether that is repaired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from olmc.diff.deltas import Delta, deltas
from olmc.diff.server_defaults import is_default
from olmc.lean import NamedTuple
from olmc.model.objects import KubernetesObject, ObjectKey, labels_of, owner_references, split_api_version, text
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.model.secrets import masked, may_hold_secrets
from olmc.olm.naming import COPIED_FROM
from olmc.plan.repair import Repair, repair_of_different, repair_of_extra, repair_of_missing, serving_names
from olmc.plan.server_fields import predicted, unpredicted

DriftKind = Literal["missing", "extra", "different"]

_OF_MEMBERS = (("metadata", "annotations"), ("aggregationRule",))
_BESIDE = "nothing expects it, and OLM did not make it"
_OLD_PLAN = "an InstallPlan of earlier"


class DriftedObject(NamedTuple):
    """An object that is not as expected: it is missing, nobody expects it, or it differs; and how that is repaired.

    `along`: other objects that are missing, or there, or different, because this one is.
    """

    kind: DriftKind
    key: ObjectKey
    repair: Repair
    deltas: tuple[Delta, ...] = ()
    along: tuple[ObjectKey, ...] = ()

    @property
    def stays(self) -> bool:
        """Whether it stays like that for good."""
        return self.repair.by == "nobody"


class StateComparison(NamedTuple):
    """A cluster held against what is expected of it: how many objects were compared, how many of them are equal, where
    it differs, and how many objects can't be compared, by the reason."""

    compared: int
    equal: int
    drift: tuple[DriftedObject, ...]
    not_compared: Mapping[str, int]

    def count(self, kind: DriftKind) -> int:
        """How many objects differ in this way, those that follow from others included."""
        return sum(1 + len(item.along) for item in self.drift if item.kind == kind)


def compare_state(
    held: Iterable[KubernetesObject], expected: Iterable[KubernetesObject],
    applied: Mapping[ObjectKey, KubernetesObject],
) -> StateComparison:  # fmt: skip
    """Where the objects that a cluster holds are not those that are expected, of which `applied` are manifests.

    What else a cluster holds is its own business; of what nobody expects only that is reported which OLM has made.
    """
    held = list(held)
    there, wanted = predicted(held), predicted(expected)
    found = sorted(_drift(there, wanted, applied), key=lambda item: (item.key, item.kind))
    beside: Counter[str] = Counter(unpredicted(held))
    extras = {item.key for item in found if item.kind == "extra"}
    for key in there.keys() - wanted.keys() - extras:
        beside[_OLD_PLAN if key.kind == "InstallPlan" else _BESIDE] += 1
    unequal = sum(item.kind != "extra" for item in found)
    drift = tuple(_folded(found, {**wanted, **there}))
    return StateComparison(len(wanted) + len(extras), len(wanted) - unequal, drift, dict(sorted(beside.items())))


def _drift(
    there: Mapping[ObjectKey, KubernetesObject], wanted: Mapping[ObjectKey, KubernetesObject],
    applied: Mapping[ObjectKey, KubernetesObject],
) -> Iterator[DriftedObject]:  # fmt: skip
    serving = serving_names(wanted.values())
    for key, expected in wanted.items():
        held = there.get(key)
        if held is None:
            yield DriftedObject("missing", key, repair_of_missing(key, expected, applied, serving))
            continue
        sides = masked(expected, held) if may_hold_secrets(expected) else (expected, held)
        differing = tuple(d for d in deltas(*sides) if not is_default(key.kind, d))
        if differing:
            repair = repair_of_different(key, expected, held, applied, differing, serving)
            yield DriftedObject("different", key, repair, differing)
    for key, held in there.items():
        if key not in wanted and key not in applied and _is_of_olm(key, held):
            yield DriftedObject("extra", key, repair_of_extra(key, held))


def _is_of_olm(key: ObjectKey, obj: KubernetesObject) -> bool:
    """Whether OLM has made an object: by its labels, or by its owner; old InstallPlans are history."""
    if key.group == OLM_GROUP:
        return key.kind in (CSV_KIND, "OperatorCondition")
    owned = any(ref.get("kind") in (CSV_KIND, "OperatorCondition") for ref in owner_references(obj))
    return owned or "olm.owner" in labels_of(obj)


def _folded(found: Iterable[DriftedObject], objects: Mapping[ObjectKey, KubernetesObject]) -> Iterator[DriftedObject]:
    """The drift without what follows from other drift, which is `along` of that."""
    drifted = {item.key: item for item in found}
    along: dict[ObjectKey, list[ObjectKey]] = {}
    for key in drifted:
        cause = _cause(key, drifted, objects)
        if cause != key:
            along.setdefault(cause, []).append(key)
    followers = {key for keys in along.values() for key in keys}
    for key, item in drifted.items():
        if key not in followers:
            yield item._replace(along=tuple(along.get(key, ())))


def _cause(
    key: ObjectKey, drifted: Mapping[ObjectKey, DriftedObject], objects: Mapping[ObjectKey, KubernetesObject]
) -> ObjectKey:
    """The object for the sake of which another one is not as expected; itself if there is none."""
    seen = {key}
    while True:
        item = drifted[key]
        causes = _reasons(key, item, objects[key], drifted)
        owners = (owner for owner in causes if owner in drifted and owner not in seen)
        owner = next((owner for owner in owners if drifted[owner].kind in ("missing", "extra")), None)
        if owner is None:
            return key
        seen.add(owner)
        key = owner


def _reasons(
    key: ObjectKey, item: DriftedObject, obj: KubernetesObject, drifted: Iterable[ObjectKey]
) -> Iterator[ObjectKey]:
    """What an object is there for; for one that differs, the CSVs that its group writes of (R-OG-11, R-OG-17)."""
    labels = labels_of(obj)
    if item.kind == "different":
        namespace = key.namespace if key.kind == "OperatorGroup" else labels.get("olm.owner.namespace", "")
        of_group = key.kind == "OperatorGroup" or labels.get("olm.owner.kind") == "OperatorGroup"
        if of_group and all(path[:1] in _OF_MEMBERS or path[:2] in _OF_MEMBERS for path, *_ in item.deltas):
            yield from (other for other in drifted if (other.kind, other.namespace) == (CSV_KIND, namespace))
        return
    if COPIED_FROM in labels and key.kind == CSV_KIND:
        yield key._replace(namespace=labels[COPIED_FROM])
    for ref in owner_references(obj):
        group, kind = split_api_version(ref.get("apiVersion"))[0], text(ref.get("kind"))
        for namespace in (key.namespace, ""):
            yield ObjectKey(group, kind, namespace, text(ref.get("name")))
    if labels.get("olm.owner.kind") == CSV_KIND:
        yield ObjectKey(OLM_GROUP, CSV_KIND, labels.get("olm.owner.namespace", ""), labels.get("olm.owner", ""))
