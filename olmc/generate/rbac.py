"""RBAC that follows an operator into the namespaces it watches (R-SING-1 … R-SING-3, R-TEN-1 … R-TEN-3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.generate.csvs import copy_targets
from olmc.generate.world import World
from olmc.model.cluster import Member, Name, key_of
from olmc.model.objects import Identity, KubernetesObject, Provenance, Rendered
from olmc.model.operators import Csv
from olmc.model.profile import Profile
from olmc.model.rbac import RBAC
from olmc.profiles.ownership import COPIED_FROM, csv_reference, owner_labels
from olmc.settle.descoped import binds_itself
from olmc.settle.permissions import access
from olmc.settle.requirements import permission_entries_satisfied

ALWAYS = "always"


def lifted_rbac(world: World) -> Iterator[Rendered]:
    """ClusterRoles and bindings made of the Roles of operators in global groups, whatever their phase."""
    for _, member in sorted(world.cluster.members.items()):
        group, csv = member.group, member.csv
        if group is None or group.problem or not group.is_global or not binds_itself(member, world.options):
            continue
        entries, lifting = csv.cluster_permissions + csv.permissions, world.profile.rbac_singleton
        sources = list(_own_rbac(world, csv))
        if lifting["when"] != ALWAYS and permission_entries_satisfied(csv, entries, "", world.surroundings):
            sources = _lifted_too_early(world, csv, sources)
        for source in sources:
            obj = _lifted(source.object, lifting["rules"])
            if Identity(RBAC, obj["kind"], "", obj["metadata"]["name"]) not in world.cluster.stock:
                yield Rendered(obj, Provenance(source.provenance.place, "lifted_rbac", "R-SING-2"))


def _lifted_too_early(world: World, csv: Csv, sources: Sequence[Rendered]) -> list[Rendered]:
    """The Role of which OLM makes a ClusterRole although the CSV's own ClusterRoleBindings make that unnecessary.

    The group is looked at when the plan has written the first Role: neither its RoleBinding is there, which therefore
    is not lifted, nor what follows. The ClusterRole is never removed (observed 19; so in every cluster that was
    recorded). An upgrade finds the bindings of the CSV that is replaced; and without OLM nobody needs the rest of it.
    """
    roles = [source for source in sources if source.object["kind"] == "Role" and source.provenance.rule == "R-SA-1"]
    before = Name(csv.namespace, csv.replaces)
    upgraded = before in world.cluster.csvs or any(key_of(old) == before for old in world.cluster.retired)
    if not roles or upgraded or world.options.purpose == "apply":
        return []
    earlier = {key: found for key, found in world.cluster.stock.items() if not _comes_later(csv, world.profile, found)}
    at_that_time = world.surroundings._replace(access=access(earlier))
    entries = csv.cluster_permissions + csv.permissions
    return [] if permission_entries_satisfied(csv, entries, "", at_that_time) else roles[:1]


def _comes_later(csv: Csv, profile: Profile, found: Rendered) -> bool:
    """Whether an object is a ClusterRoleBinding that the plan of a CSV makes for the CSV's permissions."""
    labels = found.object["metadata"].get("labels") or {}
    mine = owner_labels(profile, csv.name, csv.namespace).items() <= labels.items()
    return mine and found.object["kind"] == "ClusterRoleBinding" and found.provenance.rule == "R-SA-1"


def _own_rbac(world: World, csv: Csv) -> Iterator[Rendered]:
    """The Roles and RoleBindings in the operator's namespace that carry its owner labels."""
    wanted = owner_labels(world.profile, csv.name, csv.namespace)
    for identity, found in world.cluster.stock.items():
        if identity.kind in ("Role", "RoleBinding") and identity.namespace == csv.namespace:
            labels = found.object["metadata"].get("labels") or {}
            if all(labels.get(key) == value for key, value in wanted.items()):
                yield found


def _lifted(obj: KubernetesObject, rules: Sequence[Mapping[str, Any]]) -> KubernetesObject:
    metadata = {"name": obj["metadata"]["name"], "labels": obj["metadata"]["labels"]}
    base = {"apiVersion": obj["apiVersion"], "kind": f"Cluster{obj['kind']}", "metadata": metadata}
    if obj["kind"] == "Role":
        return {**base, "rules": [*(obj.get("rules") or ()), *rules]}
    return {**base, "subjects": obj.get("subjects"), "roleRef": {**obj["roleRef"], "kind": "ClusterRole"}}


def tenant_rbac(world: World) -> Iterator[Rendered]:
    """Copies of an operator's Roles and RoleBindings in the target namespaces where it lacks its permissions."""
    for _, member in sorted(world.cluster.members.items()):
        if member.group is not None and not member.group.is_global and binds_itself(member, world.options):
            yield from _tenant_copies(world, member)


def _tenant_copies(world: World, member: Member) -> Iterator[Rendered]:
    csv, when = member.csv, world.profile.rbac_tenant["when"]
    everywhere = permission_entries_satisfied(csv, csv.cluster_permissions, "", world.surroundings)
    for target in copy_targets(world, member):
        satisfied = everywhere and permission_entries_satisfied(csv, csv.permissions, target, world.surroundings)
        if satisfied and when == "unsatisfied, first":
            break
        if satisfied and when != ALWAYS:
            continue
        for source in _own_rbac(world, csv):
            refs = source.object["metadata"].get("ownerReferences") or ()
            if when == ALWAYS or any(ref.get("name") == csv.name for ref in refs):
                obj = _copied(source.object, csv, target, world.profile)
                yield Rendered(obj, Provenance(source.provenance.place, "tenant_rbac", "R-TEN-2"))


def _copied(obj: KubernetesObject, csv: Csv, target: str, profile: Profile) -> KubernetesObject:
    old = obj["metadata"]
    labels = {
        **old["labels"],
        **owner_labels(profile, csv.name, target),
        **profile.rbac_tenant["labels"],
        COPIED_FROM: csv.namespace,
    }
    metadata = {"name": old["name"], "namespace": target}
    if old.get("annotations"):
        metadata["annotations"] = old["annotations"]
    metadata |= {"labels": dict(sorted(labels.items())), "ownerReferences": [csv_reference(csv.name)]}
    return {**obj, "metadata": metadata}
