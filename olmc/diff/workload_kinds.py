"""The kinds of changes of Deployments and other workloads, and of images: those of containers, of variables that name
images, and the related images of CSVs."""

from __future__ import annotations

import re
from typing import Any

from olmc.diff.change import (
    ADDED,
    CHANGE,
    CHANGED,
    NOTE,
    REMOVED,
    RISK,
    ChangeGroup,
    Judgement,
    Message,
    UntrustedText,
    change_kind,
    from_to,
    listed,
    shown,
)
from olmc.kube.image_references import has_digest, is_floating, registry_of
from olmc.lean import regex

_REFERENCE = regex(r"(.*?)((?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:@[a-z0-9]+:[0-9a-f]+)?)", re.DOTALL)
_MOST = 12
_DIGEST = regex(r"(@[a-z0-9]+:[0-9a-f]{12})[0-9a-f]+")


@change_kind("ImageChanged", ChangeGroup.IMAGES, CHANGED)
def image_changed(places: tuple[str, ...], old: str, new: str) -> Judgement:
    """Another image; `places` are all that had the one and have the other: containers, variables, related images."""
    (old_name, old_version), (new_name, new_version) = _parts(old), _parts(new)
    doubts = _doubts(old, new)
    severity = RISK if doubts else CHANGE
    if not doubts and old_name != new_name:
        doubts = ("from another repository",)
    remark = "".join(f"; {doubt}" for doubt in doubts)
    if old_name == new_name and old_version and new_version:
        versions = (UntrustedText(old_version), " → ", UntrustedText(new_version))
        return severity, (*listed(places), ": ", UntrustedText(old_name), " ", *versions, remark)
    return severity, (*listed(places), ": ", _short(old), " → ", _short(new), remark)


def _doubts(old: str, new: str) -> tuple[str, ...]:
    """What makes another image less certain than the one before: who serves it, and whether it stays the same."""
    doubts = []
    if registry_of(old) != registry_of(new):
        doubts.append("from another registry")
    if is_floating(new) and not is_floating(old):
        doubts.append("what it names may change any day")
    elif has_digest(old) and not has_digest(new):
        doubts.append("no longer pinned by a digest, so a tag may be moved")
    return tuple(doubts)


@change_kind("ImageAdded", ChangeGroup.IMAGES, ADDED)
def image_added(place: str, image: str) -> Judgement:
    """An image for a place that the old side does not have."""
    return CHANGE, (shown(place), ": ", _short(image), " (new)")


@change_kind("ImageRemoved", ChangeGroup.IMAGES, REMOVED)
def image_removed(place: str, image: str) -> Judgement:
    """An image of a place that the new side does not have."""
    return NOTE, (shown(place), " is gone; it was ", _short(image))


def _parts(image: str) -> tuple[str, str]:
    """The name of an image, and its tag and digest; of a digest the part by which people know it."""
    match = _REFERENCE.fullmatch(image)
    name, version = match.groups() if match is not None else (image, "")
    return name, _DIGEST.sub(r"\1", version)


def image_name(image: str) -> str:
    """An image without its tag and its digest."""
    return _parts(image)[0]


def _short(image: str) -> UntrustedText:
    return UntrustedText("".join(_parts(image)))


@change_kind("WorkloadAdded", ChangeGroup.DEPLOYMENTS, ADDED)
def workload_added(dangers: tuple[str, ...]) -> Judgement:
    """A workload that only the new side has; `dangers` are the settings by which its pods may do more than others."""
    return RISK if dangers else CHANGE, ("new", *_warning(dangers))


@change_kind("WorkloadRemoved", ChangeGroup.DEPLOYMENTS, REMOVED)
def workload_removed() -> Judgement:
    """A workload that only the old side has."""
    return CHANGE, ("removed",)


@change_kind("WorkloadReplaced", ChangeGroup.DEPLOYMENTS, CHANGED)
def workload_replaced(old: str) -> Judgement:
    """A workload under another name that takes the place of one that the new side does not have."""
    return CHANGE, ("has a new name: ", shown(old), " is gone, and this takes its place")


@change_kind("ContainerAdded", ChangeGroup.DEPLOYMENTS, ADDED)
def container_added(container: str, init: bool, dangers: tuple[str, ...]) -> Judgement:
    """A container that the old side does not have; the images have its image. `dangers` are those of WorkloadAdded."""
    return RISK if dangers else CHANGE, (
        f"new {'init ' * init}container ", shown(container), *_warning(dangers)
    )  # fmt: skip


def _warning(dangers: tuple[str, ...]) -> Message:
    return ("; it may do more than others: ", *listed(dangers, _MOST)) if dangers else ()


@change_kind("ContainerRenamed", ChangeGroup.DEPLOYMENTS, CHANGED)
def container_renamed(container: str, old: str) -> Judgement:
    """A container under another name that takes the place of one that the new side does not have."""
    return NOTE, ("container ", shown(container), " has a new name; it was ", shown(old))


@change_kind("AccountChanged", ChangeGroup.DEPLOYMENTS, CHANGED)
def account_changed(old: str, new: str) -> Judgement:
    """Another ServiceAccount that pods run as; `default` is that of all pods of the namespace that name none."""
    names: Message = ("runs as ServiceAccount ", shown(new), " instead of ", shown(old))
    if new != "default":
        return CHANGE, names
    return RISK, (*names, ": every pod of the namespace that names no other has its permissions")


@change_kind("ContainerRemoved", ChangeGroup.DEPLOYMENTS, REMOVED)
def container_removed(container: str) -> Judgement:
    """A container that the new side does not have."""
    return CHANGE, ("container ", shown(container), " is gone")


@change_kind("EnvironmentChanged", ChangeGroup.DEPLOYMENTS)
def environment_changed(container: str, variable: str, old: Any, new: Any) -> Judgement:
    """A variable of a container's environment; a value from elsewhere is the mapping that names its source."""
    return CHANGE, (shown(container), ": variable ", shown(variable), *from_to(old, new))


@change_kind("ArgumentsChanged", ChangeGroup.DEPLOYMENTS, CHANGED)
def arguments_changed(container: str, field: str, added: tuple[str, ...], removed: tuple[str, ...]) -> Judgement:
    """The command or the arguments of a container: what comes and what goes; neither if only the order is another."""
    start: Message = (shown(container), f": {field}")
    if not added and not removed:
        return CHANGE, (*start, " in another order")
    less: Message = (" without ", *listed(removed), "," if added else "") if removed else ()
    return CHANGE, (*start, *less, *((" with ", *listed(added)) if added else ()))


@change_kind("ResourcesChanged", ChangeGroup.DEPLOYMENTS)
def resources_changed(container: str, what: str, old: Any, new: Any) -> Judgement:
    """A limit or a request of a container; `what` as `limits.memory`."""
    return CHANGE, (shown(container), ": ", shown(what), *from_to(old, new))


@change_kind("SecurityChanged", ChangeGroup.DEPLOYMENTS)
def security_changed(path: str, old: Any, new: Any, loosened: bool) -> Judgement:
    """A setting that decides what a pod may do to its node; `loosened` if it may do more than before."""
    warning = ("; the pod may do more than before",) if loosened else ()
    return RISK if loosened else CHANGE, (shown(path), *from_to(old, new), *warning)
