"""What a descoped operator may be bound to, and where it is bound (R-DESCOPE-4, R-DESCOPE-8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.generate.world import World, rendered
from olmc.model.cluster import Member
from olmc.model.objects import KubernetesObject, Rendered
from olmc.model.operators import Csv
from olmc.model.profile import Profile
from olmc.model.rbac import RBAC, RBAC_V1
from olmc.profiles.ownership import managed_labels, owner_labels
from olmc.proposed.names import named
from olmc.settle.descoped import binds_itself, is_no_group

REQUIRED = "-required-perms"


def descoped_rbac(world: World) -> Iterator[Rendered]:
    """A ClusterRole for every service account with `permissions`, and its bindings in the group's namespaces."""
    for _, member in sorted(world.cluster.members.items()):
        if member.group is None or member.group.problem or binds_itself(member, world.options):
            continue
        for account, rules in _rules_by_account(member.csv).items():
            role = required_role(world.profile, member.csv, account, rules)
            keys = ("spec", "install", "spec", "permissions")
            yield rendered(role, "descoped_rbac", "R-DESCOPE-4", member.csv.source, *keys)
            for binding in _bindings(world, member, account, role["metadata"]["name"]):
                yield rendered(binding, "descoped_rbac", "R-DESCOPE-8", member.csv.source, *keys)


def required_role(profile: Profile, csv: Csv, account: str, rules: list[Mapping[str, Any]]) -> KubernetesObject:
    """The ClusterRole that an administrator can bind for a service account of a descoped operator."""
    metadata = {"labels": owner_labels(profile, csv.name, csv.namespace)}
    obj = {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    return named(obj, account + REQUIRED)


def _rules_by_account(csv: Csv) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for entry in csv.permissions:
        found.setdefault(entry.account, []).extend(entry.rules)
    return found


def _bindings(world: World, member: Member, account: str, role: str) -> Iterator[KubernetesObject]:
    """One for the whole cluster if the group is global, else one in each of its namespaces that exists."""
    group, csv = member.group, member.csv
    if group is None or is_no_group(group):
        return
    body = {
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": csv.namespace}],
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
    }
    labels = {**managed_labels(True), **owner_labels(world.profile, csv.name, csv.namespace)}
    if group.is_global:
        metadata = {"name": role, "labels": labels}
        yield {"apiVersion": RBAC_V1, "kind": "ClusterRoleBinding", "metadata": metadata, **body}
        return
    for target in group.targets:
        if target in world.cluster.namespaces:
            metadata = {"name": role, "namespace": target, "labels": labels}
            yield {"apiVersion": RBAC_V1, "kind": "RoleBinding", "metadata": metadata, **body}
