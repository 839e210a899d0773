"""Which objects have a namespace, and which one those get that name none."""

from __future__ import annotations

from collections.abc import Mapping

from olmc.kube.scopes import Kind, Scope, crd_scopes, in_its_scope, is_cluster_wide, kind_of
from olmc.model.cluster import Cluster
from olmc.model.diagnostic import Report
from olmc.model.objects import Identity, KubernetesObject, Rendered
from olmc.model.operators import OLM_GROUP, APIKey
from olmc.model.options import Options
from olmc.model.workspace import Manifest
from olmc.rules import scopes as rules
from olmc.settle.builtin import is_native
from olmc.yaml import at


def placed(manifests: tuple[Manifest, ...], options: Options, report: Report) -> tuple[Manifest, ...]:
    """The manifests as they are applied to the default namespace of the options.

    Namespaced ones that name no namespace are in the default one. Without a default one they stay as they are, which is
    reported: where they end up is decided by whoever applies them.
    """
    loose = [m for m in manifests if not m.object["metadata"].get("namespace")]
    scopes = crd_scopes(m.object for m in manifests) if loose else {}
    nowhere = [m for m in loose if scope_of(m.object, scopes, options.kube_version) == "Namespaced"]
    if not nowhere:
        return manifests
    if not options.default_namespace:
        for manifest in nowhere:
            obj = manifest.object
            if kind_of(obj)[0] != OLM_GROUP:  # of what OLM looks at, it is said what follows
                place = at(manifest.source, "metadata")
                report.add(rules.UNPLACED.finding(place, kind=obj["kind"], name=obj["metadata"]["name"]))
        return manifests
    from olmc.load.manifests import without_duplicates  # few have a default namespace, and imports take their time

    homeless = {id(manifest) for manifest in nowhere}
    found = (_in_namespace(m, options.default_namespace) if id(m) in homeless else m for m in manifests)
    return without_duplicates(tuple(found), report)


def _in_namespace(manifest: Manifest, namespace: str) -> Manifest:
    obj = manifest.object
    metadata = {key: value for key, value in obj["metadata"].items() if key != "namespace"}
    return manifest._replace(object={**obj, "metadata": {**metadata, "namespace": namespace}})


def scope_of(obj: KubernetesObject, scopes: Mapping[Kind, Scope], kube_version: str) -> Scope | None:
    """The scope of an object, by what Kubernetes has built in and what CRDs say; None if nobody knows."""
    kind = kind_of(obj)
    if is_cluster_wide(kind, scopes):
        return "Cluster"
    version = str(obj["apiVersion"]).rpartition("/")[2]
    return "Namespaced" if is_native(APIKey(kind[0], version, kind[1]), kube_version) else scopes.get(kind)


def in_scope_of_crds(cluster: Cluster) -> Cluster:
    """A cluster at rest whose objects have no namespace where a CRD says so that came with an operator."""
    scopes = crd_scopes(found.object for found in cluster.stock.values())
    if "Cluster" not in scopes.values():
        return cluster
    stock: dict[Identity, Rendered] = {}
    for found in cluster.stock.values():
        stored = found._replace(object=in_its_scope(found.object, scopes))
        stock[stored.identity] = stored
    return cluster._replace(stock=stock)
