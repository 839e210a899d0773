"""Deployments (apps/v1) and their pod templates as the API server of Kubernetes 1.36 judges them.

A Deployment comes as Go's types keep it; what the server fills in before it looks counts as filled in. Which errors
there are, and in which order, follows ValidateDeployment in
https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/apps/validation/validation.go and the functions that it
calls. Not covered: fields behind feature gates that are off by default, which the API server drops, and the containers
of `ephemeralContainers`, which no template may have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.k8s.api.selectors import is_dns1123_label, is_dns1123_subdomain, is_empty, is_qualified_name, matches
from olmc.k8s.api.validation.containers import (
    DEFAULT_GRACE,
    Surrounding,
    all_containers,
    containers_errors,
    init_containers_errors,
)
from olmc.k8s.api.validation.field import IMMUTABLE, FieldError, JsonText, Path, Struct, integer, typed
from olmc.k8s.api.validation.metadata import (
    MAX_INT32,
    annotation_errors,
    ip_problems,
    label_errors,
    metadata_errors,
    percent_problems,
    search_domain_errors,
    selector_errors,
)
from olmc.k8s.api.validation.scheduling import (
    affinity_errors,
    overhead_errors,
    pod_resource_errors,
    spread_errors,
    toleration_errors,
)
from olmc.k8s.api.validation.security import (
    annotated_profile_errors,
    host_process_errors,
    os_errors,
    pod_security_errors,
    profile_annotation_errors,
)
from olmc.k8s.api.validation.volumes import volume_errors
from olmc.k8s.objects import mapping, text

_DEFAULT_DEADLINE = 600
_DEFAULT_SHARE = "25%"
_STANDARD_FINALIZERS = ("foregroundDeletion", "kubernetes", "orphan")
_MOST_DIGITS = 18  # of a count that fits into any integer
_ROLLING = {"maxUnavailable": "MaxUnavailable", "maxSurge": "MaxSurge"}

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_MAX_NAMESERVERS, _MAX_SEARCHES, _MAX_SEARCH_CHARACTERS = 3, 32, 2048
_MIRROR = "kubernetes.io/config.mirror"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def creation_errors(deployment: Mapping[str, Any]) -> list[FieldError]:
    """Return why the API server refuses to create a Deployment: none if it takes it."""
    root = Struct(deployment, Path())
    return [
        *metadata_errors(deployment, is_dns1123_subdomain, namespaced=True),
        *_finalizer_errors(root.child("metadata")),
        *_spec_errors(root.child("spec")),
    ]


def update_errors(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Return why the API server refuses to put a Deployment in the place of one with the same name: none if it takes
    it.

    Beside all that holds for a new one, the selector stays as it is.
    """
    errors = creation_errors(new)
    after, before = (Struct(deployment, Path()).child("spec") for deployment in (new, old))
    if _comparable(after.pointer("selector")) != _comparable(before.pointer("selector")):
        errors.append(after.at("selector").invalid(JsonText.of(after.get("selector")), IMMUTABLE))
    return errors


def _comparable(selector: Struct | None) -> Any:
    """A selector without the difference between what is empty and what is missing, which Kubernetes doesn't see."""
    return None if selector is None else {field: value for field, value in selector.fields.items() if value}


def _finalizer_errors(metadata: Struct) -> Iterator[FieldError]:
    for finalizer, path in metadata.items("finalizers"):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            yield path.invalid(finalizer, "name is neither a standard finalizer name nor is it fully qualified")


def _spec_errors(spec: Struct) -> Iterator[FieldError]:
    yield from spec.negative("replicas")
    yield from _selected_errors(spec)
    yield from _strategy_errors(spec.child("strategy"))
    yield from spec.negative("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.integer("progressDeadlineSeconds")
    seconds = _DEFAULT_DEADLINE if deadline is None else deadline
    if seconds <= spec.number("minReadySeconds"):
        yield spec.at("progressDeadlineSeconds").invalid(seconds, "must be greater than minReadySeconds")


def _selected_errors(spec: Struct) -> Iterator[FieldError]:
    """The selector, and the pod template, which it must match."""
    selector, path = spec.pointer("selector"), spec.at("selector")
    errors = [] if selector is None else list(selector_errors(selector))
    if selector is None:
        yield path.required()
    yield from errors
    written = spec.get("selector")
    # A missing selector selects nothing and an empty one everything, so only the second fits every template.
    selects_all = selector is not None and is_empty(written)
    if selects_all:
        yield path.invalid(JsonText.of(written), "empty selector is invalid for deployment")
    if errors:
        # With a selector that can't be read Kubernetes gives up on the template, too.
        yield path.invalid(JsonText.of(written), "invalid label selector")
        return
    template = spec.child("template")
    labels = template.child("metadata").get("labels") or None
    if not selects_all and (selector is None or not matches(written, mapping(labels))):
        detail = "`selector` does not match template `labels`"
        yield template.at("metadata", "labels").invalid(JsonText.of(labels), detail)
    yield from _template_errors(template)
    # What pods may be, but not those of a Deployment:
    pod = template.child("spec")
    yield from pod.unsupported("restartPolicy", ("Always",))
    if pod.has("activeDeadlineSeconds"):
        yield pod.at("activeDeadlineSeconds").forbidden("activeDeadlineSeconds in ReplicaSet is not Supported")


def _strategy_errors(strategy: Struct) -> Iterator[FieldError]:
    kind, rolling = strategy.text("type"), strategy.pointer("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            yield rolling.path.forbidden("may not be specified when strategy `type` is 'Recreate'")
    elif kind in ("", "RollingUpdate"):
        yield from _rolling_errors(strategy.child("rollingUpdate"))
    else:
        update = rolling and rolling.fields and {name: rolling.fields.get(field, 0) for field, name in _ROLLING.items()}
        shown = JsonText.of({"Type": kind, "RollingUpdate": update})
        yield strategy.path.unsupported(shown, ("Recreate", "RollingUpdate"))


def _rolling_errors(rolling: Struct) -> Iterator[FieldError]:
    values = {field: rolling.get(field) if rolling.has(field) else _DEFAULT_SHARE for field in _ROLLING}
    for field, value in values.items():
        if isinstance(value, str):
            yield from rolling.at(field).all_invalid(typed(value), percent_problems(value))
        else:
            yield from rolling.negative(field)
    # With neither a pod more nor a pod less a rollout could never begin.
    path, most = rolling.at("maxUnavailable"), values["maxUnavailable"]
    if all(_share(value) == 0 for value in values.values()):
        yield path.invalid(typed(most), "may not be 0 when `maxSurge` is 0")
    if isinstance(most, str) and not percent_problems(most) and _share(most) > 100:
        yield path.invalid(typed(most), "must not be greater than 100%")


def _share(value: Any) -> int:
    """The number in a count or percentage, 0 where there is none."""
    if not isinstance(value, str):
        return integer(value) or 0
    number = value.removesuffix("%")
    digits = number[1:] if number[:1] in ("+", "-") else number
    return int(number) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS else 0


def _template_errors(template: Struct) -> Iterator[FieldError]:
    """Yield the errors of a pod template: labels, annotations, and the pods that it is for."""
    metadata, pod = template.child("metadata"), template.child("spec")
    annotations = metadata.map("annotations")
    # Kubernetes calls them fields of the template.
    path = template.path.called("annotations").keyed("metadata", "annotations")
    yield from label_errors(metadata.map("labels"), template.path.called("labels").keyed("metadata", "labels"))
    yield from annotation_errors(annotations, path)
    yield from _special_annotation_errors(annotations, pod, path)
    yield from _pod_errors(pod)
    yield from annotated_profile_errors(annotations, pod, all_containers(pod))
    if pod.structs("ephemeralContainers"):
        yield pod.at("ephemeralContainers").forbidden("ephemeral containers not allowed in pod template")


def _special_annotation_errors(annotations: Mapping[str, Any], pod: Struct, path: Path) -> Iterator[FieldError]:
    """Annotations that Kubernetes itself reads."""
    if _MIRROR in annotations and not pod.text("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield path.key(_MIRROR).invalid(text(annotations[_MIRROR]), detail)
    if tolerations := text(annotations.get(_TOLERATIONS)):
        try:
            given = json.loads(tolerations)
        except (ValueError, RecursionError):
            given = ()  # Kubernetes refuses it in words that only Go's decoder has
        yield from toleration_errors(Struct({_TOLERATIONS: given}, path).structs(_TOLERATIONS))
    cost = text(annotations.get(_DELETION_COST))
    if _DELETION_COST in annotations and not _is_int32(cost):
        yield path.key(_DELETION_COST).invalid(cost, "must be a 32bit integer")
    names = frozenset(container.text("name") for container in all_containers(pod))
    yield from profile_annotation_errors(annotations, names, path)


def _is_int32(value: str) -> bool:
    # Kubernetes wants one spelling of each number: no plus sign, no zero in front.
    is_number = re.fullmatch("-?[0-9]{1,11}", value) is not None and not re.match("0.", value)
    return is_number and -MAX_INT32 - 1 <= int(value) <= MAX_INT32


def _pod_errors(pod: Struct) -> Iterator[FieldError]:
    """Yield the errors of the specification of a template's pods."""
    # ValidatePodSpec's order, function by function: the answer lists the errors as it comes upon them.
    usable, errors = volume_errors(pod)
    containers = all_containers(pod)
    yield from errors
    yield from _claim_errors(pod)
    claims = {name for claim in pod.structs("resourceClaims") if (name := claim.text("name"))}
    grace, host_users = pod.integer("terminationGracePeriodSeconds"), pod.get("hostUsers") is not False
    around = Surrounding(usable, claims, DEFAULT_GRACE if grace is None else grace, host_users)
    yield from containers_errors(pod, around)
    yield from init_containers_errors(pod, around)
    yield from pod_resource_errors(pod.pointer("resources"))
    yield from _host_network_errors(pod)
    yield from pod.unsupported("restartPolicy", _RESTART_POLICIES)
    yield from pod.unsupported("dnsPolicy", _DNS_POLICIES)
    yield from label_errors(pod.map("nodeSelector"), pod.at("nodeSelector"))
    yield from pod_security_errors(pod)
    yield from affinity_errors(pod.child("affinity"))
    yield from _dns_errors(pod)
    yield from _gate_errors(pod)
    yield from spread_errors(pod.structs("topologySpreadConstraints"))
    yield from host_process_errors(pod, containers)
    yield from _host_user_errors(pod)
    yield from _name_errors(pod)
    yield from toleration_errors(pod.structs("tolerations"))
    yield from _host_alias_errors(pod)
    yield from _class_errors(pod)
    yield from os_errors(pod, containers)


def _claim_errors(pod: Struct) -> Iterator[FieldError]:
    """Resource claims: each has a name, and comes from a claim or from a template of one."""
    names: set[str] = set()
    sources = {"resourceClaimName": "ResourceClaimName", "resourceClaimTemplateName": "ResourceClaimTemplateName"}
    for claim in pod.structs("resourceClaims"):
        name = claim.text("name")
        if name in names:
            yield claim.at("name").duplicate(name)
        else:
            yield from claim.required_text("name", is_dns1123_label)
        names |= {name} if name else set()
        shown = JsonText.of({"Name": name, **{called: claim.get(field) for field, called in sources.items()}})
        number = sum(map(claim.has, sources))
        if number > 1:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield claim.path.invalid(shown, detail)
        elif not number:
            yield claim.path.invalid(shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        for field in sources:
            yield from claim.pointed_text(field, is_dns1123_subdomain)


def _host_network_errors(pod: Struct) -> Iterator[FieldError]:
    """On the node's network a port has one number."""
    for container in pod.structs("containers") if pod.get("hostNetwork") is True else ():
        for port in container.structs("ports"):
            host = port.number("hostPort")
            if host and host != port.number("containerPort"):
                yield port.at("hostPort").invalid(host, "must match `containerPort` when `hostNetwork` is true")


def _dns_errors(pod: Struct) -> Iterator[FieldError]:
    config, needs_config = pod.child("dnsConfig"), pod.get("dnsPolicy") == "None"
    servers, searches = config.texts("nameservers"), config.texts("searches")
    if needs_config and pod.pointer("dnsConfig") is None:
        yield config.path.required("must provide `dnsConfig` when `dnsPolicy` is None")
        return
    path = config.at("nameservers")
    if needs_config and not servers:
        yield path.required("must provide at least one DNS nameserver when `dnsPolicy` is None")
        return
    if len(servers) > _MAX_NAMESERVERS:
        yield path.invalid(JsonText.of(servers), f"must not have more than {_MAX_NAMESERVERS} nameservers")
    for server, place in config.items("nameservers"):
        yield from place.all_invalid(server, ip_problems(server))
    path = config.at("searches")
    if len(searches) > _MAX_SEARCHES:
        yield path.invalid(JsonText.of(searches), f"must not have more than {_MAX_SEARCHES} search paths")
    if len(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        detail = f"must not have more than {_MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        yield path.invalid(JsonText.of(searches), detail)
    for search, place in config.items("searches"):
        yield from search_domain_errors(search, place)
    for option in config.structs("options"):
        if not option.text("name"):
            yield option.path.required("must not be empty")


def _gate_errors(pod: Struct) -> Iterator[FieldError]:
    for gate in pod.structs("readinessGates"):
        condition = gate.text("conditionType")
        yield from gate.at("conditionType").all_invalid(condition, is_qualified_name(condition))
    seen: set[str] = set()
    for gate in pod.structs("schedulingGates"):
        name = gate.text("name")
        yield from gate.path.all_invalid(name, is_qualified_name(name))
        if name in seen:
            yield gate.path.duplicate(name)
        seen.add(name)


def _host_user_errors(pod: Struct) -> Iterator[FieldError]:
    """A pod with users of its own shares no other namespace with its node."""
    if pod.get("hostUsers") is False:
        for field, called in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if pod.get(field) is True:
                yield pod.path.called(called).keyed(field).forbidden("when `pod.Spec.HostUsers` is false")


def _name_errors(pod: Struct) -> Iterator[FieldError]:
    account = pod.text("serviceAccountName") or pod.text("serviceAccount")
    yield from pod.at("serviceAccountName").all_invalid(account, is_dns1123_subdomain(account) if account else ())
    yield from pod.optional_text("nodeName", is_dns1123_subdomain)
    yield from pod.out_of_range("activeDeadlineSeconds", 1, MAX_INT32)
    yield from pod.optional_text("hostname", is_dns1123_label)
    yield from pod.optional_text("subdomain", is_dns1123_label)


def _host_alias_errors(pod: Struct) -> Iterator[FieldError]:
    for alias in pod.structs("hostAliases"):
        address = alias.text("ip")
        yield from alias.at("ip").all_invalid(address, ip_problems(address))
        for name, path in alias.items("hostnames"):
            yield from path.all_invalid(name, is_dns1123_subdomain(name))


def _class_errors(pod: Struct) -> Iterator[FieldError]:
    yield from pod.optional_text("priorityClassName", is_dns1123_subdomain)
    yield from pod.pointed_text("runtimeClassName", is_dns1123_subdomain)
    if pod.get("preemptionPolicy") == "":
        yield pod.at("preemptionPolicy").required()
    yield from pod.unsupported("preemptionPolicy", _PREEMPTION_POLICIES)
    yield from overhead_errors(pod)
