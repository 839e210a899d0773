"""Descoped operators: who needs no OperatorGroup, and the groups made for others (R-DESCOPE-2, R-DESCOPE-3)."""

from __future__ import annotations

from olmc.model.cluster import Cluster, Member, key_of
from olmc.model.objects import KubernetesObject
from olmc.model.operators import Csv, Group
from olmc.model.options import Options
from olmc.profiles.ownership import managed_labels


def is_descoped(csv: Csv, options: Options) -> bool:
    """Whether descoping is on and a CSV counts as descoped, plain or global."""
    return options.descoped and csv.scope != "scoped"


def binds_itself(member: Member, options: Options) -> bool:
    """Whether OLM copies an operator's own Roles and bindings to where it works.

    Descoped operators, and all that work in all namespaces, have other bindings (R-DESCOPE-8, R-DESCOPE-10).
    """
    everywhere = member.group is not None and member.group.is_global
    return not options.descoped or not (everywhere or is_descoped(member.csv, options))


def needs_no_group(csv: Csv, cluster: Cluster, options: Options) -> bool:
    """Whether a CSV is installed without an OperatorGroup: it has no install modes, or an Install brought it."""
    return (options.descoped and csv.scope == "plain") or key_of(csv) in cluster.installed


def no_group(namespace: str) -> Group:
    """What stands in for the OperatorGroup that a namespace does not have: it targets nothing but the namespace."""
    return Group({"metadata": {"name": "", "namespace": namespace}}, None, (namespace,))


def is_no_group(group: Group | None) -> bool:
    """Whether a group is the stand-in of `no_group`."""
    return group is not None and not group.name


def with_global_groups(cluster: Cluster, options: Options) -> Cluster:
    """The cluster with a group for all namespaces where a global descoped CSV has no group (R-DESCOPE-2, D47).

    The source of such a group is the CSV that it is made for.
    """
    if not options.descoped:
        return cluster
    with_group = {group.namespace for group in cluster.groups}
    alone = [csv for csv in cluster.csvs.values() if csv.scope == "global" and csv.namespace not in with_group]
    sources = {csv.namespace: csv.source for csv in reversed(alone)}
    if not sources:
        return cluster
    made = tuple(Group(_global_group(namespace), source, ("",)) for namespace, source in sources.items())
    groups = tuple(sorted((*cluster.groups, *made), key=lambda group: (group.namespace, group.name)))
    return cluster._replace(groups=groups, seeded={**cluster.seeded, **{key_of(group): None for group in made}})


def _global_group(namespace: str) -> KubernetesObject:
    metadata = {"name": f"{namespace}-global", "namespace": namespace, "labels": managed_labels(True)}
    return {"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": metadata, "spec": {}}
