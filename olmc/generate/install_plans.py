"""InstallPlans with their status (R-CAT-600 … R-CAT-640)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from olmc.generate.world import World, rendered
from olmc.model.causes import PlanFault
from olmc.model.cluster import InstallPlan, Lookup, Step
from olmc.model.objects import KubernetesObject, Rendered, spec_of, status_of
from olmc.model.profile import Profile
from olmc.profiles.ownership import CSV_API, owner_reference
from olmc.settle.given_plans import installed_condition
from olmc.settle.known import cleanup_status


def install_plans(world: World) -> Iterator[Rendered]:
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
    for namespace in sorted({plan.namespace for plan in world.cluster.plans}):
        for plan in world.cluster.kept_plans(namespace):
            yield rendered(_shown(plan, world.profile), "install_plans", "R-CAT-600", None)


def _shown(plan: InstallPlan, profile: Profile) -> KubernetesObject:
    """A plan as it is in the end; of one that lies in the workspace, what OLM does not change stays as it is there."""
    if plan.given is None:
        return _install_plan(plan, profile)
    if not plan.resumed:
        return plan.given
    made = _install_plan(plan, profile)
    if plan.owners:  # made again, since its steps were not there
        return {**made, "metadata": {**made["metadata"], **plan.given["metadata"]}}
    before, after = status_of(plan.given), made["status"]
    steps = zip(before["plan"], after["plan"], strict=True)
    kept = {key: value for key, value in before.items() if key not in ("conditions", "message")}
    after = {**after, **kept, "phase": plan.phase, "plan": [{**old, "status": new["status"]} for old, new in steps]}
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
    status["catalogSources"] = sorted({step.catalog.name for step in _counted(plan, profile)})
    if plan.condition:
        state, reason, message = plan.condition
        extra = {key: value for key, value in (("reason", reason), ("message", message)) if value}
        status["conditions"] = [{"type": "Installed", "status": state, **extra}]
    if plan.message:
        status["message"] = plan.message
    images = {lookup.csv: lookup for lookup in plan.lookups if unpacked["references"]}
    status["plan"] = [
        {
            "resolving": step.resolving,
            "resource": _resource(step, plan.namespace, images, profile),
            "status": _step_status(plan, index),
        }
        for index, step in enumerate(plan.steps)
    ]
    return status


def _counted(plan: InstallPlan, profile: Profile) -> Iterator[Step]:
    """The steps whose catalogs a plan lists: all, or those that were in it before its bundles were unpacked."""
    images = {lookup.csv for lookup in plan.lookups}
    for step in plan.steps:
        if profile.installplan_catalogsources == "all" or step.resolving not in images or step.kind == "Subscription":
            yield step


def _lookup(lookup: Lookup) -> dict[str, Any]:
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
    if lookup is None or step.kind == "Subscription":
        obj = _as_encoded(step, namespace, profile)
        return json.dumps(obj, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    reference = {
        "kind": "ConfigMap",
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
    if step.derived and step.kind == "ClusterRoleBinding":
        return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
    return obj
