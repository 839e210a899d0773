"""ClusterServiceVersions: the real ones, and their copies in target namespaces (R-CSV-29, R-COPY-1 … R-COPY-6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from olmc.generate.world import World, rendered
from olmc.model.cluster import Member, Name
from olmc.model.coerce import mapping
from olmc.model.objects import Identity, KubernetesObject, Rendered, annotations_of, labels_of, spec_of, status_of
from olmc.model.operators import OLM_GROUP, Csv
from olmc.model.profile import Profile
from olmc.profiles.ownership import COMPONENT_PREFIX, COPIED_FROM
from olmc.profiles.resolve import filled
from olmc.settle.copies import may_be_copied

STAGE = "csvs"

OLMCONFIG = Identity(OLM_GROUP, "OLMConfig", "", "cluster")


def csvs(world: World) -> Iterator[Rendered]:
    """The CSVs that are no copies.

    >>> workspace = {"groups": {"ns/og": "own"}, "operators": ["beacon.v1.0.0"]}
    >>> show(csvs, workspace, "metadata.annotations", "metadata.finalizers", "status.phase", "status.reason")
    ClusterServiceVersion/ns/beacon.v1.0.0
      annotations: {..., olm.operatorGroup: og, olm.operatorNamespace: ns, olm.targetNamespaces: ns}
      finalizers: [operators.coreos.com/csv-cleanup]
      phase: Succeeded
      reason: InstallSucceeded
    """
    for name, obj in world.csvs.items():
        yield rendered(obj, STAGE, "R-CSV-29", world.cluster.csvs[name].source)


def copied_csvs(world: World) -> Iterator[Rendered]:
    """A copy in every existing target namespace of each CSV that may be copied (R-COPY-2 … R-COPY-5).

    >>> workspace = {"namespaces": {"docks": {}}, "groups": {"ns/og": ["docks"]}, "operators": ["beacon.v1.0.0"]}
    >>> show(copied_csvs, workspace, "metadata.annotations", "metadata.labels", "status.message")
    ClusterServiceVersion/docks/beacon.v1.0.0
      annotations: {..., olm.operatorGroup: og, olm.operatorNamespace: ns}
      labels: {olm.managed: 'true', olm.copiedFrom: ns}
      message: The operator is running in ns but is managing this namespace
    """
    if not world.options.copied_csvs:
        return
    for name, member in sorted(world.cluster.members.items()):
        targets = copy_targets(world, member)
        if not targets:
            continue
        copy = _copy_without_namespace(world.csvs[name], member.csv, world.profile)
        for target in targets:
            metadata = {**copy["metadata"], "namespace": target}
            yield rendered({**copy, "metadata": metadata}, "copied_csvs", "R-COPY-4", member.csv.source)


def copy_targets(world: World, member: Member) -> tuple[str, ...]:
    """The namespaces that get a copy of a CSV, sorted (R-COPY-2, R-COPY-3, R-COPY-5)."""
    group, home = member.group, member.csv.namespace
    if group is None or group.problem or not group.targets or group.targets == (home,):
        return ()
    if not may_be_copied(member):
        return ()
    existing = [name for name in world.cluster.namespaces if name != home]
    # OLMConfig switches copies off for operators that watch everything; others are copied all the same (R-COPY-5).
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/olm/operator.go#L1734-L1860
    if not group.is_global:
        return tuple(name for name in existing if name in group.targets)
    if copies_disabled(world):
        protected = world.options.protected_copied_csv_namespaces
        return tuple(n for n in existing if n in protected and world.profile.copied_disable == "global, protected")
    return tuple(existing)


def homes_of_copies(world: World) -> dict[Name, str]:
    """The copies that there are in the end, each with the namespace of the original."""
    return {
        Name(target, name.name): name.namespace
        for name, member in world.cluster.members.items()
        for target in copy_targets(world, member)
    }


def copies_disabled(world: World) -> bool:
    """Whether OLMConfig `cluster` switches copies of globally installed operators off."""
    found = world.cluster.stock.get(OLMCONFIG) if world.profile.copied_disable else None
    spec = spec_of(found.object) if found else {}
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
    status = {**status_of(obj), **filled(profile.copied_status, csv_ns=csv.namespace)}
    kept: dict[str, Any] = {"name": metadata["name"]}
    if annotations:
        kept["annotations"] = annotations
    kept["labels"] = {**labels, COPIED_FROM: csv.namespace}
    if keeps["whole"]:
        kept |= {key: csv.metadata[key] for key in ("ownerReferences", "finalizers") if csv.metadata.get(key)}
    return {**obj, "metadata": kept, "status": status}


def olmconfig(world: World) -> Iterator[Rendered]:
    """OLMConfig `cluster` with the condition about copies (R-COPY-6), if the workspace has one.

    >>> config = {"apiVersion": "operators.coreos.com/v1", "kind": "OLMConfig", "metadata": {"name": "cluster"}}
    >>> show(olmconfig, {"manifests": [config]}, "status.conditions")
    OLMConfig/cluster
      conditions: [{type: DisabledCopiedCSVs, status: 'False', reason: CopiedCSVsEnabled, message: Copied CSVs are ...}]
    """
    found = world.cluster.stock.get(OLMCONFIG)
    if found is None:
        return
    if not world.profile.olmconfig_api:
        yield found
        return
    # OLM has four texts for this; at rest no copy is missing or left over, so two of them remain (R-COPY-6).
    disabled = copies_disabled(world)
    condition = {
        "type": "DisabledCopiedCSVs",
        "status": "True" if disabled else "False",
        "reason": "CopiedCSVsDisabled" if disabled else "CopiedCSVsEnabled",
        "message": "Copied CSVs are disabled and no unexpected copied CSVs were found for operators installed in "
        "AllNamespace mode"
        if disabled
        else "Copied CSVs are enabled and present across the cluster",
    }
    yield Rendered({**found.object, "status": {"conditions": [condition]}}, found.provenance)
