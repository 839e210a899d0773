"""Which workload, and which container in it, takes the place of one that has another name: names follow versions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from olmc.diff import workload_kinds as kinds
from olmc.diff.change import WORKLOADS, DiffChange
from olmc.diff.operators import DiffOperator
from olmc.diff.pods import with_template
from olmc.diff.workload_kinds import image_name
from olmc.lean import NamedTuple, regex
from olmc.model.cluster import NamespacedName
from olmc.model.objects import KubernetesObject, ObjectKey, labels_of, mapping, mappings, pod_of, text

_SEPARATORS = regex("([-.+])")
_DIGITS = "0123456789"


class RoleKey(NamedTuple):
    """What a workload is in its operator: kind, namespace, package, and what is left of its name or of its images."""

    kind: str
    namespace: str
    package: str
    sign: Hashable = ""


def package_of(obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> str:
    """The package of the operator that an object is part of, "" if it is none's."""
    labels = labels_of(obj)
    owner = owners.get(NamespacedName(text(labels.get("olm.owner.namespace")), text(labels.get("olm.owner"))))
    return owner.package if owner is not None else ""


def role_by_name(known: ObjectKey, obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> Hashable:
    """A workload of an operator by its name without a version, None for anything else."""
    package = package_of(obj, owners)
    if known.kind not in WORKLOADS or not package:
        return None
    return RoleKey(known.kind, known.namespace, package, without_version(known.name))


def without_version(name: str) -> str:
    """A name without the version at its end: `beacon-v1.2.3-rc1`, `beacon1.2` and `beacon-v3` are all `beacon`."""
    # By its parts, as a pattern for it would look for an end from each part over and over again.
    parts = _SEPARATORS.split(name)
    first = len(parts) - 1
    while first and parts[first].isascii() and parts[first].isalnum():
        first -= 2
    # Behind the first two numbers anything may stand.
    for place in range(first, len(parts) - 2, 2):
        number, separator, following = parts[place : place + 3]
        if separator != "+" and _is_number(number[-1:]) and _is_number(following):
            start, before = number.rstrip(_DIGITS).removesuffix("v"), "".join(parts[:place])
            return before + start if start or before[-1:] not in ("-", ".") else before[:-1]
    if len(parts) > 1 and parts[-2] == "-" and parts[-1][:1] == "v" and _is_number(parts[-1][1:]):
        return "".join(parts[:-2])
    return name


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def role_by_images(known: ObjectKey, obj: KubernetesObject, owners: Mapping[NamespacedName, DiffOperator]) -> Hashable:
    """A workload of an operator by the images that it runs, whatever their versions, None for anything else."""
    package = package_of(obj, owners)
    if known.kind not in WORKLOADS or not package:
        return None
    images = frozenset(image_name(text(c.get("image"))) for c in mappings(pod_of(with_template(obj)).get("containers")))
    return RoleKey(known.kind, known.namespace, package, images)


def only_roles(
    objects: Mapping[ObjectKey, KubernetesObject], owners: Mapping[NamespacedName, DiffOperator]
) -> dict[ObjectKey, RoleKey]:
    """The workloads that are the only ones left of their kind and operator."""
    roles: dict[RoleKey, list[ObjectKey]] = {}
    for known, obj in objects.items():
        package = package_of(obj, owners)
        if known.kind in WORKLOADS and package:
            roles.setdefault(RoleKey(known.kind, known.namespace, package), []).append(known)
    return {of_role[0]: role for role, of_role in roles.items() if len(of_role) == 1}


class ContainerNames(NamedTuple):
    """The old workload with the containers under the names of those that take their place, and what that changes."""

    old: KubernetesObject
    changes: tuple[DiffChange, ...] = ()


def with_new_names(identity: ObjectKey, old: KubernetesObject, new: KubernetesObject) -> ContainerNames:
    """A workload whose containers have the names of their successors: those of the same image, or the only ones."""
    names: dict[str, str] = {}
    for field in ("containers", "initContainers"):
        names.update(_successors(mappings(pod_of(old).get(field)), mappings(pod_of(new).get(field))))
    if not names:
        return ContainerNames(old)
    changes = tuple(kinds.container_renamed(identity, now, was) for was, now in names.items())
    return ContainerNames(_renamed(old, names), changes)


def _successors(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    olds, news = ({text(c.get("name")): c for c in containers} for containers in (old, new))
    gone, come = [name for name in olds if name not in news], [name for name in news if name not in olds]
    if len(gone) == len(come) == len(olds) == 1:
        yield gone[0], come[0]
        return
    by_image: dict[str, list[str]] = {}
    for name in come:
        by_image.setdefault(image_name(text(news[name].get("image"))), []).append(name)
    for name in gone:
        image = image_name(text(olds[name].get("image")))
        alike = by_image.get(image, [])
        if image and len(alike) == 1:
            yield name, alike.pop()


def _renamed(workload: KubernetesObject, names: Mapping[str, str]) -> KubernetesObject:
    spec = mapping(workload.get("spec"))
    template = mapping(spec.get("template"))
    pod = dict(pod_of(workload))
    for field in ("containers", "initContainers"):
        if field in pod:
            containers = mappings(pod[field])
            pod[field] = [{**c, "name": names.get(text(c.get("name")), c.get("name"))} for c in containers]
    return {**workload, "spec": {**spec, "template": {**template, "spec": pod}}}
