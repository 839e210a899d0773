"""Which objects of a side are not compared because they are derived from others, and change with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from olmc.diff.extensions import extensions, owner_of
from olmc.diff.operators import CSV, is_copy
from olmc.kube.applied import is_object
from olmc.model.objects import KubernetesObject, ObjectKey, mapping, mappings, object_key, spec_of, text
from olmc.model.operators import OLM_GROUP
from olmc.model.workspace import EXTENSIONS_V1

if TYPE_CHECKING:
    from olmc.diff.sides import Side

Folded = tuple[str, KubernetesObject]
"""The kind of noise that an object is, and the object."""


def unfolded(side: Side) -> tuple[list[KubernetesObject], dict[ObjectKey, Folded]]:
    """The objects that are compared, and those that are folded with what kind of noise they are.

    A ClusterObjectSet that no ClusterExtension has is compared with the objects in it, which OLM makes.
    """
    owners, there = extensions(side.objects), {object_key(obj) for obj in side.objects}
    kept: list[KubernetesObject] = []
    folded: dict[ObjectKey, Folded] = {}
    for obj in side.objects:
        known = object_key(obj)
        noise = _folded_kind(obj, there, () if known in side.manifests else owners)
        if noise:
            folded[known] = noise, obj
            continue
        kept.append(obj)
        for within in objects_within(obj) if is_object_set(obj) else ():
            if object_key(within) not in there:
                there.add(object_key(within))
                kept.append(within)
    return kept, folded


def _folded_kind(obj: KubernetesObject, there: Collection[ObjectKey], owners: Collection[str]) -> str:
    """What kind of noise an object is, "" if it is none; `there` are the objects of its side, `owners` the
    ClusterExtensions that may have it."""
    kind = obj.get("kind")
    if is_object_set(obj):
        # What is in the set of a ClusterExtension is on the side as well, where it is compared.
        is_derived = owner_of(obj) in owners and all(object_key(within) in there for within in objects_within(obj))
        return "ClusterObjectSet" if is_derived else ""
    if not text(obj.get("apiVersion")).startswith(f"{OLM_GROUP}/"):
        return ""
    if kind == CSV and is_copy(obj):
        return "copied CSV"
    return text(kind) if kind in ("InstallPlan", "Operator") else ""


def is_object_set(obj: KubernetesObject) -> bool:
    """Whether an object is a ClusterObjectSet."""
    return (obj.get("apiVersion"), obj.get("kind")) == (EXTENSIONS_V1, "ClusterObjectSet")


def objects_within(object_set: KubernetesObject) -> list[KubernetesObject]:
    """The objects that a ClusterObjectSet has OLM make: none of one that is archived."""
    spec = spec_of(object_set)
    if spec.get("lifecycleState") == "Archived":
        return []
    entries = (entry for phase in mappings(spec.get("phases")) for entry in mappings(phase.get("objects")))
    return [obj for obj in (dict(mapping(entry.get("object"))) for entry in entries) if is_object(obj)]


def folded_differences(old: Mapping[ObjectKey, Folded], new: Mapping[ObjectKey, Folded]) -> Iterator[str]:
    """The kind of noise of every folded object that is not the same on both sides."""
    nothing: Folded = "", {}
    for known in old.keys() | new.keys():
        was, now = old.get(known, nothing), new.get(known, nothing)
        if was[1] != now[1]:
            yield was[0] or now[0]


def excluded_differences(old: Side, new: Side) -> Iterator[str]:
    """The kind of every object that is not compared, and that is not the same on both sides."""
    before, after = ({object_key(obj): obj for obj in side.excluded} for side in (old, new))
    return (f"excluded {key.kind}" for key in before.keys() | after.keys() if before.get(key) != after.get(key))
