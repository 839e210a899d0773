"""ClusterRoles for the APIs that operators provide (R-CR-1 … R-CR-4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olmc.generate.world import World, rendered
from olmc.golang import gvk_hash
from olmc.model.cluster import key_of
from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.operators import Csv, OwnedAPI
from olmc.model.profile import Profile
from olmc.model.rbac import RBAC_V1
from olmc.profiles.ownership import owner_reference
from olmc.profiles.resolve import filled
from olmc.settle.descoped import is_no_group

STAGE = "provided_apis"

SUFFIXES = ("admin", "edit", "view")


def provided_apis(world: World) -> Iterator[Rendered]:
    """The roles of every API that a CSV provided once it had Succeeded, as long as its CRD or API service is there.

    >>> beacon = {"name": "beacon.v1.0.0", "owned": ["Beacon"]}
    >>> show(provided_apis, {"groups": {"ns/og": "own"}, "operators": [beacon]}, "rules.0.verbs")
    ClusterRole/beacons.beacon.example.com-v1-admin
      verbs: ['*']
    ClusterRole/beacons.beacon.example.com-v1-edit
      verbs: [create, update, patch, delete]
    ClusterRole/beacons.beacon.example.com-v1-view
      verbs: [get, list, watch]
    ClusterRole/beacons.beacon.example.com-v1-crdview
      verbs: [get]
    """
    made: dict[str, Rendered] = {}
    # OLM makes them in a sync of a CSV that is Succeeded already, and a CSV that fails or goes later leaves them
    # behind: their owner is the CRD (R-CR-1, R-CR-4).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L2429-L2434
    for api, csv in world.cluster.served.items():
        if not _is_served(world, api) or _is_left_to_administrators(world, csv):
            continue
        for role in _roles(world, api, csv):
            # Resources of one plural and version in two groups share a name, and the last one written stays (R-CR-3).
            made[role["metadata"]["name"]] = rendered(role, STAGE, "R-CR-2", csv.source)
    yield from made.values()


def _is_served(world: World, api: OwnedAPI) -> bool:
    if api.is_crd:
        return Identity("apiextensions.k8s.io", "CustomResourceDefinition", "", api.name) in world.cluster.stock
    return any(api in csv.owned_apis for csv in world.cluster.csvs.values())


def _is_left_to_administrators(world: World, csv: Csv) -> bool:
    """Whether an operator has no OperatorGroup that would say who may use its APIs (R-DESCOPE-12)."""
    member = world.cluster.members.get(key_of(csv))
    return member is not None and is_no_group(member.group)


def _roles(world: World, api: OwnedAPI, csv: Csv) -> Iterator[KubernetesObject]:
    (group, version, kind), profile = api.key, world.profile
    name = profile.api_clusterrole_name["crd" if api.is_crd else "apiservice"]
    values = {"crd_name": api.name, "plural": api.plural, "group": group, "version": version, "kind": kind.lower()}
    metadata = _owned(profile, api)
    for suffix in SUFFIXES:
        rule: dict[str, Any] = {"verbs": profile.api_clusterrole_verbs[suffix], "apiGroups": [group]}
        labels = _labels(world, api, csv, suffix)
        made = {"name": name.format(**values, suffix=suffix), "labels": labels, **metadata}
        yield _role(made, {**rule, "resources": [api.plural]})
    if api.is_crd:
        rule = {
            "verbs": profile.api_clusterrole_verbs["crdview"],
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": [api.name],
        }
        view = profile.api_clusterrole_name["crdview"].format(**values)
        yield _role({"name": view, "labels": _labels(world, api, csv, "view"), **metadata}, rule)


def _owned(profile: Profile, api: OwnedAPI) -> dict[str, Any]:
    """The ownerReferences of an API's roles, as part of metadata."""
    # OLM writes `customresourcedefinition` where the kind belongs, in lower case, and clusters keep it so (R-CR-2).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operatorgroup.go#L430-L453
    kind = profile.api_clusterrole_ownerrefs
    if not kind:
        return {}
    owner = (
        owner_reference("apiextensions.k8s.io/v1", kind, api.name)
        if api.is_crd
        else owner_reference("apiregistration.k8s.io/v1", "APIService", api.name)
    )
    return {"ownerReferences": [owner]}


def _labels(world: World, api: OwnedAPI, csv: Csv, suffix: str) -> dict[str, str]:
    groups = world.cluster.groups_in(csv.namespace)
    return filled(
        world.profile.api_clusterrole_labels,
        suffix=suffix,
        apihash=gvk_hash(*api.key),
        og=groups[-1].name if groups else "",
        og_ns=csv.namespace,
        csv=csv.name,
        csv_ns=csv.namespace,
    )


def _role(metadata: dict[str, Any], rule: dict[str, Any]) -> KubernetesObject:
    return {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": metadata, "rules": [rule]}
