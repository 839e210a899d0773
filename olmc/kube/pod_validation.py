"""Pod templates as Kubernetes 1.36 judges them, whoever makes pods of them.

What the API server fills in before it looks counts as filled in. Not covered: fields behind feature gates that are off
by default, which the API server drops, and the containers of `ephemeralContainers`, which no template may have. The
rules for what few pods have are loaded when one does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.golang import is_dns1123_subdomain
from olmc.kube.container_validation import Surrounding, all_containers, containers_errors, init_containers_errors
from olmc.kube.field_errors import FieldError, Shown
from olmc.kube.field_path import Path, integer, present, typed
from olmc.kube.names import (
    MAX_INT32,
    between,
    label_name_errors,
    qualified_name_errors,
    search_domain_errors,
    subdomain_errors,
)
from olmc.kube.object_meta import annotation_errors, label_errors
from olmc.kube.probe_validation import DEFAULT_GRACE
from olmc.kube.resource_validation import overhead_errors, pod_resource_errors
from olmc.kube.security_validation import (
    APPARMOR_CONTAINER,
    SECCOMP_CONTAINER,
    SECCOMP_POD,
    annotated_apparmor_errors,
    annotated_seccomp_errors,
    pod_security_errors,
    profile_annotation_errors,
)
from olmc.kube.volume_validation import volume_errors
from olmc.model.coerce import mapping, mappings, text, texts

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_MAX_NAMESERVERS, _MAX_SEARCHES, _MAX_SEARCH_CHARACTERS = 3, 32, 2048
_MIRROR = "kubernetes.io/config.mirror"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def template_errors(template: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with a pod template: labels, annotations, and the pods that it is for."""
    metadata, pod = mapping(template.get("metadata")), mapping(template.get("spec"))
    labels, annotations = mapping(metadata.get("labels")), mapping(metadata.get("annotations"))
    # Kubernetes calls them fields of the template.
    noted = path.called("annotations").at("metadata", "annotations")
    yield from label_errors(labels, path.called("labels").at("metadata", "labels"))
    yield from annotation_errors(annotations, noted)
    yield from _special_annotation_errors(annotations, pod, noted)
    spec = path.child("spec")
    yield from pod_errors(pod, spec)
    yield from _annotated_profile_errors(annotations, pod, spec)
    if mappings(pod.get("ephemeralContainers")):
        yield spec.child("ephemeralContainers").forbidden("ephemeral containers not allowed in pod template")


def _special_annotation_errors(
    annotations: Mapping[str, Any], pod: Mapping[str, Any], path: Path
) -> Iterator[FieldError]:
    """Annotations that Kubernetes itself reads."""
    if _MIRROR in annotations and not text(pod.get("nodeName")):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield path.key(_MIRROR).invalid(text(annotations[_MIRROR]), detail)
    tolerations = text(annotations.get(_TOLERATIONS))
    if tolerations:
        from olmc.kube.scheduling_validation import toleration_errors

        try:
            given = json.loads(tolerations)
        except (ValueError, RecursionError):
            given = ()  # Kubernetes refuses it in words that only Go's decoder has
        yield from toleration_errors(given, path.child(_TOLERATIONS))
    cost = text(annotations.get(_DELETION_COST))
    if _DELETION_COST in annotations and not _is_int32(cost):
        yield path.key(_DELETION_COST).invalid(cost, "must be a 32bit integer")
    names = frozenset(text(container.get("name")) for container, _ in all_containers(pod, path))
    yield from profile_annotation_errors(annotations, names, path)


def _is_int32(value: str) -> bool:
    return (
        re.fullmatch("-?[0-9]{1,11}", value) is not None
        and not re.match("0.", value)
        and (-MAX_INT32 - 1 <= int(value) <= MAX_INT32)
    )


def _annotated_profile_errors(
    annotations: Mapping[str, Any], pod: Mapping[str, Any], path: Path
) -> Iterator[FieldError]:
    """Profiles must be those that annotations choose, where there are both."""
    context, is_windows = mapping(pod.get("securityContext")), mapping(pod.get("os")).get("name") == "windows"
    where = ("securityContext", "seccompProfile")
    yield from annotated_seccomp_errors(context.get("seccompProfile"), annotations.get(SECCOMP_POD), path.child(*where))
    containers = [(each, here, text(each.get("name"))) for each, here in all_containers(pod, path)]
    for container, here, name in containers:
        profile = mapping(container.get("securityContext")).get("seccompProfile")
        yield from annotated_seccomp_errors(profile, annotations.get(SECCOMP_CONTAINER + name), here.child(*where))
    for container, here, name in () if is_windows else containers:
        own = mapping(container.get("securityContext")).get("appArmorProfile")
        profile = own if present(own) is not None else context.get("appArmorProfile")
        place = here.child("securityContext", "appArmorProfile")
        yield from annotated_apparmor_errors(profile, annotations.get(APPARMOR_CONTAINER + name), place)


def pod_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the specification of a template's pods, in Kubernetes' order."""
    usable, errors = volume_errors(pod.get("volumes"), path.child("volumes"))
    yield from errors
    yield from _claim_errors(pod, path.child("resourceClaims"))
    containers, first = mappings(pod.get("containers")), mappings(pod.get("initContainers"))
    claims = {name for claim in mappings(pod.get("resourceClaims")) if (name := text(claim.get("name")))}
    grace = integer(pod.get("terminationGracePeriodSeconds"))
    host_users = pod.get("hostUsers") is not False
    around = Surrounding(usable, claims, DEFAULT_GRACE if grace is None else grace, host_users)
    yield from containers_errors(containers, around, path.child("containers"))
    yield from init_containers_errors(first, containers, around, path.child("initContainers"))
    yield from pod_resource_errors(pod.get("resources"), path.child("resources"))
    yield from _host_network_errors(pod, path.child("containers"))
    yield from _policy_errors(pod, "restartPolicy", RESTART_POLICIES, path)
    yield from _policy_errors(pod, "dnsPolicy", _DNS_POLICIES, path)
    yield from label_errors(mapping(pod.get("nodeSelector")), path.child("nodeSelector"))
    yield from pod_security_errors(pod, path.child("securityContext"))
    yield from _scheduling_errors(pod, "affinity", path)
    yield from _dns_errors(pod, path.child("dnsConfig"))
    yield from _gate_errors(pod, path)
    yield from _scheduling_errors(pod, "topologySpreadConstraints", path)
    yield from _host_process_errors(pod, path)
    yield from _host_user_errors(pod, path)
    yield from _name_errors(pod, path)
    yield from _scheduling_errors(pod, "tolerations", path)
    yield from _host_alias_errors(pod, path.child("hostAliases"))
    yield from _class_errors(pod, path)
    if present(pod.get("os")) is not None:
        from olmc.kube.windows_validation import os_errors

        yield from os_errors(pod, path)


def _scheduling_errors(pod: Mapping[str, Any], field: str, path: Path) -> Iterator[FieldError]:
    if not pod.get(field):
        return
    from olmc.kube.scheduling_validation import affinity_errors, spread_errors, toleration_errors

    rules = {"affinity": affinity_errors, "topologySpreadConstraints": spread_errors, "tolerations": toleration_errors}
    yield from rules[field](pod[field], path.child(field))


def _host_process_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    owners = (pod, *(container for container, _ in all_containers(pod, path)))
    if any(mapping(owner.get("securityContext")).get("windowsOptions") for owner in owners):
        from olmc.kube.windows_validation import host_process_errors

        yield from host_process_errors(pod, path)


def _claim_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """Resource claims: each has a name, and comes from a claim or from a template of one."""
    names: set[str] = set()
    for index, claim in enumerate(mappings(pod.get("resourceClaims"))):
        here, name = path.item(index), text(claim.get("name"))
        if not name:
            yield here.child("name").required()
        elif name in names:
            yield here.child("name").duplicate(name)
        else:
            yield from label_name_errors(name, here.child("name"))
            names.add(name)
        sources = {"resourceClaimName": "ResourceClaimName", "resourceClaimTemplateName": "ResourceClaimTemplateName"}
        given = {field: claim.get(field) for field in sources}
        shown = Shown.json({"Name": name, **{called: given[field] for field, called in sources.items()}})
        if None not in given.values():
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield here.invalid(shown, detail)
        elif not any(value is not None for value in given.values()):
            yield here.invalid(shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        for field, value in given.items():
            if isinstance(value, str):
                yield from here.child(field).all_invalid(value, is_dns1123_subdomain(value))


def _host_network_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """On the node's network a port has one number."""
    if pod.get("hostNetwork") is not True:
        return
    for index, container in enumerate(mappings(pod.get("containers"))):
        for position, port in enumerate(mappings(container.get("ports"))):
            host = integer(port.get("hostPort")) or 0
            if host and host != (integer(port.get("containerPort")) or 0):
                here = path.item(index).child("ports").item(position).child("hostPort")
                yield here.invalid(host, "must match `containerPort` when `hostNetwork` is true")


def _policy_errors(pod: Mapping[str, Any], field: str, known: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    value = text(pod.get(field))
    if value and value not in known:
        yield path.child(field).unsupported(typed(value), known)


def _dns_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    config = present(pod.get("dnsConfig"))
    servers, searches = texts(mapping(config).get("nameservers")), texts(mapping(config).get("searches"))
    if pod.get("dnsPolicy") == "None" and config is None:
        yield path.required("must provide `dnsConfig` when `dnsPolicy` is None")
        return
    here = path.child("nameservers")
    if pod.get("dnsPolicy") == "None" and not servers:
        yield here.required("must provide at least one DNS nameserver when `dnsPolicy` is None")
        return
    if len(servers) > _MAX_NAMESERVERS:
        yield here.invalid(Shown.json(servers), f"must not have more than {_MAX_NAMESERVERS} nameservers")
    for index, server in enumerate(servers):
        yield from _ip_errors(server, here.item(index))
    here = path.child("searches")
    if len(searches) > _MAX_SEARCHES:
        yield here.invalid(Shown.json(searches), f"must not have more than {_MAX_SEARCHES} search paths")
    if len(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        detail = f"must not have more than {_MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        yield here.invalid(Shown.json(searches), detail)
    for index, search in enumerate(searches):
        yield from search_domain_errors(search, here.item(index))
    for index, option in enumerate(mappings(mapping(config).get("options"))):
        if not text(option.get("name")):
            yield path.child("options").item(index).required("must not be empty")


def _ip_errors(address: str, path: Path) -> Iterator[FieldError]:
    from olmc.kube.ip_validation import ip_errors

    yield from ip_errors(address, path)


def _gate_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    for index, gate in enumerate(mappings(pod.get("readinessGates"))):
        here = path.child("readinessGates").item(index).child("conditionType")
        yield from qualified_name_errors(text(gate.get("conditionType")), here)
    seen: set[str] = set()
    for index, gate in enumerate(mappings(pod.get("schedulingGates"))):
        name, here = text(gate.get("name")), path.child("schedulingGates").item(index)
        yield from qualified_name_errors(name, here)
        if name in seen:
            yield here.duplicate(name)
        seen.add(name)


def _host_user_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """A pod with users of its own shares no other namespace with its node."""
    if pod.get("hostUsers") is not False:
        return
    for field, called in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if pod.get(field) is True:
            yield path.called(called).at(field).forbidden("when `pod.Spec.HostUsers` is false")


def _name_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    for field, older in (("serviceAccountName", "serviceAccount"), ("nodeName", "")):
        name = text(pod.get(field)) or text(pod.get(older))
        yield from subdomain_errors(name, path.child(field)) if name else ()
    seconds = integer(pod.get("activeDeadlineSeconds"))
    if seconds is not None and not 1 <= seconds <= MAX_INT32:
        yield path.child("activeDeadlineSeconds").invalid(seconds, between(1, MAX_INT32))
    for field in ("hostname", "subdomain"):
        name = text(pod.get(field))
        yield from label_name_errors(name, path.child(field)) if name else ()


def _host_alias_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    for index, alias in enumerate(mappings(pod.get("hostAliases"))):
        here = path.item(index)
        yield from _ip_errors(text(alias.get("ip")), here.child("ip"))
        for position, name in enumerate(texts(alias.get("hostnames"))):
            yield from subdomain_errors(name, here.child("hostnames").item(position))


def _class_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    priority, runtime = text(pod.get("priorityClassName")), pod.get("runtimeClassName")
    yield from subdomain_errors(priority, path.child("priorityClassName")) if priority else ()
    if isinstance(runtime, str):
        yield from subdomain_errors(runtime, path.child("runtimeClassName"))
    policy, here = pod.get("preemptionPolicy"), path.child("preemptionPolicy")
    if policy == "":
        yield here.required()
    elif isinstance(policy, str) and policy not in _PREEMPTION_POLICIES:
        yield here.unsupported(typed(policy), _PREEMPTION_POLICIES)
    yield from overhead_errors(pod.get("overhead"), path.child("overhead"))
