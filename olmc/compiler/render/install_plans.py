"""Render the objects of the catalog operator: Subscriptions and InstallPlans with their status (R-CAT-600 …
R-CAT-656)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmc.compiler.model.cluster import BundleLookup, CatalogSource, InstallPlan, Step, Subscription
from olmc.compiler.model.options import Profile
from olmc.compiler.olm.naming import CSV_API, cleanup_status, owner_reference
from olmc.compiler.reconcile.install_plans import installed_condition
from olmc.compiler.render.webhooks import RenderContext, rendered
from olmc.k8s.diagnostics import PlanFault
from olmc.k8s.lean import sha256
from olmc.k8s.objects import KubernetesObject, Rendered, mapping, spec_of, status_of, text

STAGE = "subscriptions"

# The fields of a condition but its times, which differ from run to run.
_CONDITION = ("type", "status", "reason", "message")


def subscriptions(context: RenderContext) -> Iterator[Rendered]:
    """The Subscriptions, those made for dependencies included.

    >>> workspace = {"groups": {"ns/og": "own"}, "operators": ["beacon.v1.0.0"]}
    >>> show(subscriptions, workspace, "status.installplan", "status.installedCSV", "status.state")
    Subscription/ns/beacon
      installplan: {apiVersion: operators.coreos.com/v1alpha1, kind: InstallPlan, name: install-dnpzt, uuid: ''}
      installedCSV: beacon.v1.0.0
      state: AtLatestKnown
    """
    for _, subscription in sorted(context.cluster.subscriptions.items()):
        status = _status(context, subscription)
        obj = {**subscription.object, **({"status": status} if status else {})}
        yield rendered(obj, STAGE, "R-CAT-641", subscription.source)


def _status(context: RenderContext, s: Subscription) -> dict[str, Any]:
    status: dict[str, Any] = {}
    health = _catalog_health(context, s)
    if health:
        status["catalogHealth"] = health
    conditions = sorted(_conditions(context, s), key=lambda item: _rank(s, item["type"]))
    if conditions:
        status["conditions"] = conditions
    if s.current:
        status["currentCSV"] = s.current
    # OLM writes a generation when a plan moves a Subscription on; one that was made for a dependency came with its plan
    # and has none until its own first upgrade (R-CAT-641).
    if s.generation:
        status["installPlanGeneration"] = s.generation
    if s.plan:
        ref = {"apiVersion": CSV_API, "kind": "InstallPlan", "name": s.plan}
        status["installPlanRef"] = {**ref, "namespace": s.name.namespace, "uid": ""}
        status["installplan"] = {**ref, "uuid": ""}
    if s.installed:
        status["installedCSV"] = s.installed
    if s.state:
        status["state"] = s.state
    return status


def _rank(s: Subscription, kind: str) -> int:
    """OLM changes a condition where it stands, and appends new ones."""
    return s.condition_types.index(kind) if kind in s.condition_types else len(s.condition_types)


def _catalog_health(context: RenderContext, s: Subscription) -> list[dict[str, Any]]:
    """R-CAT-650: catalogs that OLM serves count as healthy, even where they can't be reached (observed-10)."""
    if _is_unchecked(context, s):
        refs = ((mapping(item.get("catalogSourceRef")), item.get("healthy")) for item in s.health)
        return [_health(text(ref.get("name")), text(ref.get("namespace")), healthy is True) for ref, healthy in refs]
    sources = _catalogs_of(context, s)
    return [_health(source.key.name, source.key.namespace, not source.refused) for source in sources]


def _health(name: str, namespace: str, healthy: bool) -> dict[str, Any]:
    """Return the health of a catalog in a Subscription's status."""
    ref = {"apiVersion": CSV_API, "kind": "CatalogSource", "name": name, "namespace": namespace, "uid": ""}
    return {"catalogSourceRef": ref, "healthy": healthy}


def _is_unchecked(context: RenderContext, s: Subscription) -> bool:
    """Return whether OLM fails to check a catalog: then it writes nothing about any of them, nor about deprecations,
    and what the Subscription has stays (R-CAT-650)."""
    # https://github.com/operator-framework/operator-lifecycle-manager/blob/v0.46.0/pkg/controller/operators/catalog/subscription/reconciler.go#L233-L276
    return any(source.is_unchecked for source in _catalogs_of(context, s))


def _catalogs_of(context: RenderContext, s: Subscription) -> list[CatalogSource]:
    """Return the catalogs whose health a Subscription reports, also those that its namespace does not see
    (R-CAT-650)."""
    namespaces = {s.name.namespace, context.options.global_catalog_namespace}
    sources = [source for source in context.cluster.catalogs.values() if source.key.namespace in namespaces]
    # Sorted as OLM does it, by both texts in one, which is not the order of namespaces (R-CAT-650).
    return sorted(sources, key=lambda source: source.key.namespace + source.key.name)


def _conditions(context: RenderContext, s: Subscription) -> Iterator[dict[str, str]]:
    """R-CAT-651 … R-CAT-655, in the order in which they are first set."""
    if not _is_unchecked(context, s):
        yield _catalog_condition(context, s)
        yield from _deprecations(context, s)
    else:
        if s.unhealthy:
            yield {key: text(s.unhealthy[key]) for key in _CONDITION if key in s.unhealthy}
        yield from _shown_deprecations(s.deprecations)
    types = context.profile.subscription_unpacking
    if s.unpacking and "BundleUnpacking" in types:
        because = {"message": s.unpacking_message} if s.unpacking_message else {}
        yield {"type": "BundleUnpacking", "status": "True", "reason": "UnpackingInProgress", **because}
    if s.unpack_failure and "BundleUnpackFailed" in types:
        reason, message = s.unpack_failure
        yield {"type": "BundleUnpackFailed", "status": "True", "reason": reason, "message": message}
    if s.failure:
        reason, message = s.failure
        yield {"type": "ResolutionFailed", "status": "True", "reason": reason, "message": message}
    yield from _plan_condition(context, s)


def _catalog_condition(context: RenderContext, s: Subscription) -> dict[str, str]:
    """R-CAT-651; that another catalog than the Subscription's is unhealthy, it says without a message."""
    base = {"type": "CatalogSourcesUnhealthy"}
    sources = {source.key: source for source in _catalogs_of(context, s)}
    if not sources:
        text = "dependency resolution requires at least one catalogsource"
        return {**base, "status": "True", "reason": "NoCatalogSourcesFound", "message": text}
    target = f"targeted catalogsource {s.catalog.namespace}/{s.catalog.name}"
    unhealthy = {**base, "status": "True", "reason": "UnhealthyCatalogSourceFound"}
    if s.catalog not in sources:
        return {**unhealthy, "message": f"{target} missing"}
    if sources[s.catalog].refused:
        return {**unhealthy, "message": f"{target} unhealthy"}
    if any(source.refused for source in sources.values()):
        return unhealthy
    text = "all available catalogsources are healthy"
    return {**base, "status": "False", "reason": "AllCatalogSourcesHealthy", "message": text}


def _deprecations(context: RenderContext, s: Subscription) -> list[dict[str, str]]:
    """R-CAT-655: what olm.deprecations says about the package, the channel and the installed bundle, and all in one.

    Where the Subscription's channel (any, if it names none) doesn't have that bundle, OLM takes nothing back.
    """
    messages = _channel_deprecations(context, s)
    return _shown_deprecations(s.deprecations if messages is None else messages)


def _shown_deprecations(found: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"type": kind, "status": "True", "message": message} for kind, message in found]


def _channel_deprecations(context: RenderContext, s: Subscription) -> list[tuple[str, str]] | None:
    """Types and messages; None where the channel doesn't have the installed bundle."""
    source, channel = context.cluster.catalogs.get(s.catalog), s.channel
    package = source.catalog.packages.get(s.package) if source and source.catalog else None
    if package is None or not s.installed:
        return None
    entries = (entry for name, c in package.channels.items() if channel in ("", name) for entry in c.entries)
    if s.installed not in {entry.name for entry in entries}:
        return None
    given = {(item.schema, item.name): item.message for item in package.deprecations}
    deprecated = (
        ("PackageDeprecated", f"olm.package/{s.package}", given.get(("olm.package", ""))),
        # Of a channel that the spec does not name OLM says nothing (R-CAT-655).
        ("ChannelDeprecated", f"olm.channel/{channel}", given.get(("olm.channel", channel)) if channel else None),
        ("BundleDeprecated", f"olm.bundle/{s.installed}", given.get(("olm.bundle", s.installed))),
    )
    messages = [(kind, f"{name}: {text}") for kind, name, text in deprecated if text]
    return [*messages, ("Deprecated", "; ".join(text for _, text in messages))] if messages else []


def _plan_condition(context: RenderContext, s: Subscription) -> Iterator[dict[str, str]]:
    """R-CAT-652; a Subscription goes on naming a plan that was collected since, and says that it is missing."""
    plans = context.cluster.kept_plans(s.name.namespace)
    plan = next((plan for plan in plans if plan.name == s.plan), None)
    if plan is None and s.plan and s.misses_plan:
        yield {"type": "InstallPlanMissing", "status": "True", "reason": "ReferencedInstallPlanNotFound"}
    if plan is None or plan.phase == "Complete":
        return
    _, reason, message = plan.condition or ("", "", "")
    if plan.phase == "Failed":
        condition = {"type": "InstallPlanFailed", "status": "True", "reason": reason or "InstallPlanFailed"}
    else:
        reason = plan.phase or "InstallPlanNotYetReconciled"
        condition = {"type": "InstallPlanPending", "status": "True", "reason": reason}
    yield {**condition, **({"message": message} if message else {})}


def install_plans(context: RenderContext) -> Iterator[Rendered]:
    """The InstallPlans: those of the workspace as they are, and those that were made on the way.

    >>> waiting = {"name": "beacon.v1.0.0", "subscription": {"spec": {"installPlanApproval": "Manual"}}}
    >>> workspace = {"groups": {"ns/og": "own"}, "operators": [waiting]}
    >>> show(install_plans, workspace, "spec", "status.phase", "status.plan.0.resource.name", "status.plan.0.status")
    InstallPlan/ns/install-dnpzt
      spec: {approval: Manual, approved: false, clusterServiceVersionNames: [beacon.v1.0.0], generation: 1}
      phase: RequiresApproval
      name: beacon.v1.0.0
      status: Unknown
    """
    for namespace in sorted({plan.namespace for plan in context.cluster.plans.values()}):
        for plan in context.cluster.kept_plans(namespace):
            yield rendered(_plan_object(plan, context.profile), "install_plans", "R-CAT-600", None)


def _plan_object(plan: InstallPlan, profile: Profile) -> KubernetesObject:
    """A plan as it is in the end; of one that lies in the workspace, what OLM does not change stays as it is there."""
    if plan.given is None:
        return _install_plan(plan, profile)
    if not plan.resumed:
        return plan.given
    resumed = _install_plan(plan, profile)
    # Only a plan that olmc has made knows its owners: this one was made again, since its steps were not there.
    if plan.owners:
        return {**resumed, "metadata": {**resumed["metadata"], **plan.given["metadata"]}}
    before, after = status_of(plan.given), resumed["status"]
    steps = zip(before["plan"], after["plan"], strict=True)
    # A plan names the account that its group names by now, if it names one (R-CAT-604).
    written = ("conditions", "message", *(("attenuatedServiceAccountRef",) if plan.account else ()))
    kept = {key: value for key, value in before.items() if key not in written}
    after = {**after, **kept, "phase": plan.phase, "plan": [{**old, "status": new["status"]} for old, new in steps]}
    # With its time, which OLM moves only when the condition changes.
    if before.get("conditions") and installed_condition(before) == plan.condition:
        after["conditions"] = before["conditions"]
    spec = {**spec_of(plan.given), "approved": plan.approved}
    return {**plan.given, "spec": spec, "status": after}


def _install_plan(plan: InstallPlan, profile: Profile) -> KubernetesObject:
    # All Subscriptions that the namespace had when the plan was made, not only those that it moves on (R-CAT-601).
    owners = [owner_reference(CSV_API, "Subscription", name) for name in plan.owners]
    return {
        "apiVersion": CSV_API,
        "kind": "InstallPlan",
        "metadata": {
            "generateName": "install-",
            "name": plan.name,
            "namespace": plan.namespace,
            "ownerReferences": owners,
        },
        "spec": {
            "approval": plan.approval,
            "approved": plan.approved,
            "clusterServiceVersionNames": list(plan.csvs),
            "generation": plan.generation,
        },
        "status": _plan_status(plan, profile),
    }


def _plan_status(plan: InstallPlan, profile: Profile) -> dict[str, Any]:
    unpacked = profile.installplan_bundlelookups
    status: dict[str, Any] = {"phase": plan.phase}
    if plan.account:
        status["attenuatedServiceAccountRef"] = dict(plan.account)
    if plan.lookups and unpacked["fields"]:
        status["bundleLookups"] = [
            {key: value for key, value in _lookup(lookup).items() if key in unpacked["fields"]}
            for lookup in plan.lookups
        ]
    status["catalogSources"] = sorted({step.catalog.name for step in _steps_with_catalog(plan, profile)})
    if plan.condition:
        state, reason, message = plan.condition
        extra = {key: value for key, value in (("reason", reason), ("message", message)) if value}
        status["conditions"] = [{"type": "Installed", "status": state, **extra}]
    if plan.message:
        status["message"] = plan.message
    images = {lookup.resolving: lookup for lookup in plan.lookups if unpacked["references"]}
    status["plan"] = [
        {
            "resolving": step.resolving,
            "resource": _resource(step, plan.namespace, images, profile),
            "status": _step_status(plan, index),
        }
        for index, step in enumerate(plan.steps)
    ]
    return status


def _steps_with_catalog(plan: InstallPlan, profile: Profile) -> Iterator[Step]:
    """The steps whose catalogs a plan lists: all, or those that were in it before its bundles were unpacked."""
    # From 0.14 to 0.24 a plan was made first and unpacked its bundles afterwards, when the list was written already.
    images = {lookup.resolving for lookup in plan.lookups}
    for step in plan.steps:
        if profile.installplan_catalogsources == "all" or step.resolving not in images or step.kind == "Subscription":
            yield step


def _lookup(lookup: BundleLookup) -> dict[str, Any]:
    return {
        "catalogSourceRef": {"name": lookup.catalog.name, "namespace": lookup.catalog.namespace},
        "identifier": lookup.csv,
        "path": lookup.image,
        "properties": lookup.properties,
        "replaces": lookup.replaces,
    }


def _step_status(plan: InstallPlan, index: int) -> str:
    # OLM carries a plan out twice, and the second time finds what it created the first time: no step stays Created
    # (observed-2).
    if index < plan.executed:
        return "Present"
    unsupported = index == plan.executed and plan.cause is PlanFault.UNSUPPORTED_KIND
    return "UnsupportedResource" if unsupported else "Unknown"


def _resource(step: Step, namespace: str, lookups: Mapping[str, Any], profile: Profile) -> dict[str, str]:
    return {
        "group": step.gvk.group,
        # A step of kind Secret copies one that lies with the catalog operator; one of a bundle brings its own content
        # (R-CAT-712).
        "kind": "BundleSecret" if step.kind == "Secret" and not step.derived else step.kind,
        "manifest": _manifest(step, namespace, lookups, profile),
        "name": step.name,
        "sourceName": step.catalog.name,
        "sourceNamespace": step.catalog.namespace,
        "version": step.gvk.version,
    }


def _manifest(step: Step, namespace: str, lookups: Mapping[str, Any], profile: Profile) -> str:
    """A reference to the unpacked bundle (R-CAT-615); for inline content the object itself."""
    lookup = lookups.get(step.resolving)
    # A Subscription for a dependency stems from the resolver and stands in the plan as it is (R-CAT-613).
    if lookup is None or step.kind == "Subscription":
        obj = _as_encoded(step, namespace, profile)
        return json.dumps(obj, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    reference = {
        "kind": "ConfigMap",
        # The ConfigMap that the unpack job has filled: an image itself can be no name of an object (R-CAT-615).
        "name": sha256(lookup.image.encode()).hexdigest()[:63],
        "namespace": step.catalog.namespace,
        "catalogSourceName": step.catalog.name,
        "catalogSourceNamespace": step.catalog.namespace,
        "replaces": lookup.replaces,
        **({"properties": lookup.properties} if "properties" in profile.installplan_bundlelookups["fields"] else {}),
    }
    return json.dumps(reference, separators=(",", ":"), ensure_ascii=False)


def _as_encoded(step: Step, namespace: str, profile: Profile) -> KubernetesObject:
    """A step's object as Go encodes it: what OLM makes itself has no kind, and empty statuses are written (R-CAT-620,
    R-CAT-628, R-CAT-640)."""
    obj = {key: value for key, value in step.object.items() if not step.derived or key not in ("apiVersion", "kind")}
    if step.kind == "Subscription":
        return {**obj, "status": {"lastUpdated": None}}
    if step.kind == "ClusterServiceVersion":
        return {**obj, "status": cleanup_status(profile)}
    # OLM sets a namespace here, which the API server drops when the step is carried out (R-CAT-628).
    if step.derived and step.kind == "ClusterRoleBinding":
        return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
    return obj
