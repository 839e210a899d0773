"""Changes of images: of the containers of workloads, and of the list of related images that a CSV has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmc.load.validation.views import mapping, mappings, text
from olmc.model.objects import Identity, KubernetesObject
from olmc.review.diff.change import Gravity, Group, Sentence, Sign, shown
from olmc.review.diff.matching import Pair
from olmc.review.diff.operators import CSV

__all__ = ["WORKLOADS", "ImageAdded", "ImageChanged", "ImageRemoved", "image_changes"]

WORKLOADS = frozenset(("DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"))


@dataclass(frozen=True)
class ImageChanged:
    """Another image for a container, or for a name in the list of related images; `place` says which."""

    identity: Identity
    place: str
    old: str
    new: str

    group = Group.IMAGES
    gravity = Gravity.CHANGE
    sign = Sign.CHANGED

    def sentence(self) -> Sentence:
        return (shown(self.place), ": ", shown(self.old), " → ", shown(self.new))


@dataclass(frozen=True)
class ImageAdded:
    """An image for a container or a name that the old side does not have."""

    identity: Identity
    place: str
    image: str

    group = Group.IMAGES
    gravity = Gravity.CHANGE
    sign = Sign.ADDED

    def sentence(self) -> Sentence:
        return (shown(self.place), ": ", shown(self.image), " (new)")


@dataclass(frozen=True)
class ImageRemoved:
    """An image of a container or a name that the new side does not have."""

    identity: Identity
    place: str
    image: str

    group = Group.IMAGES
    gravity = Gravity.NOTE
    sign = Sign.REMOVED

    def sentence(self) -> Sentence:
        return (shown(self.place), " is gone; it was ", shown(self.image))


def image_changes(pair: Pair) -> Iterator[ImageChanged | ImageAdded | ImageRemoved]:
    """How the images of an object and its predecessor differ."""
    old, new = images_of(pair.old), images_of(pair.new)
    for place in dict.fromkeys((*old, *new)):
        before, after = old.get(place), new.get(place)
        if before == after:
            continue
        if before is None:
            yield ImageAdded(pair.identity, place, after or "")
        elif after is None:
            yield ImageRemoved(pair.identity, place, before)
        else:
            yield ImageChanged(pair.identity, place, before, after)


def images_of(obj: KubernetesObject | None) -> dict[str, str]:
    """The images that an object names, by where it does so: `container manager`, `related image proxy`."""
    if obj is None:
        return {}
    if obj.get("kind") == CSV:
        related = mappings(mapping(obj.get("spec")).get("relatedImages"))
        return {f"related image {text(each.get('name'))}": text(each.get("image")) for each in related}
    found = {}
    for field, word in (("initContainers", "init container"), ("containers", "container")):
        for each in mappings(pod_of(obj).get(field)):
            if text(each.get("image")):
                found[f"{word} {text(each.get('name'))}"] = text(each["image"])
    return found


def pod_of(obj: KubernetesObject) -> Mapping[str, Any]:
    """The pod spec of a workload, {} for anything else."""
    return mapping(mapping(mapping(obj.get("spec")).get("template")).get("spec"))
