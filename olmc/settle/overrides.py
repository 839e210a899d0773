"""What OLM puts into the containers of an operator: the environment of a Subscription's config, and the proxy's
(R-DEP-5 … R-DEP-7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olmc.gojson import decode
from olmc.model.cluster import Cluster, Subscription
from olmc.model.coerce import mapping, mappings
from olmc.model.objects import Identity
from olmc.model.options import Options
from olmc.model.profile import Profile

PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
WIPING = "!"
"""After a field of `deploy.config.applied`: without a value the field is emptied."""

Config = Mapping[str, Any]
Variables = Sequence[Mapping[str, Any]]


def used_config(subscription: Subscription | None, profile: Profile) -> Config:
    """The `spec.config` of a Subscription, as OLM's types keep it and as far as OLM uses it; {} without one."""
    if subscription is None:
        return {}
    applied = {field.removesuffix(WIPING) for field in profile.deploy_config_applied}
    given = mapping(subscription.spec.get("config"))
    config = decode("SubscriptionConfig", given) or {}
    config = {key: value for key, value in config.items() if key in applied}
    # Go drops an empty map when it writes one, but the stored Subscription still has it.
    emptied = "nodeSelector" in applied and given.get("nodeSelector") == {}
    return {**config, "nodeSelector": {}} if emptied else config


def injected_variables(config: Config, cluster: Cluster, options: Options) -> list[Mapping[str, Any]]:
    """What every container of an operator gets into its environment: the config's variables, then the proxy's.

    The latter come from the Proxy object `cluster`, or the options; not at all if the config sets one of the names
    (R-DEP-7).
    """
    given, kind = mappings(config.get("env")), cluster.profile.deploy_env_proxy
    if not kind or any(item.get("name") in PROXY_NAMES for item in given):
        return given
    found = cluster.stock.get(Identity("config.openshift.io", "Proxy", "", "cluster"))
    status = mapping(found.object.get("status") if found else None)
    values = (
        status.get("httpProxy") or options.proxy.http,
        status.get("httpsProxy") or options.proxy.https,
        status.get("noProxy") or options.proxy.no,
    )
    empty_too = any(values) and kind == "with empty values"
    named = zip(PROXY_NAMES, values, strict=True)
    return [*given, *({"name": name, "value": value} for name, value in named if value or empty_too)]


def with_variables(have: Variables, new: Variables, profile: Profile) -> list[dict[str, Any]]:
    """A container's environment with new variables, as the profile's OLM merges them."""
    return merged_env(have, new) if profile.deploy_env_merge == "entry" else _overwritten_env(have, new)


def merged_env(have: Variables, new: Variables) -> list[dict[str, Any]]:
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


def _overwritten_env(have: Variables, new: Variables) -> list[dict[str, Any]]:
    """As `merged_env` was at first, which knew of values only.

    The first entry of the name takes the new value beside whatever else it has; an entry that is appended has its name
    and its value, and a name listed twice is appended twice.
    """
    merged = [dict(item) for item in have]
    known = {item.get("name"): item for item in reversed(merged)}
    for item in new:
        name, value = item.get("name"), item.get("value")
        if name not in known:
            merged.append({"name": name, **({"value": value} if value else {})})
        elif value:
            known[name]["value"] = value
        else:
            known[name].pop("value", None)
    return merged
