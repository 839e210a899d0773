"""OperatorGroups with their status, their ClusterRoles, and the labels of their namespaces (R-OG-4 … R-OG-19)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.compiler.model.cluster import namespaced_name
from olmc.compiler.model.operators import OperatorGroup
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.facts import real_csvs
from olmc.compiler.olm.naming import gvk_hash, operator_group_role_name, with_labels
from olmc.compiler.olm.profiles.data import filled
from olmc.compiler.reconcile.initial_state import NAME_LABEL
from olmc.compiler.reconcile.operator_groups import format_apis, gets_roles, parse_apis, written_spec
from olmc.compiler.render.webhooks import RenderContext, group_uid_label, rendered
from olmc.k8s.objects import (
    GVK,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    Origin,
    Rendered,
    labels_of,
    mappings,
    object_key,
)

STAGE = "operator_groups"
SUFFIXES = ("admin", "edit", "view")


def operator_groups(context: RenderContext) -> Iterator[Rendered]:
    """Every OperatorGroup, and the three ClusterRoles of those whose sync gets that far (R-OG-18).

    >>> beacon = {"name": "beacon.v1.0.0", "owned": ["Beacon"]}
    >>> show(operator_groups, {"groups": {"ns/og": "own"}, "operators": [beacon]}, "metadata.annotations", "status")
    OperatorGroup/ns/og
      annotations: {olm.providedAPIs: Beacon.v1.beacon.example.com}
      status: {namespaces: [ns]}
    ClusterRole/olm.og.og.admin-7hdvs1pJiMS8ikuUkvThunsWUnvSLPNYPbr0ec
    ClusterRole/olm.og.og.edit-5RZt9bI4b7MaRoQRfSvU16qlDG9HDDCLxy7jK9
    ClusterRole/olm.og.og.view-8vAKjjAWQgj5N39d65nNyqAFAWxEyQiKvWnQ8J
    """
    for group in context.cluster.groups.values():
        yield rendered(_group_object(context, group), STAGE, "R-OG-4", group.source)
        # OLM makes the roles late in a sync, so one that ends early makes none; CSVs or targets it does not ask for
        # (R-OG-18).
        if not gets_roles(group):
            continue
        apis = _aggregated_apis(context, group)
        for suffix in SUFFIXES:
            role = _cluster_role(context, group, suffix, apis)
            yield rendered(role, STAGE, "R-OG-17", group.source, origin=Origin.OPERATOR_GROUP)


def _group_object(context: RenderContext, group: OperatorGroup) -> KubernetesObject:
    obj = group.object
    metadata = dict(obj["metadata"])
    provided = _annotation(context, group)
    if provided is not None:
        key = context.profile.og_annotation_providedapis
        metadata["annotations"] = {**group.annotations, key: provided}
    if provided != group.given_apis:
        obj = {**obj, "spec": written_spec(group.spec)}
    status: dict[str, Any] = {}
    if group.targets:
        status["namespaces"] = list(group.targets)
    # OLM adds the uid of the account, which nobody knows beforehand (U-1).
    if group.account and not group.missing_account:
        ref = {"kind": "ServiceAccount", "namespace": group.namespace, "name": group.account}
        status["serviceAccountRef"] = {**ref, "uid": "", "apiVersion": "v1"}
    conditions = list(_conditions(context, group))
    if conditions:
        status["conditions"] = conditions
    # The CRD of an older OLM drops the fields that it does not have.
    status = {key: value for key, value in status.items() if key in context.profile.operatorgroup_api["status"]}
    return {**obj, "metadata": metadata, **({"status": status} if status else {})}


def _annotation(context: RenderContext, group: OperatorGroup) -> str | None:
    """The text of `olm.providedAPIs`; left as it was written in a static group, and in one whose sync does not get as
    far as pruning unless CSVs have changed it (R-OG-5, R-OG-15)."""
    given, apis = group.given_apis, context.cluster.provided.get(namespaced_name(group))
    unchanged = given is not None and apis == parse_apis(given)
    if group.is_static or (unchanged and not gets_roles(group)):
        return given
    return None if apis is None else format_apis(apis)


def _conditions(context: RenderContext, group: OperatorGroup) -> Iterator[dict[str, str]]:
    # All of them get it, since OLM does not say which is the one too many (R-OG-7).
    if len(context.cluster.groups_in(group.namespace)) > 1:
        yield {
            "type": "MultipleOperatorGroup",
            "status": "True",
            "reason": "MultipleOperatorGroupsFound",
            "message": "Multiple OperatorGroup found in the same namespace",
        }
    if group.missing_account:
        yield {
            "type": "OperatorGroupServiceAccount",
            "status": "True",
            "reason": "ServiceAccountNotFound",
            "message": f"ServiceAccount {group.missing_account} not found",
        }


def _aggregated_apis(context: RenderContext, group: OperatorGroup) -> frozenset[GVK]:
    """The APIs of all CSVs in the group's namespace, whatever their phase, and those of its annotation (R-OG-17)."""
    provided = {api.key for csv in real_csvs(context.cluster, group.namespace) for api in csv.owned_apis}
    return parse_apis(_annotation(context, group) or "") | provided


def _cluster_role(context: RenderContext, group: OperatorGroup, suffix: str, apis: frozenset[GVK]) -> KubernetesObject:
    profile = context.profile
    name = operator_group_role_name(profile, group.namespace, group.name, suffix)
    labels = filled(profile.og_clusterrole_labels, og=group.name, og_ns=group.namespace)
    metadata = with_labels({"name": name}, labels)
    role: KubernetesObject = {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": metadata}
    # The API server sees to the rules: kube-controller-manager unites those of all roles that the selectors find. Where
    # no API is provided OLM writes no aggregationRule, and the role allows nothing (R-OG-17).
    selectors = [{"matchLabels": labels} for labels in _aggregated(profile, group, suffix, apis)]
    if selectors:
        role["aggregationRule"] = {"clusterRoleSelectors": selectors}
        return role
    # Once nobody aggregates any more, the role keeps what it had last (observed-60).
    stored = context.cluster.objects.get(object_key(role))
    rules = mappings(stored.object.get("rules")) if stored is not None else []
    return {**role, "rules": rules} if rules else role


def _aggregated(profile: Profile, group: OperatorGroup, suffix: str, apis: frozenset[GVK]) -> list[dict[str, str]]:
    """What the aggregated roles are found by: the group, or one set of labels for each API."""
    # Before 0.15 all roles of a group had its name as their label, so there is one selector, provided APIs or not.
    template = profile.og_clusterrole_aggregation
    if not any("{apihash}" in key for key in template):
        return [filled(template, og=group.name, suffix=suffix)]
    sets = (filled(template, og=group.name, suffix=suffix, apihash=gvk_hash(*api)) for api in apis)
    return sorted(sets, key=lambda labels: tuple(labels))


def namespaces(context: RenderContext) -> Iterator[Rendered]:
    """The workspace's namespaces with a label for every non-global group that targets them (R-OG-19).

    A namespace that no manifest shows appears only if OLM changes it. Without OLM nobody does: those that operators
    watch belong to others, and deleting the output must not delete them.

    >>> show(namespaces, {"namespaces": {"docks": {}}, "groups": {"harbour/og": ["docks"]}}, "metadata.labels")
    Namespace/docks
      labels: {kubernetes.io/metadata.name: docks, olm.operatorgroup.uid/fe49c35c-4ce1-5fe6-8b1e-c7d0d104cb15: ''}
    """
    cluster, added_to = context.cluster, _added_labels(context) if context.options.purpose == "review" else {}
    for name in cluster.namespaces:
        added = added_to.get(name, {})
        manifest = cluster.objects.get(ObjectKey("", "Namespace", "", name))
        if manifest is None and not added:
            continue
        obj: KubernetesObject = (
            manifest.object if manifest else {"apiVersion": "v1", "kind": "Namespace", "metadata": {}}
        )
        old = labels_of(obj)
        # OLM takes away every label with this prefix that no group of the cluster asks for, whoever put it there
        # (R-OG-19).
        labels = {key: value for key, value in old.items() if not key.startswith("olm.operatorgroup.uid/")}
        # The many that groups add are in order, which sorting finds out at once.
        labels = dict(sorted({**labels, NAME_LABEL: name, **added}.items()))
        metadata = {**obj["metadata"], "name": name, "labels": labels}
        final = {**obj, "metadata": metadata}
        if manifest:
            yield Rendered(final, manifest.provenance)
        else:
            yield rendered(final, STAGE, "R-OG-19", None)


def _added_labels(context: RenderContext) -> dict[str, Mapping[str, str]]:
    """The labels that groups add to their target namespaces, in order; namespaces of the same groups share them."""
    by_target: dict[str, list[str]] = {}
    for group in context.cluster.groups.values():
        labels = group_uid_label(context.profile, group)
        for target in dict.fromkeys(group.targets):
            by_target.setdefault(target, []).extend(labels)
    shared = {keys: dict.fromkeys(sorted(keys), "") for keys in set(map(tuple, by_target.values()))}
    return {target: shared[tuple(keys)] for target, keys in by_target.items()}
