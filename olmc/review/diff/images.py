"""Changes of images: those of containers and of the variables that name some, and the related images of a CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

from olmc.compiler.model.workspace import EXTENSIONS_V1
from olmc.k8s.objects import (
    OLM_GROUP,
    KubernetesObject,
    ObjectKey,
    mapping,
    mappings,
    object_key,
    pod_of,
    spec_of,
    text,
)
from olmc.review.diff import crd_kinds as kinds
from olmc.review.diff.crd_kinds import DiffChange
from olmc.review.diff.matching import Pair
from olmc.review.diff.noise import image_of
from olmc.review.diff.operators import CSV

_CATALOG_IMAGES = {
    (OLM_GROUP, "CatalogSource"): ("spec", "image"),
    (EXTENSIONS_V1.partition("/")[0], "ClusterCatalog"): ("spec", "source", "image", "ref"),
}


def image_changes(pair: Pair) -> Iterator[DiffChange]:
    """How the images of an object and its predecessor differ."""
    old, new = images_of(pair.old), images_of(pair.new)
    moved: dict[tuple[str, str], list[str]] = {}
    if pair.identity.kind == CSV:
        old = _with_new_names(old, new)
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


def _with_new_names(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """Related images by the names that they have later: tools make names of digests, and every version has another.

    One that is the only one of its repository whose name goes has the name of the only one that comes.
    """
    gone, come = _once(old, new), _once(new, old)
    names = {gone[repository]: come[repository] for repository in gone.keys() & come.keys()}
    return {names.get(place, place): image for place, image in old.items()}


def _once(images: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    """By repository the place of its only image among those whose place the others do not have."""
    left = {place: kinds.image_name(image) for place, image in images.items() if place not in others}
    total = Counter(left.values())
    return {repository: place for place, repository in left.items() if total[repository] == 1}


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


def catalog_image_path(known: ObjectKey) -> tuple[tuple[str, ...], ...]:
    """Name the field with the image that a CatalogSource or a ClusterCatalog serves; none for other objects."""
    path = _CATALOG_IMAGES.get((known.group, known.kind))
    return (path,) if path is not None else ()


def _catalog_image(obj: KubernetesObject) -> str:
    for path in catalog_image_path(object_key(obj)):
        holder: Mapping[str, Any] = reduce(lambda value, step: mapping(value.get(step)), path[:-1], obj)
        return text(holder.get(path[-1]))
    return ""


def images_of(obj: KubernetesObject | None) -> dict[str, str]:
    """The images that an object names, by where it does so: `container manager`, `related image proxy`."""
    if obj is None:
        return {}
    if obj.get("kind") == CSV:
        related = mappings(spec_of(obj).get("relatedImages"))
        return {f"related image {text(image.get('name'))}": text(image.get("image")) for image in related}
    catalog = _catalog_image(obj)
    images = {"catalog": catalog} if catalog else {}
    for field, word in (("initContainers", "init container"), ("containers", "container")):
        for container in mappings(pod_of(obj).get(field)):
            if text(container.get("image")):
                images[f"{word} {text(container.get('name'))}"] = text(container["image"])
            for variable in mappings(container.get("env")):
                if image := image_of(variable):
                    images[f"variable {text(variable.get('name'))}"] = image
    return images
