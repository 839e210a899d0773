"""Changes of images: of containers of workloads, of their RELATED_IMAGE_ variables, of a CSV's related images."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmc.model.coerce import mapping, mappings, text
from olmc.model.objects import Identity, KubernetesObject
from olmc.review.diff.change import Change, Foreign, Gravity, Group, Sentence, Sign, listed, shown
from olmc.review.diff.matching import Pair
from olmc.review.diff.operators import CSV

__all__ = [
    "IMAGE_VARIABLE", "WORKLOADS", "ImageAdded", "ImageChanged", "ImageRemoved", "image_changes", "without_repetitions",
]  # fmt: skip

WORKLOADS = frozenset(("DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"))
IMAGE_VARIABLE = "RELATED_IMAGE_"
"""How the variables begin by which an operator is told which images to use."""

_REFERENCE = re.compile(r"(.*?)((?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?(?:@[a-z0-9]+:[0-9a-f]+)?)", re.DOTALL)
_DIGEST = re.compile(r"(@[a-z0-9]+:[0-9a-f]{12})[0-9a-f]+")


@dataclass(frozen=True)
class ImageChanged:
    """Another image; `places` are all that had the one and have the other: containers, variables, related images."""

    identity: Identity
    places: tuple[str, ...]
    old: str
    new: str

    group = Group.IMAGES
    gravity = Gravity.CHANGE
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        (old_name, old_version), (new_name, new_version) = _parts(self.old), _parts(self.new)
        if old_name == new_name and old_version and new_version:
            versions = (Foreign(old_version), " → ", Foreign(new_version))
            return (*listed(self.places), ": ", Foreign(old_name), " ", *versions)
        return (*listed(self.places), ": ", _short(self.old), " → ", _short(self.new))


@dataclass(frozen=True)
class ImageAdded:
    """An image for a place that the old side does not have."""

    identity: Identity
    place: str
    image: str

    group = Group.IMAGES
    gravity = Gravity.CHANGE
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return (shown(self.place), ": ", _short(self.image), " (new)")


@dataclass(frozen=True)
class ImageRemoved:
    """An image of a place that the new side does not have."""

    identity: Identity
    place: str
    image: str

    group = Group.IMAGES
    gravity = Gravity.NOTE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return (shown(self.place), " is gone; it was ", _short(self.image))


def _parts(image: str) -> tuple[str, str]:
    """The name of an image, and its tag and digest; of a digest the part by which people know it."""
    found = _REFERENCE.fullmatch(image)
    name, version = found.groups() if found is not None else (image, "")
    return name, _DIGEST.sub(r"\1", version)


def _short(image: str) -> Foreign:
    return Foreign("".join(_parts(image)))


def image_changes(pair: Pair) -> Iterator[ImageChanged | ImageAdded | ImageRemoved]:
    """How the images of an object and its predecessor differ."""
    old, new = images_of(pair.old), images_of(pair.new)
    moved: dict[tuple[str, str], list[str]] = {}
    for place in dict.fromkeys((*old, *new)):
        before, after = old.get(place), new.get(place)
        if before is None:
            yield ImageAdded(pair.identity, place, after or "")
        elif after is None:
            yield ImageRemoved(pair.identity, place, before)
        elif before != after:
            moved.setdefault((before, after), []).append(place)
    for (before, after), places in moved.items():
        yield ImageChanged(pair.identity, tuple(places), before, after)


def without_repetitions(changes: Iterable[Change]) -> list[Change]:
    """Changes without those of related images of a CSV that a workload of its namespace has as well."""
    every = list(changes)
    told = {
        (change.identity.namespace, change.old, change.new)
        for change in every
        if isinstance(change, ImageChanged) and change.identity.kind != CSV
    }
    return [change for change in every if not _is_repetition(change, told)]


def _is_repetition(change: Change, told: set[tuple[str, str, str]]) -> bool:
    if not isinstance(change, ImageChanged) or change.identity.kind != CSV:
        return False
    return (change.identity.namespace, change.old, change.new) in told


def images_of(obj: KubernetesObject | None) -> dict[str, str]:
    """The images that an object names, by where it does so: `container manager`, `related image proxy`."""
    if obj is None:
        return {}
    if obj.get("kind") == CSV:
        related = mappings(mapping(obj.get("spec")).get("relatedImages"))
        return {f"related image {text(each.get('name'))}": text(each.get("image")) for each in related}
    found = {}
    for field, word in (("initContainers", "init container"), ("containers", "container")):
        for each in mappings(_pod_of(obj).get(field)):
            if text(each.get("image")):
                found[f"{word} {text(each.get('name'))}"] = text(each["image"])
            for variable in mappings(each.get("env")):
                name = text(variable.get("name"))
                if name.startswith(IMAGE_VARIABLE) and text(variable.get("value")):
                    found[f"variable {name}"] = text(variable["value"])
    return found


def _pod_of(obj: KubernetesObject) -> Mapping[str, Any]:
    return mapping(mapping(mapping(obj.get("spec")).get("template")).get("spec"))
