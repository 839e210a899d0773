"""OperatorConditions and the RBAC by which operators write them (R-OC-1, R-OC-2)."""

from __future__ import annotations

from collections.abc import Iterator

from olmc.generate.world import World, rendered
from olmc.model.objects import KubernetesObject, Origin, Rendered, identity, spec_of
from olmc.model.operators import OLM_GROUP, Csv
from olmc.model.profile import Profile
from olmc.model.rbac import RBAC, RBAC_V1
from olmc.profiles.ownership import COPIED_FROM, csv_reference, owner_reference, with_labels

STAGE = "conditions"


def conditions(world: World) -> Iterator[Rendered]:
    """An OperatorCondition with its Role and RoleBinding for every CSV without the label of a copy, whatever its phase.

    OLM looks at the label alone here, so one that only its annotation makes a copy has them (observed-27).

    >>> show(conditions, {"groups": {"ns/og": "own"}, "operators": ["beacon.v1.0.0"]}, "spec", "rules.0", "subjects")
    OperatorCondition/ns/beacon.v1.0.0
      spec: {deployments: [beacon-controller], serviceAccounts: [default]}
    Role/ns/beacon.v1.0.0
      0: {verbs: [get, update, patch], ..., resources: [operatorconditions], resourceNames: [beacon.v1.0.0]}
    RoleBinding/ns/beacon.v1.0.0
      subjects: [{kind: ServiceAccount, name: default}]
    """
    for _, csv in sorted(world.cluster.csvs.items()):
        is_copy = COPIED_FROM in csv.labels
        for obj in () if is_copy else _objects(csv, world.profile):
            existing = world.cluster.stock.get(identity(obj))
            if existing is not None and obj["kind"] == "OperatorCondition":
                obj = _taken_over(existing.object, obj)
            yield rendered(obj, STAGE, "R-OC-1", csv.source, origin=Origin.OPERATOR_CONDITION)


def _taken_over(existing: KubernetesObject, made: KubernetesObject) -> KubernetesObject:
    """An OperatorCondition that is there before its CSV, once OLM has made it the CSV's (before-states of 23a, 23b)."""
    metadata, owners = existing["metadata"], made["metadata"]["ownerReferences"]
    spec = {**spec_of(existing), **made["spec"]}
    return {**existing, "metadata": {**metadata, "ownerReferences": owners}, "spec": spec}


def _objects(csv: Csv, profile: Profile) -> Iterator[KubernetesObject]:
    if not profile.operatorcondition:
        return
    accounts = _accounts(csv)
    yield {
        "apiVersion": profile.operatorcondition,
        "kind": "OperatorCondition",
        "metadata": {
            "name": csv.name,
            "namespace": csv.namespace,
            "ownerReferences": [csv_reference(csv.name, controller=True)],
        },
        "spec": {"deployments": [deployment.name for deployment in csv.deployments], "serviceAccounts": accounts},
    }
    owner = owner_reference(profile.operatorcondition, "OperatorCondition", csv.name, controller=True)
    role = profile.operatorcondition_role
    metadata = with_labels({"name": csv.name, "namespace": csv.namespace}, role["labels"])
    metadata["ownerReferences"] = [owner]
    rules = [
        {"verbs": verbs, "apiGroups": [OLM_GROUP], "resources": [resource], "resourceNames": [csv.name]}
        for verbs, resource in role["rules"]
    ]
    yield {"apiVersion": RBAC_V1, "kind": "Role", "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": RBAC_V1,
        "kind": "RoleBinding",
        "metadata": metadata,
        # No namespace: in a RoleBinding an account without one is of the namespace of the binding (R-OC-2).
        "subjects": [{"kind": "ServiceAccount", "name": account} for account in accounts],
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": csv.name},
    }


def _accounts(csv: Csv) -> list[str]:
    """Accounts of clusterPermissions, then of permissions, repeated as often as they are named."""
    entries = csv.cluster_permissions + csv.permissions
    return [entry.account for entry in entries if entry.account] or ["default"]
