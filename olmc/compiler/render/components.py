"""Render the objects of manifests and InstallPlans as they are; component labels, and the Operator objects that list
the objects with these labels (R-COMP-1 … R-COMP-5)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from olmc.compiler.model.cluster import OLMCONFIG, Cluster, CopiedCsv, CsvState, NamespacedName
from olmc.compiler.model.operators import CSV_KIND, Csv
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.model.workspace import Inputs, Reason
from olmc.compiler.olm.facts import (
    csvs_by_reference,
    has_copy_label,
    is_copy_by_metadata,
    label_owner,
    original_by_label,
)
from olmc.compiler.olm.naming import (
    COMPONENT_PREFIX,
    COPIED_FROM,
    MANAGED,
    TARGETS,
    component_label_key,
    csv_reference,
    managed_labels,
    owner_labels,
    owner_reference,
    with_labels,
)
from olmc.compiler.olm.profiles.data import filled
from olmc.compiler.reconcile.loop import deleted_deployments, may_be_copied
from olmc.compiler.reconcile.operator_groups import CONFLICT
from olmc.compiler.render.catalog_objects import catalog_configmaps, owned_by_catalogs
from olmc.compiler.render.deployments import cleaned_up
from olmc.compiler.render.webhooks import Pass, RenderContext, rendered
from olmc.compiler.rules.findings import output as rules
from olmc.k8s.api.restmapper import removal_of
from olmc.k8s.diagnostics import Place, Report
from olmc.k8s.objects import (
    OLM_GROUP,
    RBAC,
    KubernetesObject,
    ObjectKey,
    Origin,
    Rendered,
    annotations_of,
    apiservice_key,
    gvk_of,
    labels_of,
    metadata_of,
    namespace_of,
    object_key,
    owner_references,
    status_of,
    text,
)
from olmc.k8s.yaml import locate

# ClusterServiceVersions, their copies in target namespaces, and the ConfigMaps that can stand in for copies
# (R-CSV-29, R-COPY-1 … R-COPY-7, R-INST-11).

CSV_STAGE = "csvs"


def csvs(context: RenderContext) -> Iterator[Rendered]:
    """The CSVs that are no copies.

    >>> workspace = {"groups": {"ns/og": "own"}, "operators": ["beacon.v1.0.0"]}
    >>> show(csvs, workspace, "metadata.annotations", "metadata.finalizers", "status.phase", "status.reason")
    ClusterServiceVersion/ns/beacon.v1.0.0
      annotations: {..., olm.operatorGroup: og, olm.operatorNamespace: ns, olm.targetNamespaces: ns}
      finalizers: [operators.coreos.com/csv-cleanup]
      phase: Succeeded
      reason: InstallSucceeded
    """
    for name, obj in context.csvs.items():
        yield rendered(obj, CSV_STAGE, "R-CSV-29", context.cluster.csvs[name].source)


def copied_csvs(context: RenderContext) -> Iterator[Rendered]:
    """A copy in every existing target namespace of each CSV that may be copied (R-COPY-2 … R-COPY-5).

    >>> workspace = {"namespaces": {"docks": {}}, "groups": {"ns/og": ["docks"]}, "operators": ["beacon.v1.0.0"]}
    >>> show(copied_csvs, workspace, "metadata.annotations", "metadata.labels", "status.message")
    ClusterServiceVersion/docks/beacon.v1.0.0
      annotations: {..., olm.operatorGroup: og, olm.operatorNamespace: ns}
      labels: {olm.managed: 'true', olm.copiedFrom: ns}
      message: The operator is running in ns but is managing this namespace
    """
    if not context.options.copied_csvs:
        return
    for name, member in sorted(context.cluster.members.items()):
        targets = copy_targets(context, member)
        if not targets:
            continue
        subscriptions = (s for s in context.cluster.subscriptions.values() if s.name.namespace == name.namespace)
        given = {component_label_key(s.package, name.namespace) for s in subscriptions if s.installed == name.name}
        copy = _copy_without_namespace(context.csvs[name], member.csv, context.profile, given)
        first = rendered(copy, "copied_csvs", "R-COPY-4", member.csv.source)
        for target in targets:
            metadata = {**copy["metadata"], "namespace": target}
            yield Rendered({**copy, "metadata": metadata}, first.provenance)
    for _, kept in sorted(kept_copies(context).items()):
        yield rendered(kept.object, "copied_csvs", "observed-52", kept.source)


FOLLOWED_BY_COPIES = "TooManyOperatorGroups"
"""The one reason of those by which a group fails a CSV that the copies get, too (observed-72)."""


def kept_copies(context: RenderContext) -> dict[NamespacedName, CopiedCsv]:
    """The copies of the workspace that OLM leaves alone, since it does not know any more for whom the original works:
    it has not one group, or none with targets (observed-52, observed-72); those that dangle it deletes all the same."""
    kept = {}
    for name, copy in context.cluster.copies.items():
        member = context.cluster.members.get(NamespacedName(copy.home, name.name))
        if member is None or name in context.cluster.csvs or name.namespace not in context.cluster.namespaces:
            continue
        group = member.group
        if _is_dangling(name.namespace, member, context.csvs[NamespacedName(copy.home, name.name)]):
            continue
        if group is None or group.problem or not group.targets or not may_be_copied(member):
            if member.reason == FOLLOWED_BY_COPIES:
                status = {**status_of(context.csvs[NamespacedName(copy.home, name.name)])}
                status |= filled(context.profile.copied_status, csv_ns=copy.home)
                copy = copy._replace(object={**copy.object, "status": status})
            kept[name] = copy
    return kept


def _is_dangling(namespace: str, member: CsvState, original: KubernetesObject) -> bool:
    """Return whether OLM deletes the copy in a namespace: the original conflicts with one of another group, or does not
    list the namespace in its own annotation, which is all that OLM asks (R-COPY-7)."""
    listed = str(annotations_of(original).get(TARGETS, ""))
    return member.reason == CONFLICT or (listed != "" and namespace not in listed.split(","))


def copy_targets(context: RenderContext, member: CsvState) -> tuple[str, ...]:
    """The namespaces that get a copy of a CSV, sorted (R-COPY-2, R-COPY-3, R-COPY-5)."""
    group, home = member.group, member.csv.namespace
    if group is None or group.problem or not group.targets or group.targets == (home,) or not may_be_copied(member):
        return ()
    existing = [name for name in context.cluster.namespaces if name != home]
    # OLMConfig switches copies off for operators that watch everything; others are copied all the same (R-COPY-5).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L1734-L1860
    if not group.is_global:
        return tuple(name for name in existing if name in group.targets)
    if context.cluster.disables_copies:
        protected = context.options.protected_copied_csv_namespaces
        return tuple(n for n in existing if n in protected and context.profile.copied_disable == "global, protected")
    return tuple(existing)


def size_of_csvs(context: RenderContext) -> tuple[int, Csv | None]:
    """Return how many bytes the CSVs have as JSON, with their copies, and the one that has the most; 0 where there are
    few."""
    copied = {
        name: len(copy_targets(context, member)) if context.options.copied_csvs else 0
        for name, member in context.cluster.members.items()
    }
    if len(context.csvs) + sum(copied.values()) <= _FEW:
        return 0, None
    sizes = {name: (1 + copied.get(name, 0)) * len(json.dumps(obj)) for name, obj in context.csvs.items()}
    return sum(sizes.values()), context.cluster.csvs[max(sizes, key=lambda name: sizes[name])]


_FEW = 100


def homes_of_copies(context: RenderContext) -> dict[NamespacedName, str]:
    """The copies that there are in the end, each with the namespace of the original."""
    made = {
        NamespacedName(target, name.name): name.namespace
        for name, member in context.cluster.members.items()
        for target in copy_targets(context, member)
    }
    return made | {name: copy.home for name, copy in kept_copies(context).items()}


def _copy_without_namespace(
    obj: KubernetesObject, csv: Csv, profile: Profile, given: Collection[str]
) -> KubernetesObject:
    """A copy of a CSV as it ends up. What OLM wrote on it after the copy was made, the copy does not have: component
    labels, of which `given` are those by Subscriptions, and the finalizer."""
    metadata, keeps = obj["metadata"], profile.copied_metadata
    # The list of target namespaces stays behind: a tenant who reads a copy need not learn of the others (R-COPY-4).
    annotations = {k: v for k, v in annotations_of(obj).items() if k not in keeps["without"]}
    labels = {
        key: value
        for key, value in labels_of(obj).items()
        if not key.startswith(COMPONENT_PREFIX) or (keeps["labels"] and key in csv.labels and key not in given)
    }
    # The phase is that of the original, so that tenants see whether the operator runs (R-COPY-4).
    status = {**status_of(obj), **filled(profile.copied_status, csv_ns=csv.namespace)}
    kept: dict[str, Any] = {"name": metadata["name"]}
    if annotations:
        kept["annotations"] = annotations
    kept["labels"] = {**labels, COPIED_FROM: csv.namespace}
    if keeps["whole"]:
        kept |= {key: csv.metadata[key] for key in ("ownerReferences", "finalizers") if csv.metadata.get(key)}
    return {**obj, "metadata": kept, "status": status}


def olmconfig(context: RenderContext) -> Iterator[Rendered]:
    """OLMConfig `cluster` with the condition about copies (R-COPY-6), if the workspace has one.

    >>> config = {"apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig", "metadata": {"name": "cluster"}}
    >>> show(olmconfig, {"manifests": [config]}, "status.conditions")
    OLMConfig/cluster
      conditions: [{type: DisabledCopiedCSVs, status: 'False', reason: CopiedCSVsEnabled, message: Copied CSVs are ...}]
    """
    config = context.cluster.objects.get(OLMCONFIG)
    if config is None:
        return
    if not context.profile.olmconfig_api:
        yield config
        return
    # OLM has four texts for this; at rest no copy is missing or left over, so two of them remain (R-COPY-6).
    disabled = context.cluster.disables_copies
    condition = {
        "type": "DisabledCopiedCSVs",
        "status": "True" if disabled else "False",
        "reason": "CopiedCSVsDisabled" if disabled else "CopiedCSVsEnabled",
        "message": "Copied CSVs are disabled and no unexpected copied CSVs were found for operators installed in "
        "AllNamespace mode"
        if disabled
        else "Copied CSVs are enabled and present across the cluster",
    }
    yield Rendered({**config.object, "status": {"conditions": [condition]}}, config.provenance)


RULE = "R-INST-11"
PREFIX = "olm-surrogate."


def copied_csv_configmaps(context: RenderContext) -> Iterator[Rendered]:
    """A surrogate for each copied CSV that there would be, or that the workspace has.

    >>> workspace = {"namespaces": {"docks": {}}, "groups": {"ns/og": ["docks"]}, "operators": ["beacon.v1.0.0"]}
    >>> show(copied_csv_configmaps, workspace, "metadata.labels", copied_csvs=False)
    ConfigMap/docks/olm-surrogate.beacon.v1.0.0
      labels: {olm.copiedFrom: ns, olm.managed: 'true', olm.owner: beacon.v1.0.0, ...}
    """
    if _has_copies(context):
        return
    for name, home in sorted(_homes(context).items()):
        original = context.cluster.csvs.get(NamespacedName(home, name.name))
        yield rendered(
            _configmap(context.profile, name, home), "surrogates", RULE, original.source if original else None
        )


def owned_by_configmaps(context: RenderContext, objects: Sequence[Rendered]) -> Sequence[Rendered]:
    """The objects; where copied CSVs are replaced, what belongs to a copy belongs to its surrogate, and the other way
    round in a cluster that has had surrogates."""
    if _has_copies(context):
        return [_own_by_copy(entry) for entry in objects]
    homes = _homes(context)
    return [_own_by_configmap(entry, homes.keys()) for entry in objects] if homes else objects


def _has_copies(context: RenderContext) -> bool:
    """Return whether CSVs are copied; what is applied without OLM has neither copies nor surrogates."""
    return context.options.copied_csvs or context.options.purpose == "apply"


def _homes(context: RenderContext) -> dict[NamespacedName, str]:
    """The copies that surrogates stand for, each with the namespace of the original."""
    # OLM's copies in the workspace need a stand-in as well: what they own lies there beside them, and would go with
    # them. Of a copy whose original is there OLM decides whether it stays.
    cluster = context.cluster
    given = {
        name: copy.home
        for name, copy in cluster.copies.items()
        if name not in cluster.csvs and NamespacedName(copy.home, name.name) not in cluster.members
    }
    return given | homes_of_copies(context)


def _is_left_behind(
    obj: KubernetesObject, surrogates: Collection[NamespacedName], copies: Collection[NamespacedName]
) -> bool:
    """Return whether an object is a surrogate that is not among `surrogates`, or has only such owners. An owner that is
    among `copies` counts as present.

    OLM removes surrogates as it removes copies: once the namespace is no target or the CSV is deleted (R-INST-11).
    """
    if obj.get("kind") == "ConfigMap" and has_copy_label(obj):
        name = str(obj["metadata"]["name"])
        return name.startswith(PREFIX) and _surrogate_of(obj, name) not in surrogates
    references = owner_references(obj)
    names = [text(ref.get("name")) if ref.get("kind") == "ConfigMap" else "" for ref in references]
    there = {*surrogates, *copies}
    return bool(names) and all(name.startswith(PREFIX) and _surrogate_of(obj, name) not in there for name in names)


def _surrogate_of(obj: KubernetesObject, name: str) -> NamespacedName:
    """The copy that the surrogate called `name` stands for, in the namespace of an object."""
    return NamespacedName(namespace_of(obj), name.removeprefix(PREFIX))


def _configmap(profile: Profile, name: NamespacedName, home: str) -> KubernetesObject:
    labels = {COPIED_FROM: home, **owner_labels(profile, name.name, home)}
    labels |= managed_labels(profile.csv_label_managed)
    metadata = {"name": PREFIX + name.name, "namespace": name.namespace, "labels": dict(sorted(labels.items()))}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def _own_by_copy(entry: Rendered) -> Rendered:
    references = owner_references(entry.object)
    if not any(_is_to_surrogate(reference) for reference in references):
        return entry
    changed = [
        csv_reference(str(reference["name"]).removeprefix(PREFIX)) if _is_to_surrogate(reference) else reference
        for reference in references
    ]
    return entry._replace(object={**entry.object, "metadata": {**entry.object["metadata"], "ownerReferences": changed}})


def _is_to_surrogate(reference: Mapping[str, Any]) -> bool:
    return reference.get("kind") == "ConfigMap" and text(reference.get("name")).startswith(PREFIX)


def _own_by_configmap(entry: Rendered, replaced: Collection[NamespacedName]) -> Rendered:
    references, namespace = owner_references(entry.object), namespace_of(entry.object)

    def is_to_copy(reference: Mapping[str, Any]) -> bool:
        name = NamespacedName(namespace, text(reference.get("name")))
        return reference.get("kind") == CSV_KIND and name in replaced

    if not any(map(is_to_copy, references)):
        return entry
    changed = [
        owner_reference("v1", "ConfigMap", PREFIX + reference["name"]) if is_to_copy(reference) else reference
        for reference in references
    ]
    return entry._replace(object={**entry.object, "metadata": {**entry.object["metadata"], "ownerReferences": changed}})


def stored_objects(context: RenderContext) -> Iterator[Rendered]:
    """Manifests and the objects of bundles.

    >>> config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "key", "namespace": "ns"}}
    >>> account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "installer", "namespace": "ns"}}
    >>> groups = {"ns/og": {"serviceAccountName": "installer"}}
    >>> workspace = {"groups": groups, "manifests": [{**config, "data": {"token": "a"}}, account]}
    >>> show(stored_objects, workspace, "data", "metadata.labels")
    ConfigMap/ns/key
      data: {token: a}
    ServiceAccount/ns/installer
      labels: {olm.managed: 'true'}
    """
    accounts, configmaps = _group_accounts(context), catalog_configmaps(context)
    written_elsewhere = _written_elsewhere(context)
    cluster = context.cluster
    csvs = {*cluster.csvs, *homes_of_copies(context)}
    # What copies owned whose original an Install brought goes on to its Operator (R-OPERATOR-19).
    csvs |= {name for name, c in cluster.copies.items() if NamespacedName(c.home, name.name) in cluster.installed}
    surrogates = frozenset() if _has_copies(context) else frozenset(_homes(context))
    for key, entry in cluster.objects.items():
        if (
            key == OLMCONFIG
            or key in written_elsewhere
            or (key.group, key.kind) in (("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition"))
        ):
            continue
        if _is_left_behind(entry.object, surrogates, csvs):
            continue
        # The objects of a copy belong to its surrogate, if there is one.
        if _is_orphan(entry.object, csvs | surrogates):
            continue
        if key in accounts:
            yield entry._replace(object=_mark_managed(entry.object, context.profile))
        elif key in configmaps:
            yield entry._replace(object=owned_by_catalogs(entry.object, configmaps[key], context.profile))
        else:
            yield entry


def refused_objects(inputs: Inputs) -> Pass:
    """The pass that shows what a GitOps tool asks for and the API server refuses, as the repository has it.

    OLM never sees it, so that nothing comes of it; but a review is about what was asked for.
    """

    def refused(context: RenderContext) -> Iterator[Rendered]:  # noqa: ARG001
        for unused in inputs.unused:
            if unused.reason is Reason.REFUSED:
                manifest = unused.manifest
                yield rendered(manifest.object, "manifests", "input", manifest.source, origin=Origin.MANIFEST)

    return refused


def _is_orphan(obj: KubernetesObject, csvs: Collection[NamespacedName]) -> bool:
    """Return whether an object belongs to copied CSVs alone, and none of them is there any more, so that it went with
    them (R-COPY-7)."""
    owners = csvs_by_reference(obj) if has_copy_label(obj) else ()
    return bool(owners) and len(owners) == len(owner_references(obj)) and not any(owner in csvs for owner in owners)


def _orphaned_apiservices(cluster: Cluster) -> Iterator[ObjectKey]:
    """The API services whose owner labels name a CSV that does not exist, which OLM deletes (R-API-3)."""
    for key, stored in cluster.objects.within((_API_REGISTRATION, "APIService")).items():
        owner = label_owner(stored.object)
        if owner is not None and owner.kind == CSV_KIND and owner.name not in cluster.csvs:
            yield key


_API_REGISTRATION = "apiregistration.k8s.io"


def _written_elsewhere(context: RenderContext) -> frozenset[ObjectKey]:
    """Manifests that OLM takes over (conditions of its CSVs, API services that it adopts, Operators) or deletes."""
    conditions = (ObjectKey(OLM_GROUP, "OperatorCondition", name.namespace, name.name) for name in context.cluster.csvs)
    services = (
        apiservice_key(item.service_name) for member, _ in context.installed() for item in member.csv.owned_apiservices
    )
    operators = (key for key in context.cluster.objects if key.kind == "Operator" and key.group == OLM_GROUP)
    csvs = context.cluster.csvs.items() if context.profile.operatorcondition else ()
    of_conditions = (
        ObjectKey(RBAC, kind, *name)
        for name, csv in csvs for kind in ("Role", "RoleBinding") if not has_copy_label(csv.object)
    )  # fmt: skip
    deleted = (*deleted_deployments(context.cluster), *cleaned_up(context), *_orphaned_apiservices(context.cluster))
    return frozenset((*conditions, *of_conditions, *services, *operators, *deleted))


def _group_accounts(context: RenderContext) -> frozenset[ObjectKey]:
    """The ServiceAccounts that OperatorGroups name: OLM marks them as its own (R-OG-8)."""
    named = [(group.namespace, group.account) for group in context.cluster.groups.values()]
    return frozenset(ObjectKey("", "ServiceAccount", namespace, name) for namespace, name in named if name)


def _mark_managed(obj: KubernetesObject, profile: Profile) -> KubernetesObject:
    labels = {**labels_of(obj), **managed_labels(profile.csv_label_managed)}
    return {**obj, "metadata": with_labels(obj["metadata"], labels)}


def report_unserved(objects: Iterable[Rendered], cluster: Cluster, options: Options, report: Report) -> None:
    """Report every object of the output, and of steps that plans have not reached, whose API is removed."""
    rendered_objects = ((entry.object, entry.provenance.place) for entry in objects)
    for obj, place in (*rendered_objects, *_pending_objects(cluster)):
        api = gvk_of(obj)
        removal = removal_of(api, options.kube_version)
        if removal is None or api.path in options.apis:
            continue
        name = "/".join(part for part in object_key(obj)[2:] if part)
        hint = (
            f"Write it as {removal.replacement}, or render for the version that your cluster has (--kube-version)."
            if removal.replacement
            else "Nothing has taken its place: leave it out (--exclude), and look at Pod Security admission."
        )
        location = locate(place.source, (*place.keys, "apiVersion")) if place is not None else None
        report.add(
            rules.NOT_SERVED.finding(
                location,
                version=options.kube_version,
                kind=api.kind,
                name=name,
                api=api.api_version,
                removed=removal.minor,
                hint=hint,
            )
        )


def _pending_objects(cluster: Cluster) -> Iterator[tuple[KubernetesObject, Place | None]]:
    """The objects of the steps that a plan would still have to carry out."""
    for plan in cluster.plans.values():
        # A plan stops at the first object whose API is removed; an object after it would be the next failure.
        for step in plan.steps[plan.reached :] if plan.approved else ():
            if not step.derived:
                named = {**step.object, "apiVersion": step.api_version, "kind": step.kind}
                yield named, Place(step.source) if step.source else None


STAGE = "adoption"

_ADOPTABLE = frozenset(
    "Deployment Service APIService CustomResourceDefinition Subscription InstallPlan OperatorCondition Secret "
    "ConfigMap ServiceAccount Role RoleBinding ClusterRole ClusterRoleBinding".split()
)
# Of all other kinds the controller sees only what carries olm.managed, as its informers are filtered (R-COMP-4).
_UNFILTERED = frozenset({"Secret", "OperatorCondition", "Subscription", "InstallPlan"})
_LISTED = _ADOPTABLE | {"Namespace", "ClusterServiceVersion"}


def label_components(context: RenderContext, objects: Sequence[Rendered]) -> list[Rendered]:
    """The objects with the component labels of the CSVs that own them, and an Operator for every label in use."""
    # Versions before component labels have no Operators either, as an Operator is nothing but what carries its label.
    if not context.profile.csv_label_component:
        return list(objects)
    plans = _plan_labels(context)
    labelled = [_label(context, entry, plans) for entry in objects]
    return [*labelled, *_operators(labelled, context)]


def _plan_labels(context: RenderContext) -> dict[NamespacedName, set[str]]:
    """The labels of the InstallPlans that Subscriptions refer to (R-COMP-3)."""
    labels: dict[NamespacedName, set[str]] = {}
    for name, subscription in context.cluster.subscriptions.items():
        if subscription.plan:
            key = component_label_key(subscription.package, name.namespace)
            labels.setdefault(NamespacedName(name.namespace, subscription.plan), set()).add(key)
    return labels


def _label(context: RenderContext, entry: Rendered, plans: Mapping[NamespacedName, set[str]]) -> Rendered:
    identity = entry.identity
    if identity.kind not in _ADOPTABLE:
        return entry
    metadata, labels = entry.object["metadata"], labels_of(entry.object)
    # A plan has the label only as long as a Subscription refers to it (R-COMP-3, observed-44). A Subscription keeps the
    # label of a package that it had before (observed-81).
    own = dict(labels)
    if identity.kind == "Subscription":
        subscription = context.cluster.subscriptions.get(NamespacedName(identity.namespace, identity.name))
        keys = {component_label_key(subscription.package, identity.namespace)} if subscription else set()
    elif identity.kind == "InstallPlan":
        own = {key: value for key, value in labels.items() if not key.startswith(COMPONENT_PREFIX)}
        keys = plans.get(NamespacedName(identity.namespace, identity.name), set()) | _orphaned(context, entry)
    else:
        keys = _owner_keys(context, identity, entry.object)
    if not keys and own == labels:
        return entry
    new = dict(sorted({**own, **dict.fromkeys(keys, "")}.items()))
    kept = {key: value for key, value in metadata.items() if key != "labels"}
    # Where OLM's objects have their labels: behind the name, before what else there is.
    order = {key: kept[key] for key in ("generateName", "name", "namespace") if key in kept}
    return entry._replace(object={**entry.object, "metadata": {**order, **({"labels": new} if new else {}), **kept}})


def _orphaned(context: RenderContext, plan: Rendered) -> set[str]:
    """The component labels of an InstallPlan that no Subscription is left to take back (observed-68)."""
    namespace = plan.identity.namespace
    subscriptions = context.cluster.subscriptions.items()
    asked = {component_label_key(s.package, namespace) for name, s in subscriptions if name.namespace == namespace}
    return {key for key in labels_of(plan.object) if key.startswith(COMPONENT_PREFIX)} - asked


def _owner_keys(context: RenderContext, identity: ObjectKey, obj: KubernetesObject) -> set[str]:
    """The component labels of the real CSVs that own an object, by reference or by labels (R-COMP-4)."""
    labels = labels_of(obj)
    is_seen = labels.get(MANAGED) == "true" or identity.kind in _UNFILTERED or not context.profile.csv_label_managed
    if has_copy_label(obj):
        return _copied_keys(context, identity, obj)
    if not is_seen:
        return set()
    keys: set[str] = set()
    labelled = label_owner(obj)
    # OLM goes by the label for the kind as well, which somebody may have forgotten.
    by_label = (labelled.name,) if labelled is not None and labelled.kind == CSV_KIND else ()
    for owner in (*csvs_by_reference(obj), *by_label):
        # Copies have no component label to pass on, so what they own has none, either (R-COMP-4).
        csv = context.cluster.csvs.get(owner)
        if csv is not None and not is_copy_by_metadata(csv.object):
            keys |= context.cluster.adopted.get(owner, frozenset())
    return keys | context.cluster.adopted.get(identity, frozenset())


def _copied_keys(context: RenderContext, identity: ObjectKey, obj: KubernetesObject) -> set[str]:
    """The component labels of what was copied to a target namespace: those of the original where its copies have
    failed, since OLM then takes them for owners of their own (observed-72)."""
    name = original_by_label(obj)
    member = context.cluster.members.get(name) if name is not None else None
    if (
        name is None
        or member is None
        or member.reason != FOLLOWED_BY_COPIES
        or identity.kind not in ("Role", "RoleBinding")
    ):
        return set()
    return set(context.cluster.adopted.get(name, frozenset()))


def _operators(objects: Sequence[Rendered], context: RenderContext) -> Iterator[Rendered]:
    profile = context.profile
    # OLM lists objects by label and not by owner: all objects with the label, of any origin (R-COMP-5).
    refs: dict[str, list[dict[str, Any]]] = {}
    for entry in objects:
        obj = entry.object
        if obj["kind"] in _LISTED:
            for key in labels_of(obj):
                if key.startswith(COMPONENT_PREFIX):
                    refs.setdefault(key, []).append(_reference(obj))
    # OLM does not delete an Operator: one that has no components any more lists none (observed-60).
    for entry in context.cluster.objects.values():
        if entry.object["kind"] == "Operator" and entry.object["apiVersion"] == profile.operator_api:
            refs.setdefault(COMPONENT_PREFIX + entry.identity.name, [])
    # The API server rejects the name that the proposal's form of the label stands for (R-OPERATOR-3).
    named = (key for key in sorted(refs) if "/" not in key.removeprefix(COMPONENT_PREFIX))
    for key in named if profile.operator_api else ():
        ordered = sorted(refs[key], key=lambda r: (r["kind"], r["apiVersion"], r.get("namespace", ""), r["name"]))
        selector = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
        name = key.removeprefix(COMPONENT_PREFIX)
        existing = context.cluster.objects.get(ObjectKey(OLM_GROUP, "Operator", "", name))
        # OLM writes the status alone of one that is there.
        known = metadata_of(existing.object) if existing is not None else {}
        obj = {
            "apiVersion": profile.operator_api,
            "kind": "Operator",
            "metadata": {
                "name": name,
                **{field: known[field] for field in ("labels", "annotations") if field in known},
            },
            "spec": {},
            "status": {"components": {"labelSelector": selector, **({"refs": ordered} if ordered else {})}},
        }
        yield rendered(obj, STAGE, "R-COMP-5", None)


def _reference(obj: KubernetesObject) -> dict[str, Any]:
    metadata = obj["metadata"]
    ref: dict[str, Any] = {"kind": obj["kind"]}
    if metadata.get("namespace"):
        ref["namespace"] = metadata["namespace"]
    ref |= {"name": metadata["name"], "apiVersion": obj["apiVersion"]}
    status = status_of(obj)
    # CSVs have phases instead of conditions, so OLM makes a condition of the phase (R-COMP-5).
    if obj["kind"] == "ClusterServiceVersion" and status.get("phase"):
        condition = {"type": status["phase"], "status": "True"}
        ref["conditions"] = [{**condition, "reason": status["reason"], "message": status["message"]}]
    return ref
