"""What a descoped operator may be bound to and where, and what is wrong with such operators (R-DESCOPE-4 …
R-DESCOPE-8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from olmc.diagnostics.rules import proposed as rules
from olmc.kube.rbac import decode_rules, rules_allow
from olmc.kube.rbac_access import access
from olmc.lean import NamedTuple
from olmc.model.cluster import Cluster, CsvState, namespaced_name
from olmc.model.diagnostics import Diagnostic, Source
from olmc.model.objects import (
    ACCOUNT,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    PolicyRule,
    Rendered,
    Request,
    Subject,
    crd_key,
    mapping,
    mappings,
    spec_of,
)
from olmc.model.operators import Csv, OwnedAPI
from olmc.model.options import Options, Profile
from olmc.model.workspace import Bundle
from olmc.olm.naming import managed_labels, named, owner_labels
from olmc.reconcile.operator_groups import binds_itself, is_descoped, is_no_group
from olmc.render.context import RenderContext, rendered
from olmc.yaml import at, locate

REQUIRED = "-required-perms"


def descoped_rbac(world: RenderContext) -> Iterator[Rendered]:
    """A ClusterRole for every service account with `permissions`, and its bindings in the group's namespaces."""
    for _, member in sorted(world.cluster.members.items()):
        if member.group is None or member.group.problem or binds_itself(member, world.options):
            continue
        for account, permitted in _rules_by_account(member.csv).items():
            role = required_role(world.profile, member.csv, account, permitted)
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


def _bindings(world: RenderContext, member: CsvState, account: str, role: str) -> Iterator[KubernetesObject]:
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
        # The API server takes no RoleBinding into a namespace that is not there.
        if target in world.cluster.namespaces:
            metadata = {"name": role, "namespace": target, "labels": labels}
            yield {"apiVersion": RBAC_V1, "kind": "RoleBinding", "metadata": metadata, **body}


class _Shipped(NamedTuple):
    object: KubernetesObject
    source: Source | None


def findings(cluster: Cluster, bundles: Mapping[str, Bundle], options: Options) -> Iterator[Diagnostic]:
    """Everything that descoping gives reason to say about a settled cluster; `bundles` are the workspace's, by CSV."""
    descoped = [csv for _, csv in sorted(cluster.csvs.items()) if is_descoped(csv, options)]
    for csv in descoped:
        shipped = tuple(_shipped(csv, cluster, bundles))
        yield from _unneeded_bindings(csv, shipped)
        yield from _optional_roles(csv, shipped)
        yield from _status_rights(csv, cluster)
    yield from _uncontrolled(cluster)
    yield from _shared_apis(descoped, options)


def _shipped(csv: Csv, cluster: Cluster, bundles: Mapping[str, Bundle]) -> Iterator[_Shipped]:
    """The objects that a CSV's bundle ships beside it."""
    bundle = bundles.get(csv.name)
    if bundle is not None:
        yield from (_Shipped(file.manifest.object, file.manifest.source) for file in bundle.files)
        return
    for plan in cluster.plans.values():
        if plan.namespace == csv.namespace:
            steps = (step for step in plan.steps if step.resolving == csv.name and not step.derived)
            yield from (_Shipped(step.object, step.source) for step in steps)


def _name(obj: KubernetesObject) -> str:
    metadata = obj.get("metadata")
    found = metadata.get("name") or metadata.get("generateName") if isinstance(metadata, Mapping) else ""
    return str(found or "")


def _unneeded_bindings(csv: Csv, shipped: Iterable[_Shipped]) -> Iterator[Diagnostic]:
    """R-DESCOPE-6."""
    accounts = csv.service_account_names
    for obj, source in shipped:
        if obj.get("kind") in ("RoleBinding", "ClusterRoleBinding"):
            yield rules.BINDING_REFUSED.finding(
                at(source), csv=csv.name, kind=obj["kind"], name=_name(obj), account=accounts[0] if accounts else "…"
            )


def _optional_roles(csv: Csv, shipped: Iterable[_Shipped]) -> Iterator[Diagnostic]:
    """R-DESCOPE-5: of several ClusterRoles of an account, all but the generated one are optional."""
    names = [_name(obj) for obj, _ in shipped if obj.get("kind") == "ClusterRole"]
    for account in csv.service_account_names:
        generated = any(entry.account == account for entry in csv.permissions)
        optional = sorted(
            name for name in names if name.startswith(f"{account}-") and not name.startswith(account + REQUIRED)
        )
        if optional and (generated or len(optional) > 1):
            place = at(csv.source, "metadata", "name")
            yield rules.OPTIONAL_ROLES.finding(place, account=account, csv=csv.name, names=", ".join(optional))


def _status_rights(csv: Csv, cluster: Cluster) -> Iterator[Diagnostic]:
    """R-DESCOPE-7, for APIs whose resources have a status."""
    for api in _apis_with_status([csv], cluster):
        if not _may_update(_granted_everywhere(csv), api):
            place = at(csv.source, "spec", "customresourcedefinitions", "owned")
            resource, group = api.plural, api.key.group
            yield rules.NO_STATUS.finding(place, csv=csv.name, api=api.name, resource=resource, group=group)


def _apis_with_status(csvs: Iterable[Csv], cluster: Cluster) -> list[OwnedAPI]:
    """The CRDs that CSVs own, each once, without those whose resources have no status."""
    found: dict[str, OwnedAPI] = {}
    for csv in csvs:
        for api in csv.owned_apis:
            if api.is_crd and _has_status(cluster, api):
                found.setdefault(api.name, api)
    return list(found.values())


def _has_status(cluster: Cluster, api: OwnedAPI) -> bool:
    """Whether resources of a CRD have a status; of a CRD that is not there it is assumed."""
    crd = cluster.objects.get(crd_key(api.name))
    return crd is None or any(map(_version_has_status, mappings(spec_of(crd.object).get("versions"))))


def _version_has_status(version: Mapping[str, Any]) -> bool:
    schema = mapping(mapping(version.get("schema")).get("openAPIV3Schema"))
    return "status" in mapping(version.get("subresources")) or "status" in mapping(schema.get("properties"))


def _may_update(rules: Sequence[PolicyRule], api: OwnedAPI, name: str = "") -> bool:
    """Whether Kubernetes lets rules read and update the status of an API's resources, or of the one of that name."""
    requests = [Request(verb, api.key.group, f"{api.plural}/status", name) for verb in ("get", "update")]
    return all(rules_allow(rules, request) for request in requests)


def _granted_everywhere(csv: Csv) -> tuple[PolicyRule, ...]:
    return tuple(rule for entry in csv.cluster_permissions for rule in decode_rules(entry.rules))


def _uncontrolled(cluster: Cluster) -> Iterator[Diagnostic]:
    """R-DESCOPE-7: resources whose status no operator may write, be it everywhere or in their namespace."""
    csvs = [csv for _, csv in sorted(cluster.csvs.items())]
    granted = access(cluster.objects)
    for api in _apis_with_status(csvs, cluster):
        for identity, found in sorted(cluster.objects.items()):
            if (identity.group, identity.kind) != (api.key.group, api.key.kind):
                continue
            holders = [_granted_everywhere(csv) for csv in csvs]
            holders += [
                granted.rules(identity.namespace, Subject(ACCOUNT, csv.namespace, account))
                for csv in csvs
                for account in csv.service_account_names
            ]
            if not any(_may_update(rules, api, identity.name) for rules in holders):
                place = found.provenance.place
                resource = f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name
                yield rules.NO_CONTROLLER.finding(
                    locate(place.source, place.keys) if place else None,
                    api=api.name, resource=resource, namespace=identity.namespace or "of the operator",
                )  # fmt: skip


def _shared_apis(descoped: Iterable[Csv], options: Options) -> Iterator[Diagnostic]:
    """R-DESCOPE-9."""
    for first, second in combinations(descoped, 2):
        theirs = {api.key for api in second.owned_apis}
        for api in first.owned_apis:
            name = f"{api.plural}.{api.key.group}"
            if api.key not in theirs or name in options.shared_apis or _replaces(first, second):
                continue
            texts = [str(namespaced_name(csv)) if first.name == second.name else csv.name for csv in (first, second)]
            other = at(second.source, "metadata", "name")
            yield rules.SHARED_API.finding(
                at(first.source, "metadata", "name"),
                related=((f"ClusterServiceVersion {texts[1]}", other),) if other else (),
                first=texts[0], second=texts[1], kind=api.key.kind, group=api.key.group, version=api.key.version,
                api=name,
            )  # fmt: skip


def _replaces(one: Csv, other: Csv) -> bool:
    """Whether two CSVs are two versions of one operator, of which one is about to go."""
    same = one.namespace == other.namespace
    return same and (one.replaces == other.name or other.replaces == one.name)
