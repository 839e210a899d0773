"""RBAC that follows an operator into the namespaces it watches (R-SING-1 … R-SING-3, R-TEN-1 … R-TEN-3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.generate.csvs import copy_targets
from olmc.generate.world import World
from olmc.kube.rbac_access import access
from olmc.model.cluster import Member
from olmc.model.coerce import mappings
from olmc.model.objects import Identity, KubernetesObject, Provenance, Rendered, labels_of, owner_references
from olmc.model.operators import Csv
from olmc.model.profile import Profile
from olmc.profiles.ownership import COPIED_FROM, csv_reference, owner_labels
from olmc.settle.descoped import binds_itself
from olmc.settle.requirements import permission_entries_satisfied

ALWAYS = "always"
REPLACING = "Replacing"


def lifted_rbac(world: World) -> Iterator[Rendered]:
    """ClusterRoles and bindings made of the Roles of operators in global groups, whatever their phase.

    While a CSV is being replaced, what was lifted of it serves the account of its successor, too (observed-49).

    >>> beacon = {"name": "beacon.v1.0.0", "permissions": {"keeper": ["get secrets"]}}
    >>> show(lifted_rbac, {"groups": {"ns/og": "all"}, "operators": [beacon]}, "rules.0", "subjects", "roleRef.kind")
    ClusterRole/beacon.v1.0.0-keeper-...
      0: {verbs: [get], apiGroups: [''], resources: [secrets]}
    ClusterRoleBinding/beacon.v1.0.0-keeper-...
      subjects: [{kind: ServiceAccount, name: keeper, namespace: ns}]
      kind: ClusterRole
    """
    cluster, around = world.cluster, world.surroundings
    lifted: dict[Identity, Rendered] = {}
    for _, member in sorted(cluster.members.items(), key=lambda each: (each[1].phase != REPLACING, each[0])):
        group, csv = member.group, member.csv
        if group is None or group.problem or not group.is_global or not binds_itself(member, world.options):
            continue
        # One entry that does not hold in the whole cluster, and all Roles of the CSV are lifted (R-SING-3).
        # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operatorgroup.go#L489-L586
        entries, lifting = csv.cluster_permissions + csv.permissions, world.profile.rbac_singleton
        granted = around._replace(access=access({**cluster.stock, **lifted})) if lifted else around
        if lifting["when"] != ALWAYS and permission_entries_satisfied(csv, entries, "", granted):
            continue
        for source in _own_rbac(world, csv):
            obj = _lifted(source.object, lifting["rules"])
            made = Rendered(obj, Provenance(source.provenance.place, "lifted_rbac", "R-SING-2"))
            # OLM creates what it lifts and never updates it (R-SING-2).
            if made.identity in cluster.stock:
                continue
            yield made
            if member.phase == REPLACING:
                lifted[made.identity] = made


def _own_rbac(world: World, csv: Csv) -> Iterator[Rendered]:
    """The Roles and RoleBindings in the operator's namespace that carry its owner labels."""
    wanted = owner_labels(world.profile, csv.name, csv.namespace)
    for identity, found in world.cluster.stock.items():
        if identity.kind in ("Role", "RoleBinding") and identity.namespace == csv.namespace:
            labels = labels_of(found.object)
            if all(labels.get(key) == value for key, value in wanted.items()):
                yield found


def _lifted(obj: KubernetesObject, rules: Sequence[Mapping[str, Any]]) -> KubernetesObject:
    metadata = {"name": obj["metadata"]["name"], "labels": obj["metadata"]["labels"]}
    base = {"apiVersion": obj["apiVersion"], "kind": f"Cluster{obj['kind']}", "metadata": metadata}
    if obj["kind"] == "Role":
        return {**base, "rules": [*mappings(obj.get("rules")), *rules]}
    return {**base, "subjects": obj.get("subjects"), "roleRef": {**obj["roleRef"], "kind": "ClusterRole"}}


def tenant_rbac(world: World) -> Iterator[Rendered]:
    """Copies of an operator's Roles and RoleBindings in the target namespaces where it lacks its permissions.

    >>> beacon = {"name": "beacon.v1.0.0", "permissions": {"keeper": ["get secrets"]}}
    >>> workspace = {"namespaces": {"docks": {}}, "groups": {"ns/og": ["docks"]}, "operators": [beacon]}
    >>> show(tenant_rbac, workspace, "rules", "subjects", "roleRef.kind")
    Role/docks/beacon.v1.0.0-keeper-...
      rules: [{verbs: [get], apiGroups: [''], resources: [secrets]}]
    RoleBinding/docks/beacon.v1.0.0-keeper-...
      subjects: [{kind: ServiceAccount, name: keeper, namespace: ns}]
      kind: Role
    """
    for _, member in sorted(world.cluster.members.items()):
        if member.group is not None and not member.group.is_global and binds_itself(member, world.options):
            yield from _tenant_copies(world, member)


def _tenant_copies(world: World, member: Member) -> Iterator[Rendered]:
    csv, when = member.csv, world.profile.rbac_tenant["when"]
    # Namespaced permissions have to hold in each target, those of the cluster once; as with lifting it is all Roles or
    # none (R-TEN-1, R-TEN-3).
    everywhere = permission_entries_satisfied(csv, csv.cluster_permissions, "", world.surroundings)
    for target in copy_targets(world, member):
        satisfied = everywhere and permission_entries_satisfied(csv, csv.permissions, target, world.surroundings)
        if satisfied and when == "unsatisfied, first":
            break
        if satisfied and when != ALWAYS:
            continue
        for source in _own_rbac(world, csv):
            refs = owner_references(source.object)
            if when == ALWAYS or any(ref.get("name") == csv.name for ref in refs):
                obj = _copied(source.object, csv, target, world.profile)
                yield Rendered(obj, Provenance(source.provenance.place, "tenant_rbac", "R-TEN-2"))


def _copied(obj: KubernetesObject, csv: Csv, target: str, profile: Profile) -> KubernetesObject:
    old = obj["metadata"]
    labels = {
        **old["labels"],
        # The owner of a copy is the copied CSV beside it, so the labels name the target namespace (R-TEN-2).
        **owner_labels(profile, csv.name, target),
        **profile.rbac_tenant["labels"],
        COPIED_FROM: csv.namespace,
    }
    metadata = {"name": old["name"], "namespace": target}
    if old.get("annotations"):
        metadata["annotations"] = old["annotations"]
    metadata |= {"labels": dict(sorted(labels.items())), "ownerReferences": [csv_reference(csv.name)]}
    return {**obj, "metadata": metadata}
