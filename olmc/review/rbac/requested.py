"""The permissions that operators ask for which would not run: what OLM would grant them once they do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from olmc.compiler.model.cluster import Cluster
from olmc.compiler.model.operators import Csv
from olmc.compiler.olm.naming import CORE_KINDS
from olmc.compiler.reconcile.loop import NO_CATALOG
from olmc.compiler.resolver.steps import UndecodableCSVError, bundle_steps, csv_object
from olmc.k8s.diagnostics import Place
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import (
    RBAC,
    KubernetesObject,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    mapping,
    metadata_of,
    object_key,
)
from olmc.review.explain.resolution import WantedOperator

_NAMESPACED = ("Role", "RoleBinding")


class AskedPermissions(NamedTuple):
    """The objects that would give operators what they ask for, as far as they are not there, and CSVs that can't be
    read."""

    objects: tuple[Rendered, ...]
    unreadable: tuple[str, ...]


def asked_permissions(
    operators: Iterable[WantedOperator], cluster: Cluster, there: Iterable[Rendered]
) -> AskedPermissions:
    """The CSVs, ServiceAccounts, roles and bindings of operators as they would be, in the namespaces that they would
    watch, without those among `there`."""
    known = {rendered.identity for rendered in there}
    objects: dict[ObjectKey, Rendered] = {}
    unreadable: list[str] = []
    for operator in operators:
        try:
            csv = csv_object(operator.content, operator.namespace, "", "", cluster.profile)
        except UndecodableCSVError as error:
            unreadable.append(f"{operator.csv.name}: {error}")
            continue
        for rendered in _granted(operator, csv, cluster):
            objects.setdefault(rendered.identity, rendered)
    return AskedPermissions(tuple(each for key, each in objects.items() if key not in known), tuple(unreadable))


def _granted(operator: WantedOperator, csv: KubernetesObject, cluster: Cluster) -> Iterator[Rendered]:
    targets = _targets(operator.csv, operator.namespace, cluster)
    for step in bundle_steps(operator.content, csv, NO_CATALOG, cluster.profile):
        group = object_key(step.object).group
        if step.kind != csv["kind"] and group != RBAC and step.kind != "ServiceAccount":
            continue
        place = Place(step.source) if step.source is not None else None
        # In the form that OLM writes: it goes by the kind, and bundles may have older versions.
        written = {**step.object, "apiVersion": CORE_KINDS.get(step.kind, step.object.get("apiVersion"))}
        for obj in _placed(written, operator.namespace, targets if step.derived else (operator.namespace,)):
            origin = Origin.STRATEGY if step.derived else Origin.BUNDLE
            yield Rendered(obj, Provenance(place, "install_plan", "R-SA-2", origin))


def _targets(csv: Csv, namespace: str, cluster: Cluster) -> tuple[str, ...]:
    """The namespaces that an operator would watch, "" for all: those of the groups there, else the most it supports."""
    groups = cluster.groups_in(namespace)
    if any(group.is_global for group in groups) or (not groups and _is_for_all(csv)):
        return ("",)
    return tuple(dict.fromkeys((namespace, *(name for group in groups for name in group.targets))))


def _is_for_all(csv: Csv) -> bool:
    return any(mode.supported and mode.type == "AllNamespaces" for mode in csv.install_modes)


def _placed(obj: KubernetesObject, namespace: str, targets: tuple[str, ...]) -> Iterator[KubernetesObject]:
    """An object in its own namespace, and what OLM makes of a Role for the namespaces that the operator watches."""
    kind, metadata = str(obj["kind"]), metadata_of(obj)
    if kind.startswith("Cluster") and kind != "ClusterServiceVersion":
        yield {**obj, "metadata": {key: value for key, value in metadata.items() if key != "namespace"}}
        return
    yield {**obj, "metadata": {**metadata, "namespace": namespace}}
    for target in targets if kind in _NAMESPACED else ():
        if target == "":
            yield _lifted(obj, metadata)
        elif target != namespace:
            yield {**obj, "metadata": {**metadata, "namespace": target}}


def _lifted(obj: KubernetesObject, metadata: Mapping[str, object]) -> KubernetesObject:
    """A Role as a ClusterRole, or its binding, which operators for all namespaces get (R-SING-2)."""
    lifted = {key: value for key, value in metadata.items() if key != "namespace"}
    made = {**obj, "kind": f"Cluster{obj['kind']}", "metadata": lifted}
    return made | ({"roleRef": {**mapping(obj["roleRef"]), "kind": "ClusterRole"}} if "roleRef" in obj else {})
