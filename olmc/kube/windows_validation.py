"""What is only for pods on Windows, and what those can't have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.golang import is_dns1123_subdomain
from olmc.kube.container_validation import all_containers
from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, present, typed
from olmc.model.coerce import mapping, text

_SPEC_LIMIT = 64 * 1024
_DOMAIN_LIMIT, _USER_LIMIT = 256, 104
_NETBIOS = r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}'
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS = rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*"

_NOT_OF_PODS = (
    "appArmorProfile", "seLinuxOptions", "hostUsers", "hostPID", "hostIPC", "seccompProfile", "fsGroup",
    "fsGroupChangePolicy", "sysctls", "shareProcessNamespace", "runAsUser", "runAsGroup", "supplementalGroups",
    "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_OF_SPEC = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_NOT_OF_CONTAINERS = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def os_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with a pod that says on which system it runs."""
    system = present(pod.get("os"))
    if system is None:
        return
    name, here = text(system.get("name")), path.child("os")
    if not name:
        yield here.child("name").required("cannot be empty")
    elif name == "linux":
        yield from _linux_errors(pod, path)
    elif name == "windows":
        yield from _windows_errors(pod, path)
    else:
        yield here.unsupported(typed(name), ("linux", "windows"))


def _linux_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    for owner, place in ((pod, path), *all_containers(pod, path)):
        if present(mapping(owner.get("securityContext")).get("windowsOptions")) is not None:
            here = place.child("securityContext", "windowsOptions")
            yield here.forbidden("windows options cannot be set for a linux pod")


def _windows_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    detail = "cannot be set for a windows pod"
    context = mapping(pod.get("securityContext"))
    for field in _NOT_OF_PODS:
        if field in _OF_SPEC:
            is_set = pod.get(field) is not None if field in ("hostUsers", "shareProcessNamespace") else pod.get(field)
            yield from [path.child(field).forbidden(detail)] if is_set else ()
        elif context.get(field) is not None:
            yield path.child("securityContext", field).forbidden(detail)
    for container, place in all_containers(pod, path):
        given = mapping(container.get("securityContext"))
        for field in _NOT_OF_CONTAINERS:
            if given.get(field) is not None:
                yield place.child("securityContext", field).forbidden(detail)


def host_process_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with containers that run as processes of a Windows host: all of a pod do, or none."""
    of_pod = _host_process(pod)
    containers = list(all_containers(pod, path))
    running = 0
    for container, place in containers:
        own = _host_process(container)
        if of_pod is not None and own is not None and of_pod != own:
            here = place.child("securityContext", "windowsOptions", "hostProcess")
            said = "true" if of_pod else "false"
            yield here.invalid(own, f"pod hostProcess value must be identical if both are specified, was {said}")
        running += bool(of_pod if own is None else own)
    if running and running != len(containers):
        all_or_none = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield path.invalid("", all_or_none)
    if running and pod.get("hostNetwork") is not True:
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        yield path.child("hostNetwork").invalid(False, detail)


def _host_process(owner: Mapping[str, Any]) -> bool | None:
    value = mapping(mapping(owner.get("securityContext")).get("windowsOptions")).get("hostProcess")
    return value if isinstance(value, bool) else None


def windows_option_errors(options: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with the Windows part of a security context."""
    given = mapping(options)
    name, spec, user = (given.get(key) for key in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if isinstance(name, str):
        yield from path.child("gmsaCredentialSpecName").all_invalid(name, is_dns1123_subdomain(name))
    if isinstance(spec, str):
        here = path.child("gmsaCredentialSpec")
        if not spec:
            yield here.invalid(spec, "gmsaCredentialSpec cannot be an empty string")
        elif len(spec.encode("utf-8", "surrogatepass")) > _SPEC_LIMIT:
            yield here.invalid(spec, "gmsaCredentialSpec size must be under 64 KiB")
    if isinstance(user, str):
        problems = [f"runAsUserName{problem}" for problem in _user_problems(user)]
        yield from path.child("runAsUserName").all_invalid(user, problems)


def _user_problems(name: str) -> Iterator[str]:
    parts = name.split("\\")
    if not name:
        yield " cannot be an empty string"
        return
    if re.search(r"[\x00-\x1f\x7f]", name):
        yield " cannot contain control characters"
        return
    if len(parts) > 2:
        yield " cannot contain more than one backslash"
        return
    domain, user = parts[0] if len(parts) == 2 else None, parts[-1]
    if domain is not None and len(domain) >= _DOMAIN_LIMIT:
        yield f"'s Domain length must be under {_DOMAIN_LIMIT} characters"
    if domain is not None and not re.fullmatch(f"{_NETBIOS}|{_DNS}", domain):
        yield "'s Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "'s User cannot be empty"
    elif len(user) > _USER_LIMIT:
        yield f"'s User length must not be longer than {_USER_LIMIT} characters"
    if re.fullmatch("[. ]+", user):
        yield "'s User cannot contain only periods or spaces"
    if re.search(r'["/\\:;|=,+*?<>@\[\]]', user):
        yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"
