"""Containers of pods: names, images, ports, and everything that stands in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from olmc.kube.env_validation import env_errors, env_from_errors
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, integer, present, typed
from olmc.kube.mount_validation import Volumes, device_errors, mount_errors
from olmc.kube.names import label_name_errors, port_name_problems, port_number_problems
from olmc.kube.probe_validation import PROBES, lifecycle_errors, probes_errors
from olmc.kube.resource_validation import container_resource_errors
from olmc.kube.security_validation import container_security_errors
from olmc.kube.volume_validation import PULL_POLICIES
from olmc.model.coerce import mappings, text

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS = ("Restart", "RestartAllContainers")
_MAX_RULES, _MAX_CODES = 20, 255
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"

Container = Mapping[str, Any]


class Surrounding(NamedTuple):
    """What a container's fields are held against: the pod's usable volumes and resource claims, the seconds that it has
    to end, and whether its users are those of the host."""

    volumes: Volumes
    claims: Collection[str]
    grace: int
    host_users: bool


def all_containers(pod: Mapping[str, Any], path: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """The containers of a pod with their places, in the order in which Kubernetes visits them."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(mappings(pod.get(kind))):
            yield container, path.child(kind).item(index)


def containers_errors(containers: Sequence[Container], around: Surrounding, path: Path) -> Iterator[FieldError]:
    """What is wrong with the containers of a pod, of which there must be one."""
    if not containers:
        yield path.required()
    names: set[str] = set()
    for index, container in enumerate(containers):
        here, name = path.item(index), text(container.get("name"))
        yield from _common_errors(container, around, here)
        if name in names:
            yield here.child("name").duplicate(name)
        names.add(name)
        yield from lifecycle_errors(container.get("lifecycle"), around.grace, here.child("lifecycle"))
        yield from probes_errors(container, around.grace, here)
        yield from _restart_errors(container, here)
    yield from _host_port_errors(containers, path)


def init_containers_errors(
    containers: Sequence[Container], regular: Sequence[Container], around: Surrounding, path: Path
) -> Iterator[FieldError]:
    """What is wrong with the init containers of a pod, whose other containers are `regular`."""
    names = {text(container.get("name")) for container in regular}
    for index, container in enumerate(containers):
        here, name = path.item(index), text(container.get("name"))
        yield from _common_errors(container, around, here)
        yield from _restart_errors(container, here)
        if name in names:
            yield here.child("name").duplicate(name)
        if name:
            names.add(name)
        # They run one by one, so that ports are held against each other within one alone. Kubernetes counts from zero.
        yield from _host_port_errors([container], path)
        if container.get("restartPolicy") == "Always":
            yield from lifecycle_errors(container.get("lifecycle"), around.grace, here.child("lifecycle"))
            yield from probes_errors(container, around.grace, here)
            continue
        for field in ("lifecycle", *PROBES):
            if present(container.get(field)) is not None:
                yield here.child(field).forbidden(_ONLY_SIDECARS)


def _common_errors(container: Container, around: Surrounding, path: Path) -> Iterator[FieldError]:
    """What every container must obey, field by field in Kubernetes' order."""
    name, policy = text(container.get("name")), text(container.get("terminationMessagePolicy"))
    if name:
        yield from label_name_errors(name, path.child("name"))
    else:
        yield path.child("name").required()
    if not text(container.get("image")):
        yield path.child("image").required()
    if policy and policy not in _MESSAGE_POLICIES:
        yield path.child("terminationMessagePolicy").unsupported(typed(policy), _MESSAGE_POLICIES)
    yield from _port_errors(container, path.child("ports"))
    yield from env_errors(container.get("env"), path.child("env"))
    yield from env_from_errors(container.get("envFrom"), path.child("envFrom"))
    yield from mount_errors(container, around.volumes, path.child("volumeMounts"))
    yield from device_errors(container, around.volumes, path.child("volumeDevices"))
    pull = text(container.get("imagePullPolicy"))
    if pull and pull not in PULL_POLICIES:
        yield path.child("imagePullPolicy").unsupported(typed(pull), PULL_POLICIES)
    yield from container_resource_errors(container.get("resources"), around.claims, path.child("resources"))
    yield from _resize_errors(container, path.child("resizePolicy"))
    security = path.child("securityContext")
    yield from container_security_errors(container.get("securityContext"), security, host_users=around.host_users)


def _port_errors(container: Container, path: Path) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(mappings(container.get("ports"))):
        here, name = path.item(index), text(port.get("name"))
        problems = port_name_problems(name) if name else []
        yield from here.child("name").all_invalid(name, problems)
        if name in names:
            yield here.child("name").duplicate(name)
        elif name and not problems:
            names.add(name)
        number, host = integer(port.get("containerPort")) or 0, integer(port.get("hostPort")) or 0
        if number:
            yield from here.child("containerPort").all_invalid(number, port_number_problems(number))
        else:
            yield here.child("containerPort").required()
        if host:
            yield from here.child("hostPort").all_invalid(host, port_number_problems(host))
        protocol = text(port.get("protocol"))
        if protocol and protocol not in _PROTOCOLS:
            yield here.child("protocol").unsupported(typed(protocol), _PROTOCOLS)


def _host_port_errors(containers: Sequence[Container], path: Path) -> Iterator[FieldError]:
    """Ports of the node can be had once."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(mappings(container.get("ports"))):
            number = integer(port.get("hostPort")) or 0
            wanted = f"{text(port.get('protocol')) or 'TCP'}/{text(port.get('hostIP'))}/{number}"
            if number and wanted in taken:
                yield path.item(index).child("ports").item(position).child("hostPort").duplicate(wanted)
            if number:
                taken.add(wanted)


def _restart_errors(container: Container, path: Path) -> Iterator[FieldError]:
    """A container's own restart policy, and the rules that refine it."""
    policy, rules = container.get("restartPolicy"), mappings(container.get("restartPolicyRules"))
    here = path.child("restartPolicy")
    if not isinstance(policy, str):
        yield from [here.required("must specify restartPolicy when restart rules are used")] if rules else ()
        return
    if policy not in _RESTART_POLICIES:
        yield here.unsupported(typed(policy), _RESTART_POLICIES)
    if len(rules) > _MAX_RULES:
        yield path.child("restartPolicyRules").too_many(len(rules), _MAX_RULES)
    for index, rule in enumerate(rules):
        yield from _restart_rule_errors(rule, path.child("restartPolicyRules").item(index))


def _restart_rule_errors(rule: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    action, codes = text(rule.get("action")), present(rule.get("exitCodes"))
    if action not in _RESTART_ACTIONS:
        yield path.child("action").unsupported(typed(action), _RESTART_ACTIONS)
    if codes is None:
        yield path.child("exitCodes").required("must be specified")
        return
    operator, values = text(codes.get("operator")), codes.get("values")
    if operator not in ("In", "NotIn"):
        yield path.child("exitCodes", "operator").unsupported(typed(operator), ("In", "NotIn"))
    if isinstance(values, list) and len(values) > _MAX_CODES:
        yield path.child("exitCodes", "values").too_many(len(values), _MAX_CODES)


def _resize_errors(container: Container, path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, policy in enumerate(mappings(container.get("resizePolicy"))):
        resource, restart = text(policy.get("resourceName")), text(policy.get("restartPolicy"))
        here = path.at(index)
        if resource in seen:
            yield path.item(index).duplicate(typed(resource))
        seen.add(resource)
        for value, known in ((resource, ("cpu", "memory")), (restart, ("NotRequired", "RestartContainer"))):
            if not value:
                yield here.required()
            elif value not in known:
                yield here.unsupported(typed(value), known)
