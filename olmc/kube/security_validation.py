"""Security contexts of pods and containers, and the annotations that were their forerunners."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmc.kube.field_errors import FieldError, Shown
from olmc.kube.field_path import Path, present, typed
from olmc.kube.names import descending_path_errors, id_errors
from olmc.model.coerce import mapping, mappings, text, texts
from olmc.strconv import quoted

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_LENGTH = 253
_IPC = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_PROFILE_LENGTH = 4095

SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR_CONTAINER = "container.apparmor.security.beta.kubernetes.io/"


def container_security_errors(context: Any, path: Path, *, host_users: bool) -> Iterator[FieldError]:
    """What is wrong with a container's security context."""
    given = present(context)
    if given is None:
        return
    for field in ("runAsUser", "runAsGroup"):
        yield from id_errors(given.get(field), path.child(field))
    mount, here = given.get("procMount"), path.child("procMount")
    if isinstance(mount, str) and mount not in ("Default", "Unmasked"):
        yield here.unsupported(typed(mount), ("Default", "Unmasked"))
    if mount == "Unmasked" and host_users:
        yield here.invalid(typed("Unmasked"), "`hostUsers` must be false to use `Unmasked`")
    yield from _seccomp_errors(given.get("seccompProfile"), path.child("seccompProfile"))
    yield from _escalation_errors(given, path)
    yield from _windows_errors(given, path.child("windowsOptions"))
    yield from _apparmor_errors(given.get("appArmorProfile"), path.child("appArmorProfile"))


def _escalation_errors(context: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    if context.get("allowPrivilegeEscalation") is not False:
        return
    refused = "cannot set `allowPrivilegeEscalation` to false and"
    if context.get("privileged") is True:
        yield path.invalid(_shown(context), f"{refused} `privileged` to true")
    for name in texts(mapping(context.get("capabilities")).get("add")):
        if name == "CAP_SYS_ADMIN":
            yield path.invalid(_shown(context), f"{refused} `capabilities.Add` CAP_SYS_ADMIN")


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


def _shown(context: Mapping[str, Any]) -> Shown:
    """A security context as errors print it: by the names that its fields have in Go, also those that are unset."""
    shown: dict[str, Any] = {}
    for field, (name, parts) in _SHOWN_FIELDS.items():
        value = context.get(field)
        inner = present(value)
        shown[name] = value if inner is None or not parts else _shown_parts(inner, parts)
    return Shown.json(shown)


def _shown_parts(given: Mapping[str, Any], parts: Mapping[str, tuple[str, Any]]) -> dict[str, Any]:
    return {name: unset if given.get(field) is None else given[field] for field, (name, unset) in parts.items()}


def pod_security_errors(pod: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    """What is wrong with the security context of a pod, along with the host's namespaces that it joins."""
    context = mapping(pod.get("securityContext"))
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from id_errors(context.get(field), path.child(field))
    groups = context.get("supplementalGroups")
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        yield from id_errors(group, path.child("supplementalGroups").item(index))
    if pod.get("shareProcessNamespace") is True and pod.get("hostPID") is True:
        here = Path(f"{path.field}.shareProcessNamespace", (*path.keys[:-1], "shareProcessNamespace"))
        yield here.invalid(True, "ShareProcessNamespace and HostPID cannot both be enabled")
    yield from _sysctl_errors(pod, context, path.child("sysctls"))
    yield from _known(context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), path)
    yield from _seccomp_errors(context.get("seccompProfile"), path.child("seccompProfile"))
    yield from _windows_errors(context, path.child("windowsOptions"))
    yield from _apparmor_errors(context.get("appArmorProfile"), path.child("appArmorProfile"))
    yield from _known(context, "supplementalGroupsPolicy", ("Merge", "Strict"), path)
    yield from _known(context, "seLinuxChangePolicy", ("MountOption", "Recursive"), path)


def _windows_errors(context: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    options = present(context.get("windowsOptions"))
    if options is not None:
        from olmc.kube.windows_validation import windows_option_errors  # hardly any pod has them

        yield from windows_option_errors(options, path)


def _known(context: Mapping[str, Any], field: str, values: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    value = context.get(field)
    if isinstance(value, str) and value not in values:
        yield path.child(field).unsupported(typed(value), values)


def _sysctl_errors(pod: Mapping[str, Any], context: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, sysctl in enumerate(mappings(context.get("sysctls"))):
        here, name = path.item(index).child("name"), text(sysctl.get("name"))
        if not name:
            yield here.required()
        elif len(name) > _SYSCTL_LENGTH or not re.fullmatch(_SYSCTL, name):
            rule = f"must have at most {_SYSCTL_LENGTH} characters and match regex ^{_SYSCTL}$"
            yield here.invalid(name, rule)
        elif name in seen:
            yield here.duplicate(name)
        seen.add(name)
        dotted = _dotted(name)
        if pod.get("hostNetwork") is True and dotted.startswith("net."):
            yield here.invalid(name, "may not be specified when 'hostNetwork' is true")
        elif pod.get("hostIPC") is True and (dotted == "kernel.sem" or dotted.startswith(_IPC)):
            yield here.invalid(name, "may not be specified when 'hostIPC' is true")


def _dotted(sysctl: str) -> str:
    """The name with dots where it uses slashes to part its words."""
    separator = next((char for char in sysctl if char in "./"), ".")
    return sysctl if separator == "." else sysctl.translate(str.maketrans("./", "/."))


def _seccomp_errors(profile: Any, path: Path) -> Iterator[FieldError]:
    given = present(profile)
    if given is None:
        return
    kind, local = text(given.get("type")), given.get("localhostProfile")
    here = path.child("localhostProfile")
    if not kind:
        yield path.child("type").required("type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield path.child("type").unsupported(typed(kind), _PROFILES)
    if kind == "Localhost" and local is None:
        yield here.required("must be set when seccomp type is Localhost")
    elif kind == "Localhost":
        yield from descending_path_errors(text(local), here)
    elif local is not None:
        shown = Shown.json({"Type": kind, "LocalhostProfile": local})
        yield here.invalid(shown, "can only be set when seccomp type is Localhost")


def _apparmor_errors(profile: Any, path: Path) -> Iterator[FieldError]:
    given = present(profile)
    if given is None:
        return
    kind, local = text(given.get("type")), given.get("localhostProfile")
    here, name = path.child("localhostProfile"), text(local)
    if kind == "Localhost":
        if not name:
            yield here.required("must be set when AppArmor type is Localhost")
        elif name != name.strip():
            yield here.invalid(name, "must not be padded with whitespace")
        if len(name.encode("utf-8", "surrogatepass")) > _PROFILE_LENGTH:
            yield here.too_long(_PROFILE_LENGTH)
    elif kind in _PROFILES:
        if local is not None:
            yield here.invalid(name, "can only be set when AppArmor type is Localhost")
    elif not kind:
        yield path.child("type").required("type is required when appArmorProfile is set")
    else:
        yield path.child("type").unsupported(typed(kind), _PROFILES)


def profile_annotation_errors(
    annotations: Mapping[str, Any], containers: frozenset[str], path: Path
) -> Iterator[FieldError]:
    """What is wrong with annotations that choose profiles; `containers` are the names of all of the pod's."""
    if SECCOMP_POD in annotations:
        yield from _seccomp_annotation_errors(text(annotations[SECCOMP_POD]), path.child(SECCOMP_POD))
    for key in sorted(annotations):
        if key.startswith(SECCOMP_CONTAINER):
            yield from _seccomp_annotation_errors(text(annotations[key]), path.child(key))
    for key in sorted(annotations):
        if key.startswith(APPARMOR_CONTAINER):
            container, named = key.removeprefix(APPARMOR_CONTAINER), text(annotations[key])
            if container not in containers:
                yield path.key(key).invalid(container, "container not found")
            if named not in ("", "runtime/default", "unconfined") and not named.startswith("localhost/"):
                yield path.key(key).invalid(named, f"invalid AppArmor profile name: {quoted(named)}")


def _seccomp_annotation_errors(named: str, path: Path) -> Iterator[FieldError]:
    if named.startswith("localhost/"):
        yield from descending_path_errors(named.removeprefix("localhost/"), path)
    elif named not in ("runtime/default", "docker/default", "unconfined"):
        yield path.invalid(named, "must be a valid seccomp profile")


_ANNOTATED = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default", "docker/default")}


def annotated_seccomp_errors(profile: Any, annotation: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with a seccomp profile beside an annotation that may choose another one."""
    yield from _annotated_errors(profile, annotation, "seccomp", path)


def annotated_apparmor_errors(profile: Any, annotation: Any, path: Path) -> Iterator[FieldError]:
    """The same for AppArmor."""
    yield from _annotated_errors(profile, annotation, "apparmor", path)


def _annotated_errors(profile: Any, annotation: Any, what: str, path: Path) -> Iterator[FieldError]:
    given = present(profile)
    if given is None or not isinstance(annotation, str):
        return
    kind, local = text(given.get("type")), given.get("localhostProfile")
    known = _ANNOTATED.get(kind)
    by_type = path.child("type").forbidden(f"{what} type in annotation and field must match")
    if known is not None and annotation not in known[: 1 if what == "apparmor" else 2]:
        yield by_type
    if kind != "Localhost":
        return
    if not annotation.startswith("localhost/"):
        yield by_type
    elif annotation.removeprefix("localhost/") != local:
        yield path.child("localhostProfile").forbidden(f"{what} profile in annotation and field must match")
