"""The part of a bundle's configuration that changes its Deployments (R-V1-CFG-5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olmc.gojson import DecodeError, decode
from olmc.lean import NamedTuple
from olmc.model.objects import KubernetesObject, annotations_of, mapping, mappings, metadata_of, spec_of
from olmc.olmv1.registry_bundle import BundleError

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
    for entry in mappings(fields.get("env")):
        pod = _each_container(pod, _putting("env", entry))
    sources = mappings(fields.get("envFrom"))
    if sources:
        pod = _each_container(pod, lambda c: {**c, "envFrom": _united(c.get("envFrom"), sources)})
    for volume in mappings(fields.get("volumes")):
        pod = {**pod, "volumes": _put_last(pod.get("volumes"), volume)}
    for mount in mappings(fields.get("volumeMounts")):
        pod = _each_container(pod, _putting("volumeMounts", mount))
    tolerations = mappings(fields.get("tolerations"))
    if tolerations:
        pod = {**pod, "tolerations": _united(pod.get("tolerations"), tolerations)}
    if "resources" in fields:
        pod = _each_container(pod, lambda c: {**c, "resources": fields["resources"]})
    return pod


def _putting(key: str, entry: _Entry) -> Callable[[_Entry], _Entry]:
    return lambda container: {**container, key: _put_last(container.get(key), entry)}


def _each_container(pod: _Pod, change: Callable[[_Entry], _Entry]) -> _Pod:
    containers = [change(container) for container in mappings(pod.get("containers"))]
    return {**pod, "containers": containers} if containers else pod


def _put_last(entries: Any, new: _Entry) -> list[_Entry]:
    """A list with an entry in the place of the last one of its name, else behind all others."""
    listed: list[_Entry] = mappings(entries)
    same = [index for index, entry in enumerate(listed) if entry.get("name") == new.get("name")]
    return [*listed[: same[-1]], new, *listed[same[-1] + 1 :]] if same else [*listed, new]


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
    return merged


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
