"""What InstallPlans and manifests brought, as it is: everything that no other pass writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from olmc.diagnostics.rules import output as rules
from olmc.kube.builtin_kinds import removal_of
from olmc.model.cluster import Cluster, NamespacedName
from olmc.model.coerce import text
from olmc.model.diagnostics import Place, Report
from olmc.model.objects import (
    KubernetesObject,
    ObjectKey,
    Rendered,
    gvk_of,
    labels_of,
    namespace_of,
    object_key,
    owner_references,
)
from olmc.model.operators import CSV_KIND, OLM_GROUP
from olmc.model.options import Options, Profile
from olmc.olm.ownership import COPIED_FROM, managed_labels, with_labels
from olmc.reconcile.garbage_collection import deleted_deployments
from olmc.render.context import RenderContext, rendered
from olmc.render.csvs import OLMCONFIG, homes_of_copies
from olmc.yaml import locate

REDACTED = "REDACTED"


def stored_objects(world: RenderContext) -> Iterator[Rendered]:
    """Manifests and the objects of bundles; in review output the values of Secrets are not shown.

    >>> secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "ns"}}
    >>> account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "installer", "namespace": "ns"}}
    >>> groups = {"ns/og": {"serviceAccountName": "installer"}}
    >>> workspace = {"groups": groups, "manifests": [{**secret, "data": {"token": "aGFyYm91cg=="}}, account]}
    >>> show(stored_objects, workspace, "data", "metadata.labels")
    Secret/ns/key
      data: {token: REDACTED}
    ServiceAccount/ns/installer
      labels: {olm.managed: 'true'}
    """
    accounts = _group_accounts(world)
    others = _written_elsewhere(world)
    csvs = {*world.cluster.csvs, *homes_of_copies(world)}
    for key, found in world.cluster.objects.items():
        if (
            key == OLMCONFIG
            or key in others
            or (key.group, key.kind) in (("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition"))
        ):
            continue
        if world.options.copied_csvs and _is_orphan(found.object, csvs):
            continue
        # Review output is there to be read by many and committed; what is secret stays where it is.
        if (key.group, key.kind) == ("", "Secret") and world.options.purpose == "review":
            yield found._replace(object=_redacted(found))
        elif key in accounts:
            yield found._replace(object=_managed(found.object, world.profile))
        else:
            yield found


def _is_orphan(obj: KubernetesObject, csvs: Collection[NamespacedName]) -> bool:
    """Whether an object belongs to copied CSVs alone, and none of them is there any more, so that it went with them
    (R-COPY-7)."""
    owners, namespace = owner_references(obj), namespace_of(obj)
    if not owners or COPIED_FROM not in labels_of(obj):
        return False
    return all(
        ref.get("kind") == CSV_KIND and NamespacedName(namespace, text(ref.get("name"))) not in csvs for ref in owners
    )


def _written_elsewhere(world: RenderContext) -> frozenset[ObjectKey]:
    """Manifests that OLM takes over (conditions of its CSVs, API services that it adopts, Operators) or deletes."""
    conditions = (ObjectKey(OLM_GROUP, "OperatorCondition", name.namespace, name.name) for name in world.cluster.csvs)
    services = (
        ObjectKey("apiregistration.k8s.io", "APIService", "", item.service_name)
        for member, _ in world.installed()
        for item in member.csv.owned_apiservices
    )
    operators = (key for key in world.cluster.objects if key.kind == "Operator" and key.group == OLM_GROUP)
    return frozenset((*conditions, *services, *operators, *deleted_deployments(world.cluster)))


def _group_accounts(world: RenderContext) -> frozenset[ObjectKey]:
    """The ServiceAccounts that OperatorGroups name: OLM marks them as its own (R-OG-8)."""
    named = [(group.namespace, group.account) for group in world.cluster.groups]
    return frozenset(ObjectKey("", "ServiceAccount", namespace, name) for namespace, name in named if name)


def _managed(obj: KubernetesObject, profile: Profile) -> KubernetesObject:
    labels = {**labels_of(obj), **managed_labels(profile.csv_label_managed)}
    return {**obj, "metadata": with_labels(obj["metadata"], labels)}


def _redacted(found: Rendered) -> dict[str, object]:
    return {
        key: dict.fromkeys(value, REDACTED) if key in ("data", "stringData") and value else value
        for key, value in found.object.items()
    }


def catalog_sources(world: RenderContext) -> Iterator[Rendered]:
    """The CatalogSources of the workspace.

    >>> operators = "operators.coreos.com/v1alpha1"
    >>> metadata, spec = {"name": "acme", "namespace": "olm"}, {"sourceType": "grpc", "image": "quay.io/acme/all:v1"}
    >>> catalog = {"apiVersion": operators, "kind": "CatalogSource", "metadata": metadata, "spec": spec}
    >>> show(catalog_sources, {"manifests": [catalog]}, "spec")
    CatalogSource/olm/acme
      spec: {sourceType: grpc, image: 'quay.io/acme/all:v1'}
    """
    for source in world.cluster.catalogs.values():
        if source.manifest is not None:
            yield rendered(source.manifest, "catalog_sources", "input", source.source)


def report_unserved(objects: Iterable[Rendered], cluster: Cluster, options: Options, report: Report) -> None:
    """Report every object of the output, and of plans that did not get so far, whose API is gone."""
    for obj, place in (*_rendered(objects), *_not_executed(cluster)):
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
        found = locate(place.source, (*place.keys, "apiVersion")) if place is not None else None
        report.add(
            rules.NOT_SERVED.finding(
                found,
                version=options.kube_version,
                kind=api.kind,
                name=name,
                api=api.api_version,
                removed=removal.minor,
                hint=hint,
            )
        )


def _rendered(objects: Iterable[Rendered]) -> Iterator[tuple[KubernetesObject, Place | None]]:
    for found in objects:
        yield found.object, found.provenance.place


def _not_executed(cluster: Cluster) -> Iterator[tuple[KubernetesObject, Place | None]]:
    """The objects of the steps that a plan would still have to carry out."""
    for plan in cluster.plans:
        for step in plan.steps[plan.executed :] if plan.approved else ():
            if not step.derived:
                named = {**step.object, "apiVersion": step.api_version, "kind": step.kind}
                yield named, Place(step.source) if step.source else None
