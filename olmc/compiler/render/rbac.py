"""RBAC of OperatorGroups, of operators in the namespaces that they watch, and for the APIs that they provide.

The rules are R-OG-4 … R-OG-19 for OperatorGroups with their status, ClusterRoles and labels of namespaces, R-SING-1 …
R-TEN-3 and R-CR-1 … R-CR-4. `PASSES` has the order of all passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import Cluster, CsvState, namespaced_name
from olmc.compiler.model.operators import Csv, OperatorGroup, OwnedAPI
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.olm.facts import real_csvs
from olmc.compiler.olm.naming import (
    COPIED_FROM,
    csv_reference,
    gvk_hash,
    is_known_by_label,
    operator_group_role_name,
    owner_labels,
    owner_reference,
    with_labels,
)
from olmc.compiler.olm.profiles.data import filled
from olmc.compiler.reconcile.initial_state import NAME_LABEL
from olmc.compiler.reconcile.loop import gets_api_roles
from olmc.compiler.reconcile.operator_groups import (
    binds_itself,
    format_apis,
    gets_roles,
    is_no_group,
    parse_apis,
    written_spec,
)
from olmc.compiler.reconcile.requirements import permission_entries_satisfied, scopes_of_permissions
from olmc.compiler.render.catalog_objects import catalog_accounts, catalog_servers, catalog_sources
from olmc.compiler.render.components import (
    copied_csv_configmaps,
    copied_csvs,
    copy_targets,
    csvs,
    label_components,
    olmconfig,
    owned_by_configmaps,
    report_unserved,
    size_of_csvs,
    stored_objects,
)
from olmc.compiler.render.deployments import certificates, conditions, deployments
from olmc.compiler.render.install_plans import install_plans, subscriptions
from olmc.compiler.render.selection import select_phase, select_review
from olmc.compiler.render.webhooks import (
    Pass,
    RenderContext,
    apiservices,
    crds,
    group_uid_label,
    render_context,
    rendered,
    webhooks,
)
from olmc.k8s.api.rbac_access import access
from olmc.k8s.diagnostics import Location, Report
from olmc.k8s.limits import CSV_BYTES
from olmc.k8s.objects import (
    APIEXTENSIONS,
    CRD_V1,
    GVK,
    RBAC,
    RBAC_V1,
    KubernetesObject,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    crd_key,
    labels_of,
    mappings,
    object_key,
    owner_references,
)
from olmc.k8s.yaml.rules import too_large

GROUPS_STAGE = "operator_groups"
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
        yield rendered(_group_object(context, group), GROUPS_STAGE, "R-OG-4", group.source)
        # OLM makes the roles late in a sync, so one that ends early makes none; CSVs or targets it does not ask for
        # (R-OG-18).
        if not gets_roles(group):
            continue
        apis = _aggregated_apis(context, group)
        for suffix in SUFFIXES:
            role = _cluster_role(context, group, suffix, apis)
            yield rendered(role, GROUPS_STAGE, "R-OG-17", group.source, origin=Origin.OPERATOR_GROUP)


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
    # OLM adds the uid of the account, which is unknown beforehand (U-1).
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
    """Return the APIs of all CSVs in the group's namespace, in any phase, and those of its annotation (R-OG-17)."""
    provided = {api.key for csv in real_csvs(context.cluster, group.namespace) for api in csv.owned_apis}
    return parse_apis(_annotation(context, group) or "") | provided


def _cluster_role(context: RenderContext, group: OperatorGroup, suffix: str, apis: frozenset[GVK]) -> KubernetesObject:
    profile = context.profile
    name = operator_group_role_name(profile, group.namespace, group.name, suffix)
    labels = filled(profile.og_clusterrole_labels, og=group.name, og_ns=group.namespace)
    # Labels of others stay (R-OG-17).
    stored = context.cluster.objects.get(ObjectKey(RBAC, "ClusterRole", "", name))
    metadata = with_labels({"name": name}, {**(labels_of(stored.object) if stored is not None else {}), **labels})
    role: KubernetesObject = {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": metadata}
    # The API server sees to the rules: kube-controller-manager unites those of all roles that the selectors find. Where
    # no API is provided OLM writes no aggregationRule, and the role allows nothing (R-OG-17).
    selectors = [{"matchLabels": labels} for labels in _aggregated(profile, group, suffix, apis)]
    if selectors:
        role["aggregationRule"] = {"clusterRoleSelectors": selectors}
        return role
    # Without a selector the role keeps its last rules (observed-60).
    rules = mappings(stored.object.get("rules")) if stored is not None else []
    return {**role, "rules": rules} if rules else role


def _aggregated(profile: Profile, group: OperatorGroup, suffix: str, apis: frozenset[GVK]) -> list[dict[str, str]]:
    """Return the selectors of the aggregated roles: the group, or one set of labels for each API."""
    # Before 0.15 all roles of a group had its name as their label, so there is one selector, provided APIs or not.
    template = profile.og_clusterrole_aggregation
    if not any("{apihash}" in key for key in template):
        return [filled(template, og=group.name, suffix=suffix)]
    sets = (filled(template, og=group.name, suffix=suffix, apihash=gvk_hash(*api)) for api in apis)
    return sorted(sets, key=lambda labels: tuple(labels))


def namespaces(context: RenderContext) -> Iterator[Rendered]:
    """The workspace's namespaces with a label for every non-global group that targets them (R-OG-19).

    A namespace without a manifest appears only if OLM changes it. Without OLM it does not appear: namespaces that
    operators watch belong to others, and a deletion of the output must not delete them.

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
        # OLM removes every label with this prefix that no group of the cluster requires, of any origin (R-OG-19).
        labels = {key: value for key, value in old.items() if not key.startswith("olm.operatorgroup.uid/")}
        # The many that groups add are in order, which sorting finds out at once.
        labels = dict(sorted({**labels, NAME_LABEL: name, **added}.items()))
        metadata = {**obj["metadata"], "name": name, "labels": labels}
        final = {**obj, "metadata": metadata}
        if manifest:
            yield Rendered(final, manifest.provenance)
        else:
            yield rendered(final, GROUPS_STAGE, "R-OG-19", None)


def _added_labels(context: RenderContext) -> dict[str, Mapping[str, str]]:
    """The labels that groups add to their target namespaces, in order; namespaces of the same groups share them."""
    by_target: dict[str, list[str]] = {}
    for group in context.cluster.groups.values():
        labels = group_uid_label(context.profile, group)
        for target in dict.fromkeys(group.targets):
            by_target.setdefault(target, []).extend(labels)
    shared = {keys: dict.fromkeys(sorted(keys), "") for keys in set(map(tuple, by_target.values()))}
    return {target: shared[tuple(keys)] for target, keys in by_target.items()}


ALWAYS = "always"
REPLACING = "Replacing"


def lifted_rbac(context: RenderContext) -> Iterator[Rendered]:
    """Render ClusterRoles and bindings from the Roles of operators in global groups, in any phase.

    While a CSV is being replaced, what was lifted of it serves the account of its successor, too (observed-49).

    >>> beacon = {"name": "beacon.v1.0.0", "permissions": {"keeper": ["get secrets"]}}
    >>> show(lifted_rbac, {"groups": {"ns/og": "all"}, "operators": [beacon]}, "rules.0", "subjects", "roleRef.kind")
    ClusterRole/beacon.v1.0.0-keeper-...
      0: {verbs: [get], apiGroups: [''], resources: [secrets]}
    ClusterRoleBinding/beacon.v1.0.0-keeper-...
      subjects: [{kind: ServiceAccount, name: keeper, namespace: ns}]
      kind: ClusterRole
    """
    cluster, requirements = context.cluster, context.requirement_context
    lifted: dict[ObjectKey, Rendered] = {}
    for _, member in sorted(cluster.members.items(), key=lambda item: (item[1].phase != REPLACING, item[0])):
        group, csv = member.group, member.csv
        if group is None or group.problem or not group.is_global or not binds_itself(member, context.options):
            continue
        # One entry that does not hold in the whole cluster, and all Roles of the CSV are lifted (R-SING-3).
        # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operatorgroup.go#L489-L586
        entries, lifting = csv.cluster_permissions + csv.permissions, context.profile.rbac_singleton
        granted = requirements._replace(access=access({**cluster.objects, **lifted})) if lifted else requirements
        if lifting["when"] != ALWAYS and permission_entries_satisfied(csv, entries, "", granted):
            continue
        for source in _own_rbac(context, csv):
            obj = _lift(source.object, lifting["rules"])
            role = Rendered(obj, Provenance(source.provenance.place, "lifted_rbac", "R-SING-2"))
            # OLM creates what it lifts and never updates it (R-SING-2).
            if role.identity in cluster.objects:
                continue
            yield role
            if member.phase == REPLACING:
                lifted[role.identity] = role


def _own_rbac(context: RenderContext, csv: Csv) -> Iterator[Rendered]:
    """The Roles and RoleBindings in the operator's namespace that carry its owner labels."""
    namespace = csv.namespace
    owner = owner_labels(context.profile, csv.name, namespace)
    for identity, stored in context.cluster.objects.items():
        if identity.kind in ("Role", "RoleBinding") and identity.namespace == namespace:
            labels = labels_of(stored.object)
            if owner.items() <= labels.items():
                yield stored


def _lift(obj: KubernetesObject, rules: Sequence[Mapping[str, Any]]) -> KubernetesObject:
    metadata = {"name": obj["metadata"]["name"], "labels": obj["metadata"]["labels"]}
    base = {"apiVersion": obj["apiVersion"], "kind": f"Cluster{obj['kind']}", "metadata": metadata}
    if obj["kind"] == "Role":
        # An operator that watches all namespaces has to list them, which no Role could let it do (R-SING-2).
        return {**base, "rules": [*mappings(obj.get("rules")), *rules]}
    return {**base, "subjects": obj.get("subjects"), "roleRef": {**obj["roleRef"], "kind": "ClusterRole"}}


def tenant_rbac(context: RenderContext) -> Iterator[Rendered]:
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
    for _, member in sorted(context.cluster.members.items()):
        if member.group is not None and not member.group.is_global and binds_itself(member, context.options):
            yield from _tenant_copies(context, member)


def _tenant_copies(context: RenderContext, member: CsvState) -> Iterator[Rendered]:
    csv, when = member.csv, context.profile.rbac_tenant["when"]
    # Namespaced permissions have to hold in each target, those of the cluster once; as with lifting it is all Roles or
    # none (R-TEN-1, R-TEN-3).
    requirements = context.requirement_context
    targets = copy_targets(context, member)
    everywhere = targets and permission_entries_satisfied(csv, csv.cluster_permissions, "", requirements)
    satisfied = scopes_of_permissions(csv, csv.permissions, targets, requirements) if everywhere else ()
    # Labels alone do not make a Role one of this CSV: OLM copies what it owns (R-TEN-2).
    sources = [
        source for source in (_own_rbac(context, csv) if targets else ())
        if when == ALWAYS or any(ref.get("name") == csv.name for ref in owner_references(source.object))
    ]  # fmt: skip
    for target in targets:
        if target in satisfied and when == "unsatisfied, first":
            break
        if target in satisfied and when != ALWAYS:
            continue
        for source in sources:
            obj = _copy_to_tenant(source.object, csv, target, context.profile)
            existing = context.cluster.objects.get(object_key(obj))
            if existing is None:
                yield Rendered(obj, Provenance(source.provenance.place, "tenant_rbac", "R-TEN-2"))
            # Of what is there OLM writes the rules of its own Roles alone (observed-91).
            elif obj["kind"] == "Role" and _is_tenant_role(existing.object, csv, target, context.profile):
                yield existing._replace(object={**existing.object, "rules": mappings(obj.get("rules"))})


def _is_tenant_role(obj: KubernetesObject, csv: Csv, target: str, profile: Profile) -> bool:
    return owner_labels(profile, csv.name, target).items() <= labels_of(obj).items()


def _copy_to_tenant(obj: KubernetesObject, csv: Csv, target: str, profile: Profile) -> KubernetesObject:
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


STAGE = "provided_apis"


def provided_apis(context: RenderContext) -> Iterator[Rendered]:
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
    roles: dict[str, Rendered] = {}
    # OLM makes them in a sync of a CSV that is Succeeded already, and a CSV that fails or goes later leaves them
    # behind: their owner is the CRD (R-CR-1, R-CR-4).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L2429-L2434
    for api, csv in context.cluster.served.items():
        if not _is_served(context, api) or _is_left_to_administrators(context, csv):
            continue
        for role in _roles(context, api, csv):
            # Resources of one plural and version in two groups share a name, and the last one written stays (R-CR-3).
            stored = context.cluster.objects.get(object_key(role))
            made = rendered(role, STAGE, "R-CR-2", csv.source)
            is_written = stored is None or _is_restored(context, csv, stored.object, role)
            roles[role["metadata"]["name"]] = made if stored is None or is_written else stored
    yield from roles.values()


def _is_restored(context: RenderContext, csv: Csv, stored: KubernetesObject, role: KubernetesObject) -> bool:
    """Return whether OLM writes a ClusterRole that is there again: that of a CSV which works, if it knows it by its
    label."""
    member = context.cluster.members.get(namespaced_name(csv))
    return member is not None and gets_api_roles(member, context.profile) and is_known_by_label(stored, role)


def _is_served(context: RenderContext, api: OwnedAPI) -> bool:
    if api.is_crd:
        return crd_key(api.name) in context.cluster.objects
    return any(api in csv.owned_apis for csv in context.cluster.csvs.values())


def _is_left_to_administrators(context: RenderContext, csv: Csv) -> bool:
    """Return whether an operator has no OperatorGroup that would say who may use its APIs (R-DESCOPE-12)."""
    member = context.cluster.members.get(namespaced_name(csv))
    return member is not None and is_no_group(member.group)


def _roles(context: RenderContext, api: OwnedAPI, csv: Csv) -> Iterator[KubernetesObject]:
    (group, version, kind), profile = api.key, context.profile
    name = profile.api_clusterrole_name["crd" if api.is_crd else "apiservice"]
    values = {"crd_name": api.name, "plural": api.plural, "group": group, "version": version, "kind": kind.lower()}
    metadata = _api_owner(profile, api)
    for suffix in SUFFIXES:
        rule: dict[str, Any] = {"verbs": profile.api_clusterrole_verbs[suffix], "apiGroups": [group]}
        labels = _labels(context, api, csv, suffix)
        role_metadata = {"name": name.format(**values, suffix=suffix), "labels": labels, **metadata}
        yield _role(role_metadata, {**rule, "resources": [api.plural]})
    if api.is_crd:
        rule = {
            "verbs": profile.api_clusterrole_verbs["crdview"],
            "apiGroups": [APIEXTENSIONS],
            "resources": ["customresourcedefinitions"],
            "resourceNames": [api.name],
        }
        # Who may see the resources may see how they are defined, so this one aggregates to view as well (R-CR-2).
        view = profile.api_clusterrole_name["crdview"].format(**values)
        yield _role({"name": view, "labels": _labels(context, api, csv, "view"), **metadata}, rule)


def _api_owner(profile: Profile, api: OwnedAPI) -> dict[str, Any]:
    """The ownerReferences of an API's roles, as part of metadata."""
    # OLM writes `customresourcedefinition` where the kind belongs, in lower case, and clusters keep it so (R-CR-2).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operatorgroup.go#L430-L453
    kind = profile.api_clusterrole_ownerrefs
    if not kind:
        return {}
    owner = (
        owner_reference(CRD_V1, kind, api.name)
        if api.is_crd
        else owner_reference("apiregistration.k8s.io/v1", "APIService", api.name)
    )
    return {"ownerReferences": [owner]}


def _labels(context: RenderContext, api: OwnedAPI, csv: Csv, suffix: str) -> dict[str, str]:
    groups = context.cluster.groups_in(csv.namespace)
    return filled(
        context.profile.api_clusterrole_labels,
        suffix=suffix,
        apihash=gvk_hash(*api.key),
        og=groups[-1].name if groups else "",
        og_ns=csv.namespace,
        csv=csv.name,
        csv_ns=csv.namespace,
    )


def _role(metadata: dict[str, Any], rule: dict[str, Any]) -> KubernetesObject:
    return {"apiVersion": RBAC_V1, "kind": "ClusterRole", "metadata": metadata, "rules": [rule]}


# The passes in order.

# Of two objects with one identity the first stays: what an install writes replaces what was there.
PASSES: tuple[Pass, ...] = (
    namespaces,
    olmconfig,
    catalog_sources,
    operator_groups,
    subscriptions,
    install_plans,
    csvs,
    crds,
    deployments,
    certificates,
    apiservices,
    webhooks,
    catalog_servers,
    provided_apis,
    tenant_rbac,
    stored_objects,
    catalog_accounts,
    lifted_rbac,
    conditions,
    copied_csvs,
    copied_csv_configmaps,
)

Rewrite = Callable[[RenderContext, Sequence[Rendered]], Sequence[Rendered]]


def render(
    cluster: Cluster, options: Options, report: Report, further: Sequence[Pass] = (), rewrites: Sequence[Rewrite] = ()
) -> tuple[Rendered, ...]:
    """All objects that a settled cluster holds, or what can be applied without OLM, in apply order.

    Each object is there once; `include` and `exclude` of the options are applied. `further` passes run after the
    others, and `rewrites` change the objects of all, one after the other. CSVs and their copies that exceed a limit
    are reported, and then there are no objects.
    """
    context = render_context(cluster, options)
    size, largest = size_of_csvs(context)
    if size > CSV_BYTES.most:
        place = Location(largest.source.path) if largest is not None and largest.source is not None else None
        report.add(too_large("the workspace", CSV_BYTES, size, place=place))
        return ()
    objects: dict[ObjectKey, Rendered] = {}
    for render_kind in (*PASSES, *further):
        for obj in render_kind(context):
            objects.setdefault(obj.identity, obj)
    # Component labels and the owners of what belongs to copies concern objects of every kind, so they wait until all of
    # them are there.
    complete: Sequence[Rendered] = owned_by_configmaps(context, label_components(context, list(objects.values())))
    objects.clear()  # a fleet has many keys
    for rewrite in rewrites:
        complete = rewrite(context, complete)
    if options.purpose == "review":
        return select_review(complete, options)
    from olmc.compiler.render.apply_phases import for_apply, report_large  # review output needs none of these

    selected = select_phase(tuple(for_apply(context, complete, report)), options, report)
    report_unserved(selected, cluster, options, report)
    report_large(selected, options, report)
    return selected
