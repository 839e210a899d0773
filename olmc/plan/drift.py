"""Drift: where a cluster is not what olmc expects of its repository, and whether OLM would repair it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from olmc.diff.deltas import Delta, deltas
from olmc.diff.operators import is_copy
from olmc.lean import NamedTuple
from olmc.model.objects import CRD_KIND, KubernetesObject, ObjectKey, labels_of, name_of, owner_references
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.olm.naming import COPIED_FROM
from olmc.plan.server_fields import is_default, predicted

DriftKind = Literal["missing", "extra", "different"]

NEVER = "nobody: what an InstallPlan has made is not made again"
TOOL = "the tool that applies the repository, at its next sync"
_CSV_SYNC = "OLM, at the next sync of its CSV"
_GROUP_SYNC = "OLM, at the next sync of its OperatorGroup"
_HASH = "olm.deployment-spec-hash"
_SAME_HASH = f"nobody: OLM goes by the label {_HASH}, which is as it should be"


class DriftedObject(NamedTuple):
    """An object that is not as expected: it is missing, nobody expects it, or it differs; and who repairs it."""

    kind: DriftKind
    key: ObjectKey
    repaired_by: str
    deltas: tuple[Delta, ...] = ()

    @property
    def stays(self) -> bool:
        """Whether it stays like that for good."""
        return self.repaired_by.startswith("nobody")


def drift_of(
    held: Iterable[KubernetesObject], expected: Iterable[KubernetesObject], applied: Iterable[ObjectKey]
) -> tuple[DriftedObject, ...]:
    """Where the objects that a cluster holds are not those that are expected, of which `applied` are manifests.

    What else a cluster holds is its own business; of what nobody expects only that is told which OLM has made.
    """
    there, wanted = predicted(held), predicted(expected)
    manifests = frozenset(applied)
    return tuple(sorted(_drift(there, wanted, manifests), key=lambda item: (item.key, item.kind)))


def _drift(
    there: Mapping[ObjectKey, KubernetesObject], wanted: Mapping[ObjectKey, KubernetesObject],
    manifests: frozenset[ObjectKey],
) -> Iterator[DriftedObject]:  # fmt: skip
    for key, expected in wanted.items():
        held = there.get(key)
        if held is None:
            yield DriftedObject("missing", key, _who_makes(key, expected, manifests))
            continue
        differing = tuple(d for d in deltas(expected, held) if not is_default(key.kind, d))
        if differing:
            yield DriftedObject("different", key, _who_writes(key, expected, held, manifests, differing), differing)
    for key, held in there.items():
        if key not in wanted and key not in manifests and _is_of_olm(key, held):
            yield DriftedObject("extra", key, "nobody: OLM deletes nothing that it has no reason to look at")


def _is_of_olm(key: ObjectKey, obj: KubernetesObject) -> bool:
    """Whether OLM has made an object: by its labels, or by its owner; old InstallPlans are history."""
    if key.group == OLM_GROUP:
        return key.kind in (CSV_KIND, "OperatorCondition")
    owned = any(ref.get("kind") in (CSV_KIND, "OperatorCondition") for ref in owner_references(obj))
    return owned or "olm.owner" in labels_of(obj)


def _who_makes(key: ObjectKey, obj: KubernetesObject, manifests: frozenset[ObjectKey]) -> str:
    """Who makes an object that is missing (observed-63)."""
    if key in manifests:
        return TOOL
    if key.kind == "Deployment" and _HASH in labels_of(obj):
        return _CSV_SYNC
    return _sync_of(key, obj) or NEVER


def _who_writes(
    key: ObjectKey, expected: KubernetesObject, held: KubernetesObject, manifests: frozenset[ObjectKey],
    differing: Iterable[Delta],
) -> str:  # fmt: skip
    if all(delta.path[:1] == ("status",) for delta in differing):
        return "OLM, when what it waits for comes about" if key.kind == CSV_KIND else "OLM, at its next sync"
    if key in manifests:
        return TOOL
    if key.kind == "Deployment" and _HASH in labels_of(expected):
        # OLM compares the hash of what it would write with the label, and looks at nothing else of the object.
        return _CSV_SYNC if labels_of(held).get(_HASH) != labels_of(expected).get(_HASH) else _SAME_HASH
    return _sync_of(key, expected) or "nobody: OLM writes it once, in an InstallPlan"


def _sync_of(key: ObjectKey, obj: KubernetesObject) -> str:
    """The sync in which OLM writes an object each time, "" for none."""
    labels = labels_of(obj)
    owners = {str(ref.get("kind")).lower() for ref in owner_references(obj)}
    if key.kind == CSV_KIND:
        return _CSV_SYNC if is_copy(obj) else ""
    if COPIED_FROM in labels or key.kind == "OperatorCondition" or "operatorcondition" in owners:
        return _CSV_SYNC
    if key.kind == "ClusterRole" and (labels.get("olm.owner.kind") == "OperatorGroup" or CRD_KIND.lower() in owners):
        return _GROUP_SYNC
    if key.kind == "APIService" or "olm.webhook-description-hash" in labels or _is_serving(key, obj):
        return _CSV_SYNC
    return "OLM, at its next sync" if (key.group, key.kind) == (OLM_GROUP, "Operator") else ""


def _is_serving(key: ObjectKey, obj: KubernetesObject) -> bool:
    """Whether an object is part of what serves a CSV's webhooks and APIs with a certificate."""
    return name_of(obj).endswith(("-service", "-service-cert", "-auth-reader", "-system:auth-delegator")) and (
        key.kind in ("Service", "Secret", "Role", "RoleBinding", "ClusterRoleBinding")
    )
