"""Subscriptions with their status (R-CAT-641 … R-CAT-656)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from olmc.generate.world import World, rendered
from olmc.model.cluster import CatalogSource, InstallPlan, Subscription
from olmc.model.objects import Rendered
from olmc.profiles.ownership import CSV_API

if TYPE_CHECKING:
    from olmc.model.catalog import Package

STAGE = "subscriptions"


def subscriptions(world: World) -> Iterator[Rendered]:
    """The Subscriptions, those made for dependencies included.

    >>> workspace = {"groups": {"ns/og": "own"}, "operators": ["beacon.v1.0.0"]}
    >>> show(subscriptions, workspace, "status.installplan", "status.installedCSV", "status.state")
    Subscription/ns/beacon
      installplan: {apiVersion: operators.coreos.com/v1alpha1, kind: InstallPlan, name: install-dnpzt, uuid: ''}
      installedCSV: beacon.v1.0.0
      state: AtLatestKnown
    """
    for _, subscription in sorted(world.cluster.subscriptions.items()):
        status = _status(world, subscription)
        obj = {**subscription.object, **({"status": status} if status else {})}
        yield rendered(obj, STAGE, "R-CAT-641", subscription.source)


def _plan_of(world: World, subscription: Subscription) -> InstallPlan | None:
    plans = world.cluster.kept_plans(subscription.name.namespace)
    return next((plan for plan in plans if plan.name == subscription.plan), None)


def _status(world: World, s: Subscription) -> dict[str, Any]:
    status: dict[str, Any] = {}
    health = _catalog_health(world, s)
    if health:
        status["catalogHealth"] = health
    conditions = sorted(_conditions(world, s), key=lambda item: _rank(s, item["type"]))
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
    return s.told.index(kind) if kind in s.told else len(s.told)


def _catalog_health(world: World, s: Subscription) -> list[dict[str, Any]]:
    """R-CAT-650: catalogs that OLM serves count as healthy, even where they can't be reached (observed-10)."""
    return [
        {
            "catalogSourceRef": {
                "apiVersion": CSV_API,
                "kind": "CatalogSource",
                "name": source.key.name,
                "namespace": source.key.namespace,
                "uid": "",
            },
            "healthy": not source.refused,
        }
        for source in _catalogs_of(world, s)
    ]


def _catalogs_of(world: World, s: Subscription) -> list[CatalogSource]:
    """The catalogs whose health a Subscription tells, whatever its namespace sees (R-CAT-650)."""
    namespaces = {s.name.namespace, world.options.global_catalog_namespace}
    found = [source for source in world.cluster.catalogs.values() if source.key.namespace in namespaces]
    return sorted(found, key=lambda source: source.key.namespace + source.key.name)


def _conditions(world: World, s: Subscription) -> Iterator[dict[str, str]]:
    """R-CAT-651 … R-CAT-655, in the order in which they are first set."""
    yield _catalog_condition(world, s)
    yield from _deprecations(world, s)
    told = world.profile.subscription_unpacking
    if s.unpacking and "BundleUnpacking" in told:
        yield {"type": "BundleUnpacking", "status": "True", "reason": "UnpackingInProgress"}
    if s.unpack_failure and "BundleUnpackFailed" in told:
        reason, message = s.unpack_failure
        yield {"type": "BundleUnpackFailed", "status": "True", "reason": reason, "message": message}
    if s.failure:
        reason, message = s.failure
        yield {"type": "ResolutionFailed", "status": "True", "reason": reason, "message": message}
    yield from _plan_condition(world, s)


def _catalog_condition(world: World, s: Subscription) -> dict[str, str]:
    """R-CAT-651; that another catalog than the Subscription's is unhealthy, it says without a message."""
    base = {"type": "CatalogSourcesUnhealthy"}
    found = {source.key: source for source in _catalogs_of(world, s)}
    if not found:
        text = "dependency resolution requires at least one catalogsource"
        return {**base, "status": "True", "reason": "NoCatalogSourcesFound", "message": text}
    target = f"targeted catalogsource {s.catalog.namespace}/{s.catalog.name}"
    unhealthy = {**base, "status": "True", "reason": "UnhealthyCatalogSourceFound"}
    if s.catalog not in found:
        return {**unhealthy, "message": f"{target} missing"}
    if found[s.catalog].refused:
        return {**unhealthy, "message": f"{target} unhealthy"}
    if any(source.refused for source in found.values()):
        return unhealthy
    text = "all available catalogsources are healthy"
    return {**base, "status": "False", "reason": "AllCatalogSourcesHealthy", "message": text}


def _package(world: World, s: Subscription) -> Package | None:
    source = world.cluster.catalogs.get(s.catalog)
    return source.catalog.packages.get(s.package) if source and source.catalog else None


def _deprecations(world: World, s: Subscription) -> Iterator[dict[str, str]]:
    """R-CAT-655: what olm.deprecations says about the package, the channel and the installed bundle; nothing if the
    Subscription's channel (any, if it names none) doesn't have that bundle."""
    package, channel = _package(world, s), s.channel
    if package is None or not s.installed:
        return
    channels = [found for name, found in package.channels.items() if channel in ("", name)]
    if s.installed not in {entry.name for found in channels for entry in found.entries}:
        return
    told = {(item.schema, item.name): item.message for item in package.deprecations}
    wanted = (
        ("PackageDeprecated", f"olm.package/{s.package}", told.get(("olm.package", ""))),
        ("ChannelDeprecated", f"olm.channel/{channel}", told.get(("olm.channel", channel)) if channel else None),
        ("BundleDeprecated", f"olm.bundle/{s.installed}", told.get(("olm.bundle", s.installed))),
    )
    messages = [(kind, f"{name}: {text}") for kind, name, text in wanted if text]
    for kind, message in messages:
        yield {"type": kind, "status": "True", "message": message}
    if messages:
        yield {"type": "Deprecated", "status": "True", "message": "; ".join(text for _, text in messages)}


def _plan_condition(world: World, s: Subscription) -> Iterator[dict[str, str]]:
    """R-CAT-652; a Subscription goes on naming a plan that was collected since, and says that it is missing."""
    plan = _plan_of(world, s)
    if plan is None and s.plan:
        yield {"type": "InstallPlanMissing", "status": "True", "reason": "ReferencedInstallPlanNotFound"}
    if plan is None or plan.phase == "Complete":
        return
    _, reason, message = plan.condition or ("", "", "")
    if plan.phase == "Failed":
        found = {"type": "InstallPlanFailed", "status": "True", "reason": reason or "InstallPlanFailed"}
    else:
        reason = plan.phase or "InstallPlanNotYetReconciled"
        found = {"type": "InstallPlanPending", "status": "True", "reason": reason}
    yield {**found, **({"message": message} if message else {})}
