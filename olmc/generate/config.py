"""Subscription.spec.config and the cluster's proxy, injected into Deployments (R-DEP-5 … R-DEP-7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olmc.generate.world import World
from olmc.golang import decode
from olmc.model.cluster import Member, Subscription
from olmc.model.objects import Identity
from olmc.model.values import mapping
from olmc.settle.requirements import predecessors

PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
WIPING = "!"
"""After a field of `deploy.config.applied`: without a value the field is emptied."""

Pod = dict[str, Any]
Config = Mapping[str, Any]


def subscription_config(world: World, member: Member) -> Config:
    """The `spec.config` of the Subscription that has a CSV installed, as OLM's types keep it; {} without one."""
    subscription = _subscription(world, member)
    if subscription is None:
        return {}
    applied = {field.removesuffix(WIPING) for field in world.profile.deploy_config_applied}
    given = subscription.spec.get("config") or {}
    config = decode("SubscriptionConfig", given) or {}
    config = {key: value for key, value in config.items() if key in applied}
    # Go drops an empty map when it writes one, but the stored Subscription still has it.
    emptied = "nodeSelector" in applied and given.get("nodeSelector") == {}
    return {**config, "nodeSelector": {}} if emptied else config


def _subscription(world: World, member: Member) -> Subscription | None:
    """The Subscription that has a CSV installed (R-DEP-5).

    A CSV that is being replaced writes nothing any more: what it wrote is as the Subscription wanted it that had it
    installed, and that has a newer CSV of the chain by now.
    """
    csvs, home = world.cluster.csvs, member.csv.namespace
    names = [member.csv.name]
    if member.phase == "Replacing":
        names += [csv.name for csv in world.cluster.csvs_in(home) if member.csv.name in predecessors(csv, csvs)]
    mine = (each for each in world.cluster.subscriptions.values() if each.name.namespace == home)
    return next((each for each in mine if each.installed in names), None)


def with_config(pod: Mapping[str, Any], config: Config, world: World) -> tuple[Pod, dict[str, str]]:
    """The pod spec after injection, and the annotations for the Deployment and its template (R-DEP-6)."""
    made = dict(pod)
    env = list(config.get("env") or ()) + _proxy_env(config, world)
    if env:
        merged = merged_env if world.profile.deploy_env_merge == "entry" else _overwritten_env
        made = _each_container(made, lambda c: {**c, "env": merged(c.get("env") or [], env)})
    sources = config.get("envFrom") or []
    if sources:
        made = _each_container(made, lambda c: {**c, "envFrom": _united(c.get("envFrom") or [], sources)})
    for volume in config.get("volumes") or ():
        made["volumes"] = _named(made.get("volumes") or [], volume)
    for mount in config.get("volumeMounts") or ():
        made = _each_container(made, _with_mount(mount))
    tolerations = config.get("tolerations") or []
    if tolerations:
        have = made.get("tolerations") or []
        made["tolerations"] = have + [item for item in tolerations if item not in have]
    if config.get("resources") is not None:
        made = _each_container(made, lambda c: {**c, "resources": config["resources"]})
    elif f"resources{WIPING}" in world.profile.deploy_config_applied:
        made = _each_container(made, lambda c: {**c, "resources": {}})
    if config.get("nodeSelector") is not None:
        made["nodeSelector"] = config["nodeSelector"]
        if not made["nodeSelector"]:
            del made["nodeSelector"]
    if config.get("affinity") is not None:
        made = _with_affinity(made, config["affinity"])
    return made, dict(config.get("annotations") or {})


def _with_mount(mount: Mapping[str, Any]) -> Callable[[Pod], Pod]:
    return lambda container: {**container, "volumeMounts": _named(container.get("volumeMounts") or [], mount)}


def _each_container(pod: Pod, change: Callable[[Pod], Pod]) -> Pod:
    return {**pod, "containers": [change(container) for container in pod.get("containers") or ()]}


def _proxy_env(config: Config, world: World) -> list[dict[str, str]]:
    """R-DEP-7: from the Proxy object `cluster`, or the options; not at all if the config sets one of the names."""
    if not world.profile.deploy_env_proxy or any(item.get("name") in PROXY_NAMES for item in config.get("env") or ()):
        return []
    proxy = world.options.proxy
    found = world.cluster.stock.get(Identity("config.openshift.io", "Proxy", "", "cluster"))
    status = mapping(found.object.get("status") if found else None)
    values = (
        status.get("httpProxy") or proxy.http,
        status.get("httpsProxy") or proxy.https,
        status.get("noProxy") or proxy.no,
    )
    empty_too = any(values) and world.profile.deploy_env_proxy == "with empty values"
    named = zip(PROXY_NAMES, values, strict=True)
    return [{"name": name, "value": value} for name, value in named if value or empty_too]


def merged_env(have: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A container's environment with new entries: existing names take the new entry in place, others are appended.

    A name that the container lists twice leaves an entry without a name, as OLM does; a new name listed twice is
    appended twice, both with the last value.
    """
    latest = {item.get("name"): item for item in new}
    merged: list[dict[str, Any]] = []
    seen: set[Any] = set()
    for item in have:
        name = item.get("name")
        if name in latest:
            merged.append({"name": ""} if name in seen else dict(latest[name]))
        else:
            merged.append(dict(item))
        seen.add(name)
    merged += [dict(latest[item.get("name")]) for item in new if item.get("name") not in seen]
    return merged


def _overwritten_env(have: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """As `merged_env` was at first: of an entry with a known name only the value is taken."""
    latest = {item.get("name"): item for item in new}
    merged = [
        {**item, "value": latest[item.get("name")].get("value") or ""} if item.get("name") in latest else dict(item)
        for item in have
    ]
    known = {item.get("name") for item in have}
    return merged + [dict(item) for item in new if item.get("name") not in known]


def _united(have: list[Any], new: Sequence[Any]) -> list[Any]:
    return have + [item for item in new if item not in have]


def _named(have: Sequence[Mapping[str, Any]], new: Mapping[str, Any]) -> list[Any]:
    """A list with an entry replaced where one has the same name, else appended."""
    made = list(have)
    for index, item in enumerate(made):
        if item.get("name") == new.get("name"):
            made[index] = new
            return made
    return [*made, new]


def _with_affinity(pod: Pod, override: Mapping[str, Any]) -> Pod:
    """Row 8 of R-DEP-6; an empty podAntiAffinity removes all of the affinity."""
    rest = {key: value for key, value in pod.items() if key != "affinity"}
    current = pod.get("affinity") or {}
    if not override:
        return rest
    if not current:
        return {**rest, "affinity": override}
    if override.get("podAntiAffinity") == {}:
        return rest
    made = dict(current)
    for part in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        if part in override:
            made.pop(part, None)
            if override[part]:
                made[part] = override[part]
    return {**rest, "affinity": made} if made else rest
