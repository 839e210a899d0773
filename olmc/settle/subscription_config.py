"""Subscription.spec.config and the cluster's proxy, injected into Deployments (R-DEP-5 … R-DEP-7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olmc.model.cluster import Cluster, Subscription
from olmc.model.coerce import mapping, mappings
from olmc.model.operators import Csv
from olmc.model.options import Options
from olmc.settle.overrides import WIPING, Config, injected_variables, used_config, with_variables
from olmc.settle.requirements import predecessors

Pod = dict[str, Any]


def subscription_config(cluster: Cluster, csv: Csv, *, replaced: bool = False) -> Config:
    """The `spec.config` of the Subscription that has a CSV installed, as OLM's types keep it; {} without one.

    `replaced`: the CSV is being replaced.
    """
    return used_config(_subscription(cluster, csv, replaced), cluster.profile)


def _subscription(cluster: Cluster, csv: Csv, replaced: bool) -> Subscription | None:
    """The Subscription that has a CSV installed, or is about to have it (R-DEP-5).

    A CSV that is being replaced writes nothing any more: what it wrote is as the Subscription wanted it that had it
    installed, and that has a newer CSV of the chain by now.
    """
    home = csv.namespace
    names = [csv.name]
    if replaced:
        names += [one.name for one in cluster.csvs_in(home) if csv.name in predecessors(one, cluster.csvs)]
    mine = [each for each in cluster.subscriptions.values() if each.name.namespace == home]
    having = next((each for each in mine if each.installed in names), None)
    return having or next((each for each in mine if each.current == csv.name), None)


def with_config(
    pod: Mapping[str, Any], config: Config, cluster: Cluster, options: Options
) -> tuple[Pod, dict[str, str]]:
    """The pod spec after injection, and the annotations for the Deployment and its template (R-DEP-6)."""
    made = dict(pod)
    env = injected_variables(config, cluster, options)
    if env:
        made = _each_container(
            made, lambda c: {**c, "env": with_variables(mappings(c.get("env")), env, cluster.profile)}
        )
    sources = mappings(config.get("envFrom"))
    if sources:
        made = _each_container(made, lambda c: {**c, "envFrom": _united(mappings(c.get("envFrom")), sources)})
    for volume in mappings(config.get("volumes")):
        made["volumes"] = _named(mappings(made.get("volumes")), volume)
    for mount in mappings(config.get("volumeMounts")):
        made = _each_container(made, _with_mount(mount))
    tolerations = mappings(config.get("tolerations"))
    if tolerations:
        made["tolerations"] = _united(mappings(made.get("tolerations")), tolerations)
    if config.get("resources") is not None:
        made = _each_container(made, lambda c: {**c, "resources": config["resources"]})
    elif f"resources{WIPING}" in cluster.profile.deploy_config_applied:
        made = _each_container(made, lambda c: {**c, "resources": {}})
    if config.get("nodeSelector") is not None:
        made["nodeSelector"] = config["nodeSelector"]
        if not made["nodeSelector"]:
            del made["nodeSelector"]
    if config.get("affinity") is not None:
        made = _with_affinity(made, config["affinity"])
    return made, dict(mapping(config.get("annotations")))


def _with_mount(mount: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Pod]:
    return lambda container: {**container, "volumeMounts": _named(mappings(container.get("volumeMounts")), mount)}


def _each_container(pod: Pod, change: Callable[[Mapping[str, Any]], Pod]) -> Pod:
    return {**pod, "containers": [change(container) for container in mappings(pod.get("containers"))]}


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
    current = mapping(pod.get("affinity"))
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
