"""Whether a cluster is what olmc predicts from what it holds: what OLM writes again and again is left out of a dump,
predicted from the rest, and held against what was there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.operators import CSV_KIND
from olmc.compiler.model.options import Options
from olmc.compiler.model.workspace import ClusterState
from olmc.compiler.olm.facts import group_by_label, has_copy_label, is_copy, original_by_label, original_of, owner_csvs
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    CRD_KIND,
    OLM_GROUP,
    RBAC,
    KubernetesObject,
    ObjectKey,
    labels_of,
    object_key,
    owner_references,
    spec_of,
    status_of,
    text,
)
from olmc.review.plan.repair import SPEC_HASH, DriftedObject, compare_state, serving_names

_RESOLVED = frozenset({"Subscription", "InstallPlan", "CatalogSource"})
_GIVEN = "the prediction begins with it"


class Verification(NamedTuple):
    """What came out: how many objects were predicted, how many of them are in the cluster as predicted, what is not,
    and how many objects were not compared, by the reason."""

    compared: int
    equal: int
    drift: tuple[DriftedObject, ...]
    not_compared: Mapping[str, int]


def left_out(state: ClusterState) -> frozenset[ObjectKey]:
    """The objects of a cluster that OLM makes of the others, so that they can be predicted: what belongs to CSVs that
    have succeeded, and to groups. OLM leaves alone what belongs to other CSVs."""
    objects = {key: manifest.object for key, manifest in state.objects.items()}
    # What the account of a group may not do (any more) OLM does not make again.
    limited = {
        key.namespace for key, obj in objects.items()
        if key.kind == "OperatorGroup" and spec_of(obj).get("serviceAccountName")
    }  # fmt: skip
    succeeded = {
        (key.namespace, key.name) for key, obj in objects.items()
        if key.kind == CSV_KIND and not is_copy(obj) and text(status_of(obj).get("phase")) == "Succeeded"
        and key.namespace not in limited
    }  # fmt: skip
    roles = {(key.namespace, key.name) for key in objects if (key.group, key.kind) == (RBAC, "Role")}
    serving = serving_names(objects.values())
    return frozenset(k for k, obj in objects.items() if _is_predicted(k, obj, succeeded, roles, serving))


def _is_predicted(
    key: ObjectKey, obj: KubernetesObject, succeeded: set[tuple[str, str]], roles: set[tuple[str, str]],
    serving: frozenset[str],
) -> bool:  # fmt: skip
    labels = labels_of(obj)
    if key.kind == CSV_KIND:
        return original_of(obj) in succeeded
    if group_by_label(obj) is not None:
        # The rules that are left when nothing is selected any more OLM leaves alone (observed-60).
        return key.kind == "ClusterRole" and bool(obj.get("aggregationRule") or not obj.get("rules"))
    if has_copy_label(obj):
        return original_by_label(obj) in succeeded
    owners = {text(ref.get("kind")): text(ref.get("name")) for ref in owner_references(obj)}
    if key.kind == "OperatorCondition":
        # What operators and people say in it is not made by OLM.
        overridden = spec_of(obj).get("conditions") or spec_of(obj).get("overrides")
        return (key.namespace, key.name) in succeeded and not overridden
    if "OperatorCondition" in owners:
        return (key.namespace, owners["OperatorCondition"]) in succeeded
    if key.kind == "ClusterRole" and {owner.lower() for owner in owners} & {CRD_KIND.lower(), "apiservice"}:
        return any(label.startswith("olm.opgroup.permissions/") for label in labels)
    owner = next(iter(owner_csvs(obj)), None)
    if owner not in succeeded:
        return False
    if key.kind == "Deployment":
        return SPEC_HASH in labels
    if "olm.webhook-description-hash" in labels or key.kind == "APIService" or key.name in serving:
        return True
    return key.group == RBAC and not key.namespace and (owner.namespace, key.name) in roles  # lifted for a global group


def options_for(state: ClusterState, without: frozenset[ObjectKey], options: Options) -> Options:
    """The options with which what a state is left with is compiled, as far as OLM goes on from there."""
    kept = state._replace(objects={key: manifest for key, manifest in state.objects.items() if key not in without})
    names = {key.namespace for key in state.objects if key.namespace}
    return options._replace(state=kept, namespaces=tuple(sorted({*options.namespaces, *names})))


def verified(
    state: ClusterState, predicted: Iterable[KubernetesObject], without: frozenset[ObjectKey], cluster: Cluster
) -> Verification:
    """A state held against what was predicted from it `without` some objects, as objects and as the `cluster`."""
    held = [manifest.object for manifest in state.objects.values()]
    restless = {(name.namespace, name.name) for name, member in cluster.members.items() if member.flapping}
    reasons = Counter(filter(None, (_reason(obj, restless) for obj in held)))
    there, wanted = ([obj for obj in side if not _reason(obj, restless)] for side in (held, predicted))
    found = compare_state(there, wanted, {})
    reasons.update(found.not_compared)
    left = [item for item in found.drift if _is_left_over(item)]
    drift = tuple(item for item in found.drift if not _is_left_over(item))
    begun = {object_key(obj) for obj in held} - without
    of_begun = sum(item.key in begun for item in drift)
    missing = sum(1 + len(item.along) for item in drift if item.kind == "missing")
    unequal = sum(1 + len(item.along) for item in drift)
    compared = len(without) - sum(1 + len(item.along) for item in left) + missing + of_begun
    reasons[_GIVEN] = len(begun) - reasons.total() - of_begun
    for item in left:
        reasons[f"left over: {item.repair.when} ({item.repair.rule})"] += 1 + len(item.along)
    counted = {reason: count for reason, count in sorted(reasons.items()) if count > 0}
    return Verification(compared, compared - unequal, drift, counted)


def _is_left_over(item: DriftedObject) -> bool:
    """Whether an object is what OLM is known to leave behind, such as what a group needed before."""
    return item.kind == "extra" and item.repair.by == "nobody"


def _reason(obj: KubernetesObject, restless: set[tuple[str, str]]) -> str:
    """Why an object is not compared, "" for one that is."""
    key = object_key(obj)
    if key.group == OLM_GROUP and key.kind in _RESOLVED:
        return "it depends on the content of catalogs, which no dump has"
    is_restless = key.kind == CSV_KIND and (key.namespace, key.name) in restless
    return "OLM never comes to rest there" if is_restless else ""
