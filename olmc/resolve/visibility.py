"""Which catalogs a namespace sees (R-CAT-502)."""

from __future__ import annotations

from olmc.model.cluster import CatalogSource, Cluster
from olmc.model.options import Options

EXCLUDE_GLOBAL = "olm.operatorframework.io/exclude-global-namespace-resolution"


def visible_catalogs(cluster: Cluster, namespace: str, options: Options) -> tuple[CatalogSource, ...]:
    """The catalogs that a namespace sees: its own, and the global ones unless its group leaves them out (R-CAT-502)."""
    groups = cluster.groups_in(namespace)
    annotations = groups[0].annotations if groups else {}
    namespaces = {namespace}
    if annotations.get(EXCLUDE_GLOBAL) != "true":
        namespaces.add(options.global_catalog_namespace)
    return tuple(source for key, source in sorted(cluster.catalogs.items()) if key.namespace in namespaces)


def needed_catalogs(cluster: Cluster, options: Options, *, clusterwide: bool = False) -> tuple[CatalogSource, ...]:
    """The catalogs that some namespace with Subscriptions sees, in order: one that can't be read fails them all.

    With `clusterwide` all catalogs: Operators of v2alpha1 are resolved over every one (R-OPERATOR-8).
    """
    if clusterwide:
        return tuple(source for _, source in sorted(cluster.catalogs.items()))
    namespaces = {name.namespace for name in cluster.subscriptions}
    seen = {source.key: source for each in namespaces for source in visible_catalogs(cluster, each, options)}
    return tuple(source for _, source in sorted(seen.items()))
