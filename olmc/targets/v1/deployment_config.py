"""The part of a bundle's configuration that changes its Deployments (R-V1-CFG-5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olmc.k8s.gojson import DecodeError, decode
from olmc.k8s.lean import NamedTuple
from olmc.k8s.objects import KubernetesObject, annotations_of, mapping, mappings, metadata_of, spec_of
from olmc.targets.v1.registry_bundle import BundleError

_AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_Entry = Mapping[str, Any]
_Pod = dict[str, Any]


class DeploymentConfig(NamedTuple):
    """A deploymentConfig as its Go type keeps it, and whether it has a nodeSelector, be it an empty one."""

    fields: Mapping[str, Any] = {}
    selects_nodes: bool = False


NO_CONFIG = DeploymentConfig()


def read_deployment_config(value: Any) -> DeploymentConfig:
    """The configuration that a JSON value holds; its shape is known to be right. Raises BundleError (R-V1-CFG-4a)."""
    given = mapping(value)
    try:
        fields = decode("SubscriptionConfig", given, exact=True)
    except DecodeError as error:
        problem = f"invalid deploymentConfig: failed to unmarshal deploymentConfig: {error.message}"
        raise BundleError(problem, terminal=True) from error
    return DeploymentConfig(fields, "nodeSelector" in given)


def configured_deployment(deployment: KubernetesObject, config: DeploymentConfig) -> KubernetesObject:
    """A Deployment with its configuration, field after field in the order of operator-controller."""
    fields = config.fields
    if not fields and not config.selects_nodes:
        return deployment
    spec, metadata = deployment["spec"], deployment["metadata"]
    template = spec["template"]
    pod = _configured_pod(dict(spec_of(template)), fields)
    if config.selects_nodes:
        pod = _put(pod, "nodeSelector", fields.get("nodeSelector"))
    if "affinity" in fields:
        pod = _put(pod, "affinity", _merged_affinity(mapping(pod.get("affinity")), fields["affinity"]))
    below = {**template, "metadata": _annotated(metadata_of(template), fields), "spec": pod}
    return {**deployment, "metadata": _annotated(metadata, fields), "spec": {**spec, "template": below}}


def _configured_pod(pod: _Pod, fields: Mapping[str, Any]) -> _Pod:
    """The pod spec with what is added to it; initContainers stay as they are."""
    pod = _each_container(pod, _putting("env", fields))
    sources = mappings(fields.get("envFrom"))
    if sources:
        pod = _each_container(pod, lambda c: {**c, "envFrom": _united(c.get("envFrom"), sources)})
    pod = _putting("volumes", fields)(pod)
    pod = _each_container(pod, _putting("volumeMounts", fields))
    tolerations = mappings(fields.get("tolerations"))
    if tolerations:
        pod = {**pod, "tolerations": _united(pod.get("tolerations"), tolerations)}
    if "resources" in fields:
        pod = _each_container(pod, lambda c: {**c, "resources": fields["resources"]})
    return pod


def _putting(key: str, fields: Mapping[str, Any]) -> Callable[[_Entry], _Pod]:
    """What puts the configuration's entries of a kind into a container or pod; without any it stays as it is."""
    new = mappings(fields.get(key))
    return lambda holder: {**holder, key: _named_over(mappings(holder.get(key)), new)} if new else dict(holder)


def _each_container(pod: _Pod, change: Callable[[_Entry], _Entry]) -> _Pod:
    containers = [change(container) for container in mappings(pod.get("containers"))]
    return {**pod, "containers": containers} if containers else pod


def _named_over(there: list[_Entry], new: Sequence[_Entry]) -> list[_Entry]:
    """Entries, each new one in the place of the last one of its name, else behind all others.

    A name counts if the bundle has it: a volume that the configuration mounts twice is mounted twice.
    """
    places = {entry.get("name"): index for index, entry in enumerate(there)}
    merged = list(there)
    for entry in new:
        place = places.get(entry.get("name"))
        if place is None:
            merged.append(entry)
        else:
            merged[place] = entry
    return merged


def _united(entries: Any, new: Sequence[_Entry]) -> list[_Entry]:
    united = mappings(entries)
    for entry in new:
        if entry not in united:
            united.append(entry)
    return united


def _put(pod: _Pod, key: str, value: Any) -> _Pod:
    others = {name: field for name, field in pod.items() if name != key}
    return {**others, key: value} if value else others


def _merged_affinity(current: _Entry, override: _Entry) -> _Entry:
    """The affinity with those of its parts replaced that the configuration has; one without terms removes its part."""
    if not override:
        return {}
    merged = dict(current)
    for part in _AFFINITIES:
        if part in override:
            merged.pop(part, None)
            merged |= {} if _is_empty(override[part]) else {part: override[part]}
    # Parts without terms that the bundle has stay, unless nothing else is left.
    return {} if all(_is_empty(part) for part in merged.values()) else merged


def _is_empty(affinity: _Entry) -> bool:
    """Whether a part of an affinity has no terms: of a nodeAffinity, what is required may be there and have none."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    rest = {key: value for key, value in affinity.items() if key != required}
    terms = affinity.get(required)
    return not rest and not (mapping(terms).get("nodeSelectorTerms") if isinstance(terms, dict) else terms)


def _annotated(metadata: _Entry, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with the configuration's annotations; those that are there already stay."""
    added = mapping(fields.get("annotations"))
    if not added:
        return dict(metadata)
    merged = {**added, **annotations_of({"metadata": metadata})}
    return {**metadata, "annotations": dict(sorted(merged.items()))}
