"""The cluster before any controller did anything: what the workspace's manifests say exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from olmc.diagnostics.rules import workspace as rules
from olmc.gojson import DecodeError, decode
from olmc.load.manifests import refused
from olmc.load.scopes import placed
from olmc.model.cluster import (
    CatalogSource,
    Cluster,
    CsvState,
    InstallPlan,
    NamespacedName,
    Subscription,
    namespaced_name,
)
from olmc.model.diagnostics import Place, Report, Source
from olmc.model.objects import (
    GVK,
    CatalogKey,
    KubernetesObject,
    ObjectKey,
    Origin,
    Provenance,
    Rendered,
    annotations_of,
    as_text,
    gvk_of,
    labels_of,
    mapping,
    mappings,
    metadata_of,
    namespace_of,
    object_key,
    spec_of,
    status_of,
)
from olmc.model.operators import OLM_GROUP, Csv, OperatorGroup
from olmc.model.options import Options, Profile
from olmc.model.workspace import Manifest, Workspace
from olmc.olm.csv_schema import default_csv, list_map_conflicts
from olmc.olm.naming import COPIED_FROM, prune_unsupported, with_known_config
from olmc.olm.profiles.data import profile_of
from olmc.reconcile.install_plans import WAITING, is_approved, plan_of, with_steps
from olmc.reconcile.operator_groups import parse_apis, pruned, stored_group, with_targets
from olmc.yaml import locate

if TYPE_CHECKING:
    from olmc.model.catalog import Catalog

FROM_CONFIGMAP = ("configmap", "internal")


def spec_problem(spec: Mapping[str, Any]) -> str:
    """What OLM writes into the status of a CatalogSource with this spec, "" if it can be used."""
    kind = spec.get("sourceType")
    if kind in FROM_CONFIGMAP:
        return "" if spec.get("configMap") else f"configmap name unset: must be set for sourcetype: {kind}"
    if kind == "grpc":
        given = spec.get("image") or spec.get("address")
        return "" if given else "image and address unset: at least one must be set for sourcetype: grpc"
    # Without the field the API server takes no CatalogSource, so OLM never sees it.
    return f"unknown sourcetype: {kind}" if kind is not None else ""


_V1, _CRD = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
_WHOLE = ("group", "names", "versions")


def is_refused_crd(manifest: Manifest, report: Report) -> bool:
    """Whether a manifest is a CRD that the API server refuses to create; each reason goes to `report`, at its place.

    Not judged is a CRD that was taken from a cluster, which may hold what no new one may, and what is only a part of
    one, as patches for kustomize are.
    """
    crd = manifest.object
    if (crd["apiVersion"], crd["kind"]) != (_V1, _CRD) or not _is_whole(crd) or _was_in_a_cluster(crd):
        return False
    from olmc.kube.api_validation.crds import creation_errors  # few workspaces have CRDs of their own

    try:
        errors = creation_errors(decode(_CRD, crd, exact=True))
    except DecodeError as error:
        where, place = ".".join(map(str, error.path)), locate(manifest.source, error.path)
        report.add(refused(crd, place, where, error))
        return True
    for found in errors:
        problem = str(found).removeprefix(f"{found.field}: ")
        place = locate(manifest.source, found.keys)
        report.add(refused(crd, place, found.field, problem))
    return bool(errors)


def _is_whole(crd: KubernetesObject) -> bool:
    spec = spec_of(crd)
    return all(spec.get(field) for field in _WHOLE)


def _was_in_a_cluster(crd: KubernetesObject) -> bool:
    return bool(metadata_of(crd).get("uid") or status_of(crd))


ALWAYS_THERE = ("default", "kube-node-lease", "kube-public", "kube-system")
NAME_LABEL = "kubernetes.io/metadata.name"

_UNREACHABLE = (
    'failed to list bundles: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while '
    'dialing: dial tcp: address {address}: no content in the workspace"'
)


def initial_state(workspace: Workspace, options: Options, report: Report) -> Cluster:
    """The cluster before any controller did anything."""
    profile = profile_of(options.olm_version)
    by_kind: dict[str, list[Manifest]] = {}
    objects: dict[ObjectKey, Rendered] = {}
    manifests = placed(workspace.manifests, options, report)
    for manifest in manifests:
        obj = manifest.object
        kind = obj["kind"]
        if gvk_of(obj).group == OLM_GROUP and kind in _TAKEN:
            by_kind.setdefault(kind, []).append(manifest)
        elif not is_refused_crd(manifest, report):
            objects[object_key(obj)] = _rendered(obj, manifest.source)
    namespaces = _namespaces(manifests, objects, options, report)
    groups = [
        with_targets(OperatorGroup(stored_group(m, profile, report), m.source, ()), namespaces, objects)
        for m in by_kind.get("OperatorGroup", ())
    ]
    arrived = [(c, m.object) for m in by_kind.get("ClusterServiceVersion", ()) if (c := _csv(m, profile, report))]
    arrived.sort(key=lambda pair: (str(pair[1]["metadata"].get("creationTimestamp") or "~"), namespaced_name(pair[0])))
    csvs = {namespaced_name(csv): csv for csv, _ in arrived}
    subscriptions = {s.name: s for m in by_kind.get("Subscription", ()) if (s := _subscription(m, profile, report))}
    cluster = Cluster(
        profile=profile,
        namespaces=namespaces,
        groups=tuple(sorted(groups, key=lambda g: (g.namespace, g.name))),
        objects=objects,
        csvs=csvs,
        subscriptions=subscriptions,
        catalogs=_catalogs(workspace, by_kind.get("CatalogSource", ()), subscriptions, options),
        plans=tuple(plan_of(m.object) for m in by_kind.get("InstallPlan", ())),
        seeded={namespaced_name(group): _seeded(group, csvs) for group in groups},
        members={namespaced_name(csv): _pictured(csv, status_of(obj)) for csv, obj in arrived},
        copies=dict(_copies(by_kind.get("ClusterServiceVersion", ()))),
    )
    return _with_approvals(with_steps(workspace, cluster), options)


def _with_approvals(cluster: Cluster, options: Options) -> Cluster:
    """The cluster with the plans that are approved, but whose steps the workspace does not have, noted down: they are
    made again (R-CAT-607)."""
    waiting = [plan for plan in cluster.plans if plan.phase in ("", WAITING) and not plan.steps]
    approved = tuple(plan for plan in waiting if is_approved(plan, options) and not _is_installed(plan, cluster))
    subscriptions = dict(cluster.subscriptions)
    for plan in approved:
        for name, s in subscriptions.items():
            if (name.namespace, s.plan) == (plan.namespace, plan.name):
                subscriptions[name] = s._replace(current=s.installed, plan="", state="", generation=plan.generation - 1)
    return cluster._replace(subscriptions=subscriptions, approved=approved)


def _is_installed(plan: InstallPlan, cluster: Cluster) -> bool:
    return bool(plan.csvs) and all(NamespacedName(plan.namespace, csv) in cluster.csvs for csv in plan.csvs)


def _seeded(group: OperatorGroup, csvs: Mapping[NamespacedName, Csv]) -> frozenset[GVK] | None:
    """What the group's first sync leaves of its annotation: it prunes what no CSV provides by then (R-OG-14)."""
    given = None if group.given_apis is None else parse_apis(group.given_apis)
    return pruned(group, given, (csv for name, csv in csvs.items() if name.namespace == group.namespace))


def _pictured(csv: Csv, status: Mapping[str, Any]) -> CsvState:
    """A CSV as it was when its manifest was taken from a cluster."""
    phase, reason, message = (as_text(status.get(key)) for key in ("phase", "reason", "message"))
    return CsvState(csv, None, phase, reason, message, tuple(mappings(status.get("requirementStatus"))))


_TAKEN = frozenset({"OperatorGroup", "ClusterServiceVersion", "Subscription", "InstallPlan", "CatalogSource"})


def _rendered(obj: KubernetesObject, source: Source) -> Rendered:
    return Rendered(obj, Provenance(Place(source), "manifests", "input", Origin.MANIFEST))


def _csv(manifest: Manifest, profile: Profile, report: Report) -> Csv | None:
    """A CSV that lies there as a manifest, as the API server and OLM's types keep it; None for a copy (R-COPY-1)."""
    obj = manifest.object
    if _is_copy(obj):
        return None
    try:
        typed = default_csv(decode("ClusterServiceVersion", obj))
    except DecodeError as error:
        _refuse(manifest, error.path, str(error), report)
        return None
    conflicts = list_map_conflicts(typed)
    if conflicts:
        _refuse(manifest, ("spec", "install"), conflicts[0][1], report)
        return None
    typed = prune_unsupported(typed, profile)
    typed.pop("status", None)
    return Csv({**typed, "apiVersion": f"{OLM_GROUP}/v1alpha1", "kind": "ClusterServiceVersion"}, manifest.source)


def _is_copy(obj: KubernetesObject) -> bool:
    return status_of(obj).get("reason") == "Copied" or Csv(obj).counts_as_copy


def _copies(manifests: Iterable[Manifest]) -> Iterator[tuple[NamespacedName, str]]:
    """The copied CSVs among the manifests, each with the namespace that it is from."""
    for csv in (Csv(manifest.object) for manifest in manifests if _is_copy(manifest.object)):
        labels = csv.labels
        yield namespaced_name(csv), labels.get(COPIED_FROM) or csv.annotations.get("olm.operatorNamespace", "")


def _refuse(manifest: Manifest, keys: tuple[str | int, ...], problem: str, report: Report) -> None:
    obj = manifest.object
    where = ".".join(str(key) for key in keys) or "the object"
    place = locate(manifest.source, keys)
    report.add(refused(obj, place, where, problem))


def _subscription(manifest: Manifest, profile: Profile, report: Report) -> Subscription | None:
    """A Subscription with the status that it has, without the fields of its config that its CRD does not know; None if
    the API server refuses it."""
    obj = manifest.object
    config = spec_of(obj).get("config")
    try:
        decode("SubscriptionConfig", config or {})
    except DecodeError as error:
        keys = ("spec", "config", *error.path)
        _refuse(manifest, keys, str(error), report)
        return None
    status = status_of(obj)
    annotations = annotations_of(obj)
    generation = status.get("installPlanGeneration")
    told = _told(status)
    kept = with_known_config(obj, profile)
    return Subscription(
        {key: value for key, value in kept.items() if key != "status"},
        manifest.source,
        current=as_text(status.get("currentCSV")),
        installed=as_text(status.get("installedCSV")),
        state=as_text(status.get("state")),
        plan=as_text(mapping(status.get("installPlanRef")).get("name")),
        generation=generation if isinstance(generation, int) else 0,
        generated_by=annotations.get("olm.generated-by", ""),
        failure=told.get("ResolutionFailed"),
        unpacking="BundleUnpacking" in told,
        unpack_failure=told.get("BundleUnpackFailed"),
        told=tuple(told),
    )


def _told(status: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The types of a Subscription's conditions in their order, with reason and message; of those that tell a failure,
    only those that hold."""
    return {
        as_text(item.get("type")): (as_text(item.get("reason")), as_text(item.get("message")))
        for item in mappings(status.get("conditions"))
        if item.get("status") == "True" or item.get("type") == "CatalogSourcesUnhealthy"
    }


def _namespaces(
    manifests: Iterable[Manifest], objects: Mapping[ObjectKey, Rendered], options: Options, report: Report
) -> dict[str, dict[str, str]]:
    """All namespaces that exist, with their labels: those always there, those declared, and those that are used."""
    found: dict[str, dict[str, str]] = {name: {} for name in (*ALWAYS_THERE, *options.namespaces)}
    for key, rendered in objects.items():
        if (key.group, key.kind) == ("", "Namespace"):
            found[key.name] = dict(labels_of(rendered.object))
    for manifest in manifests:
        name = manifest.object["metadata"].get("namespace")
        if name and name not in found:
            found[name] = {}
            place = locate(manifest.source, ("metadata", "namespace"))
            report.add(rules.IMPLIED_NAMESPACE.finding(place, name=name))
    return {name: {**found[name], NAME_LABEL: name} for name in sorted(found)}


def _catalogs(
    workspace: Workspace,
    manifests: Iterable[Manifest],
    subscriptions: Mapping[NamespacedName, Subscription],
    options: Options,
) -> dict[CatalogKey, CatalogSource]:
    """The CatalogSources with what they serve; a catalog folder without one stands for a global CatalogSource."""
    found: dict[CatalogKey, CatalogSource] = {}
    served: set[str] = set()
    for manifest in manifests:
        obj = manifest.object
        key = CatalogKey(namespace_of(obj), obj["metadata"]["name"])
        spec = spec_of(obj)
        address = as_text(spec.get("address"))
        names = (f"{key.namespace}/{key.name}", key.name, address.removeprefix("fbc:"))
        name = next((name for name in names if name in workspace.catalogs), "")
        served.add(name)
        refused = _refusal(spec, workspace.catalogs.get(name))
        source = _unserved(key, refused) if refused else _source(key, workspace.catalogs.get(name), address)
        priority = int(spec.get("priority") or 0)
        found[key] = source._replace(priority=priority, manifest=obj, source=manifest.source)
    for name, catalog in workspace.catalogs.items():
        if name not in served:
            asked = (*(s.catalog for s in subscriptions.values()), *workspace.asked_catalogs)
            homes = {key.namespace for key in asked if key.name == name}
            for namespace in sorted(homes) or [options.global_catalog_namespace]:
                key = CatalogKey(namespace, name)
                found[key] = _source(key, catalog, "")
    return found


def _refusal(spec: Mapping[str, Any], catalog: Catalog | None) -> str:
    """Why OLM does not serve a CatalogSource at all, as the message of its status (R-CAT-161); "" if it does."""
    problem = spec_problem(spec)
    if problem or catalog or spec.get("sourceType") not in FROM_CONFIGMAP:
        return problem
    name = spec.get("configMap")
    return f'failed to get catalog config map {name}: configmap "{name}" not found'


def _unserved(key: CatalogKey, refused: str) -> CatalogSource:
    """A CatalogSource that nothing serves, so that OLM has no client to ask it with (R-CAT-163)."""
    problem = f"no registry client established for catalogsource {key.namespace}/{key.name}"
    return CatalogSource(key, 0, None, problem=problem, refused=refused)


def _source(key: CatalogKey, catalog: Catalog | None, address: str) -> CatalogSource:
    if catalog is None:
        return CatalogSource(key, 0, None, problem=_UNREACHABLE.format(address=address or "unknown"))
    from olmc.catalogs.content import served_candidates  # takes long to import, and bundles don't need it

    return CatalogSource(key, 0, catalog, served_candidates(key, catalog), catalog.problem)
