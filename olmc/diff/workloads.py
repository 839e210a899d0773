"""Changes of workloads: their images, environment, arguments, resources, security, volumes, and every other field.

Images are those of containers and of their RELATED_IMAGE_ variables, and the related images of a CSV.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from olmc.diff import change_kinds as kinds
from olmc.diff.change import ABSENT, NOTE, DiffChange
from olmc.diff.deltas import Delta, ListItem, Path, path_text
from olmc.diff.matching import IMAGE_VARIABLE, Pair
from olmc.diff.operators import CSV
from olmc.model.objects import KubernetesObject, ObjectKey, mapping, mappings, pod_of, spec_of, text

_POD = ("spec", "template", "spec")
_LOOSENED: tuple[tuple[str, object], ...] = (
    ("privileged", True),
    ("allowPrivilegeEscalation", True),
    ("hostNetwork", True),
    ("hostPID", True),
    ("hostIPC", True),
)
_TIGHT: tuple[tuple[str, object], ...] = (
    ("runAsNonRoot", True),
    ("readOnlyRootFilesystem", True),
    ("allowPrivilegeEscalation", False),
)
_SECURITY = frozenset(("securityContext", "hostNetwork", "hostPID", "hostIPC", "hostPath"))


def image_changes(pair: Pair) -> Iterator[DiffChange]:
    """How the images of an object and its predecessor differ."""
    old, new = images_of(pair.old), images_of(pair.new)
    moved: dict[tuple[str, str], list[str]] = {}
    for place in dict.fromkeys((*old, *new)):
        before, after = old.get(place), new.get(place)
        if before is None:
            yield kinds.image_added(pair.identity, place, after or "")
        elif after is None:
            yield kinds.image_removed(pair.identity, place, before)
        elif before != after:
            moved.setdefault((before, after), []).append(place)
    for (before, after), places in moved.items():
        yield kinds.image_changed(pair.identity, tuple(places), before, after)


def without_repetitions(changes: Iterable[DiffChange]) -> list[DiffChange]:
    """Changes without those of related images of a CSV that a workload of its namespace has as well."""
    # OLM takes the Deployments out of the CSV, so that most of its images are in both; once is enough.
    changes = list(changes)
    images = [change for change in changes if change.kind is kinds.image_changed]
    of_workloads = {_moved_image(change) for change in images if change.identity.kind != CSV}
    repeated = {id(change) for change in images if change.identity.kind == CSV and _moved_image(change) in of_workloads}
    return [change for change in changes if id(change) not in repeated]


def _moved_image(change: DiffChange) -> tuple[str, str, str]:
    return change.identity.namespace, change.values["old"], change.values["new"]


def images_of(obj: KubernetesObject | None) -> dict[str, str]:
    """The images that an object names, by where it does so: `container manager`, `related image proxy`."""
    if obj is None:
        return {}
    if obj.get("kind") == CSV:
        related = mappings(spec_of(obj).get("relatedImages"))
        return {f"related image {text(image.get('name'))}": text(image.get("image")) for image in related}
    images = {}
    for field, word in (("initContainers", "init container"), ("containers", "container")):
        for container in mappings(pod_of(obj).get(field)):
            if text(container.get("image")):
                images[f"{word} {text(container.get('name'))}"] = text(container["image"])
            for variable in mappings(container.get("env")):
                name = text(variable.get("name"))
                if name.startswith(IMAGE_VARIABLE) and text(variable.get("value")):
                    images[f"variable {name}"] = text(variable["value"])
    return images


def workload_changes(identity: ObjectKey, differences: Iterable[Delta]) -> Iterator[DiffChange]:
    """The differences of a workload and its predecessor, each as the change that it is."""
    for delta in differences:
        yield from _changes(identity, delta)


def _changes(identity: ObjectKey, delta: Delta) -> Iterator[DiffChange]:
    path = delta.path
    inside = path[len(_POD) :] if path[: len(_POD)] == _POD else ()
    match inside:
        case ("containers" | "initContainers", ListItem(name)):
            yield _container(identity, name, delta)
        case ("containers" | "initContainers", ListItem(name), "env", ListItem(variable)):
            yield kinds.environment_changed(identity, name, variable, _value(delta.old), _value(delta.new))
        case ("containers" | "initContainers", ListItem(name), "env"):
            yield from _whole_environment(identity, name, delta)
        case ("containers" | "initContainers", ListItem(name), "args" | "command" as field):
            # What only moved comes in as neither added nor removed; of an argument given twice each counts.
            old, new = Counter(_texts(delta.old)), Counter(_texts(delta.new))
            added, removed = tuple((new - old).elements()), tuple((old - new).elements())
            yield kinds.arguments_changed(identity, name, field, added, removed)
        case ("containers" | "initContainers", ListItem(name), "resources", *below):
            for what, before, after in _amounts(tuple(below), delta.old, delta.new):
                yield kinds.resources_changed(identity, name, what, before, after)
        case _ if inside and (_SECURITY & {step for step in inside if isinstance(step, str)} or _hosts(delta)):
            for leaf in _leaves(delta):
                # Of a volume that comes or goes only the part that is on the node concerns security.
                if not _hosts(delta) or "hostPath" in leaf.path:
                    loosened = _loosened(leaf)
                    yield kinds.security_changed(identity, _below_pod(leaf.path), leaf.old, leaf.new, loosened)
        case _:
            yield kinds.field_changed(identity, _below_pod(path), delta.old, delta.new, NOTE)


def _container(identity: ObjectKey, name: str, delta: Delta) -> DiffChange:
    if delta.new is ABSENT:
        return kinds.container_removed(identity, name)
    privileged = mapping(mapping(delta.new).get("securityContext")).get("privileged") is True
    return kinds.container_added(identity, name, privileged)


def _whole_environment(identity: ObjectKey, name: str, delta: Delta) -> Iterator[DiffChange]:
    """An environment that comes or goes as a whole."""
    for items, is_new in ((delta.old, False), (delta.new, True)):
        for variable in items if isinstance(items, list) else ():
            pair = (ABSENT, _value(variable)) if is_new else (_value(variable), ABSENT)
            yield kinds.environment_changed(identity, name, str(variable.get("name")), *pair)


def _value(value: Any) -> Any:
    """What a variable is set to, of an item of `env`."""
    if not isinstance(value, dict):
        return value
    return value.get("valueFrom", value.get("value", ""))


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _amounts(path: Path, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The amounts below a place in `resources`, one by one."""
    if not isinstance(old, dict) and not isinstance(new, dict):
        yield path_text(path) or "resources", old, new
        return
    before, after = (value if isinstance(value, dict) else {} for value in (old, new))
    for key in sorted(before.keys() | after.keys()):
        yield from _amounts((*path, key), before.get(key, ABSENT), after.get(key, ABSENT))


def _leaves(delta: Delta) -> Iterator[Delta]:
    """The fields of a mapping that comes or goes as a whole, so that each is judged."""
    for value, is_new in ((delta.new, True), (delta.old, False)):
        other = delta.old if is_new else delta.new
        if isinstance(value, dict) and value and other is ABSENT:
            for key, below in value.items():
                pair = (ABSENT, below) if is_new else (below, ABSENT)
                yield from _leaves(Delta((*delta.path, key), *pair))
            return
    yield delta


def _hosts(delta: Delta) -> bool:
    """Whether a volume of the node comes or goes."""
    return any(isinstance(value, dict) and "hostPath" in value for value in (delta.old, delta.new))


def _loosened(delta: Delta) -> bool:
    field = next((step for step in reversed(delta.path) if isinstance(step, str)), "")
    if "hostPath" in delta.path:
        return delta.new is not ABSENT
    if "capabilities" in delta.path and field in ("add", "drop"):
        more, less = (delta.new, delta.old) if field == "add" else (delta.old, delta.new)
        return bool(set(_texts(more)) - set(_texts(less)))
    if field in ("runAsUser", "runAsGroup"):
        return bool(delta.new == 0)
    gained = any(field == name and delta.new is value for name, value in _LOOSENED)
    return gained or any(field == name and delta.old is value for name, value in _TIGHT)


def _below_pod(path: Path) -> str:
    """The path of a field, from the pod's spec on if it is in there."""
    return path_text(path[len(_POD) :] if path[: len(_POD)] == _POD and len(path) > len(_POD) else path)
