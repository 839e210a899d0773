"""ClusterServiceVersions, their copies in target namespaces, and the ConfigMaps that can stand in for copies
(R-CSV-29, R-COPY-1 … R-COPY-7, R-INST-11)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from olmc.model.cluster import CopiedCsv, CsvState, NamespacedName
from olmc.model.objects import (
    KubernetesObject,
    ObjectKey,
    Rendered,
    annotations_of,
    labels_of,
    mapping,
    namespace_of,
    owner_references,
    spec_of,
    status_of,
    text,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP, Csv
from olmc.model.options import Profile
from olmc.olm.naming import COMPONENT_PREFIX, COPIED_FROM, TARGETS, managed_labels, owner_labels, owner_reference
from olmc.olm.profiles.data import filled
from olmc.reconcile.loop import may_be_copied
from olmc.reconcile.operator_groups import CONFLICT
from olmc.render.context import RenderContext, rendered

STAGE = "csvs"

OLMCONFIG = ObjectKey(OLM_GROUP, "OLMConfig", "", "cluster")


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
        yield rendered(obj, STAGE, "R-CSV-29", context.cluster.csvs[name].source)


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
        copy = _copy_without_namespace(context.csvs[name], member.csv, context.profile)
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
    """Whether OLM deletes the copy in a namespace: the original conflicts with one of another group, or does not list
    the namespace in its own annotation, which is all that OLM asks (R-COPY-7)."""
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
    if copies_disabled(context):
        protected = context.options.protected_copied_csv_namespaces
        return tuple(n for n in existing if n in protected and context.profile.copied_disable == "global, protected")
    return tuple(existing)


def homes_of_copies(context: RenderContext) -> dict[NamespacedName, str]:
    """The copies that there are in the end, each with the namespace of the original."""
    made = {
        NamespacedName(target, name.name): name.namespace
        for name, member in context.cluster.members.items()
        for target in copy_targets(context, member)
    }
    return made | {name: copy.home for name, copy in kept_copies(context).items()}


def copies_disabled(context: RenderContext) -> bool:
    """Whether OLMConfig `cluster` switches copies of globally installed operators off."""
    config = context.cluster.objects.get(OLMCONFIG) if context.profile.copied_disable else None
    spec = spec_of(config.object) if config else {}
    return bool(mapping(spec.get("features")).get("disableCopiedCSVs"))


def _copy_without_namespace(obj: KubernetesObject, csv: Csv, profile: Profile) -> KubernetesObject:
    """A copy of a CSV as it ends up. What OLM wrote on it after the copy was made, the copy does not have: component
    labels, and the finalizer."""
    metadata, keeps = obj["metadata"], profile.copied_metadata
    # The list of target namespaces stays behind: a tenant who reads a copy need not learn of the others (R-COPY-4).
    annotations = {k: v for k, v in annotations_of(obj).items() if k not in keeps["without"]}
    labels = {
        key: value
        for key, value in labels_of(obj).items()
        if not key.startswith(COMPONENT_PREFIX) or (keeps["labels"] and key in csv.labels)
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
    disabled = copies_disabled(context)
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
    """The objects; where copied CSVs are replaced, what belongs to a copy belongs to its surrogate."""
    homes = {} if _has_copies(context) else _homes(context)
    return [_own_by_configmap(entry, homes.keys()) for entry in objects] if homes else objects


def _has_copies(context: RenderContext) -> bool:
    """Whether CSVs are copied; what is applied without OLM has neither copies nor surrogates."""
    return context.options.copied_csvs or context.options.purpose == "apply"


def _homes(context: RenderContext) -> dict[NamespacedName, str]:
    """The copies that surrogates stand for, each with the namespace of the original."""
    # OLM's copies in the workspace need a stand-in as well: what they own lies there beside them, and would go with
    # them.
    copies = context.cluster.copies.items()
    given = {name: copy.home for name, copy in copies if name not in context.cluster.csvs}
    return given | homes_of_copies(context)


def _configmap(profile: Profile, name: NamespacedName, home: str) -> KubernetesObject:
    labels = {COPIED_FROM: home, **owner_labels(profile, name.name, home)}
    labels |= managed_labels(profile.csv_label_managed)
    metadata = {"name": PREFIX + name.name, "namespace": name.namespace, "labels": dict(sorted(labels.items()))}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


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
