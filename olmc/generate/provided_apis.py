"""ClusterRoles for the APIs that operators provide (R-CR-1 … R-CR-4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olmc.generate.operator_groups import AGGREGATE
from olmc.generate.world import World, rendered
from olmc.golang import gvk_hash
from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.operators import OwnedAPI
from olmc.profiles.ownership import MANAGED_LABELS, owner_reference

STAGE = "provided_apis"

_VERBS = {
    "admin": ["*"],
    "edit": ["create", "update", "patch", "delete"],
    "view": ["get", "list", "watch"],
}


def provided_apis(world: World) -> Iterator[Rendered]:
    """The roles of every API that a CSV provided once it had Succeeded, as long as its CRD or API service is there."""
    made: dict[str, Rendered] = {}
    for api, csv in world.cluster.served.items():
        if not _is_served(world, api):
            continue
        for role in _roles(api):
            made[role["metadata"]["name"]] = rendered(role, STAGE, "R-CR-2", csv.source)
    yield from made.values()


def _is_served(world: World, api: OwnedAPI) -> bool:
    if api.is_crd:
        return Identity("apiextensions.k8s.io", "CustomResourceDefinition", "", api.name) in world.cluster.stock
    return any(api in csv.owned_apis for csv in world.cluster.csvs.values())


def _roles(api: OwnedAPI) -> Iterator[KubernetesObject]:
    group, version, kind = api.key
    prefix = f"{api.name if api.is_crd else api.plural}-{version}-"
    owner = (
        owner_reference("apiextensions.k8s.io/v1", "customresourcedefinition", api.name)
        if api.is_crd
        else owner_reference("apiregistration.k8s.io/v1", "APIService", api.name)
    )
    digest = gvk_hash(group, version, kind)
    for suffix, verbs in _VERBS.items():
        rule: dict[str, Any] = {"verbs": verbs, "apiGroups": [group], "resources": [api.plural]}
        yield _role(prefix + suffix, suffix, digest, rule, owner)
    if api.is_crd:
        rule = {
            "verbs": ["get"],
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": [api.name],
        }
        yield _role(prefix + "crdview", "view", digest, rule, owner)


def _role(
    name: str, suffix: str, digest: str, rule: dict[str, Any], owner: dict[str, Any]
) -> KubernetesObject:
    labels = {
        **MANAGED_LABELS,
        f"{AGGREGATE}{digest}-{suffix}": "true",
        f"rbac.authorization.k8s.io/aggregate-to-{suffix}": "true",
    }
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
        "rules": [rule],
    }
