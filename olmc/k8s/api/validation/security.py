"""Security contexts of pods and containers, the annotations that were their forerunners, and pods on Windows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmc.k8s.api.selectors import is_dns1123_subdomain
from olmc.k8s.api.validation.field import FieldError, JsonText, Path, Struct, between, integer, typed
from olmc.k8s.api.validation.metadata import MAX_ID, descending_path_problems, size
from olmc.k8s.objects import text
from olmc.k8s.strconv import quoted

_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR_CONTAINER = "container.apparmor.security.beta.kubernetes.io/"

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_PROFILE_LENGTH = 4095
_ANNOTATED = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default", "docker/default")}
_SYSCTL = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_LENGTH = 253
_IPC = ("kernel.shm", "kernel.msg", "fs.mqueue.")

# The fields of a container's security context by their names in Go, those of structures with their zero values.
_SHOWN_FIELDS: dict[str, tuple[str, dict[str, tuple[str, Any]]]] = {
    "capabilities": ("Capabilities", {"add": ("Add", None), "drop": ("Drop", None)}),
    "privileged": ("Privileged", {}),
    "seLinuxOptions": (
        "SELinuxOptions",
        {"user": ("User", ""), "role": ("Role", ""), "type": ("Type", ""), "level": ("Level", "")},
    ),
    "windowsOptions": (
        "WindowsOptions",
        {
            "gmsaCredentialSpecName": ("GMSACredentialSpecName", None),
            "gmsaCredentialSpec": ("GMSACredentialSpec", None),
            "runAsUserName": ("RunAsUserName", None),
            "hostProcess": ("HostProcess", None),
        },
    ),
    "runAsUser": ("RunAsUser", {}),
    "runAsGroup": ("RunAsGroup", {}),
    "runAsNonRoot": ("RunAsNonRoot", {}),
    "readOnlyRootFilesystem": ("ReadOnlyRootFilesystem", {}),
    "allowPrivilegeEscalation": ("AllowPrivilegeEscalation", {}),
    "procMount": ("ProcMount", {}),
    "seccompProfile": ("SeccompProfile", {"type": ("Type", ""), "localhostProfile": ("LocalhostProfile", None)}),
    "appArmorProfile": ("AppArmorProfile", {"type": ("Type", ""), "localhostProfile": ("LocalhostProfile", None)}),
}

_SPEC_LIMIT = 64 * 1024
_DOMAIN_LIMIT, _USER_LIMIT = 256, 104
_NETBIOS = r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}'
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS = rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*"
_NOT_OF_WINDOWS_PODS = (
    "appArmorProfile", "seLinuxOptions", "hostUsers", "hostPID", "hostIPC", "seccompProfile", "fsGroup",
    "fsGroupChangePolicy", "sysctls", "shareProcessNamespace", "runAsUser", "runAsGroup", "supplementalGroups",
    "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_OF_SPEC = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_NOT_OF_WINDOWS_CONTAINERS = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def container_security_errors(container: Struct, *, host_users: bool) -> Iterator[FieldError]:
    """Yield the errors of a container's security context."""
    context = container.pointer("securityContext")
    if context is None:
        return
    for field in ("runAsUser", "runAsGroup"):
        yield from context.out_of_range(field, 0, MAX_ID)
    yield from context.unsupported("procMount", ("Default", "Unmasked"), is_pointer=True)
    if context.get("procMount") == "Unmasked" and host_users:
        yield context.at("procMount").invalid(typed("Unmasked"), "`hostUsers` must be false to use `Unmasked`")
    yield from _seccomp_errors(context.pointer("seccompProfile"))
    yield from _escalation_errors(context)
    yield from _windows_option_errors(context.child("windowsOptions"))
    yield from _apparmor_errors(context.pointer("appArmorProfile"))


def _escalation_errors(context: Struct) -> Iterator[FieldError]:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    added = context.child("capabilities").texts("add")
    refused = ["`privileged` to true"] if context.get("privileged") is True else []
    # Kubernetes looks for this spelling alone, although manifests hardly ever write CAP_.
    refused += ["`capabilities.Add` CAP_SYS_ADMIN"] * added.count("CAP_SYS_ADMIN")
    for other in refused:
        detail = f"cannot set `allowPrivilegeEscalation` to false and {other}"
        yield context.path.invalid(_shown_context(context.fields), detail)


def _shown_context(context: Mapping[str, Any]) -> JsonText:
    """A security context as errors print it: by the names that its fields have in Go, also those that are unset."""
    shown: dict[str, Any] = {}
    for field, (name, parts) in _SHOWN_FIELDS.items():
        value = context.get(field)
        if parts and isinstance(value, dict):
            value = {called: zero if value.get(key) is None else value[key] for key, (called, zero) in parts.items()}
        shown[name] = value
    return JsonText.of(shown)


def pod_security_errors(pod: Struct) -> Iterator[FieldError]:
    """Yield the errors of the security context of a pod, along with the host's namespaces that it joins."""
    context = pod.child("securityContext")
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from context.out_of_range(field, 0, MAX_ID)
    groups = context.get("supplementalGroups")
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        if not 0 <= (integer(group) or 0) <= MAX_ID:
            yield context.at("supplementalGroups").item(index).invalid(group, between(0, MAX_ID))
    if pod.get("shareProcessNamespace") is True and pod.get("hostPID") is True:
        # The message places the field in the security context, where it is not.
        path = Path(context.at("shareProcessNamespace").field, pod.at("shareProcessNamespace").keys)
        yield path.invalid(True, "ShareProcessNamespace and HostPID cannot both be enabled")
    yield from _sysctl_errors(pod, context)
    yield from context.unsupported("fsGroupChangePolicy", ("Always", "OnRootMismatch"), is_pointer=True)
    yield from _seccomp_errors(context.pointer("seccompProfile"))
    yield from _windows_option_errors(context.child("windowsOptions"))
    yield from _apparmor_errors(context.pointer("appArmorProfile"))
    yield from context.unsupported("supplementalGroupsPolicy", ("Merge", "Strict"), is_pointer=True)
    yield from context.unsupported("seLinuxChangePolicy", ("MountOption", "Recursive"), is_pointer=True)


def _sysctl_errors(pod: Struct, context: Struct) -> Iterator[FieldError]:
    seen: set[str] = set()
    for sysctl in context.structs("sysctls"):
        name, path = sysctl.text("name"), sysctl.at("name")
        if not name:
            yield path.required()
        elif len(name) > _SYSCTL_LENGTH or not re.fullmatch(_SYSCTL, name):
            yield path.invalid(name, f"must have at most {_SYSCTL_LENGTH} characters and match regex ^{_SYSCTL}$")
        elif name in seen:
            yield path.duplicate(name)
        seen.add(name)
        dotted = _dotted(name)
        if pod.get("hostNetwork") is True and dotted.startswith("net."):
            yield path.invalid(name, "may not be specified when 'hostNetwork' is true")
        elif pod.get("hostIPC") is True and (dotted == "kernel.sem" or dotted.startswith(_IPC)):
            yield path.invalid(name, "may not be specified when 'hostIPC' is true")


def _dotted(sysctl: str) -> str:
    """The name with dots where it uses slashes to part its words."""
    separator = next((char for char in sysctl if char in "./"), ".")
    return sysctl if separator == "." else sysctl.translate(str.maketrans("./", "/."))


def _seccomp_errors(confinement: Struct | None) -> Iterator[FieldError]:
    if confinement is None:
        return
    kind, path = confinement.text("type"), confinement.at("localhostProfile")
    local = confinement.get("localhostProfile")
    yield from _profile_type_errors(confinement, "seccompProfile")
    if kind == "Localhost" and local is None:
        yield path.required("must be set when seccomp type is Localhost")
    elif kind == "Localhost":
        yield from confinement.optional_text("localhostProfile", descending_path_problems)
    elif local is not None:
        shown = JsonText.of({"Type": kind, "LocalhostProfile": local})
        yield path.invalid(shown, "can only be set when seccomp type is Localhost")


def _profile_type_errors(confinement: Struct, field: str) -> Iterator[FieldError]:
    if not confinement.text("type"):
        yield confinement.at("type").required(f"type is required when {field} is set")
    yield from confinement.unsupported("type", _PROFILES)


def _apparmor_errors(confinement: Struct | None) -> Iterator[FieldError]:
    if confinement is None:
        return
    kind, path = confinement.text("type"), confinement.at("localhostProfile")
    name = confinement.text("localhostProfile")
    if kind == "Localhost":
        if not name:
            yield path.required("must be set when AppArmor type is Localhost")
        elif name != name.strip():
            yield path.invalid(name, "must not be padded with whitespace")
        if size(name) > _PROFILE_LENGTH:
            yield path.too_long(_PROFILE_LENGTH)
    elif kind in _PROFILES and confinement.has("localhostProfile"):
        yield path.invalid(name, "can only be set when AppArmor type is Localhost")
    yield from _profile_type_errors(confinement, "appArmorProfile")


def profile_annotation_errors(
    annotations: Mapping[str, Any], containers: frozenset[str], path: Path
) -> Iterator[FieldError]:
    """Yield the errors of annotations that choose profiles; `containers` are the names of all of the pod's."""
    seccomp = [key for key in sorted(annotations) if key.startswith(_SECCOMP_CONTAINER)]
    for key in [_SECCOMP_POD, *seccomp] if _SECCOMP_POD in annotations else seccomp:
        name, place = text(annotations[key]), path.child(key)
        if name.startswith("localhost/"):
            confinement = name.removeprefix("localhost/")
            yield from place.all_invalid(confinement, descending_path_problems(confinement))
        elif name not in ("runtime/default", "docker/default", "unconfined"):
            yield place.invalid(name, "must be a valid seccomp profile")
    for key in sorted(annotations):
        if key.startswith(_APPARMOR_CONTAINER):
            container, name = key.removeprefix(_APPARMOR_CONTAINER), text(annotations[key])
            if container not in containers:
                yield path.key(key).invalid(container, "container not found")
            if name not in ("", "runtime/default", "unconfined") and not name.startswith("localhost/"):
                yield path.key(key).invalid(name, f"invalid AppArmor profile name: {quoted(name)}")


def annotated_profile_errors(
    annotations: Mapping[str, Any], pod: Struct, containers: Sequence[Struct]
) -> Iterator[FieldError]:
    """Profiles must be those that annotations choose, where there are both."""
    shared = pod.child("securityContext")
    field = "seccompProfile"
    yield from _annotated_errors("seccomp", shared.pointer(field), annotations.get(_SECCOMP_POD), shared.at(field))
    for container in containers:
        context = container.child("securityContext")
        annotation = annotations.get(_SECCOMP_CONTAINER + container.text("name"))
        yield from _annotated_errors("seccomp", context.pointer(field), annotation, context.at(field))
    field = "appArmorProfile"
    for container in containers if pod.child("os").get("name") != "windows" else ():
        context = container.child("securityContext")
        annotation = annotations.get(_APPARMOR_CONTAINER + container.text("name"))
        # A container without a profile of its own has that of the pod.
        confinement = context.pointer(field) or shared.pointer(field)
        yield from _annotated_errors("apparmor", confinement, annotation, context.at(field))


def _annotated_errors(what: str, confinement: Struct | None, annotation: Any, path: Path) -> Iterator[FieldError]:
    """Yield the errors of a profile beside an annotation that may choose another one."""
    if confinement is None or not isinstance(annotation, str):
        return
    kind, known = confinement.text("type"), _ANNOTATED.get(confinement.text("type"))
    by_type = path.child("type").forbidden(f"{what} type in annotation and field must match")
    # `docker/default` is a name of the default seccomp profile only.
    if known is not None and annotation not in known[: 1 if what == "apparmor" else 2]:
        yield by_type
    if kind != "Localhost":
        return
    if not annotation.startswith("localhost/"):
        yield by_type
    elif annotation.removeprefix("localhost/") != confinement.get("localhostProfile"):
        yield path.child("localhostProfile").forbidden(f"{what} profile in annotation and field must match")


def os_errors(pod: Struct, containers: Sequence[Struct]) -> Iterator[FieldError]:
    """Yield the errors of a pod that says on which system it runs."""
    system = pod.pointer("os")
    if system is None:
        return
    name = system.text("name")
    if not name:
        yield system.at("name").required("cannot be empty")
    elif name == "linux":
        for owner in (pod, *containers):
            options = owner.child("securityContext").pointer("windowsOptions")
            if options is not None:
                yield options.path.forbidden("windows options cannot be set for a linux pod")
    elif name == "windows":
        yield from _windows_errors(pod, containers)
    else:
        yield system.path.unsupported(typed(name), ("linux", "windows"))


def _windows_errors(pod: Struct, containers: Sequence[Struct]) -> Iterator[FieldError]:
    detail = "cannot be set for a windows pod"
    context = pod.child("securityContext")
    for field in _NOT_OF_WINDOWS_PODS:
        owner = pod if field in _OF_SPEC else context
        # These two of a pod are no pointers, so that false says nothing.
        if owner.get(field) if field in ("hostPID", "hostIPC") else owner.has(field):
            yield owner.at(field).forbidden(detail)
    for container in containers:
        context = container.child("securityContext")
        for field in filter(context.has, _NOT_OF_WINDOWS_CONTAINERS):
            yield context.at(field).forbidden(detail)


def host_process_errors(pod: Struct, containers: Sequence[Struct]) -> Iterator[FieldError]:
    """Yield the errors of containers that run as processes of a Windows host: all of a pod do, or none."""
    shared = _host_process(pod)
    running = 0
    for container in containers:
        own = _host_process(container)
        if shared is not None and own is not None and shared != own:
            path = container.at("securityContext", "windowsOptions", "hostProcess")
            was = "true" if shared else "false"
            yield path.invalid(own, f"pod hostProcess value must be identical if both are specified, was {was}")
        running += bool(shared if own is None else own)
    if running and running != len(containers):
        all_or_none = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield pod.path.invalid("", all_or_none)
    if running and pod.get("hostNetwork") is not True:
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        yield pod.at("hostNetwork").invalid(False, detail)


def _host_process(owner: Struct) -> bool | None:
    value = owner.child("securityContext", "windowsOptions").get("hostProcess")
    return value if isinstance(value, bool) else None


def _windows_option_errors(options: Struct) -> Iterator[FieldError]:
    """Yield the errors of the Windows part of a security context."""
    yield from options.pointed_text("gmsaCredentialSpecName", is_dns1123_subdomain)
    yield from options.pointed_text("gmsaCredentialSpec", _spec_problems)
    yield from options.pointed_text("runAsUserName", _user_problems)


def _spec_problems(spec: str) -> list[str]:
    if not spec:
        return ["gmsaCredentialSpec cannot be an empty string"]
    return ["gmsaCredentialSpec size must be under 64 KiB"] if size(spec) > _SPEC_LIMIT else []


def _user_problems(name: str) -> Iterator[str]:
    parts = name.split("\\")
    if not name:
        yield "runAsUserName cannot be an empty string"
        return
    if re.search(r"[\x00-\x1f\x7f]", name):
        yield "runAsUserName cannot contain control characters"
        return
    if len(parts) > 2:
        yield "runAsUserName cannot contain more than one backslash"
        return
    domain, user = parts[0] if len(parts) == 2 else None, parts[-1]
    if domain is not None and len(domain) >= _DOMAIN_LIMIT:
        yield f"runAsUserName's Domain length must be under {_DOMAIN_LIMIT} characters"
    if domain is not None and not re.fullmatch(f"{_NETBIOS}|{_DNS}", domain):
        yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format"
    if not user:
        yield "runAsUserName's User cannot be empty"
    elif len(user) > _USER_LIMIT:
        yield f"runAsUserName's User length must not be longer than {_USER_LIMIT} characters"
    if re.fullmatch("[. ]+", user):
        yield "runAsUserName's User cannot contain only periods or spaces"
    if re.search(r'["/\\:;|=,+*?<>@\[\]]', user):
        yield "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"
