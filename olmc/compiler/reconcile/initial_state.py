"""The cluster before any controller did anything: what the workspace's manifests say exists."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from olmc.compiler.load.bundles import in_default_namespace
from olmc.compiler.load.manifests import refusal
from olmc.compiler.model.cluster import (
    ByNamespace,
    CatalogSource,
    Cluster,
    CopiedCsv,
    CsvState,
    InstallPlan,
    NamespacedName,
    Subscription,
    by_kind,
    by_namespace,
    namespaced_name,
    seen_catalogs,
)
from olmc.compiler.model.operators import Csv, OperatorGroup
from olmc.compiler.model.options import Options, Profile
from olmc.compiler.model.workspace import Workspace
from olmc.compiler.olm.csv_schema import default_csv, list_map_conflicts
from olmc.compiler.olm.facts import FROM_CONFIGMAP, home_of_copy, is_copy, is_stated_to_run, spec_problem
from olmc.compiler.olm.naming import prune_unsupported, with_known_config
from olmc.compiler.olm.profiles.data import profile_of
from olmc.compiler.reconcile.install_plans import WAITING, is_approved, is_heeded, plan_of, with_steps
from olmc.compiler.reconcile.operator_groups import (
    parse_apis,
    platform_groups,
    prune_provided_apis,
    stored_group,
    with_targets,
)
from olmc.compiler.rules.findings import workspace as rules
from olmc.k8s.api.selectors import NamedLabelIndex
from olmc.k8s.api.validation.crds import creation_errors
from olmc.k8s.diagnostics import Place, RefusedObject, Report
from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.objects import (
    CRD_KIND,
    GVK,
    OLM_GROUP,
    CatalogKey,
    KubernetesObject,
    Manifest,
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
    texts,
)
from olmc.k8s.yaml import locate

if TYPE_CHECKING:
    from olmc.compiler.model.catalog import Catalog


def is_refused_crd(manifest: Manifest, report: Report) -> bool:
    """Return whether a manifest is a CRD that the API server refuses to create; each reason goes to `report`, at its
    place.

    Not judged is a CRD that was taken from a cluster, which may hold what no new one may, and what is only a part of
    one, as patches for kustomize are.
    """
    crd = manifest.object
    if (crd["apiVersion"], crd["kind"]) != ("apiextensions.k8s.io/v1", CRD_KIND):
        return False
    is_whole = all(spec_of(crd).get(field) for field in ("group", "names", "versions"))
    if not is_whole or metadata_of(crd).get("uid") or status_of(crd):
        return False

    try:
        errors = creation_errors(decode(CRD_KIND, crd, exact=True))
    except DecodeError as failure:
        where, place = ".".join(map(str, failure.path)), locate(manifest.source, failure.path)
        report.add(refusal(crd, place, where, failure))
        return True
    for error in errors:
        problem = str(error).removeprefix(f"{error.field}: ")
        report.add(refusal(crd, locate(manifest.source, error.keys), error.field, problem))
    return bool(errors)


# The namespaces that an API server creates for itself, so that a group for all namespaces has copies there, too (U-9).
ALWAYS_THERE = ("default", "kube-node-lease", "kube-public", "kube-system")
NAME_LABEL = "kubernetes.io/metadata.name"

_UNREACHABLE = (
    'failed to list bundles: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while '
    'dialing: dial tcp: address {address}: {why}"'
)
_NO_CONTENT, _NO_POD = "no content in the workspace", "no Pod of the catalog is known to run"


def initial_state(workspace: Workspace, options: Options, report: Report) -> Cluster:
    """The cluster before any controller did anything."""
    profile = profile_of(options.olm_version)
    kinds: dict[str, list[Manifest]] = {}
    objects: dict[ObjectKey, Rendered] = {}
    manifests = in_default_namespace(workspace.manifests, options, report)
    for manifest in manifests:
        obj = manifest.object
        kind = obj["kind"]
        if gvk_of(obj).group == OLM_GROUP and kind in _DECODED_KINDS:
            kinds.setdefault(kind, []).append(manifest)
        elif _is_held(manifest, options) or not is_refused_crd(manifest, report):
            provenance = Provenance(Place(manifest.source), "manifests", "input", Origin.MANIFEST)
            objects[object_key(obj)] = Rendered(obj, provenance)
    namespaces = _namespaces(manifests, objects, options, report)
    # Targets depend on the labels of all namespaces and on ServiceAccounts, so objects come before groups (R-OG-1,
    # R-OG-8).
    declared = [_group(m, profile, report) for m in kinds.get("OperatorGroup", ())]
    used = {namespace_of(manifest.object) for several in kinds.values() for manifest in several}
    index = NamedLabelIndex(namespaces)
    groups = [with_targets(g, index, objects) for g in (*declared, *platform_groups(declared, used, options))]
    arrived = [(c, m.object) for m in kinds.get("ClusterServiceVersion", ()) if (c := _csv(m, profile, report))]
    # Of two CSVs that provide one API the first gets it (R-CSV-13). Who that was, only the time of creation can show;
    # those without one come last, by namespace and name (U-7).
    arrived.sort(key=lambda pair: (str(pair[1]["metadata"].get("creationTimestamp") or "~"), namespaced_name(pair[0])))
    csvs = by_namespace({namespaced_name(csv): csv for csv, _ in arrived})
    plans = [plan_of(manifest.object) for manifest in kinds.get("InstallPlan", ())]
    subscriptions = {s.name: s for m in kinds.get("Subscription", ()) if (s := _subscription(m, profile, report))}
    cluster = Cluster(
        profile=profile,
        namespaces=namespaces,
        groups=by_namespace({namespaced_name(group): group for group in sorted(groups, key=namespaced_name)}),
        objects=by_kind(objects),
        csvs=csvs,
        subscriptions=by_namespace(subscriptions),
        catalogs=_catalogs(workspace, kinds.get("CatalogSource", ()), subscriptions, options),
        plans=by_namespace({namespaced_name(plan): plan for plan in plans}),
        seeded={namespaced_name(group): _seeded(group, csvs) for group in groups},
        members=by_namespace({namespaced_name(csv): _recorded_state(csv, status_of(obj)) for csv, obj in arrived}),
        copies=dict(_copies(kinds.get("ClusterServiceVersion", ()))),
        approvals=workspace.approvals,
        cel=workspace.cel,
    )
    return _with_approvals(with_steps(workspace, cluster), options)


def _is_held(manifest: Manifest, options: Options) -> bool:
    """Return whether the cluster that is begun with has an object as it is: then the API server has taken it."""
    return options.state is not None and options.state.objects.get(object_key(manifest.object)) is manifest


def _with_approvals(cluster: Cluster, options: Options) -> Cluster:
    """The cluster with the plans that are approved, but whose steps the workspace does not have, noted down: they are
    made again (R-CAT-607)."""
    heeded = (plan for plan in cluster.plans.values() if is_heeded(plan))
    waiting = [plan for plan in heeded if plan.phase in ("", WAITING) and not plan.steps]
    approved = tuple(plan for plan in waiting if is_approved(plan, options) and not _is_installed(plan, cluster))
    subscriptions = cluster.subscriptions
    for plan in approved:
        for name, s in subscriptions.within(plan.namespace).items():
            if s.plan == plan.name:
                # While it waits for the plan nothing is resolved (R-CAT-506). Taken back by one generation it is, and
                # what comes of it has the number of the plan that was approved (R-CAT-602).
                again = s._replace(current=s.installed, plan="", state="", generation=plan.generation - 1)
                subscriptions = subscriptions.updated({name: again})
    return cluster._replace(subscriptions=subscriptions, approved=approved)


def _is_installed(plan: InstallPlan, cluster: Cluster) -> bool:
    return bool(plan.csvs) and all(NamespacedName(plan.namespace, csv) in cluster.csvs for csv in plan.csvs)


def _seeded(group: OperatorGroup, csvs: ByNamespace[Csv]) -> frozenset[GVK] | None:
    """Return the annotation of a group after its first sync: it removes APIs that no CSV provides by then (R-OG-14)."""
    given = None if group.given_apis is None else parse_apis(group.given_apis)
    return prune_provided_apis(group, given, csvs.within(group.namespace).values())


def _group(manifest: Manifest, profile: Profile, report: Report) -> OperatorGroup:
    recorded = tuple(texts(status_of(manifest.object).get("namespaces")))
    return OperatorGroup(stored_group(manifest, profile, report), manifest.source, (), recorded=recorded)


def _recorded_state(csv: Csv, status: Mapping[str, Any]) -> CsvState:
    """A CSV as it was when its manifest was taken from a cluster."""
    history = tuple(map(_standing, mappings(status.get("conditions"))))
    return CsvState(csv, None, *_standing(status), tuple(mappings(status.get("requirementStatus"))), history=history)


def _standing(status: Mapping[str, Any]) -> tuple[str, str, str]:
    return as_text(status.get("phase")), as_text(status.get("reason")), as_text(status.get("message"))


# Objects that OLM acts upon become fields of the Cluster; other kinds of its group are ordinary objects.
_DECODED_KINDS = frozenset({"OperatorGroup", "ClusterServiceVersion", "Subscription", "InstallPlan", "CatalogSource"})


def _csv(manifest: Manifest, profile: Profile, report: Report) -> Csv | None:
    """A CSV that lies there as a manifest, as the API server and OLM's types keep it; None for a copy (R-COPY-1)."""
    obj = manifest.object
    if is_copy(obj):
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
    # Where it stands is in its CsvState; the phase that it comes to is worked out again.
    typed.pop("status", None)
    return Csv({**typed, "apiVersion": f"{OLM_GROUP}/v1alpha1", "kind": "ClusterServiceVersion"}, manifest.source)


def as_stored(obj: KubernetesObject) -> KubernetesObject:
    """A CSV as the API server and OLM's types keep it; one that they can't read as it is."""
    try:
        return default_csv(decode("ClusterServiceVersion", obj))
    except DecodeError:
        return obj


def _copies(manifests: Iterable[Manifest]) -> Iterator[tuple[NamespacedName, CopiedCsv]]:
    """The copied CSVs among the manifests, each with the namespace that it is from."""
    for csv in (Csv(manifest.object, manifest.source) for manifest in manifests if is_copy(manifest.object)):
        yield namespaced_name(csv), CopiedCsv(home_of_copy(csv.object), csv.object, csv.source)


def _refuse(manifest: Manifest, keys: tuple[str | int, ...], problem: str, report: Report) -> None:
    obj = manifest.object
    where = ".".join(str(key) for key in keys) or "the object"
    finding = refusal(obj, locate(manifest.source, keys), where, problem)
    cause = finding.cause
    assert isinstance(cause, RefusedObject)
    report.add(finding.caused_by(cause._replace(source=manifest.source, keys=keys, problem=problem)))


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
    conditions = _conditions(status)
    kept = with_known_config(obj, profile)
    subscription = Subscription({key: value for key, value in kept.items() if key != "status"}, manifest.source)
    return subscription._replace(
        current=as_text(status.get("currentCSV")),
        installed=as_text(status.get("installedCSV")),
        state=as_text(status.get("state")),
        plan=as_text(mapping(status.get("installPlanRef")).get("name")),
        generation=generation if isinstance(generation, int) else 0,
        generated_by=annotations.get("olm.generated-by", ""),
        failure=conditions.get("ResolutionFailed"),
        unpacking="BundleUnpacking" in conditions,
        unpacking_message=conditions.get("BundleUnpacking", ("", ""))[1],
        unpack_failure=conditions.get("BundleUnpackFailed"),
        condition_types=tuple(conditions),
        misses_plan="InstallPlanMissing" in conditions,
        deprecations=tuple((kind, message) for kind, (_, message) in conditions.items() if kind.endswith("Deprecated")),
        had_catalog=subscription.catalog in seen_catalogs(obj),
        health=tuple(mappings(status.get("catalogHealth"))),
        unhealthy=next(
            (c for c in mappings(status.get("conditions")) if c.get("type") == "CatalogSourcesUnhealthy"), None
        ),
    )


def _conditions(status: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The types of a Subscription's conditions in their order, with reason and message; of those about a failure,
    only those that hold."""
    return {
        as_text(item.get("type")): (as_text(item.get("reason")), as_text(item.get("message")))
        for item in mappings(status.get("conditions"))
        # A failure that is over OLM takes out of the list; this one it keeps in its place as False (R-CAT-651).
        if item.get("status") == "True" or item.get("type") == "CatalogSourcesUnhealthy"
    }


def _namespaces(
    manifests: Iterable[Manifest], objects: Mapping[ObjectKey, Rendered], options: Options, report: Report
) -> dict[str, dict[str, str]]:
    """All namespaces that exist, with their labels: those always there, those declared, and those that are used."""
    named = {as_text(manifest.object["metadata"].get("namespace")) for manifest in manifests}
    of_platform = (group.namespace for group in options.global_groups if group.namespace in named)
    labels: dict[str, dict[str, str]] = {name: {} for name in (*ALWAYS_THERE, *options.namespaces, *of_platform)}
    for key, rendered in objects.items():
        if (key.group, key.kind) == ("", "Namespace"):
            labels[key.name] = dict(labels_of(rendered.object))
    for manifest in manifests:
        name = manifest.object["metadata"].get("namespace")
        # An API server would refuse the object; olmc reports the namespace, and takes it for one that others make.
        if name and name not in labels:
            labels[name] = {}
            place = locate(manifest.source, ("metadata", "namespace"))
            report.add(rules.IMPLIED_NAMESPACE.finding(place, name=name))
    # The API server sets this label itself, so that any namespace can be selected by its name.
    return {name: {**labels[name], NAME_LABEL: name} for name in sorted(labels)}


def _catalogs(
    workspace: Workspace,
    manifests: Iterable[Manifest],
    subscriptions: Mapping[NamespacedName, Subscription],
    options: Options,
) -> dict[CatalogKey, CatalogSource]:
    """The CatalogSources with what they serve; a catalog folder without one stands for a global CatalogSource, unless
    it is a ClusterCatalog's."""
    sources: dict[CatalogKey, CatalogSource] = {}
    served: set[str] = set()
    declared = ((manifest, False) for manifest in manifests)
    for manifest, of_cluster in (*declared, *((manifest, True) for manifest in workspace.cluster_catalogs)):
        obj = manifest.object
        key = CatalogKey(namespace_of(obj), obj["metadata"]["name"])
        spec = spec_of(obj)
        address = as_text(spec.get("address"))
        name = served_folder(obj, workspace.catalogs)
        served.add(name)
        catalog = workspace.catalogs.get(name)
        problem = spec_problem(spec)
        refusal = problem or _absent_configmap(spec, catalog)
        catalog_source = _catalog_source(key, catalog, address, refusal)._replace(is_unchecked=refusal != problem)
        # Of an image the content in the workspace states that it is served; a ConfigMap is there in any case.
        is_configmap = bool(catalog) and not refusal and spec.get("sourceType") in FROM_CONFIGMAP
        if is_configmap and not is_stated_to_run(obj, options.running_catalogs):
            where = _UNREACHABLE.format(address=f"{key.name}.{key.namespace}.svc:50051", why=_NO_POD)
            catalog_source = catalog_source._replace(entries=(), problem=where, is_unstarted=True)
        priority = int(spec.get("priority") or 0)
        sources[key] = catalog_source._replace(
            priority=priority, manifest=obj, source=manifest.source, of_cluster=of_cluster
        )
    of_v1 = workspace.extension_catalog_names
    for name, catalog in workspace.catalogs.items():
        if name not in served:
            asked = (*(s.catalog for s in subscriptions.values()), *workspace.asked_catalogs)
            homes = {key.namespace for key in asked if key.name == name}
            # A catalog is in the namespaces of the Subscriptions that name it; without any it is a global catalog
            # (R-CAT-502).
            for namespace in sorted(homes) or [options.global_catalog_namespace] * (name not in of_v1):
                key = CatalogKey(namespace, name)
                sources.setdefault(key, _catalog_source(key, catalog))
    return sources


def served_folder(source: KubernetesObject, catalogs: Container[str]) -> str:
    """The name of the catalog folder that a CatalogSource serves, "" for none."""
    namespace, name = namespace_of(source), source["metadata"]["name"]
    address = as_text(spec_of(source).get("address"))
    # Two namespaces may have CatalogSources of one name, so the longer name of a folder counts first.
    names = (f"{namespace}/{name}", name, address.removeprefix("fbc:"))
    return next((name for name in names if name in catalogs), "")


def _absent_configmap(spec: Mapping[str, Any], catalog: Catalog | None) -> str:
    """The message in the status of a CatalogSource whose ConfigMap is missing (R-CAT-161); "" if it is not."""
    if catalog or spec.get("sourceType") not in FROM_CONFIGMAP:
        return ""
    name = spec.get("configMap")
    return f'failed to get catalog config map {name}: configmaps "{name}" not found'


def _catalog_source(key: CatalogKey, catalog: Catalog | None, address: str = "", refusal: str = "") -> CatalogSource:
    if refusal:
        # Nothing serves it, so OLM has no client to query it with (R-CAT-163).
        problem = f"no registry client established for catalogsource {key.namespace}/{key.name}"
        return CatalogSource(key, 0, None, problem=problem, refused=refusal)
    if catalog is None or catalog.lacks_bundles:
        # OLM has a client, and no server answers, which is another message (observed-10).
        problem = _UNREACHABLE.format(address=address or "unknown", why=_NO_CONTENT)
        return CatalogSource(key, 0, None, problem=problem, lacks_bundles=catalog is not None)
    from olmc.compiler.catalogs.content import served_candidates  # takes long to import, and bundles don't need it

    return CatalogSource(key, 0, catalog, served_candidates(key, catalog), catalog.problem)
