"""Containers of pods: names, images, ports, probes and hooks, mounts, and everything else that stands in them.

Environment variables are in `projections`, resources in `scheduling`, security contexts in `security`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from olmc.k8s.api.selectors import is_dns1123_label
from olmc.k8s.api.validation.field import FieldError, Path, Struct, typed
from olmc.k8s.api.validation.metadata import (
    backstep_problems,
    descending_path_problems,
    header_problems,
    port_errors,
    port_name_problems,
    port_number_problems,
)
from olmc.k8s.api.validation.scheduling import container_resource_errors
from olmc.k8s.api.validation.security import container_security_errors
from olmc.k8s.api.validation.volumes import PULL_POLICIES, env_errors, env_from_errors
from olmc.k8s.lean import NamedTuple

DEFAULT_GRACE = 30

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS = ("Restart", "RestartAllContainers")
_MAX_RULES, _MAX_CODES = 20, 255
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_OF_PROBES = ("exec", "httpGet", "tcpSocket", "grpc")
_OF_HOOKS = ("exec", "httpGet", "tcpSocket", "sleep")
_SECONDS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


class Surrounding(NamedTuple):
    """The context that validates a container's fields: the pod's volumes that have no errors, its resource claims, the
    seconds that it has to end, and whether its users are those of the host."""

    volumes: Mapping[str, Struct]
    claims: Collection[str]
    grace: int
    host_users: bool


def all_containers(pod: Struct) -> list[Struct]:
    """The containers of a pod, in the order in which Kubernetes visits them."""
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [container for kind in kinds for container in pod.structs(kind)]


def containers_errors(pod: Struct, around: Surrounding) -> Iterator[FieldError]:
    """Yield the errors of the containers of a pod, of which there must be one."""
    containers = pod.structs("containers")
    if not containers:
        yield pod.at("containers").required()
    names: set[str] = set()
    for container in containers:
        name = container.text("name")
        yield from _common_errors(container, around)
        if name in names:
            yield container.at("name").duplicate(name)
        names.add(name)
        yield from _hook_errors(container, around.grace)
        yield from _probe_errors(container, around.grace)
        yield from _restart_errors(container)
    yield from _host_port_errors(containers, pod.at("containers"))


def init_containers_errors(pod: Struct, around: Surrounding) -> Iterator[FieldError]:
    """Yield the errors of the init containers of a pod, which share names with its other containers."""
    names = {container.text("name") for container in pod.structs("containers")}
    for container in pod.structs("initContainers"):
        name = container.text("name")
        yield from _common_errors(container, around)
        yield from _restart_errors(container)
        if name in names:
            yield container.at("name").duplicate(name)
        names |= {name} if name else set()
        # Init containers run one by one, so only ports within one container can conflict. Kubernetes counts from zero.
        yield from _host_port_errors([container], pod.at("initContainers"))
        if container.get("restartPolicy") == "Always":
            yield from _hook_errors(container, around.grace)
            yield from _probe_errors(container, around.grace)
            continue
        for field in ("lifecycle", *_PROBES):
            if container.pointer(field) is not None:
                detail = "may not be set for init containers without restartPolicy=Always"
                yield container.at(field).forbidden(detail)


def _common_errors(container: Struct, around: Surrounding) -> Iterator[FieldError]:
    """Yield the errors that every container can have, field by field in Kubernetes' order."""
    yield from container.required_text("name", is_dns1123_label)
    yield from container.required("image")
    yield from container.unsupported("terminationMessagePolicy", _MESSAGE_POLICIES)
    yield from _port_errors(container)
    yield from env_errors(container)
    yield from env_from_errors(container)
    yield from _mount_errors(container, around.volumes)
    yield from _device_errors(container, around.volumes)
    yield from container.unsupported("imagePullPolicy", PULL_POLICIES)
    yield from container_resource_errors(container.child("resources"), around.claims)
    yield from _resize_errors(container)
    yield from container_security_errors(container, host_users=around.host_users)


def _port_errors(container: Struct) -> Iterator[FieldError]:
    names: set[str] = set()
    for port in container.structs("ports"):
        name = port.text("name")
        problems = port_name_problems(name) if name else []
        yield from port.at("name").all_invalid(name, problems)
        if name in names:
            yield port.at("name").duplicate(name)
        elif name and not problems:
            names.add(name)
        yield from port.required("containerPort")
        for field in ("containerPort", "hostPort"):
            if number := port.number(field):
                yield from port.at(field).all_invalid(number, port_number_problems(number))
        yield from port.unsupported("protocol", _PROTOCOLS)


def _host_port_errors(containers: Sequence[Struct], path: Path) -> Iterator[FieldError]:
    """Ports of the node can be had once."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        place = Struct(container.fields, path.item(index))
        for port in place.structs("ports"):
            number = port.number("hostPort")
            wanted = f"{port.text('protocol') or 'TCP'}/{port.text('hostIP')}/{number}"
            if number and wanted in taken:
                yield port.at("hostPort").duplicate(wanted)
            taken |= {wanted} if number else set()


def _hook_errors(container: Struct, grace: int) -> Iterator[FieldError]:
    """Yield the errors of a container's hooks; `grace` are the seconds that the pod has to end."""
    for name in ("postStart", "preStop"):
        hook = container.child("lifecycle").pointer(name)
        yield from _handler_errors(hook, _OF_HOOKS, grace) if hook is not None else ()


def _probe_errors(container: Struct, grace: int) -> Iterator[FieldError]:
    for name in _PROBES:
        probe = container.pointer(name)
        if probe is None:
            continue
        yield from _handler_errors(probe, _OF_PROBES, grace)
        yield from probe.negative(*_SECONDS)
        seconds, ending = probe.integer("terminationGracePeriodSeconds"), probe.at("terminationGracePeriodSeconds")
        if seconds is not None and seconds <= 0:
            yield ending.invalid(seconds, "must be greater than 0")
        # The server sets a threshold of 0 to 1.
        threshold = probe.number("successThreshold") or 1
        if name != "readinessProbe" and threshold != 1:
            yield probe.at("successThreshold").invalid(threshold, "must be 1")
        if name == "readinessProbe" and seconds is not None:
            yield ending.invalid(seconds, "must not be set for readinessProbes")


def _handler_errors(handler: Struct, kinds: tuple[str, ...], grace: int) -> Iterator[FieldError]:
    """A probe or hook does one thing, which is the first that it names."""
    actions = [(kind, action) for kind in kinds if (action := handler.pointer(kind)) is not None]
    for kind, action in actions[:1]:
        yield from _action_errors(kind, action, grace)
    for _, action in actions[1:]:
        yield action.path.forbidden("may not specify more than 1 handler type")
    if not actions:
        yield handler.path.required("must specify a handler type")


def _action_errors(kind: str, action: Struct, grace: int) -> Iterator[FieldError]:
    if kind == "exec":
        yield from action.required("command")
    if kind in ("httpGet", "tcpSocket", "grpc"):
        yield from port_errors(action.get("port"), action.at("port"))
    if kind == "httpGet":
        yield from action.unsupported("scheme", ("HTTP", "HTTPS"))
        for index, header in enumerate(action.structs("httpHeaders")):
            name = header.text("name")
            # Kubernetes does not say which of the headers it means.
            yield from action.at("httpHeaders").keyed(index, "name").all_invalid(name, header_problems(name))
    seconds = action.number("seconds")
    if kind == "sleep" and not 0 <= seconds <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield action.path.invalid(seconds, detail)


def _restart_errors(container: Struct) -> Iterator[FieldError]:
    """A container's own restart policy, and the rules that refine it."""
    policy, rules = container.get("restartPolicy"), container.structs("restartPolicyRules")
    if not isinstance(policy, str):
        if rules:
            yield container.at("restartPolicy").required("must specify restartPolicy when restart rules are used")
        return
    yield from container.unsupported("restartPolicy", _RESTART_POLICIES, is_pointer=True)
    if len(rules) > _MAX_RULES:
        yield container.at("restartPolicyRules").too_many(len(rules), _MAX_RULES)
    for rule in rules:
        action, codes = rule.text("action"), rule.pointer("exitCodes")
        if action not in _RESTART_ACTIONS:
            yield rule.at("action").unsupported(typed(action), _RESTART_ACTIONS)
        if codes is None:
            yield rule.at("exitCodes").required("must be specified")
            continue
        operator, values = codes.text("operator"), codes.get("values")
        if operator not in ("In", "NotIn"):
            yield codes.at("operator").unsupported(typed(operator), ("In", "NotIn"))
        if isinstance(values, list) and len(values) > _MAX_CODES:
            yield codes.at("values").too_many(len(values), _MAX_CODES)


def _resize_errors(container: Struct) -> Iterator[FieldError]:
    path, seen = container.at("resizePolicy"), set[str]()
    known = {"resourceName": ("cpu", "memory"), "restartPolicy": ("NotRequired", "RestartContainer")}
    for index, policy in enumerate(container.structs("resizePolicy")):
        resource = policy.text("resourceName")
        if resource in seen:
            yield policy.path.duplicate(typed(resource))
        seen.add(resource)
        for field, supported in known.items():
            value = policy.text(field)
            if not value:
                yield path.keyed(index).required()
            elif value not in supported:
                yield path.keyed(index).unsupported(typed(value), supported)


def _mount_errors(container: Struct, volumes: Mapping[str, Struct]) -> Iterator[FieldError]:
    """Yield the errors of where a container mounts the volumes of its pod, of which `volumes` have no errors."""
    devices = _paths_by_volume(container, "volumeDevices", "devicePath")
    taken: set[str] = set()
    for index, mount in enumerate(container.structs("volumeMounts")):
        name, where = mount.text("name"), mount.text("mountPath")
        yield from mount.required("name")
        if name not in volumes:
            yield mount.at("name").not_found(name)
        yield from mount.required("mountPath")
        if where in taken:
            yield mount.at("mountPath").invalid(where, "must be unique")
        taken.add(where)
        if name in devices:
            yield mount.at("name").invalid(name, "must not already exist in volumeDevices")
        if where in devices.values():
            yield mount.at("mountPath").invalid(where, "must not already exist as a path in volumeDevices")
        # Of the other fields Kubernetes does not say whose they are.
        unnumbered = mount._replace(path=container.at("volumeMounts").keyed(index))
        yield from _subpath_errors(mount, unnumbered)
        yield from _propagation_errors(unnumbered, container)
        yield from _read_only_errors(unnumbered)


def _paths_by_volume(container: Struct, field: str, path: str) -> dict[str, str]:
    """The paths of mounts or devices by the name of their volume, the last one of each."""
    return {mount.text("name"): mount.text(path) for mount in container.structs(field)}


def _subpath_errors(mount: Struct, unnumbered: Struct) -> Iterator[FieldError]:
    yield from unnumbered.optional_text("subPath", descending_path_problems)
    expression = mount.text("subPathExpr")
    if expression and mount.text("subPath"):
        yield mount.at("subPathExpr").invalid(expression, "subPathExpr and subPath are mutually exclusive")
    yield from unnumbered.optional_text("subPathExpr", descending_path_problems)


def _propagation_errors(mount: Struct, container: Struct) -> Iterator[FieldError]:
    yield from mount.unsupported("mountPropagation", _PROPAGATIONS, is_pointer=True)
    is_privileged = container.child("securityContext").get("privileged") is True
    if mount.get("mountPropagation") == "Bidirectional" and not is_privileged:
        detail = "Bidirectional mount propagation is available only to privileged containers"
        yield mount.at("mountPropagation").forbidden(detail)


def _read_only_errors(mount: Struct) -> Iterator[FieldError]:
    yield from mount.unsupported("recursiveReadOnly", _READ_ONLY, is_pointer=True)
    path = mount.at("recursiveReadOnly")
    if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible"):
        if mount.get("readOnly") is not True:
            yield path.forbidden("may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            yield path.forbidden("may only be specified when mountPropagation is None or not specified")


def _device_errors(container: Struct, volumes: Mapping[str, Struct]) -> Iterator[FieldError]:
    """Yield the errors of a container's volumeDevices, which need claims."""
    mounts = _paths_by_volume(container, "volumeMounts", "mountPath")
    names: set[str] = set()
    paths: set[str] = set()
    for device in container.structs("volumeDevices"):
        name, where = device.text("name"), device.text("devicePath")
        named, path = device.at("name"), device.at("devicePath")
        yield from device.required("name")
        if name in names:
            yield named.invalid(name, "must be unique")
        if name not in volumes:
            yield named.not_found(name)
        elif not any(volumes[name].pointer(kind) for kind in ("persistentVolumeClaim", "ephemeral")):
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield named.invalid(name, detail)
        yield from device.required("devicePath")
        if where in paths:
            yield path.invalid(where, "must be unique")
        if backstep_problems(where):
            yield path.invalid(where, "can not contain backsteps ('..')")
        else:
            paths.add(where)
        if name in mounts:
            yield named.invalid(name, "must not already exist in volumeMounts")
        if where in mounts.values():
            yield path.invalid(where, "must not already exist as a path in volumeMounts")
        names |= {name} if name else set()
