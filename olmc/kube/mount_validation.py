"""Where containers mount the volumes of their pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmc.kube.field_errors import FieldError
from olmc.kube.field_path import Path, present, typed
from olmc.kube.names import backstep_errors, descending_path_errors
from olmc.model.coerce import mapping, mappings, text

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")

Volumes = Mapping[str, Mapping[str, Any]]


def mount_errors(container: Mapping[str, Any], volumes: Volumes, path: Path) -> Iterator[FieldError]:
    """What is wrong with a container's volumeMounts; `volumes` are those of the pod that have no errors."""
    devices = _paths(container, "volumeDevices", "devicePath")
    taken: set[str] = set()
    for index, mount in enumerate(mappings(container.get("volumeMounts"))):
        here = path.item(index)
        name, where = text(mount.get("name")), text(mount.get("mountPath"))
        if not name:
            yield here.child("name").required()
        if name not in volumes:
            yield here.child("name").not_found(name)
        if not where:
            yield here.child("mountPath").required()
        if where in taken:
            yield here.child("mountPath").invalid(where, "must be unique")
        taken.add(where)
        if name in devices:
            yield here.child("name").invalid(name, "must not already exist in volumeDevices")
        if where in devices.values():
            yield here.child("mountPath").invalid(where, "must not already exist as a path in volumeDevices")
        # Of the other fields Kubernetes does not say whose they are.
        yield from _part_errors(mount, here, path)
        unnumbered = path.at(index)
        yield from _propagation_errors(mount, container, unnumbered.child("mountPropagation"))
        yield from _read_only_errors(mount, unnumbered.child("recursiveReadOnly"))


def _paths(container: Mapping[str, Any], field: str, path: str) -> dict[str, str]:
    """The paths of mounts or devices by the name of their volume, the last one of each."""
    return {text(each.get("name")): text(each.get(path)) for each in mappings(container.get(field))}


def _part_errors(mount: Mapping[str, Any], here: Path, mounts: Path) -> Iterator[FieldError]:
    part, expression = text(mount.get("subPath")), text(mount.get("subPathExpr"))
    if part:
        yield from descending_path_errors(part, _unnumbered(mounts, here, "subPath"))
    if part and expression:
        yield here.child("subPathExpr").invalid(expression, "subPathExpr and subPath are mutually exclusive")
    if expression:
        yield from descending_path_errors(expression, _unnumbered(mounts, here, "subPathExpr"))


def _unnumbered(mounts: Path, mount: Path, field: str) -> Path:
    return Path(f"{mounts.field}.{field}", (*mount.keys, field))


def _propagation_errors(mount: Mapping[str, Any], container: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    mode = mount.get("mountPropagation")
    if not isinstance(mode, str):
        return
    if mode not in _PROPAGATIONS:
        yield path.unsupported(typed(mode), _PROPAGATIONS)
    if mode == "Bidirectional" and mapping(container.get("securityContext")).get("privileged") is not True:
        yield path.forbidden("Bidirectional mount propagation is available only to privileged containers")


def _read_only_errors(mount: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    mode = mount.get("recursiveReadOnly")
    if not isinstance(mode, str) or mode == "Disabled":
        return
    if mode not in _READ_ONLY:
        yield path.unsupported(typed(mode), _READ_ONLY)
        return
    if mount.get("readOnly") is not True:
        yield path.forbidden("may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        yield path.forbidden("may only be specified when mountPropagation is None or not specified")


def device_errors(container: Mapping[str, Any], volumes: Volumes, path: Path) -> Iterator[FieldError]:
    """What is wrong with a container's volumeDevices, which need claims."""
    mounts = _paths(container, "volumeMounts", "mountPath")
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(mappings(container.get("volumeDevices"))):
        here = path.item(index)
        name, where = text(device.get("name")), text(device.get("devicePath"))
        if not name:
            yield here.child("name").required()
        if name in names:
            yield here.child("name").invalid(name, "must be unique")
        if name not in volumes:
            yield here.child("name").not_found(name)
        elif not _is_claim(volumes[name]):
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield here.child("name").invalid(name, detail)
        if not where:
            yield here.child("devicePath").required()
        if where in paths:
            yield here.child("devicePath").invalid(where, "must be unique")
        if backstep_errors(where, here):
            yield here.child("devicePath").invalid(where, "can not contain backsteps ('..')")
        else:
            paths.add(where)
        if name in mounts:
            yield here.child("name").invalid(name, "must not already exist in volumeMounts")
        if where in mounts.values():
            yield here.child("devicePath").invalid(where, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _is_claim(volume: Mapping[str, Any]) -> bool:
    return any(present(volume.get(kind)) is not None for kind in ("persistentVolumeClaim", "ephemeral"))
